// Chains of problems over one matrix in memory, with and without a kink, on the core alone.
#include <algorithm>
#include <atomic>
#include <numeric>

#include "solver/block_solver.hpp"
#include "solver/chain.hpp"
#include "solver/extremes.hpp"
#include "solver/face_step.hpp"
#include "tests/testing.hpp"

using namespace widemargin;
using testing::Data;
using testing::kGaussian;
using testing::require;
using testing::require_close;

namespace {

// Costs that rise over some of the samples; the rest are held out.
template <class Real>
struct Chain {
  Data data;
  std::vector<Real> matrix;
  std::vector<Index> members, others;
  std::vector<double> costs, linear, lower, upper, kink, betas, values, intercepts;
  std::vector<std::int64_t> pair_steps;
  bool equality;

  Chain(Size n, std::vector<double> costs_, double epsilon, bool equality_, Size keep = 5)
      : data(n, 5, 3), matrix(n * n), costs(std::move(costs_)), equality(equality_) {
    for (Size i = 0; i < n; ++i)
      for (Size k = 0; k < n; ++k) matrix[i * n + k] = Real(data.kernel(kGaussian, i, k));
    for (Size i = 0; i < n; ++i) (i % keep == 2 ? others : members).push_back(Index(i));
    const Size m = members.size();
    for (const double cost : costs)
      for (const Index i : members) {
        const double label = data.labels[Size(i)], target = data.values[Size(i) * 5 + 1];
        linear.push_back(epsilon > 0.0 ? target : label);
        lower.push_back(epsilon > 0.0 ? -cost : std::min(0.0, cost * label));
        upper.push_back(epsilon > 0.0 ? cost : std::max(0.0, cost * label));
        kink.push_back(epsilon);
      }
    betas.assign(costs.size() * m, 0.0), values.assign(costs.size() * n, 0.0);
    pair_steps.assign(costs.size(), 0);
  }

  Outcome solve(double tolerance, const SolverOptions& options = {}) {
    const ChainSteps steps{costs.size(),
                           linear.data(),
                           lower.data(),
                           upper.data(),
                           kink[0] > 0.0 ? kink.data() : nullptr,
                           equality};
    const MatrixPart<Real> part{matrix.data(),  data.n,        members.data(),
                                members.size(), others.data(), others.size()};
    const Callbacks none;
    Control control(options, none);
    intercepts.assign(costs.size(), 0.0);
    return solve_chain(part, steps, tolerance, control, betas.data(), values.data(),
                       intercepts.data(), pair_steps.data());
  }

  // K beta of a step by the formula: the members', then the others'.
  std::vector<double> true_values(Size step) const {
    const Size m = members.size();
    std::vector<double> out(data.n, 0.0);
    for (Size c = 0; c < data.n; ++c)
      for (Size i = 0; i < m; ++i)
        out[c] += betas[step * m + i] * data.kernel(kGaussian, Size(members[i]),
                                                    Size(c < m ? members[c] : others[c - m]));
    return out;
  }

  void judge(Size step, double tolerance, double precision) const {
    const Size m = members.size(), begin = step * m;
    const std::vector<double> truth = true_values(step);
    for (Size c = 0; c < data.n; ++c)
      require_close(values[step * data.n + c], truth[c], precision, "a value, held out or not");
    Extremes extremes;
    double sum = 0.0;
    for (Size k = 0; k < m; ++k) {
      const Size at = begin + k;
      require(betas[at] >= lower[at] && betas[at] <= upper[at], "inside the box");
      extremes.meet(truth[k] - linear[at], betas[at], lower[at], upper[at], kink[at]);
      sum += betas[at];
    }
    require(extremes.violation(equality) <= tolerance, "optimal");
    if (equality) require_close(sum, 0.0, 1e-9 * (1.0 + costs[step]), "the sum");
  }
};

// The objective by the formula, of the first problem of a chain.
template <class Real>
double objective(const Chain<Real>& chain, const std::vector<double>& beta) {
  double out = 0.0;
  for (Size i = 0; i < beta.size(); ++i) {
    double value = 0.0;
    for (Size k = 0; k < beta.size(); ++k)
      value +=
          beta[k] * chain.data.kernel(kGaussian, Size(chain.members[i]), Size(chain.members[k]));
    out += beta[i] * (0.5 * value - chain.linear[i]) + chain.kink[i] * std::abs(beta[i]);
  }
  return out;
}

}  // namespace

WIDEMARGIN_TEST(a_face_step_ends_at_the_least_objective_of_its_free_members) {
  for (const bool equality : {true, false})
    for (const double epsilon : {0.0, 0.2}) {
      Chain<double> chain(150, {2.0}, epsilon, equality);
      const Size m = chain.members.size();
      for (const Size row : {Size(0), Size(1)})  // twins: the second cannot enter the factor
        std::copy_n(chain.data.values.data() + 5 * Size(chain.members[0]), 5,
                    chain.data.values.data() + 5 * Size(chain.members[row]));
      for (Size i = 0; i < 150; ++i)
        for (Size k = 0; k < 150; ++k)
          chain.matrix[i * 150 + k] = chain.data.kernel(kGaussian, i, k);
      for (Size k = 0; k < m; ++k)  // a third free, the others at zero, a bound here
        chain.betas[k] = k % 3 == 0 || k == 1
                             ? 0.5 * (epsilon > 0.0 && k % 2 == 0 ? chain.lower[k]
                                                                  : chain.lower[k] + chain.upper[k])
                             : 0.0;
      const Problem terms{m,
                          chain.linear.data(),
                          chain.lower.data(),
                          chain.upper.data(),
                          equality,
                          epsilon > 0.0 ? chain.kink.data() : nullptr};
      const MatrixProblem problem{terms, chain.members.data(), 0.0};
      std::vector<double> beta = chain.betas;
      WholeMatrix<double> rows(chain.matrix.data(), 150);
      MatrixPoint<double> point(rows, problem, beta.data());
      const double sum = std::accumulate(beta.begin(), beta.end(), 0.0);
      FaceStep<double> face;
      face.take(point);
      require(face.work() > 0.0, "it worked");
      require(objective(chain, beta) < objective(chain, chain.betas), "the objective falls");
      double least = kInfinity, most = -kInfinity;
      for (Size k = 0; k < m; ++k) {
        require(beta[k] >= problem.lower[k] && beta[k] <= problem.upper[k], "inside the box");
        if (!point.is_free(k) || k == 1) continue;
        least = std::min(least, point.growth_slope(k));
        most = std::max(most, point.growth_slope(k));
      }
      require(most > -kInfinity, "some are free");
      if (equality) {
        require_close(most, least, 1e-9, "one level");
        require_close(std::accumulate(beta.begin(), beta.end(), 0.0), sum, 1e-12, "the sum");
      } else {
        require_close(std::max(most, -least), 0.0, 1e-9, "no slope");
      }
      const std::vector<double> before = beta;  // the kept factor is that of the new face
      face.take(point);
      for (Size k = 0; k < m; ++k) require_close(beta[k], before[k], 1e-8, "nothing is left to do");
    }
}

WIDEMARGIN_TEST(a_kept_factor_follows_the_members_that_came_and_left) {
  Chain<double> chain(150, {2.0}, 0.0, true);
  const Size m = chain.members.size();
  for (Size k = 0; k < m; k += 3) chain.betas[k] = 0.5 * (chain.lower[k] + chain.upper[k]);
  const Problem terms{m,      chain.linear.data(), chain.lower.data(), chain.upper.data(), true,
                      nullptr};
  const MatrixProblem problem{terms, chain.members.data(), 0.0};
  std::vector<double> beta = chain.betas;
  WholeMatrix<double> rows(chain.matrix.data(), 150);
  MatrixPoint<double> point(rows, problem, beta.data());
  FaceStep<double> face;
  face.take(point);
  Size leaver = m, comer = m;
  for (Size k = 0; k < m; ++k) {
    if (leaver == m && point.is_free(k)) leaver = k;
    if (comer == m && !point.is_free(k)) comer = k;
  }
  const double bound = problem.lower[leaver] + problem.upper[leaver];  // one of them is zero
  point.move({leaver, comer}, {bound, 0.5 * (problem.lower[comer] + problem.upper[comer])});
  face.take(point);
  require(beta[leaver] == bound, "a member at its bound stays there");
  double least = kInfinity, most = -kInfinity;
  for (Size k = 0; k < m; ++k) {
    if (!point.is_free(k)) continue;
    least = std::min(least, point.growth_slope(k));
    most = std::max(most, point.growth_slope(k));
  }
  require_close(most, least, 1e-9, "one level, of the member that came too");
}

WIDEMARGIN_TEST(every_problem_of_a_chain_is_solved_and_its_held_out_values_are_there) {
  for (const bool equality : {true, false})
    for (const double epsilon : {0.0, 0.2})
      for (const Size n : {Size(10), Size(150), Size(700)}) {  // all members, and working sets
        Chain<float> chain(n, {0.1, 1.0, 10.0}, epsilon, equality);
        require(chain.solve(1e-3).status == Status::converged, "converged");
        for (Size step = 0; step < 3; ++step) chain.judge(step, 1.5e-3, 2e-4);
      }
}

WIDEMARGIN_TEST(few_members_of_a_large_matrix_are_those_of_a_small_one) {
  Chain<float> chain(400, {1.0, 5.0}, 0.0, true);
  std::vector<Index> few(chain.members.begin(), chain.members.begin() + 100);
  const Size m = chain.members.size();
  for (std::vector<double>* terms : {&chain.linear, &chain.lower, &chain.upper, &chain.kink})
    terms->erase(terms->begin() + 100, terms->begin() + std::ptrdiff_t(m)), terms->resize(200);
  chain.members = few;
  chain.others.resize(50), chain.data.n = 400;
  const MatrixPart<float> part{chain.matrix.data(),  400,
                               chain.members.data(), 100,
                               chain.others.data(),  chain.others.size()};
  const ChainSteps steps{2,   chain.linear.data(), chain.lower.data(), chain.upper.data(), nullptr,
                         true};
  std::vector<double> betas(200, 0.0), values(300, 0.0);
  const Callbacks none;
  const SolverOptions options;
  Control control(options, none);
  std::int64_t pair_steps[2];
  double intercepts[2];
  require(
      solve_chain(part, steps, 1e-3, control, betas.data(), values.data(), intercepts, pair_steps)
              .status == Status::converged,
      "converged");
  for (Size c = 0; c < 150; ++c) {
    double truth = 0.0;
    for (Size i = 0; i < 100; ++i)
      truth += betas[100 + i] * chain.data.kernel(kGaussian, Size(few[i]),
                                                  Size(c < 100 ? few[c] : chain.others[c - 100]));
    require_close(values[150 + c], truth, 1e-4, "a value");
  }
}

WIDEMARGIN_TEST(double_precision_goes_on_to_eight_digits) {
  for (const double epsilon : {0.0, 0.1}) {
    Chain<double> chain(160, {0.5, 8.0}, epsilon, true);
    require(chain.solve(1e-8).status == Status::converged, "converged");
    for (Size step = 0; step < 2; ++step) chain.judge(step, 2e-8, 1e-10);
  }
}

WIDEMARGIN_TEST(a_plateau_of_a_chain_costs_nothing) {
  Chain<float> chain(150, {1.0, 1.0, 1.0}, 0.0, true);
  chain.solve(1e-3);
  require(chain.pair_steps[0] > 0 && chain.pair_steps[1] == 0 && chain.pair_steps[2] == 0, "steps");
}

WIDEMARGIN_TEST(a_limit_leaves_the_rest_of_a_chain_unsolved) {
  Chain<float> chain(150, {1.0, 10.0, 100.0}, 0.0, true);
  SolverOptions options;
  options.max_seconds = 0.0;
  require(chain.solve(1e-3, options).status == Status::max_seconds, "by time");
  for (const std::int64_t steps : chain.pair_steps) require(steps == kNotSolved, "none is solved");
}

WIDEMARGIN_TEST(a_start_carried_to_another_box_is_feasible_and_keeps_its_bounds) {
  const double small_lower[4] = {-1, 0, -1, 0}, small_upper[4] = {0, 1, 0, 1};
  const double large_lower[4] = {-3, 0, -3, 0}, large_upper[4] = {0, 3, 0, 3};
  const double linear[4] = {-1, 1, -1, 1};
  const Problem from{4, linear, small_lower, small_upper, true};
  const Problem to{4, linear, large_lower, large_upper, true};
  const double gradient[4] = {0.0, 0.5, 0.0, -0.5};
  double beta[4] = {-1.0, 1.0, -0.25, 0.25};
  carry_over(from, to, gradient, beta);
  require(beta[0] == -3.0 && beta[1] == 3.0, "bounded ones go to the new bound");
  require_close(std::accumulate(beta, beta + 4, 0.0), 0.0, 1e-15, "the sum is restored");
  double half[4] = {-1.0, 0.5, 0.0, 0.5};  // two bounds cannot both move
  carry_over(from, to, gradient, half);
  require(half[0] == -3.0 && half[1] == 0.5 && half[2] == 0.0 && half[3] == 2.5,
          "the member of the least slope restores the sum");
}

WIDEMARGIN_TEST(a_start_carried_to_another_box_stops_at_kinks_before_it_crosses_them) {
  const double lower[4] = {-1, -1, -1, -1}, upper[4] = {1, 1, 1, 1};
  const double wide_lower[4] = {-3, -3, -3, -3}, wide_upper[4] = {3, 3, 3, 3};
  const double linear[4] = {0, 0, 0, 0}, kink[4] = {0.1, 0.1, 0.1, 0.1};
  const double gradient[4] = {-1.0, 2.0, 0.0, 1.0};
  const Problem from{4, linear, lower, upper, true, kink};
  const Problem to{4, linear, wide_lower, wide_upper, true, kink};
  double beta[4] = {1.0, 0.5, -0.75, -0.75};  // the first goes to its bound: two too many
  carry_over(from, to, gradient, beta);
  require(beta[0] == 3.0 && beta[1] == 0.0 && beta[2] == -0.75 && beta[3] == -2.25,
          "largest slopes first, to zero and no further");
}

// The kink of the block solver: the same problem as two sides, which need no kink (mathematics
// 0.6).
WIDEMARGIN_TEST(a_kink_is_what_its_two_sides_are) {
  for (const bool equality : {true, false}) {
    const Data data(250, 5, 3);
    const Size n = data.n;
    const double epsilon = 0.3, cost = 2.0;
    std::vector<double> target(n), low(n, -cost), high(n, cost), kink(n, epsilon);
    for (Size i = 0; i < n; ++i) target[i] = data.values[i * 5 + 1];
    const auto solved = [&](const Problem& problem, Gram& gram, std::vector<double>& beta) {
      std::vector<double> gradient(problem.n), errors(problem.n, 0.0);
      std::vector<Index> anchors(problem.n, kCurrent);
      for (Size k = 0; k < problem.n; ++k) gradient[k] = -problem.linear[k];
      Iterate iterate{beta.data(), gradient.data(), errors.data(), anchors.data(), {}};
      SolverOptions options;
      options.tolerance = 1e-5, options.single_precision = false;
      require(solve_blocks(problem, gram, options, {}, iterate).status == Status::converged,
              "converged");
    };
    Gram single(data.dense(kGaussian), Size(1) << 24, 1);
    std::vector<double> beta(n, 0.0);
    solved({n, target.data(), low.data(), high.data(), equality, kink.data()}, single, beta);
    Data twice = data;
    twice.n = 2 * n;
    twice.values.insert(twice.values.end(), data.values.begin(), data.values.end());
    Gram both(twice.dense(kGaussian), Size(1) << 24, 1);
    std::vector<double> linear(2 * n), lower(2 * n, 0.0), upper(2 * n, 0.0), sides(2 * n, 0.0);
    for (Size i = 0; i < n; ++i) {
      linear[i] = target[i] - epsilon, upper[i] = cost;
      linear[n + i] = target[i] + epsilon, lower[n + i] = -cost;
    }
    solved({2 * n, linear.data(), lower.data(), upper.data(), equality}, both, sides);
    const auto objective = [&](const auto& coefficient) {
      double sum = 0.0;
      for (Size i = 0; i < n; ++i) {
        const double own = coefficient(i);
        sum += epsilon * std::abs(own) - target[i] * own;
        for (Size k = 0; k < n; ++k)
          sum += 0.5 * own * coefficient(k) * data.kernel(kGaussian, i, k);
      }
      return sum;
    };
    const double found = objective([&](Size i) { return beta[i]; });
    const double expected = objective([&](Size i) { return sides[i] + sides[n + i]; });
    require_close(found, expected, 1e-6 * (1.0 + std::abs(expected)), "objective");
    require(std::count(beta.begin(), beta.end(), 0.0) > std::ptrdiff_t(n / 10), "some in the tube");
  }
}
