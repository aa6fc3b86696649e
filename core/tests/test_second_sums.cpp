// Problems with a second sum on the core alone: their bound holds for points that miss their sums.
#include "solver/second_sum_certificate.hpp"
#include "tests/testing.hpp"

using namespace widemargin;
using testing::Data;
using testing::require;

namespace {

const KernelSpec kGaussian{KernelKind::gaussian, 0.3, 0.0, 1};

// A problem on all samples, and a point that has a share of every box.
struct Shares {
  Data data;
  KernelTable table;
  std::vector<Index> members;
  std::vector<double> linear, lower, upper, beta, values, errors;
  std::unique_ptr<bool[]> summed;
  MatrixProblem problem;
  SecondSum second{0.1, false};

  Shares(Size n, bool has_margin, double share)
      : data(n, 5, 3),
        table(std::make_shared<Gram>(data.dense(kGaussian), Size(1) << 24, 1)),
        members(testing::all_samples(n)),
        errors(n, 1e-13),
        summed(std::make_unique<bool[]>(n)) {
    for (Size k = 0; k < n; ++k) {
      const double label = data.labels[k];
      linear.push_back(has_margin ? 0.1 * label : label + 0.1 * double(k % 5));
      lower.push_back(has_margin ? std::min(0.0, label) : -1.0);
      upper.push_back(has_margin ? std::max(0.0, label) : 1.0);
      beta.push_back(share * label);
      summed[k] = true;
    }
    const double rising = sum(1.0), falling = sum(-1.0);  // sides of the same sum
    for (double& b : beta) b *= std::min(rising, falling) / (b > 0.0 ? rising : falling);
    problem = {{n, linear.data(), lower.data(), upper.data(), true}, members.data(), 0.0};
    if (has_margin) problem.margins = linear.data();
    if (!has_margin) problem.second = &second;
    values = products(beta);
  }

  std::vector<double> products(const std::vector<double>& weights) const {
    std::vector<double> out(data.n, 0.0);
    for (Size i = 0; i < data.n; ++i)
      for (Size k = 0; k < data.n; ++k) out[k] += weights[i] * data.kernel(kGaussian, i, k);
    return out;
  }
  double sum(double side) const {
    double out = 0.0;
    for (const double b : beta) out += b * side > 0.0 ? std::abs(b) : 0.0;
    return out;
  }
  double bound(double budget) const {
    return second_sum_bound({table, problem, beta.data()},
                            {values.data(), errors.data(), summed.get()}, budget);
  }
  // Value of the point whose sides are multiplied until each sums to the goal.
  double value(double goal) const {
    std::vector<double> moved(beta);
    for (double& b : moved) b *= goal / sum(b > 0.0 ? 1.0 : -1.0);
    const std::vector<double> K = products(moved);
    double out = 0.0;
    for (Size k = 0; k < data.n; ++k)
      out += (problem.margins == nullptr ? linear[k] * moved[k] : 0.0) - 0.5 * moved[k] * K[k];
    return out;
  }
};

}  // namespace

WIDEMARGIN_TEST(a_bound_is_that_of_a_point_on_both_sums) {
  for (const bool has_margin : {true, false})
    for (const double miss : {-1e-3, 0.0, 1e-3, 0.2}) {
      Shares some(60, has_margin, 0.02);
      const double half = std::min(some.sum(1.0), some.sum(-1.0)) * (1.0 - miss);
      const double bound = some.bound(2.0 * half);
      // Equal shares shrink and grow in proportion; nu-SVR needs not grow.
      const double goal = has_margin ? half : std::min(half, half / (1.0 - miss));
      require(bound <= some.value(goal) + 1e-12, "at most the value there");
      require(miss != 0.0 || bound >= some.value(goal) - 1e-9, "a close one where none is missed");
    }
}

WIDEMARGIN_TEST(without_room_to_grow_there_is_no_bound) {
  Shares full(20, true, 1.0);
  require(full.bound(40.0) == -kInfinity, "no point on both sums");
  Shares some(20, true, 0.5);
  require(some.bound(2.0 * std::min(some.sum(1.0), some.sum(-1.0))) > -kInfinity, "here is one");
}
