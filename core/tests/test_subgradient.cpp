// The subgradient loop: the published step by hand, tables that agree, sparse equals dense.
#include "solver/subgradient.hpp"

#include "tests/testing.hpp"

using namespace widemargin;
using testing::require;
using testing::require_close;

namespace {

const std::vector<double> kRows{1.0, 2.0, -1.0, 0.5, 0.0, -1.5};  // three samples, two features
const std::vector<double> kSigns{1.0, -1.0, 1.0};
const std::vector<double> kCosts{1.0, 2.0, 0.5};
const std::vector<double> kVariances{0.04, 0.09, 0.01, 0.25, 0.16, 0.36};

struct Result {
  std::vector<double> w = {0.0, 0.0}, mean = {0.0, 0.0};
  double b = 0.0;
};

template <class Rows, class Covariances>
Result run(const Rows& rows, const Covariances& covariances, const std::vector<std::int64_t>& order,
           bool refined) {
  Result result;
  SubgradientState state{result.w.data(), result.mean.data(), 0.0, 0.0, 0};
  const SubgradientVisits visits{kSigns.data(), kCosts.data(), nullptr, order.data(),
                                 std::int64_t(order.size())};
  const SubgradientRule rule{3.0, 3.0, true, refined, 0.8, 5.0, 1.0};
  subgradient_pass(rows, covariances, 2, visits, rule, state);
  result.b = state.b;
  return result;
}

const DenseRows<double> kDense{kRows.data(), 2};
const DiagonalCovariances kDiagonal{kVariances.data(), 2};

}  // namespace

WIDEMARGIN_TEST(first_two_published_steps_are_the_formula) {
  const Result one = run(kDense, kDiagonal, {0}, false);  // w = m c y mu: the norm pulls at 0 by 0
  require_close(one.w[0], 3.0, 1e-15, "w after one step");
  require_close(one.w[1], 6.0, 1e-15, "w after one step");
  require_close(one.b, 3.0, 1e-15, "b after one step");
  const Result two = run(kDense, kDiagonal, {0, 1}, false);
  const double s = std::sqrt(0.01 * 9.0 + 0.25 * 36.0);  // -(-3 + 3 + 3) < 1 + 3 s: violated
  const double step = 3.0 * 2.0 / 2.0;
  require_close(two.w[0], 1.5 + step * (1.0 - 3.0 * 0.01 * 3.0 / s), 1e-12, "first weight");
  require_close(two.w[1], 3.0 + step * (-0.5 - 3.0 * 0.25 * 6.0 / s), 1e-12, "second weight");
  require_close(two.b, 3.0 - step, 1e-12, "b after two steps");
}

WIDEMARGIN_TEST(diagonal_full_and_factor_take_the_same_steps) {
  std::vector<double> full(12, 0.0), factor(12, 0.0);
  for (int k = 0; k < 6; ++k) {
    const int at = 4 * (k / 2) + 3 * (k % 2);
    full[at] = kVariances[k];
    factor[at] = std::sqrt(kVariances[k]);
  }
  const std::vector<std::int64_t> order{2, 0, 1, 1, 0, 2, 2, 1};
  for (const bool refined : {false, true}) {
    const Result expected = run(kDense, kDiagonal, order, refined);
    const Result by_matrix = run(kDense, FullCovariances{full.data(), 2}, order, refined);
    const Result by_factor = run(kDense, FactorCovariances{factor.data(), 2, 2}, order, refined);
    for (int j = 0; j < 2; ++j) {
      require_close(by_matrix.w[j], expected.w[j], 1e-12, "full");
      require_close(by_factor.w[j], expected.w[j], 1e-12, "factor");
      require_close(by_factor.mean[j], expected.mean[j], 1e-12, "average");
    }
  }
}

WIDEMARGIN_TEST(sparse_rows_take_the_steps_of_dense_ones) {
  const std::vector<double> data{1.0, 2.0, -1.0, 0.5, -1.5};
  const std::vector<std::int32_t> indices{0, 1, 0, 1, 1}, offsets{0, 2, 4, 5};
  const SparseRows<double, std::int32_t> rows{data.data(), indices.data(), offsets.data()};
  const std::vector<std::int64_t> order{1, 2, 0, 0, 2, 1};
  const Result sparse = run(rows, kDiagonal, order, false);
  const Result dense = run(kDense, kDiagonal, order, false);
  for (int j = 0; j < 2; ++j) require_close(sparse.w[j], dense.w[j], 1e-13, "sparse step");
  require_close(sparse.b, dense.b, 1e-13, "sparse b");
}

WIDEMARGIN_TEST(refined_iterates_stay_in_the_ball) {
  std::vector<std::int64_t> order;
  for (int k = 0; k < 200; ++k) order.push_back(k * 7 % 3);
  const Result result = run(kDense, kDiagonal, order, true);
  require(std::hypot(result.w[0], result.w[1]) <= 0.8 + 1e-12, "w left the ball");
  require(std::hypot(result.mean[0], result.mean[1]) <= 0.8 + 1e-12, "the average left the ball");
}
