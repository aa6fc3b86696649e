// Pair steps without an equality constraint: two variables move freely in their boxes.
//
//   minimise 1/2 d' K_WW d + gradient_W' d  s.t.  lower_W <= beta_W + d <= upper_W
//
// A variable with a kink at zero moves on one side of it at a time, as if zero were a bound.
// One variable alone is slow (mathematics 0.3). The first variable i is the one with the best gain
// by itself, the second the one that gains most once i has taken its Newton step; their
// two-variable problem is solved exactly. Stops when the largest projected gradient is at most the
// tolerance.
#pragma once

#include <algorithm>
#include <cmath>

#include "simd/dispatch.hpp"

namespace widemargin {

constexpr double kLeastDiagonal = 1e-12;  // in place of a smaller curvature
constexpr double kSingular = 1e-12;       // determinant of a pair, per unit of its diagonal
constexpr double kBoundRounding = 1e-15;  // of the box: this near a bound is at the bound

// Best move of one variable with gradient g and curvature k: a Newton step, cut at the box.
inline double clipped_step(double g, double curvature, double beta, double lower, double upper) {
  const double target = beta - g / std::max(curvature, kLeastDiagonal);
  return std::min(std::max(target, lower), upper) - beta;
}

// Solves the two-variable problem exactly: interior solution, else the best of the four edges.
inline void two_variable_step(double g_i, double g_j, double k_ii, double k_jj, double k_ij,
                              double beta_i, double beta_j, const double* lower_upper_i,
                              const double* lower_upper_j, double& step_i, double& step_j) {
  const auto value = [&](double s, double t) {
    return g_i * s + g_j * t + 0.5 * (k_ii * s * s + k_jj * t * t) + k_ij * s * t;
  };
  const double determinant = k_ii * k_jj - k_ij * k_ij;
  if (determinant > kSingular * k_ii * k_jj) {
    const double s = (k_ij * g_j - k_jj * g_i) / determinant;
    const double t = (k_ij * g_i - k_ii * g_j) / determinant;
    if (beta_i + s >= lower_upper_i[0] && beta_i + s <= lower_upper_i[1] &&
        beta_j + t >= lower_upper_j[0] && beta_j + t <= lower_upper_j[1]) {
      step_i = s;
      step_j = t;
      return;
    }
  }
  double best = 0.0;
  step_i = step_j = 0.0;
  for (int side = 0; side < 2; ++side) {
    const double s = lower_upper_i[side] - beta_i;
    const double t = clipped_step(g_j + k_ij * s, k_jj, beta_j, lower_upper_j[0], lower_upper_j[1]);
    if (value(s, t) < best) best = value(s, t), step_i = s, step_j = t;
    const double t2 = lower_upper_j[side] - beta_j;
    const double s2 =
        clipped_step(g_i + k_ij * t2, k_ii, beta_i, lower_upper_i[0], lower_upper_i[1]);
    if (value(s2, t2) < best) best = value(s2, t2), step_i = s2, step_j = t2;
  }
}

// beta + step, at a bound where it is that near.
inline double snapped(double beta, double step, double lower, double upper) {
  const double moved = beta + step;
  const double width = (upper - lower) * kBoundRounding;
  if (moved <= lower + width) return lower;
  if (moved >= upper - width) return upper;
  return moved;
}

// The slope along which a variable can descend, 0 where it cannot; what its side of the kink adds
// to the gradient there; and where it can move.
struct Descent {
  double slope;
  double offset;
  double segment[2];
};

// Of a variable whose gradient is as given, without what its side of the kink adds.
template <class Real>
Descent descent_of(const PairCall<Real>& call, Size k, double gradient) {
  const double growing = gradient + double(call.growth[k]);
  const double falling = gradient + double(call.fall[k]);
  const bool grows = growing < 0.0, falls = !grows && falling > 0.0;
  const double beta = call.beta[k];
  const bool kinked = call.above[k] != call.below[k];
  const bool positive = beta > 0.0 || (beta == 0.0 && grows);
  const double least = kinked && positive ? std::max(call.lower[k], 0.0) : call.lower[k];
  const double most = kinked && !positive ? std::min(call.upper[k], 0.0) : call.upper[k];
  const double offset = double(positive ? call.above[k] : call.below[k]);
  return {grows ? growing : falls ? falling : 0.0, offset, {least, most}};
}

// The variable with the best gain by itself, or `members`; and the largest projected gradient.
template <class Real>
Size first_of_pair(const PairCall<Real>& call, Size members, double& violation) {
  Size i = members;
  double best = 0.0;
  violation = 0.0;
  for (Size k = 0; k < members; ++k) {
    const Descent descent = descent_of(call, k, double(call.gradient[k]));
    const double g = descent.slope, curvature = double(call.diagonal[k]);
    if (g == 0.0) continue;
    violation = std::max(violation, std::abs(g));
    const double step =
        clipped_step(g, curvature, call.beta[k], descent.segment[0], descent.segment[1]);
    const double gain = -step * (g + 0.5 * step * curvature);
    if (gain > best) best = gain, i = k;
  }
  return i;
}

// The variable that gains most once i has taken its Newton step, or i itself.
template <class Real>
Size second_of_pair(const PairCall<Real>& call, Size members, Size i) {
  const Real* row_i = call.rows[i];
  const double g_i = descent_of(call, i, double(call.gradient[i])).slope;
  const double k_ii = std::max(double(call.diagonal[i]), kLeastDiagonal);
  Size j = i;
  double best = 0.0;
  for (Size k = 0; k < members; ++k) {
    if (k == i) continue;
    const double k_ik = double(row_i[k]);
    const double left = descent_of(call, k, double(call.gradient[k]) - k_ik * g_i / k_ii).slope;
    if (left == 0.0) continue;
    const double curvature =
        std::max(double(call.diagonal[k]) - k_ik * k_ik / k_ii, kLeastDiagonal);
    const double gain = left * left / curvature;
    if (gain > best) best = gain, j = k;
  }
  return j;
}

// Moves a variable, and notes which way it can move from there.
template <class Real>
void move_member(const PairCall<Real>& call, Size k, double step, const double* segment) {
  if (step == 0.0) return;
  call.beta[k] = snapped(call.beta[k], step, segment[0], segment[1]);
  note_sides(call, k);
}

// Moves i and j to the solution of their problem; where they cannot move together, i alone.
template <class Real>
void move_pair(const PairCall<Real>& call, Size members, Size i, Size j) {
  const Real* row_i = call.rows[i];
  const Real* row_j = call.rows[j];
  const double k_ii = double(call.diagonal[i]);
  const Descent own = descent_of(call, i, double(call.gradient[i]));
  const double g_j = double(call.gradient[j]);
  const double moved = double(row_i[j]) * own.slope / std::max(k_ii, kLeastDiagonal);
  const Descent after = descent_of(call, j, g_j - moved);
  double step_i = 0.0, step_j = 0.0;
  if (j != i)
    two_variable_step(own.slope, g_j + after.offset, k_ii, double(call.diagonal[j]),
                      double(row_i[j]), call.beta[i], call.beta[j], own.segment, after.segment,
                      step_i, step_j);
  if (step_i == 0.0 && step_j == 0.0)
    step_i = clipped_step(own.slope, k_ii, call.beta[i], own.segment[0], own.segment[1]);
  move_member(call, i, step_i, own.segment);
  move_member(call, j, step_j, after.segment);
  const Real a = Real(step_i), b = Real(step_j);
  for (Size k = 0; k < members; ++k) call.gradient[k] += a * row_i[k] + b * row_j[k];
}

template <class Real>
void need_row(const PairCall<Real>& call, Size k) {
  if (call.rows[k] == nullptr) call.fetch(call.owner, k);
}

// Returns the number of steps.
template <class Real>
long box_pairs(const PairCall<Real>& call, Size members) {
  for (long steps = 0;; ++steps) {
    double violation = 0.0;
    const Size i = first_of_pair(call, members, violation);
    if (i == members || violation <= call.tolerance || steps >= call.max_steps) return steps;
    need_row(call, i);
    const Size j = second_of_pair(call, members, i);
    need_row(call, j);
    move_pair(call, members, i, j);
  }
}

}  // namespace widemargin
