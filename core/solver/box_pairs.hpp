// Pair steps without an equality constraint: two variables move freely in their boxes.
//
// One variable alone is slow (mathematics 0.3). The first variable is the one with the best gain by
// itself, the second the one that gains most together with it.
#pragma once

#include <algorithm>
#include <cmath>

#include "simd/dispatch.hpp"

namespace widemargin {

// Best move of one variable with gradient g and curvature k: a Newton step, cut at the box.
inline double clipped_step(double g, double curvature, double beta, double lower, double upper) {
  const double target = beta - g / std::max(curvature, 1e-12);
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
  if (determinant > 1e-12 * k_ii * k_jj) {
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

inline double settle(double beta, double step, double lower, double upper) {
  const double moved = beta + step;
  const double width = (upper - lower) * 1e-15;
  if (moved <= lower + width) return lower;
  if (moved >= upper - width) return upper;
  return moved;
}

// Runs until the largest projected gradient is <= tolerance; returns the number of steps.
template <class Real>
long box_pairs(const PairCall<Real>& call, Size members) {
  for (long steps = 0;; ++steps) {
    Size i = members;
    double best = 0.0, violation = 0.0;
    for (Size k = 0; k < members; ++k) {
      const double g = double(call.gradient[k]);
      if (g < 0 ? call.growth[k] != Real(0) : call.fall[k] != Real(0)) continue;
      violation = std::max(violation, std::abs(g));
      const double step =
          clipped_step(g, double(call.diagonal[k]), call.beta[k], call.lower[k], call.upper[k]);
      const double gain = -step * (g + 0.5 * step * double(call.diagonal[k]));
      if (gain > best) best = gain, i = k;
    }
    if (i == members || violation <= call.tolerance || steps >= call.max_steps) return steps;

    const Real* row_i = call.rows[i];
    const double g_i = double(call.gradient[i]), k_ii = std::max(double(call.diagonal[i]), 1e-12);
    Size j = i;
    double best_pair = 0.0;
    for (Size k = 0; k < members; ++k) {
      if (k == i) continue;
      const double g = double(call.gradient[k]), k_ik = double(row_i[k]);
      // Gain of the second variable once the first has taken its Newton step.
      const double left = g - k_ik * g_i / k_ii;
      if (left < 0 ? call.growth[k] != Real(0) : call.fall[k] != Real(0)) continue;
      const double curvature = std::max(double(call.diagonal[k]) - k_ik * k_ik / k_ii, 1e-12);
      const double gain = left * left / curvature;
      if (gain > best_pair) best_pair = gain, j = k;
    }
    const Real* row_j = call.rows[j];
    double step_i = 0.0, step_j = 0.0;
    const double box_i[2] = {call.lower[i], call.upper[i]},
                 box_j[2] = {call.lower[j], call.upper[j]};
    if (j != i)
      two_variable_step(g_i, double(call.gradient[j]), double(call.diagonal[i]),
                        double(call.diagonal[j]), double(row_i[j]), call.beta[i], call.beta[j],
                        box_i, box_j, step_i, step_j);
    if (step_i == 0.0 && step_j == 0.0)
      step_i = clipped_step(g_i, double(call.diagonal[i]), call.beta[i], box_i[0], box_i[1]);
    const Real never = Real(INFINITY);
    const Size moved[2] = {i, j};
    const double steps_taken[2] = {step_i, j == i ? 0.0 : step_j};
    for (int m = 0; m < 2; ++m) {
      const Size k = moved[m];
      if (steps_taken[m] == 0.0) continue;
      call.beta[k] = settle(call.beta[k], steps_taken[m], call.lower[k], call.upper[k]);
      call.growth[k] = call.beta[k] < call.upper[k] ? Real(0) : never;
      call.fall[k] = call.beta[k] > call.lower[k] ? Real(0) : -never;
    }
    const Real a = Real(steps_taken[0]), b = Real(steps_taken[1]);
    for (Size k = 0; k < members; ++k) call.gradient[k] += a * row_i[k] + b * row_j[k];
  }
}

}  // namespace widemargin
