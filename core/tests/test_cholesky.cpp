// Substitutions with a growing factor: against their definition, one right-hand side as two.
#include <cmath>
#include <random>

#include "numerics/cholesky.hpp"
#include "tests/testing.hpp"

using namespace widemargin;
using testing::require;
using testing::require_close;

// Orders around whole groups of rows and of lanes.
WIDEMARGIN_TEST(substitutions_solve_for_one_side_as_for_two) {
  std::mt19937 generator(11);
  std::normal_distribution<double> normal;
  for (Size order : {1, 2, 3, 4, 5, 6, 7, 8, 9, 15, 16, 17, 62, 131}) {
    GrowingCholesky factor;
    std::vector<std::vector<double>> rows;
    for (Size i = 0; i < order; ++i) {
      std::vector<double> row(i);
      for (double& entry : row) entry = 0.1 * normal(generator);
      const double pivot = 1.0 + std::abs(normal(generator));
      factor.append(row.data(), pivot);
      row.push_back(std::sqrt(pivot));
      rows.push_back(row);
    }
    std::vector<double> right(order);
    for (double& value : right) value = normal(generator);
    std::vector<double> forward = right, one = right, two = right, other(order, 1.0);
    factor.forward(forward.data());
    factor.solve(one.data());
    factor.solve(two.data(), other.data());
    require(one == two, "the solution depends on how many are found with it");
    std::vector<double> transposed(order, 0.0);
    for (Size i = 0; i < order; ++i)
      for (Size k = 0; k <= i; ++k) transposed[k] += rows[i][k] * one[i];
    for (Size i = 0; i < order; ++i) {
      double half = 0.0, whole = 0.0;
      for (Size k = 0; k <= i; ++k) {
        half += rows[i][k] * forward[k];
        whole += rows[i][k] * transposed[k];
      }
      require_close(half, right[i], 1e-12, "an equation of the lower triangle");
      require_close(whole, right[i], 1e-12, "an equation");
    }
  }
}
