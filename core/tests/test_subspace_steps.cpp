// Steps over the ways that the last bursts of pair steps went: fewer steps, the same optimum.
#include <algorithm>

#include "solver/box_pairs.hpp"
#include "solver/subspace_step.hpp"
#include "tests/testing.hpp"

using namespace widemargin;
using testing::Data;
using testing::require;
using testing::require_close;

namespace {

// Members that depend on each other: a wide Gaussian kernel, and a large cost.
struct Creeping {
  static constexpr Size kMembers = 192;
  Data data{kMembers, 3, 5};
  Aligned<double> rows, diagonal, gradient, growth, fall, minus_growth, minus_fall, above, below;
  std::vector<double> beta, lower, upper, linear;
  std::vector<const double*> places;

  explicit Creeping(double cost, double kink, bool two_sums = false)
      : rows(kMembers * kMembers),
        diagonal(kMembers, 1.0),
        gradient(kMembers),
        growth(kMembers),
        fall(kMembers),
        above(kMembers, kink),
        below(kMembers, -kink),
        beta(kMembers, 0.0),
        lower(kMembers),
        upper(kMembers),
        linear(kMembers) {
    if (two_sums) minus_growth = minus_fall = growth;
    const KernelSpec wide{KernelKind::gaussian, 0.05, 0.0, 1};
    for (Size i = 0; i < kMembers; ++i) {
      for (Size k = 0; k < kMembers; ++k) rows[i * kMembers + k] = data.kernel(wide, i, k);
      places.push_back(rows.data() + i * kMembers);
      linear[i] = data.labels[i] + (kink > 0.0 ? data.values[i * 3] : 0.0);
      lower[i] = kink > 0.0 || two_sums ? -cost : std::min(0.0, cost * data.labels[i]);
      upper[i] = kink > 0.0 || two_sums ? cost : std::max(0.0, cost * data.labels[i]);
      // Two sums have something to move: every member begins within its box.
      if (two_sums) beta[i] = 0.01 * cost * data.labels[i] * (1.0 + std::abs(data.values[i * 3]));
    }
    for (Size i = 0; i < kMembers; ++i) {
      gradient[i] = -linear[i];
      for (Size k = 0; k < kMembers; ++k) gradient[i] += rows[i * kMembers + k] * beta[k];
    }
  }

  PairCall<double> call(double tolerance, long most) {
    PairCall<double> out{};
    out.size = kMembers, out.rows = places.data(), out.diagonal = diagonal.data();
    out.gradient = gradient.data(), out.growth = growth.data(), out.fall = fall.data();
    out.above = above.data(), out.below = below.data(), out.beta = beta.data();
    out.lower = lower.data(), out.upper = upper.data();
    out.tolerance = tolerance, out.max_steps = most;
    if (!minus_growth.empty())
      out.minus_growth = minus_growth.data(), out.minus_fall = minus_fall.data();
    for (Size k = 0; k < kMembers; ++k) note_sides(out, k);
    return out;
  }

  double objective() const {
    double sum = 0.0;
    for (Size i = 0; i < kMembers; ++i) {
      double value = 0.0;
      for (Size k = 0; k < kMembers; ++k) value += rows[i * kMembers + k] * beta[k];
      require_close(gradient[i], value - linear[i], 1e-9, "the gradient follows beta");
      require(lower[i] <= beta[i] && beta[i] <= upper[i], "inside the box");
      sum += beta[i] * (0.5 * value - linear[i]) + above[i] * std::abs(beta[i]);
    }
    return sum;
  }

  double sum_of(double sign) const {
    double sum = 0.0;
    for (const double b : beta) sum += sign * b > 0.0 ? b : 0.0;
    return sum;
  }
};

constexpr long kMost = 10000000;

void descends_in_fewer_steps(double cost, double kink, bool equality, bool two_sums, double fewer) {
  Creeping plain(cost, kink, two_sums), with(cost, kink, two_sums);
  const double before[2] = {with.sum_of(1.0), with.sum_of(-1.0)};
  const PairCall<double> call = plain.call(1e-6, kMost);
  const long alone =
      equality ? routines<double>().pairs(call) : box_pairs(call, Creeping::kMembers);
  const long steps = descend(with.call(1e-6, kMost), Creeping::kMembers, equality);
  require(alone > 500, "pair steps creep: " + std::to_string(alone));
  require(double(steps) < fewer * double(alone),
          std::to_string(steps) + " steps, alone " + std::to_string(alone));
  const double expected = plain.objective();
  require_close(with.objective(), expected, 1e-6 * (1.0 + std::abs(expected)), "the same optimum");
  const double after[2] = {with.sum_of(1.0), with.sum_of(-1.0)};
  if (equality) require_close(after[0] + after[1], before[0] + before[1], 1e-9 * cost, "the sum");
  if (two_sums) require_close(after[0], before[0], 1e-9 * cost, "the sum of a side");
}

}  // namespace

WIDEMARGIN_TEST(bursts_of_pair_steps_are_extrapolated) {
  descends_in_fewer_steps(1000.0, 0.0, true, false, 0.7);
}

WIDEMARGIN_TEST(bursts_within_the_box_are_extrapolated) {
  descends_in_fewer_steps(100.0, 0.0, false, false, 0.9);
}

WIDEMARGIN_TEST(extrapolation_stops_at_a_kink) {
  descends_in_fewer_steps(100.0, 0.1, true, false, 0.9);
}

WIDEMARGIN_TEST(extrapolation_keeps_both_sums) {
  descends_in_fewer_steps(1000.0, 0.0, true, true, 0.9);
}

WIDEMARGIN_TEST(a_limit_of_steps_is_kept_between_bursts) {
  Creeping problem(100.0, 0.0);
  require(descend(problem.call(1e-6, 777), Creeping::kMembers, true) == 777, "the limit is kept");
  problem.objective();
}
