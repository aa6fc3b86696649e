// The plain pair solver (sequential minimal optimisation) with an exchangeable selection rule.
//
//   minimise 1/2 beta' K beta - linear' beta  s.t.  lower <= beta <= upper, sum(beta) fixed
//
//   repeat: the rule names a pair, i in I_up and j in I_low, or the reason why there is none;
//           beta_i grows and beta_j falls by (gradient_j - gradient_i) / curvature, cut at the box;
//           gradient += K_i move_i + K_j move_j
//
// Platt (1998); first-order rule: Keerthi et al. (2001); second-order rule: Fan, Chen and Lin
// (2005). The "libsvm_" rules take LIBSVM's steps to the last bit. Rows come from the cache of the
// Gram handle, in double precision. The engine's fast solver is block_solver.hpp.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include "kernel/gram.hpp"
#include "solver/control.hpp"
#include "solver/options.hpp"
#include "solver/problem.hpp"

namespace widemargin {

constexpr double kLeastCurvature = 1e-12;  // LIBSVM's TAU, in place of a curvature <= 0

// What a rule sees.
struct PairState {
  const Problem& problem;
  const double* beta;
  const double* gradient;
  // Row of a sample; the pointer stays valid until the second next call.
  std::function<const double*(Index)> row;
  std::vector<double> diagonal;
  // One byte a sample says which way it can move: rules read it in place of beta and two bounds.
  std::vector<unsigned char> room;

  static constexpr unsigned char kGrow = 1, kFall = 2;

  PairState(const Problem& problem_, const Gram& gram, const double* beta_, const double* gradient_,
            std::function<const double*(Index)> row_)
      : problem(problem_),
        beta(beta_),
        gradient(gradient_),
        row(std::move(row_)),
        diagonal(problem.n),
        room(problem.n) {
    std::vector<Index> samples(problem.n);
    for (Size k = 0; k < problem.n; ++k) samples[k] = Index(k);
    gram.source().diagonal(samples.data(), problem.n, diagonal.data());
    for (const Index k : samples) note_room(k);
  }

  bool can_grow(Index k) const { return (room[Size(k)] & kGrow) != 0; }
  bool can_fall(Index k) const { return (room[Size(k)] & kFall) != 0; }
  void note_room(Index k) {
    const bool grow = beta[k] < problem.upper[k];
    const bool fall = beta[k] > problem.lower[k];
    room[Size(k)] = static_cast<unsigned char>((grow ? kGrow : 0) | (fall ? kFall : 0));
  }
  double curvature(Index i, Index j, const double* row_i) const {
    const double value = diagonal[Size(i)] + diagonal[Size(j)] - 2.0 * row_i[j];
    return value > 0.0 ? value : kLeastCurvature;
  }
};

// What a rule answers: a pair (i grows, j falls) or the reason why there is none.
struct Choice {
  Index i = -1, j = -1;
  Status reason = Status::converged;
  double violation = 0.0;

  bool is_pair() const { return i >= 0 && j >= 0; }
};

enum class Ties { lowest, last };  // LIBSVM takes the last index among equals

inline bool beats(double value, double best, Ties ties) {
  return ties == Ties::last ? value >= best : value > best;
}

// i = argmax over growing of -gradient; also the violation it makes with the worst falling one.
inline Choice steepest(const PairState& state, Ties ties) {
  Choice choice;
  double best = -kInfinity, worst = best;
  for (Index k = 0; Size(k) < state.problem.n; ++k) {
    if (state.can_grow(k) && beats(-state.gradient[k], best, ties)) {
      best = -state.gradient[k];
      choice.i = k;
    }
    if (state.can_fall(k)) worst = std::max(worst, state.gradient[k]);
  }
  choice.violation = best + worst;
  return choice;
}

// Maximal violating pair (WSS1, Keerthi et al. 2001).
struct FirstOrder {
  Ties ties = Ties::lowest;
  Choice operator()(const PairState& state, double tolerance) const {
    Choice choice = steepest(state, ties);
    if (!(choice.violation > tolerance)) return choice;
    double worst = -kInfinity;
    for (Index k = 0; Size(k) < state.problem.n; ++k)
      if (state.can_fall(k) && beats(state.gradient[k], worst, ties)) {
        worst = state.gradient[k];
        choice.j = k;
      }
    return choice;
  }
};

// Second-order selection (WSS2, Fan, Chen and Lin 2005).
struct SecondOrder {
  Ties ties = Ties::lowest;
  Choice operator()(const PairState& state, double tolerance) const {
    Choice choice = steepest(state, ties);
    if (!(choice.violation > tolerance)) return choice;
    const double* row_i = state.row(choice.i);
    double best = -kInfinity;
    for (Index k = 0; Size(k) < state.problem.n; ++k) {
      const double descent = state.gradient[k] - state.gradient[choice.i];
      if (!state.can_fall(k) || !(descent > 0.0)) continue;
      const double gain = descent * descent / state.curvature(choice.i, k, row_i);
      if (beats(gain, best, ties)) {
        best = gain;
        choice.j = k;
      }
    }
    return choice;
  }
};

enum class Rows { exact, rounded_to_float };  // LIBSVM stores kernel rows as floats

// Kernel rows in the order of the samples; a row stays valid until the second next one is asked
// for.
class PairRows {
 public:
  PairRows(const Problem& problem, Gram& gram, Rows kind)
      : n_(problem.n),
        rounded_(kind == Rows::rounded_to_float),
        team_(gram.threads()),
        cache_(gram.cache<double>()) {
    std::vector<Index> samples(n_);
    for (Size k = 0; k < n_; ++k) samples[k] = Index(k);
    columns_ = cache_.arrange(samples, team_).values();
    in_order_ = std::is_sorted(columns_.begin(), columns_.end());
  }

  // Rows that need neither rounding nor reordering are read where the cache has them: it holds four
  // or more, and drops the one that was used longest ago.
  const double* operator()(Index sample) {
    if (in_order_ && !rounded_) return cache_.row(sample, team_);
    for (const int k : {0, 1})
      if (held_[k] == sample) {
        next_ = 1 - k;
        return buffers_[k].data();
      }
    const double* entries = cache_.row(sample, team_);
    std::vector<double>& buffer = buffers_[next_];
    buffer.resize(n_);
    for (Size p = 0; p < n_; ++p)
      buffer[Size(columns_[p])] = rounded_ ? double(float(entries[p])) : entries[p];
    held_[next_] = sample;
    next_ = 1 - next_;
    return buffer.data();
  }

 private:
  Size n_;
  bool rounded_, in_order_;
  Team team_;
  RowCache<double>& cache_;
  std::vector<Index> columns_;
  std::vector<double> buffers_[2];  // of two rows: a pair needs both at the same time
  Index held_[2] = {-1, -1};
  int next_ = 0;
};

// One step: i grows and j falls by the Newton step of the pair, cut at their boxes. LIBSVM's
// arithmetic to the last bit: the pair's sum is kept by taking the partner of a member at its bound
// from that sum, and the gradient follows the betas as rounded.
inline void pair_step(PairState& state, const Choice& pair, double* beta, double* gradient) {
  const Problem& problem = state.problem;
  const Index i = pair.i, j = pair.j;
  const double* row_i = state.row(i);
  const double* row_j = state.row(j);
  const double newton = (gradient[j] - gradient[i]) / state.curvature(i, j, row_i);
  const double sum = beta[i] + beta[j];
  double to_i = beta[i] + newton, to_j = beta[j] - newton;
  if (to_j < problem.lower[j]) {
    to_j = problem.lower[j];
    to_i = sum - to_j;
  }
  if (to_i > problem.upper[i]) {
    to_i = problem.upper[i];
    to_j = std::max(sum - to_i, problem.lower[j]);
  }
  const double move_i = to_i - beta[i], move_j = to_j - beta[j];
  beta[i] = to_i;
  beta[j] = to_j;
  state.note_room(i);
  state.note_room(j);
  for (Size k = 0; k < problem.n; ++k) gradient[k] += row_i[k] * move_i + row_j[k] * move_j;
}

template <class Rule>
Outcome solve_by_rule(const Problem& problem, Gram& gram, const SolverOptions& options,
                      const Callbacks& callbacks, Rule& rule, Rows kind, double* beta,
                      double* gradient) {
  std::lock_guard<std::mutex> lock(gram.busy());
  PairRows rows(problem, gram, kind);
  PairState state(problem, gram, beta, gradient, [&rows](Index sample) { return rows(sample); });
  Control control(options, callbacks);
  long steps = 0;
  try {
    for (;;) {
      const Choice choice = rule(state, options.tolerance);
      if (!choice.is_pair()) return {choice.reason, steps};
      const Status limit = control.limit_reached(steps);
      if (limit != Status::converged) return {limit, steps};
      control.report({steps, std::max(0.0, choice.violation), problem.n});
      pair_step(state, choice, beta, gradient);
      ++steps;
    }
  } catch (const Interrupted&) {
    return {Status::interrupted, steps};
  }
}

// The rules by name. "libsvm_": ties to the last index and float rows, as LIBSVM has them.
enum class PairRule { first_order, second_order, libsvm_first_order, libsvm_second_order };

inline Outcome solve_pairs(const Problem& problem, Gram& gram, const SolverOptions& options,
                           const Callbacks& callbacks, PairRule rule, double* beta,
                           double* gradient) {
  const bool libsvm = rule == PairRule::libsvm_first_order || rule == PairRule::libsvm_second_order;
  const Ties ties = libsvm ? Ties::last : Ties::lowest;
  const Rows rows = libsvm ? Rows::rounded_to_float : Rows::exact;
  const auto solve = [&](auto choose) {
    return solve_by_rule(problem, gram, options, callbacks, choose, rows, beta, gradient);
  };
  const bool first = rule == PairRule::first_order || rule == PairRule::libsvm_first_order;
  return first ? solve(FirstOrder{ties}) : solve(SecondOrder{ties});
}

}  // namespace widemargin
