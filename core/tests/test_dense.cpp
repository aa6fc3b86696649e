// Dense products and the pivoted factor: against their definitions, for any number of threads.
#include <algorithm>
#include <cmath>
#include <random>

#include "numerics/dense.hpp"
#include "numerics/pivoted_cholesky.hpp"
#include "tests/testing.hpp"

using namespace widemargin;
using testing::require;
using testing::require_close;

namespace {

std::vector<double> numbers(Size count, unsigned seed) {
  std::mt19937 generator(seed);
  std::normal_distribution<double> normal;
  std::vector<double> out(count);
  for (double& value : out) value = normal(generator);
  return out;
}

// The lower triangle of A A' + ridge, for A of `order` rows and `depth` columns.
std::vector<double> definite(Size order, Size depth, double ridge, unsigned seed) {
  const std::vector<double> A = numbers(order * depth, seed);
  std::vector<double> out(order * order);
  for (Size i = 0; i < order; ++i)
    for (Size j = 0; j < order; ++j) {
      for (Size k = 0; k < depth; ++k) out[i * order + j] += A[i * depth + k] * A[j * depth + k];
      if (i == j) out[i * order + j] += ridge;
    }
  return out;
}

template <class Value>
void check_products(Size n, Size width) {
  const std::vector<double> given = numbers(n * width, 1);
  const std::vector<Value> X(given.begin(), given.end());
  const std::vector<double> across = numbers(width, 2), down = numbers(n, 3);
  std::vector<double> rows[2], columns[2];
  for (int threads : {1, 3}) {
    Team team(threads);
    std::vector<double>& row = rows[threads == 3];
    std::vector<double>& column = columns[threads == 3];
    row.assign(n, NAN);
    column.assign(width, NAN);
    times(X.data(), n, width, across.data(), row.data(), team);
    transposed_times(X.data(), n, width, down.data(), column.data(), team);
  }
  require(rows[0] == rows[1] && columns[0] == columns[1], "threads change the products");
  std::vector<double> expected(width);
  for (Size i = 0; i < n; ++i) {
    double sum = 0;
    for (Size k = 0; k < width; ++k) {
      sum += double(X[i * width + k]) * across[k];
      expected[k] += double(X[i * width + k]) * down[i];
    }
    require_close(rows[0][i], sum, 1e-12 * double(width), "a row's product");
  }
  for (Size k = 0; k < width; ++k)
    require_close(columns[0][k], expected[k], 1e-12 * double(n), "a column's product");
}

}  // namespace

WIDEMARGIN_TEST(products_with_vectors_are_those_of_the_definition) {
  for (Size width : {1, 3, 4, 17, 50, 401})
    for (Size n : {1, 5, 2047, 5000}) {
      check_products<float>(n, width);
      check_products<double>(n, width);
    }
}

WIDEMARGIN_TEST(sums_of_squares_fill_the_lower_triangle_and_no_more) {
  for (Size width : {1, 4, 7, 9, 130, 500})
    for (Size n : {1, 100, 600}) {
      const std::vector<double> X = numbers(n * width, 4);
      std::vector<double> found[2];
      for (int threads : {1, 3}) {
        Team team(threads);
        found[threads == 3].assign(width * width, 1.0);
        add_squares(found[threads == 3].data(), width, X.data(), n, width, width, -1.0, team);
      }
      require(found[0] == found[1], "threads change the squares");
      for (Size i = 0; i < width; i += 1 + width / 40)
        for (Size j = 0; j < width; ++j) {
          double expected = 1.0;
          if (j <= i)
            for (Size k = 0; k < n; ++k) expected -= X[k * width + i] * X[k * width + j];
          require_close(found[0][i * width + j], expected, 1e-12 * double(n), "a square");
        }
    }
}

WIDEMARGIN_TEST(the_pivoted_factor_solves_definite_systems) {
  for (Size order : {1, 5, 31, 32, 33, 70, 300}) {
    const std::vector<double> matrix = definite(order, order + 3, 1.0, 5);
    const std::vector<double> right = numbers(order, 6);
    std::vector<double> found[2];
    for (int threads : {1, 3}) {
      Team team(threads);
      const PivotedCholesky factor(matrix, order, 0.0, team);
      require(factor.rank() == order, "a definite matrix has full rank");
      std::vector<double> other(order, 1.0);
      found[threads == 3] = right;
      factor.solve(found[threads == 3].data(), other.data());
    }
    require(found[0] == found[1], "threads change the solution");
    for (Size i = 0; i < order; ++i) {
      double sum = 0;
      for (Size j = 0; j < order; ++j) sum += matrix[i * order + j] * found[0][j];
      require_close(sum, right[i], 1e-9 * double(order), "an equation");
    }
  }
}

WIDEMARGIN_TEST(dependent_members_are_left_out_of_the_factor) {
  for (Size rank : {0, 1, 20, 32, 50}) {
    const Size order = 90;
    const std::vector<double> matrix = definite(order, rank, 0.0, 7);
    Team team(1);
    const PivotedCholesky factor(matrix, order, 1e-9, team);
    require(factor.rank() == rank, "the rank is that of the matrix");
    // A right-hand side in its range is met by the members taken.
    std::vector<double> right(order), x(order), unused(order);
    for (Size i = 0; i < order; ++i) right[i] = x[i] = matrix[i * order + 2];
    factor.solve(x.data(), unused.data());
    require(Size(std::count(x.begin(), x.end(), 0.0)) >= order - rank, "the others are at zero");
    for (Size i = 0; i < order; ++i) {
      double sum = 0;
      for (Size j = 0; j < order; ++j) sum += matrix[i * order + j] * x[j];
      require_close(sum, right[i], 1e-8, "an equation of a singular system");
    }
  }
}

WIDEMARGIN_TEST(a_newton_step_makes_all_gradients_of_a_group_equal_and_keeps_its_sum) {
  const Size order = 60;
  const std::vector<double> K = definite(order, order + 3, 0.5, 8);
  std::vector<Index> members;
  for (Index i = 1; i < Index(order); i += 2) members.push_back(i);
  const std::vector<double> gradient = numbers(members.size(), 9);
  Team team(1);
  for (const Size groups : {0, 1, 2}) {
    std::vector<double> step(members.size());
    std::vector<Index> group(groups == 0 ? 0 : members.size());
    for (Size i = 0; i < group.size(); ++i) group[i] = Index(i % groups);
    newton_step(K.data(), order, members, gradient.data(), group, 1e-11, step.data(), team);
    double sums[2] = {}, levels[2] = {};
    for (Size i = 0; i < members.size(); ++i) {
      double after = gradient[i];
      for (Size j = 0; j < members.size(); ++j)
        after += K[Size(members[i]) * order + Size(members[j])] * step[j];
      const Size own = groups == 0 ? 0 : Size(group[i]);
      if (i < groups) levels[own] = after;
      require_close(after, levels[own], 1e-10, "a gradient after the step");
      sums[own] += step[i];
    }
    for (Size g = 0; g < groups; ++g)
      require_close(sums[g], 0.0, 1e-10, "the sum of the step of a group");
  }
}
