// Small problems over a kernel table on the core alone: solved, polished, certified, and the bounds
// on rounding that all of it stands on, judged by the kernel's formula.
#include <algorithm>
#include <numeric>

#include "solver/margin_polish.hpp"
#include "solver/matrix_solver.hpp"
#include "solver/near_margin.hpp"
#include "solver/table_batch.hpp"
#include "tests/testing.hpp"

using namespace widemargin;
using testing::Data;
using testing::kGaussian;
using testing::require;
using testing::require_close;

namespace {

const std::function<bool()> kAlways = [] { return true; };
const Proceed kOnward = [](long, double) { return true; };
constexpr double kRounding = 1e-12;  // of the formula itself

// Problems over a table: each on some of the samples, in a shuffled order.
struct Case {
  Data data;
  KernelTable table;
  std::vector<std::int64_t> offsets{0};
  std::vector<Index> members;
  std::vector<double> linear, lower, upper, kink, totals, multipliers, beta, values, errors;
  std::unique_ptr<bool[]> summed, exact;
  std::vector<Outcome> outcomes;
  std::vector<TableCertificate> certificates;
  bool equality;

  Case(Size n, Size count, double cost, bool equality_, double share = 0.8)
      : data(n, 5, 3),
        table(std::make_shared<Gram>(data.dense(kGaussian), Size(1) << 24, 1)),
        totals(count, 0.0),
        multipliers(count, 0.0),
        outcomes(count),
        certificates(count),
        equality(equality_) {
    std::mt19937 generator(7);
    std::uniform_real_distribution<double> uniform;
    for (Size p = 0; p < count; ++p) {
      std::vector<Index> own;
      for (Size i = 0; i < n; ++i)
        if (uniform(generator) < share) own.push_back(Index(i));
      std::shuffle(own.begin(), own.end(), generator);
      for (const Index i : own) {
        const double end = cost * data.labels[Size(i)];
        linear.push_back(data.labels[Size(i)]);
        lower.push_back(std::min(0.0, end)), upper.push_back(std::max(0.0, end));
      }
      members.insert(members.end(), own.begin(), own.end());
      offsets.push_back(std::int64_t(members.size()));
    }
    const Size total = members.size();
    beta.assign(total, 0.0), values.assign(total, 0.0), errors.assign(total, 0.0);
    summed = std::make_unique<bool[]>(total), exact = std::make_unique<bool[]>(count);
  }

  // Makes regressions of them: targets that vary, boxes on both sides of zero, a tube.
  void to_regression(double cost, double tube) {
    for (Size at = 0; at < members.size(); ++at) {
      linear[at] += 0.1 * double(members[at] % 7) - 0.3;
      lower[at] = -cost, upper[at] = cost;
    }
    kink.assign(members.size(), tube);
  }

  void solve(const BatchOptions& options) {
    Batch batch{};
    batch.count = totals.size(), batch.offsets = offsets.data(), batch.members = members.data();
    batch.linear = linear.data(), batch.lower = lower.data(), batch.upper = upper.data();
    batch.kink = kink.empty() ? nullptr : kink.data(), batch.multipliers = multipliers.data();
    batch.totals = totals.data(), batch.equality = equality, batch.beta = beta.data();
    batch.values = values.data(), batch.errors = errors.data(), batch.summed = summed.get();
    batch.outcomes = outcomes.data(), batch.exact = exact.get();
    batch.certificates = certificates.data();
    solve_batch(table, batch, options, [](const Progress&) { return true; });
  }

  // K beta of a problem by the formula.
  std::vector<double> true_values(Size p) const {
    const Size begin = Size(offsets[p]), end = Size(offsets[p + 1]);
    std::vector<double> out(end - begin, 0.0);
    for (Size i = begin; i < end; ++i)
      for (Size k = begin; beta[i] != 0.0 && k < end; ++k)
        out[k - begin] += beta[i] * data.kernel(kGaussian, Size(members[i]), Size(members[k]));
    return out;
  }

  // Values lie within their bounds, figures on their side of the truth.
  void judge(Size p, double tolerance) const {
    const Size begin = Size(offsets[p]), n = Size(offsets[p + 1]) - begin;
    const std::vector<double> truth = true_values(p);
    const TableCertificate& claim = certificates[p];
    Extremes extremes;
    double sum = 0.0, square = 0.0, gain = 0.0, loss = 0.0;
    for (Size k = 0; k < n; ++k) {
      const Size at = begin + k;
      require(beta[at] >= lower[at] && beta[at] <= upper[at], "inside the box");
      require_close(values[at], truth[k], errors[at] + kRounding, "a value within its bound");
      require(errors[at] < (summed[at] ? 1e-9 : 1e-2), "a bound that says something");
      const double tube = kink.empty() ? 0.0 : kink[at];
      extremes.meet(truth[k] - linear[at], beta[at], lower[at], upper[at], tube);
      sum += beta[at], square += 0.5 * beta[at] * truth[k];
      gain += linear[at] * beta[at] - tube * std::abs(beta[at]);
      const double residual = linear[at] - truth[k] - claim.intercept;
      loss += std::max({lower[at] * (residual + tube), upper[at] * (residual - tube), 0.0});
    }
    const double primal = square + loss, dual = gain - square, scale = 1.0 + std::abs(primal);
    if (equality) require(std::abs(sum) <= 1e-9 * scale, "the sum is kept");
    const double violation = extremes.violation(equality);
    require(violation <= tolerance, "optimal");
    require(claim.violation >= violation - kRounding, "the violation is not understated");
    require(claim.violation <= violation + 1e-8, "nor overstated");
    require(claim.objective >= primal - kRounding * scale, "the objective is an upper bound");
    require(claim.objective <= primal + 1e-9 * scale, "a close one");
    require(claim.repaired && claim.bound <= dual + kRounding * scale, "the bound is a lower one");
    require(claim.bound >= dual - 1e-9 * scale, "a close one");
    require(claim.gap >= claim.objective - claim.bound, "the gap is between them");
  }
};

BatchOptions options_with(PolishRule polish, int threads = 1) {
  BatchOptions options;
  options.polish = polish, options.threads = threads;
  return options;
}

// A problem on all samples of its own order, as the parts of a batch see it.
struct Alone {
  Data data;
  std::shared_ptr<Gram> gram;
  KernelTable table;
  std::vector<Index> members;
  std::vector<double> lower, upper, beta;
  MatrixProblem problem;

  Alone(Size n, double cost)
      : data(n, 5, 3),
        gram(std::make_shared<Gram>(data.dense(kGaussian), Size(1) << 24, 1)),
        table(gram),
        members(testing::all_samples(n)),
        beta(n, 0.0) {
    for (const double label : data.labels) {
      lower.push_back(std::min(0.0, cost * label)), upper.push_back(std::max(0.0, cost * label));
    }
    problem = {{n, data.labels.data(), lower.data(), upper.data(), true}, members.data(), 0.0};
  }

  double true_gradient(Size k) const {
    double sum = -data.labels[k];
    for (Size i = 0; i < data.n; ++i)
      if (beta[i] != 0.0) sum += beta[i] * data.kernel(kGaussian, i, k);
    return sum;
  }
  double true_violation() const {
    Extremes extremes;
    for (Size k = 0; k < data.n; ++k)
      extremes.meet(true_gradient(k), beta[k], lower[k], upper[k], 0.0);
    return extremes.violation(true);
  }
};

}  // namespace

WIDEMARGIN_TEST(problems_with_a_kink_at_zero_are_certified_too) {
  for (const bool equality : {true, false})
    for (const double tube : {0.05, 0.9}) {
      Case loose(150, 3, 2.0, equality), exact(150, 3, 2.0, equality);
      loose.to_regression(2.0, tube), exact.to_regression(2.0, tube);
      loose.solve(options_with(PolishRule::never));
      BatchOptions from_afar = options_with(PolishRule::always);
      from_afar.tolerance = 0.2;  // members leave their kinks, by either side, in the polish
      exact.solve(from_afar);
      for (Size p = 0; p < 3; ++p) {
        require(loose.outcomes[p].status == Status::converged, "converged");
        loose.judge(p, 1e-3);
        require(exact.exact[p], "polished");
        exact.judge(p, 1e-9);
      }
    }
}

WIDEMARGIN_TEST(a_table_has_the_entries_of_the_kernel_on_both_sides_of_its_diagonal) {
  const Alone one(300, 1.0);  // several blocks of rows
  for (Index i = 0; i < 300; ++i)
    for (Index k = 0; k < 300; ++k)
      require_close(*one.table.rows().at(i, Size(k)), one.data.kernel(kGaussian, Size(i), Size(k)),
                    2e-6, "an entry");
}

WIDEMARGIN_TEST(batches_are_solved_and_certified_by_the_truth) {
  for (const bool equality : {true, false})
    for (const PolishRule polish : {PolishRule::never, PolishRule::always})
      for (const Size n : {Size(8), Size(120), Size(900)}) {  // all members, and working sets
        Case some(n, 3, 2.0, equality);
        some.solve(options_with(polish));
        for (Size p = 0; p < 3; ++p) {
          require(some.outcomes[p].status == Status::converged, "converged");
          require(some.exact[p] == (polish == PolishRule::always), "polished where asked");
          some.judge(p, polish == PolishRule::always ? 1e-8 : 1e-3);
        }
      }
}

WIDEMARGIN_TEST(threads_change_no_bit_of_a_batch) {
  Case one(700, 6, 2.0, true), two(700, 6, 2.0, true);
  one.solve(options_with(PolishRule::where_it_pays, 1));
  two.solve(options_with(PolishRule::where_it_pays, 2));
  require(one.beta == two.beta && one.values == two.values && one.errors == two.errors, "bits");
  for (Size p = 0; p < 6; ++p)
    require(one.certificates[p].objective == two.certificates[p].objective &&
                one.certificates[p].bound == two.certificates[p].bound,
            "bits of certificates");
}

WIDEMARGIN_TEST(what_is_near_the_margin_is_known_to_the_last_digits) {
  Alone one(600, 2.0);
  TablePoint point(one.table, one.problem, one.beta.data());
  Aligned<float> block;
  require(MatrixSolver<float>(point, kOnward, block).run(1e-3, 100000).status == Status::converged,
          "converged");
  std::vector<double> memory;
  NearMargin near(point, false, memory);
  require(near.size() < 600, "some are far");
  for (Size k = 0; k < 600; ++k)
    require(near.contains(k) || one.beta[k] == 0.0, "support vectors are near");
  near.evaluate(point.support());
  const Size first = point.support().front();
  for (Size c = 0; c < near.size(); ++c)
    require_close(near.row(first)[c], one.data.kernel(kGaussian, first, near.members()[c]), 1e-13,
                  "an entry in double precision");
  std::vector<double> other_memory;
  NearMargin without_rows(point, false, other_memory);
  Team alone(1);
  for (const NearMargin* either : {&near, &without_rows}) {
    std::vector<double> values(600), errors(600, -1.0);
    either->verify(alone, values.data(), errors.data());
    require(verify_far(point, *either, values.data(), errors.data()).empty(), "others are beyond");
    for (Size k = 0; k < 600; ++k) {
      const double truth = one.true_gradient(k) + one.data.labels[k];
      require_close(values[k], truth, errors[k] + kRounding, "within its bound");
      require(errors[k] >= 0.0 && errors[k] < (near.contains(k) ? 1e-10 : 1e-2), "a bound");
    }
  }
  require(other_memory.empty(), "sums alone store nothing");
  require(NearMargin(point, true, memory).all(), "all on request");
}

WIDEMARGIN_TEST(far_members_that_are_not_beyond_the_margin_are_found_out) {
  Alone one(200, 2.0);
  TablePoint point(one.table, one.problem, one.beta.data());
  Aligned<float> block;
  MatrixSolver<float>(point, kOnward, block).run(1e-3, 100000);
  std::vector<double> memory;
  NearMargin near(point, false, memory);
  std::vector<double> values(200, 0.0), errors(200, 0.0);
  for (const Size k : near.members()) values[k] = -1e3 * one.data.labels[k];  // a lie
  require(!verify_far(point, near, values.data(), errors.data()).empty(), "open");
}

WIDEMARGIN_TEST(a_polish_ends_at_the_exact_solution_and_leaves_large_margins_alone) {
  for (const double cost : {0.5, 20.0}) {
    Alone one(400, cost);
    TablePoint point(one.table, one.problem, one.beta.data());
    Aligned<float> block;
    MatrixSolver<float>(point, kOnward, block).run(1e-3, 1000000);
    require(one.true_violation() > 1e-6, "not exact yet");
    const std::vector<double> before = one.beta;
    std::vector<double> memory;
    NearMargin none(point, true, memory);
    require(!polish_margin(point, none, 1, kAlways), "no more than the limit");
    require(one.beta == before, "and no step");
    NearMargin near(point, true, memory);
    require(polish_margin(point, near, 5000, kAlways), "exact");
    require(one.true_violation() <= 1e-8, "by the formula too");
    require_close(std::accumulate(one.beta.begin(), one.beta.end(), 0.0), 0.0, 1e-12, "the sum");
  }
}

WIDEMARGIN_TEST(a_polish_keeps_duplicates_where_they_are) {
  Alone one(60, 5.0);
  for (Size i = 30; i < 60; ++i) {  // the second half is the first once more
    std::copy_n(one.data.values.data() + (i - 30) * 5, 5, one.data.values.data() + i * 5);
    one.data.labels[i] = one.data.labels[i - 30];
    one.lower[i] = one.lower[i - 30], one.upper[i] = one.upper[i - 30];
  }
  const KernelTable table(std::make_shared<Gram>(one.data.dense(kGaussian), Size(1) << 24, 1));
  TablePoint point(table, one.problem, one.beta.data());
  Aligned<float> block;
  MatrixSolver<float>(point, kOnward, block).run(1e-3, 100000);
  std::vector<double> memory;
  NearMargin near(point, true, memory);
  require(polish_margin(point, near, 5000, kAlways), "exact");
  require(one.true_violation() <= 1e-8, "though the margin set is dependent");
}

WIDEMARGIN_TEST(intercepts_are_weighted_quantiles) {
  // Breakpoints linear - value: 0, 1, 3 of mass 1 each; the target is upper - total.
  const Index members[3] = {0, 1, 2};
  const double linear[3] = {0.0, 1.0, 3.0}, values[3] = {}, errors[3] = {};
  const double lower[3] = {-1.0, 0.0, -1.0};
  double upper[3] = {0.0, 1.0, 0.0};
  const bool all[3] = {true, true, true}, some[3] = {true, true, false};
  MatrixProblem problem{{3, linear, lower, upper, true}, members, 0.0};
  require_close(optimal_intercept(problem, {values, errors, all}), 0.5, 0.0, "between two");
  problem.total = 0.5;
  require_close(optimal_intercept(problem, {values, errors, all}), 0.0, 0.0, "at one");
  problem.total = 1.0;
  require_close(optimal_intercept(problem, {values, errors, all}), 0.0, 0.0, "at the least");
  problem.total = -2.0;
  require_close(optimal_intercept(problem, {values, errors, all}), 3.0, 0.0, "at the largest");
  problem.total = -1.0;
  require_close(optimal_intercept(problem, {values, errors, some}), 1.0, 0.0, "of what is summed");
  problem.equality = false;
  require_close(optimal_intercept(problem, {values, errors, all}), 0.0, 0.0, "there is none");
}

WIDEMARGIN_TEST(an_intercept_lies_between_the_extremes_of_what_was_summed) {
  // A tube around 0 and 1.6: the targets 1.6 and 1.5 leave b >= 0.6, the one that is far, b <= 1.
  Alone one(3, 0.1);
  const Index members[3] = {0, 1, 2};
  const double linear[3] = {1.6, 1.5, 0.0}, kink[3] = {1.0, 1.0, 1.0};
  const double lower[3] = {-1.0, -1.0, -1.0}, upper[3] = {1.0, 1.0, 1.0};
  const double values[3] = {}, errors[3] = {}, beta[3] = {1e-16, 0.0, 0.0};
  const bool summed[3] = {true, true, false};
  const MatrixProblem problem{{3, linear, lower, upper, true, kink}, members, 0.0};
  const CertifiedPoint point{one.table, problem, beta};
  require_close(certify(point, {values, errors, summed}).intercept, 0.6, 1e-12, "at the margin");
  require_close(certify(point, {values, errors, nullptr}).intercept, 0.8, 1e-12, "between both");
}

WIDEMARGIN_TEST(a_bound_without_room_for_the_sum_is_not_claimed) {
  Alone one(4, 0.1);
  for (Size k = 0; k < 4; ++k) one.beta[k] = one.lower[k] + one.upper[k];  // all at their bounds
  one.beta[0] *= 1.0 - 1e-9;
  one.lower = one.beta;  // none can fall
  std::vector<double> values(4), errors(4, 1e-13);
  const bool summed[4] = {true, true, true, true};
  for (Size k = 0; k < 4; ++k) values[k] = one.true_gradient(k) + one.data.labels[k];
  const CertifiedPoint point{one.table, one.problem, one.beta.data()};
  require(!certify(point, {values.data(), errors.data(), summed}).repaired,
          "the sum is not zero, and no member has the room");
  one.lower[1] -= 0.05;
  require(certify(point, {values.data(), errors.data(), summed}).repaired, "here one falls");
}

WIDEMARGIN_TEST(limits_end_a_batch_and_say_so) {
  Case some(400, 3, 100.0, true);
  BatchOptions options;
  options.max_steps = 5;
  some.solve(options);
  for (const Outcome& outcome : some.outcomes)
    require(outcome.status == Status::max_steps && outcome.steps <= 5, "by steps");
  options = BatchOptions();
  options.max_seconds = 0.0;
  some.solve(options);
  for (const Outcome& outcome : some.outcomes)
    require(outcome.status == Status::max_seconds, "by time");
}
