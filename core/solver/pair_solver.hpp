// The plain pair solver: two variables at a time, chosen by a rule that is a parameter.
//
// The rule sees the state and names the pair; the step is the same for all of them. Rows come from
// the Gram handle's cache. See block_solver.hpp for the engine's fast path.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "kernel/gram.hpp"
#include "solver/control.hpp"
#include "solver/problem.hpp"

namespace widemargin {

struct PairState {
  const Problem& problem;
  const double* beta;
  const double* gradient;
  const double* diagonal;
  // Row of a sample; the pointer stays valid until the second next call.
  std::function<const double*(Index)> row;
  // One byte a sample says which way it can move: rules read it in place of beta and two bounds.
  std::vector<unsigned char> room;

  static constexpr unsigned char kGrow = 1, kFall = 2;
  bool can_grow(Index k) const { return (room[Size(k)] & kGrow) != 0; }
  bool can_fall(Index k) const { return (room[Size(k)] & kFall) != 0; }
  void note_room(Index k) {
    const bool grow = beta[k] < problem.upper[k];
    const bool fall = beta[k] > problem.lower[k];
    room[Size(k)] = static_cast<unsigned char>((grow ? kGrow : 0) | (fall ? kFall : 0));
  }
  double curvature(Index i, Index j, const double* row_i) const {
    const double value = diagonal[i] + diagonal[j] - 2.0 * row_i[j];
    return value > 0.0 ? value : 1e-12;
  }
};

// What a rule answers: a pair (i grows, j falls) or the reason why there is none.
struct Choice {
  Index i = -1, j = -1;
  Status reason = Status::converged;
  double violation = 0.0;
};

enum class Ties { lowest, last };  // LIBSVM takes the last index among equals

inline bool beats(double value, double best, Ties ties) {
  return ties == Ties::last ? value >= best : value > best;
}

// i = argmax over growing of -gradient; also the violation it makes with the worst falling one.
inline Choice steepest(const PairState& state, Ties ties) {
  Choice choice;
  double best = -std::numeric_limits<double>::infinity(), worst = best;
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
    double worst = -std::numeric_limits<double>::infinity();
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
    double best = -std::numeric_limits<double>::infinity();
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

template <class Rule>
Outcome solve_by_rule(const Problem& problem, Gram& gram, const SolverOptions& options,
                      const Callbacks& callbacks, Rule& rule, Rows kind, double* beta,
                      double* gradient) {
  std::lock_guard<std::mutex> lock(gram.busy());
  RowCache<double>& cache = gram.cache<double>();
  Team team(gram.threads());
  std::vector<Index> everyone(problem.n);
  for (Size k = 0; k < problem.n; ++k) everyone[k] = Index(k);
  const std::vector<Index>& columns = cache.arrange(everyone, team);
  std::vector<double> diagonal(problem.n);
  gram.source().diagonal(everyone.data(), problem.n, diagonal.data());

  // Two row buffers in sample order, rounded if asked for: i and j are needed at the same time.
  // Rows that need neither are read where the cache has them: it holds four or more, and drops the
  // one that was used longest ago.
  const bool rounded = kind == Rows::rounded_to_float;
  const bool in_place = !rounded && std::is_sorted(columns.begin(), columns.end());
  std::vector<double> buffers[2];
  Index held[2] = {-1, -1};
  int next = 0;
  const auto row = [&](Index sample) -> const double* {
    if (in_place) return cache.row(sample, team);
    for (int k = 0; k < 2; ++k)
      if (held[k] == sample) {
        next = 1 - k;
        return buffers[k].data();
      }
    const double* entries = cache.row(sample, team);
    std::vector<double>& buffer = buffers[next];
    buffer.resize(problem.n);
    for (Size p = 0; p < problem.n; ++p)
      buffer[Size(columns[p])] = rounded ? double(float(entries[p])) : entries[p];
    held[next] = sample;
    next = 1 - next;
    return buffer.data();
  };

  Control control(options, callbacks);
  Outcome outcome;
  PairState state{problem, beta, gradient, diagonal.data(), row, {}};
  state.room.resize(problem.n);
  for (Index k : everyone) state.note_room(k);
  for (;;) {
    const Choice choice = rule(state, options.tolerance);
    if (choice.i < 0 || choice.j < 0) {
      outcome.status = choice.reason;
      return outcome;
    }
    const Progress progress{outcome.steps, std::max(0.0, choice.violation), problem.n};
    if (control.stop(progress, outcome.status)) return outcome;
    const Index i = choice.i, j = choice.j;
    const double* row_i = row(i);
    const double* row_j = row(j);
    // LIBSVM's arithmetic to the last bit: the pair's sum is kept by taking the partner of a member
    // at its bound from that sum, and the gradient follows the betas as rounded.
    const double wish = (gradient[j] - gradient[i]) / state.curvature(i, j, row_i);
    const double sum = beta[i] + beta[j];
    double to_i = beta[i] + wish, to_j = beta[j] - wish;
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
    ++outcome.steps;
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
