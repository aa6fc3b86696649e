// The stochastic subgradient loop of the chance-constrained system, one visit a step:
//
//     w <- (1 - 1/t) w + (m c_i / t) [z_i > 0] (y_i mu_i - kappa Sigma_i w / ||L_i' w||)
//     b <- b + (m c_i / t) [z_i > 0] y_i
//
// equations (17a), (17b) of Wang, Fan and Pardalos, c_i = C for unit weights. At w = 0, where the
// algorithm starts, the norm has no gradient and 0 is taken from its subdifferential. With zero
// covariance and no intercept this is Pegasos, equation (12). The refined rule starts the clock
// late, projects on a ball that contains the optimum, gives b a step of its own, and averages the
// iterates with weights that grow as t^3.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "common.hpp"

namespace widemargin {

template <class Real>
struct DenseRows {
  const Real* data;
  std::int64_t features;

  double dot(std::int64_t i, const double* w) const {
    const Real* row = data + i * features;
    double sum = 0.0;
    for (std::int64_t j = 0; j < features; ++j) sum += double(row[j]) * w[j];
    return sum;
  }
  void add(std::int64_t i, double factor, double* w) const {
    const Real* row = data + i * features;
    for (std::int64_t j = 0; j < features; ++j) w[j] += factor * double(row[j]);
  }
};

template <class Real, class Offset>
struct SparseRows {
  const Real* data;
  const Offset* indices;
  const Offset* offsets;

  double dot(std::int64_t i, const double* w) const {
    double sum = 0.0;
    for (Offset k = offsets[i]; k < offsets[i + 1]; ++k) sum += double(data[k]) * w[indices[k]];
    return sum;
  }
  void add(std::int64_t i, double factor, double* w) const {
    for (Offset k = offsets[i]; k < offsets[i + 1]; ++k) w[indices[k]] += factor * double(data[k]);
  }
};

// Tables of covariances, by how an entry is stored; `image(k, w, out)` writes Sigma_k w.

struct FullCovariances {
  const double* matrices;  // (k, d, d), symmetric
  std::int64_t features;

  void image(std::int64_t k, const double* w, double* out) const {
    const double* matrix = matrices + k * features * features;
    for (std::int64_t j = 0; j < features; ++j) out[j] = 0.0;
    for (std::int64_t row = 0; row < features; ++row, matrix += features)
      for (std::int64_t j = 0; j < features; ++j) out[j] += w[row] * matrix[j];
  }
};

struct DiagonalCovariances {
  const double* variances;  // (k, d)
  std::int64_t features;

  void image(std::int64_t k, const double* w, double* out) const {
    const double* variance = variances + k * features;
    for (std::int64_t j = 0; j < features; ++j) out[j] = variance[j] * w[j];
  }
};

struct FactorCovariances {
  const double* factors;  // (k, d, r)
  std::int64_t features, rank;
  mutable std::vector<double> inner = {};

  void image(std::int64_t k, const double* w, double* out) const {
    const double* factor = factors + k * features * rank;
    inner.assign(Size(rank), 0.0);
    for (std::int64_t j = 0; j < features; ++j)
      for (std::int64_t c = 0; c < rank; ++c) inner[c] += factor[j * rank + c] * w[j];
    for (std::int64_t j = 0; j < features; ++j) {
      out[j] = 0.0;
      for (std::int64_t c = 0; c < rank; ++c) out[j] += factor[j * rank + c] * inner[c];
    }
  }
};

struct SubgradientRule {
  double kappa;       // 0 skips the covariances
  double rows_total;  // m of the step m c_i / t
  bool fit_intercept;
  bool refined;
  double radius;        // refined: ||w|| stays within it
  double delay;         // refined: the step is m c_i / (t + delay), so that the first are not huge
  double unit_of_cost;  // refined: b moves by (c_i / unit_of_cost) / sqrt(t)
};

struct SubgradientState {
  double* w;
  double* mean_w;  // refined: average of the iterates, the late ones weighing most
  double b, mean_b;
  std::int64_t steps;
};

// The labels, costs, covariance entries (null: entry i) and the order of visits.
struct SubgradientVisits {
  const double* signs;
  const double* costs;
  const std::int64_t* groups;
  const std::int64_t* order;
  std::int64_t count;
};

template <class Rows, class Covariances>
void subgradient_pass(const Rows& rows, const Covariances& covariances, std::int64_t features,
                      const SubgradientVisits& visits, const SubgradientRule& rule,
                      SubgradientState& state) {
  std::vector<double> image(Size(features), 0.0);
  double* w = state.w;
  for (std::int64_t visit = 0; visit < visits.count; ++visit) {
    const std::int64_t i = visits.order[visit];
    const double t = double(++state.steps);
    const double sign = visits.signs[i], cost = visits.costs[i];
    double spread = 0.0;
    if (rule.kappa > 0.0) {
      covariances.image(visits.groups ? visits.groups[i] : i, w, image.data());
      double squared = 0.0;
      for (std::int64_t j = 0; j < features; ++j) squared += w[j] * image[j];
      spread = squared > 0.0 ? std::sqrt(squared) : 0.0;
    }
    const bool violated = sign * (rows.dot(i, w) + state.b) < 1.0 + rule.kappa * spread;
    const double clock = rule.refined ? t + rule.delay : t;
    const double shrink = 1.0 - 1.0 / clock, step = rule.rows_total * cost / clock;
    if (violated && spread > 0.0) {
      const double pull = step * rule.kappa / spread;
      for (std::int64_t j = 0; j < features; ++j) w[j] = shrink * w[j] - pull * image[j];
    } else {
      for (std::int64_t j = 0; j < features; ++j) w[j] *= shrink;
    }
    if (violated) {
      rows.add(i, step * sign, w);
      if (rule.fit_intercept)
        state.b += sign * (rule.refined ? cost / (rule.unit_of_cost * std::sqrt(t)) : step);
    }
    if (!rule.refined) continue;
    double norm = 0.0;
    for (std::int64_t j = 0; j < features; ++j) norm += w[j] * w[j];
    norm = std::sqrt(norm);
    if (norm > rule.radius)
      for (std::int64_t j = 0; j < features; ++j) w[j] *= rule.radius / norm;
    const double share = 4.0 / (t + 3.0);  // weights t (t + 1) (t + 2)
    for (std::int64_t j = 0; j < features; ++j) state.mean_w[j] += share * (w[j] - state.mean_w[j]);
    state.mean_b += share * (state.b - state.mean_b);
  }
}

}  // namespace widemargin
