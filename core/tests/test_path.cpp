// The updated factor equals a fresh one; a path ends where the conditions say it must.
#include "path/path.hpp"

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "numerics/cholesky.hpp"
#include "tests/testing.hpp"

using namespace widemargin;
using testing::require;
using testing::require_close;

namespace {

std::vector<double> gaussian_kernel(Size n, Size features, unsigned seed) {
  std::mt19937 generator(seed);
  std::normal_distribution<double> normal;
  std::vector<double> x(n * features), K(n * n);
  for (double& value : x) value = normal(generator);
  for (Size i = 0; i < n; ++i)
    for (Size j = 0; j < n; ++j) {
      double square = 0;
      for (Size k = 0; k < features; ++k)
        square += std::pow(x[i * features + k] - x[j * features + k], 2);
      K[i * n + j] = std::exp(-0.5 * square);
    }
  return K;
}

// From the empty model: every box opens from 0, positives upwards, negatives downwards and
// three times as far, so that the sum has to be carried.
PathProblem opening(const std::vector<double>& K, Size n, double cost) {
  PathProblem problem;
  problem.rows = n;
  problem.beta.assign(n, 0);
  problem.lower.assign(n, 0);
  problem.upper.assign(n, 0);
  problem.linear_rate.assign(n, 0);
  for (Size i = 0; i < n; ++i) {
    const double sign = i % 2 ? 1 : -1;
    problem.gradient.push_back(-sign);
    problem.diagonal.push_back(K[i * n + i]);
    problem.lower_to.push_back(std::min(0.0, 3 * sign * cost));
    problem.upper_to.push_back(std::max(0.0, sign * cost));
    problem.side.push_back(sign > 0 ? Side::upper : Side::lower);
  }
  return problem;
}

}  // namespace

WIDEMARGIN_TEST(the_updated_factor_solves_as_a_fresh_one) {
  const Size n = 40;
  const std::vector<double> K = gaussian_kernel(n, 6, 3);
  std::mt19937 generator(1);
  GrowingCholesky factor;
  std::vector<Size> members;
  for (int change = 0; change < 400; ++change) {
    const bool grow = members.size() < 3 || (generator() % 2 && members.size() < 30);
    if (grow) {
      Size row = generator() % n;
      if (std::find(members.begin(), members.end(), row) != members.end()) continue;
      std::vector<double> reduced;
      for (Size member : members) reduced.push_back(K[row * n + member]);
      factor.forward(reduced.data());
      double pivot = K[row * n + row];
      for (double value : reduced) pivot -= value * value;
      factor.append(reduced.data(), pivot);
      members.push_back(row);
    } else {
      const Size position = generator() % members.size();
      factor.remove(position);
      members.erase(members.begin() + std::ptrdiff_t(position));
    }
    std::vector<double> x, other(members.size(), 1.0);
    for (Size k = 0; k < members.size(); ++k) x.push_back(std::sin(double(k)));
    const std::vector<double> right = x;
    factor.solve(x.data(), other.data());
    for (Size i = 0; i < members.size(); ++i) {
      double product = 0;
      for (Size j = 0; j < members.size(); ++j) product += K[members[i] * n + members[j]] * x[j];
      require_close(product, right[i], 1e-10, "K x");
    }
  }
}

WIDEMARGIN_TEST(a_path_from_the_empty_model_ends_at_the_optimum) {
  const Size n = 60;
  const std::vector<double> K = gaussian_kernel(n, 2, 5);
  auto column = [&](Size row, double* out) {
    std::copy(K.begin() + std::ptrdiff_t(row * n), K.begin() + std::ptrdiff_t((row + 1) * n), out);
  };
  Path path(opening(K, n, 2.0), column, [] {}, 10000, 0);
  const PathReport report = path.run();
  require(report.status == PathStatus::complete, "complete");
  require(report.shifts >= 1, "the empty margin set was left by moving the intercept");
  double sum = 0;
  for (double value : path.beta()) sum += value;
  require_close(sum, 0, 1e-12, "sum");
  for (Size i = 0; i < n; ++i) {
    const double sign = i % 2 ? 1 : -1, beta = path.beta()[i], gradient = path.gradient()[i];
    const double lower = std::min(0.0, 6.0 * sign), upper = std::max(0.0, 2.0 * sign);
    require(beta >= lower && beta <= upper, "box");
    if (beta > lower) require(gradient <= 1e-9, "can shrink, and would not gain");
    if (beta < upper) require(gradient >= -1e-9, "can grow, and would not gain");
  }
}

// The departure is the distance of two directions in feature space, and whenever a gradient of a
// lagging row has changed its sign, its side is not said to be kept.
WIDEMARGIN_TEST(no_lagging_row_leaves_its_side_unseen) {
  const Size n = 40;
  const std::vector<double> K = gaussian_kernel(n, 3, 17);
  const auto times = [&](const std::vector<double>& v) {
    std::vector<double> product(n, 0);
    for (Size i = 0; i < n; ++i)
      for (Size j = 0; j < n; ++j) product[i] += K[i * n + j] * v[j];
    return product;
  };
  const auto squared = [&](const std::vector<double>& v) {
    const std::vector<double> product = times(v);
    double square = 0;
    for (Size i = 0; i < n; ++i) square += v[i] * product[i];
    return square;
  };
  std::mt19937 generator(2);
  std::normal_distribution<double> normal;
  int left = 0, kept = 0;
  for (int trial = 0; trial < 200; ++trial) {
    std::vector<double> v0(n), v1(n), difference(n), gradient(n);
    for (Size i = 0; i < n; ++i) {
      v0[i] = normal(generator);
      difference[i] = 0.3 * normal(generator);
      v1[i] = v0[i] + difference[i];
      gradient[i] = 3 * normal(generator);
    }
    const std::vector<double> product = times(v0);
    LaggingRows rows(std::vector<double>(n, 1.0));
    rows.let_lag(std::vector<LaggingRows::Kind>(n, LaggingRows::Kind::lagging),
                 {v0, product, gradient, product});
    const double departure = rows.departure(v1, squared(v1)), shift = 0.1 * normal(generator);
    require_close(departure, std::sqrt(squared(difference)), 1e-6, "departure");
    const std::vector<double> rates = times(v1);
    const double step = 0.02 * double(trial % 10);
    rows.advance(step, shift, departure);
    bool changes = false;
    for (Size i = 0; i < n; ++i)
      changes = changes || (gradient[i] > 0) != (gradient[i] + 2 * step * (rates[i] + shift) > 0);
    const bool keeps = rows.keep_sides(step, shift, departure);
    require(!(changes && keeps), "a change is seen");
    left += changes, kept += keeps;
  }
  require(left > 20 && kept > 5, "there are both kinds");
}

// Half of the rows are observed alone. Wherever on the way a path is broken off, their signs are
// those that the crossings of the whole path tell, although most pieces did not look at all rows.
WIDEMARGIN_TEST(lagging_rows_miss_no_crossing) {
  const Size n = 320;
  const std::vector<double> K = gaussian_kernel(n, 4, 11);
  auto column = [&](Size row, double* out) {
    std::copy(K.begin() + std::ptrdiff_t(row * n), K.begin() + std::ptrdiff_t((row + 1) * n), out);
  };
  const auto watched = [&](double cost) {
    PathProblem problem = opening(K, n, cost);
    problem.every_point = true;
    problem.observed.assign(n, 0);
    for (Size i = 0; i < n; ++i)  // no two rows tie
      problem.gradient[i] *= 1 + 0.5 * double(i * 37 % 401) / 401;
    for (Size i = n / 2; i < n; ++i) {
      problem.observed[i] = 1;
      problem.lower_to[i] = problem.upper_to[i] = 0;
      problem.side[i] = Side::pinned;
    }
    return problem;
  };
  Path whole(watched(30.0), column, [] {}, 100000, 0);
  const PathReport report = whole.run();
  require(report.status == PathStatus::complete, "complete");
  require(report.perturbations == 0, "no tie was broken");
  require(report.crossings.size() > 50, "there are crossings");
  require(2 * report.looks < report.steps, "most pieces look at few rows");
  for (int part = 1; part <= 20; ++part) {
    const double eta = part / 20.0;
    Path broken_off(watched(30.0 * eta), column, [] {}, 100000, 0);
    broken_off.run();
    for (Size i = n / 2; i < n; ++i) {
      bool positive = i % 2 == 0;  // the gradient of the empty model is minus the sign
      for (const Crossing& one : report.crossings)
        if (one.row == i && one.eta < eta) positive = !positive;
      const double gradient = broken_off.gradient()[i];
      if (std::abs(gradient) > 1e-9) require((gradient > 0) == positive, "sign on the way");
    }
  }
}

WIDEMARGIN_TEST(identical_samples_are_exchanged_not_factored_twice) {
  const Size n = 12;
  std::vector<double> K(n * n);
  for (Size i = 0; i < n; ++i)
    for (Size j = 0; j < n; ++j) K[i * n + j] = (i / 4 == j / 4) ? 1.0 : 0.2;
  auto column = [&](Size row, double* out) {
    std::copy(K.begin() + std::ptrdiff_t(row * n), K.begin() + std::ptrdiff_t((row + 1) * n), out);
  };
  Path path(opening(K, n, 0.3), column, [] {}, 1000, 0);
  const PathReport report = path.run();
  require(report.status == PathStatus::complete, "complete");
  require(report.largest_margin <= 3, "three distinct samples");
}

WIDEMARGIN_TEST(a_poll_that_throws_stops_the_path) {
  const Size n = 30;
  const std::vector<double> K = gaussian_kernel(n, 2, 7);
  auto column = [&](Size row, double* out) {
    std::copy(K.begin() + std::ptrdiff_t(row * n), K.begin() + std::ptrdiff_t((row + 1) * n), out);
  };
  int polls = 0;
  bool stopped = false;
  Path path(
      opening(K, n, 1.0), column,
      [&polls] {
        if (++polls == 3) throw std::runtime_error("stop");
      },
      1000, 0);
  try {
    path.run();
  } catch (const std::runtime_error&) {
    stopped = true;
  }
  require(stopped && polls == 3, "stopped at the third poll");
}
