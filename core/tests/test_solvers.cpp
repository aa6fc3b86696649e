// The solvers on the core alone: optimal, warm equals cold, right after return from shrinking.
#include <algorithm>
#include <thread>

#include "solver/active_set.hpp"
#include "solver/block_solver.hpp"
#include "solver/pair_solver.hpp"
#include "tests/testing.hpp"

using namespace widemargin;
using testing::Data;
using testing::kGaussian;
using testing::require;
using testing::require_close;

namespace {

struct Case {
  Data data;
  std::vector<double> lower, upper, beta, gradient;
  std::vector<double> errors;
  std::vector<Index> anchors;
  Iterate iterate;
  Problem problem;
  std::shared_ptr<Gram> gram;

  Case(Size n, double cost, bool equality, bool sparse, Size budget = Size(1) << 24)
      : data(n, 6, 11, sparse ? 0.5 : 1.0),
        lower(n),
        upper(n),
        beta(n, 0.0),
        gradient(n),
        errors(n, 0.0),
        anchors(n, kCurrent),
        iterate{beta.data(), gradient.data(), errors.data(), anchors.data(), {}} {
    for (Size k = 0; k < n; ++k) {
      lower[k] = std::min(0.0, cost * data.labels[k]);
      upper[k] = std::max(0.0, cost * data.labels[k]);
      gradient[k] = -data.labels[k];
    }
    problem = Problem{n, data.labels.data(), lower.data(), upper.data(), equality};
    gram =
        std::make_shared<Gram>(sparse ? data.sparse(kGaussian) : data.dense(kGaussian), budget, 2);
  }

  // The gradient is what the solver says it is, the point is feasible, the violation small.
  double verify(double tolerance) const {
    const Size n = data.n;
    double sum = 0.0, absolute = 0.0, up = 1e300, down = -1e300, objective = 0.0;
    std::vector<double> fresh(n);
    for (Size k = 0; k < n; ++k) {
      require(beta[k] >= lower[k] && beta[k] <= upper[k], "inside the box");
      sum += beta[k];
      absolute += std::abs(beta[k]);
      fresh[k] = -data.labels[k];
    }
    for (Size i = 0; i < n; ++i) {
      if (beta[i] == 0.0) continue;
      for (Size k = 0; k < n; ++k) fresh[k] += beta[i] * data.kernel(kGaussian, i, k);
    }
    for (Size k = 0; k < n; ++k) {
      if (anchors[k] == kCurrent)
        require_close(gradient[k], fresh[k], 2e-4, "the gradient that was kept up to date");
      else
        require(beta[k] == 0.0, "a stale sample is at zero");
      if (beta[k] < upper[k]) up = std::min(up, fresh[k]);
      if (beta[k] > lower[k]) down = std::max(down, fresh[k]);
      objective += 0.5 * beta[k] * (fresh[k] - data.labels[k]);
    }
    if (problem.equality) {
      require(std::abs(sum) <= 1e-9 * absolute, "the sum is kept");
      require(down - up <= tolerance, "KKT violation");
    } else {
      require(std::max(down, -up) <= tolerance, "KKT violation without an equality");
    }
    return objective;
  }

  double solve(double tolerance, bool shrinking = true) {
    SolverOptions options;
    options.tolerance = tolerance;
    options.shrinking = shrinking;
    const Outcome outcome = solve_blocks(problem, *gram, options, {}, iterate);
    require(outcome.status == Status::converged, "converged");
    return verify(tolerance + 1e-3);
  }
};

}  // namespace

WIDEMARGIN_TEST(blocks_reach_the_optimum_from_small_to_staged) {
  for (const Size n : {Size(2), Size(40), Size(700), Size(4500)})
    for (const bool equality : {true, false})
      for (const bool sparse : {false, true}) {
        Case one(n, 2.0, equality, sparse);
        one.solve(1e-3);
      }
}

WIDEMARGIN_TEST(where_most_are_about_to_move_the_rest_follows_at_once) {
  const SolverOptions options;
  const Callbacks none;
  Team team(1);
  Case moving(9000, 2.0, true, false);
  ActiveSet<float> set(moving.problem, *moving.gram, options, none, team, moving.iterate);
  require(!set.complete(), "the first stage is a part of the samples");
  require(set.next_stage() == 9000, "all are at zero, and all are about to move");
  Case still(9000, 2.0, true, false);
  std::fill(still.gradient.begin(), still.gradient.end(), 0.0);
  ActiveSet<float> other(still.problem, *still.gram, options, none, team, still.iterate);
  require(other.next_stage() < 9000, "none is about to move: the next stage is a part as well");
}

WIDEMARGIN_TEST(shrinking_and_a_small_cache_change_nothing) {
  Case reference(900, 5.0, true, false);
  const double best = reference.solve(1e-4);
  for (const Size budget : {Size(0), Size(100000), Size(1) << 24})
    for (const bool shrinking : {true, false}) {
      Case one(900, 5.0, true, false, budget);
      require_close(one.solve(1e-4, shrinking), best, 1e-4 * std::abs(best), "objective");
    }
}

WIDEMARGIN_TEST(a_warm_start_equals_a_cold_one) {
  Case cold(600, 3.0, true, false);
  const double best = cold.solve(1e-4);
  SolverOptions options;
  options.tolerance = 2e-4;
  const Outcome again = solve_blocks(cold.problem, *cold.gram, options, {}, cold.iterate);
  require(again.status == Status::converged && again.steps == 0, "already there: no step");
  require_close(cold.verify(2e-3), best, 1e-9 * std::abs(best), "objective");
}

WIDEMARGIN_TEST(blocks_and_pairs_agree) {
  Case blocks(300, 1.5, true, false);
  const double best = blocks.solve(1e-5);
  Case pairs(300, 1.5, true, false);
  SolverOptions options;
  options.tolerance = 1e-5;
  const Outcome outcome =
      solve_pairs(pairs.problem, *pairs.gram, options, {}, PairRule::second_order,
                  pairs.beta.data(), pairs.gradient.data());
  require(outcome.status == Status::converged && outcome.steps > 10, "converged by steps");
  require_close(pairs.verify(1e-4), best, 1e-5 * std::abs(best), "objective");
}

// Of two solves on one handle one waits; views share the samples and what is made of them lazily.
WIDEMARGIN_TEST(solves_beside_each_other_reach_what_each_would_alone) {
  for (const bool sparse : {false, true}) {
    Case cases[4] = {{1200, 2.0, true, sparse},
                     {1200, 2.0, true, sparse},
                     {1200, 2.0, true, sparse},
                     {1200, 2.0, true, sparse}};
    const std::shared_ptr<Gram> handle = cases[0].gram;
    cases[1].gram = handle;
    for (const Size k : {Size(2), Size(3)})
      cases[k].gram = handle->subset(testing::all_samples(1200), Size(1) << 24, int(k) - 1);
    std::vector<std::thread> threads;
    for (Case& one : cases)
      threads.emplace_back(
          [&one] { solve_blocks(one.problem, *one.gram, SolverOptions(), {}, one.iterate); });
    for (std::thread& thread : threads) thread.join();
    for (const Case& one : cases) one.verify(2e-3);
  }
}

WIDEMARGIN_TEST(limits_leave_a_true_state_behind) {
  Case one(3000, 50.0, true, false);
  SolverOptions options;
  options.tolerance = 1e-9;
  options.max_steps = 7;
  const Outcome steps = solve_blocks(one.problem, *one.gram, options, {}, one.iterate);
  require(steps.status == Status::max_steps && steps.steps <= 7, "stopped by steps");
  one.verify(1e300);
  options.max_steps = kUnlimitedSteps;
  int asked = 0;
  Callbacks callbacks;
  callbacks.monitor = [&](const Progress&) { return ++asked < 2; };
  const Outcome stopped = solve_blocks(one.problem, *one.gram, options, callbacks, one.iterate);
  require(stopped.status == Status::interrupted || asked < 2, "stopped on request");
  if (stopped.status == Status::interrupted)  // then nothing is promised but the point itself
    for (Size k = 0; k < one.data.n; ++k) {
      require(one.anchors[k] == kUnknown, "after an interruption every gradient is stale");
      one.anchors[k] = kCurrent;
      one.gradient[k] = -one.data.labels[k];
      for (Size i = 0; i < one.data.n; ++i)
        one.gradient[k] += one.beta[i] * one.data.kernel(kGaussian, i, k);
    }
  one.verify(1e300);
}

WIDEMARGIN_TEST(one_class_has_nothing_to_do) {
  Case one(50, 1.0, true, false);
  std::fill(one.data.labels.begin(), one.data.labels.end(), 1.0);
  for (Size k = 0; k < 50; ++k) {
    one.lower[k] = 0.0;
    one.upper[k] = 1.0;
    one.gradient[k] = -1.0;
  }
  SolverOptions options;
  const Outcome outcome = solve_blocks(one.problem, *one.gram, options, {}, one.iterate);
  require(outcome.status == Status::converged && outcome.steps == 0, "no step");
}
