// Tests that register themselves, and checks that say what they saw. No Python, no dependency.
#pragma once

#include <cmath>
#include <functional>
#include <memory>
#include <random>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "kernel/gram.hpp"

namespace testing {

struct Test {
  std::string name;
  std::function<void()> body;
};

inline std::vector<Test>& registry() {
  static std::vector<Test> tests;
  return tests;
}

struct Registered {
  Registered(std::string name, std::function<void()> body) {
    registry().push_back({std::move(name), std::move(body)});
  }
};

inline void require(bool condition, const std::string& what) {
  if (!condition) throw std::runtime_error(what);
}

inline void require_close(double found, double expected, double tolerance,
                          const std::string& what) {
  if (std::abs(found - expected) <= tolerance) return;
  std::ostringstream message;
  message.precision(17);
  message << what << ": found " << found << ", expected " << expected << " within " << tolerance;
  throw std::runtime_error(message.str());
}

inline const widemargin::KernelSpec kGaussian{widemargin::KernelKind::gaussian, 0.3, 0.0, 1};

// Samples with their kernel matrix by the formula, in double precision.
struct Data {
  widemargin::Size n, features;
  std::vector<double> values;  // row-major
  std::vector<double> labels;  // -1 or +1
  // The same samples as CSR.
  std::vector<double> data;
  std::vector<widemargin::Index> indices;
  std::vector<std::int64_t> offsets{0};

  Data(widemargin::Size n_, widemargin::Size features_, unsigned seed, double density = 1.0)
      : n(n_), features(features_), values(n_ * features_), labels(n_) {
    std::mt19937 generator(seed);
    std::normal_distribution<double> normal;
    std::uniform_real_distribution<double> uniform;
    for (widemargin::Size i = 0; i < n; ++i) {
      for (widemargin::Size k = 0; k < features; ++k) {
        if (uniform(generator) >= density) continue;
        values[i * features + k] = normal(generator);
        data.push_back(values[i * features + k]);
        indices.push_back(widemargin::Index(k));
      }
      offsets.push_back(std::int64_t(data.size()));
      labels[i] = values[i * features] + 0.5 * normal(generator) > 0 ? 1.0 : -1.0;
    }
  }

  double kernel(const widemargin::KernelSpec& spec, widemargin::Size i, widemargin::Size j) const {
    double inner = 0.0, square = 0.0, absolute = 0.0;
    for (widemargin::Size k = 0; k < features; ++k) {
      const double a = values[i * features + k], b = values[j * features + k];
      inner += a * b;
      square += (a - b) * (a - b);
      absolute += std::abs(a - b);
    }
    switch (spec.kind) {
      case widemargin::KernelKind::linear:
        return inner;
      case widemargin::KernelKind::polynomial:
        return std::pow(spec.gamma * inner + spec.coef0, spec.degree);
      case widemargin::KernelKind::gaussian:
        return std::exp(-spec.gamma * square);
      case widemargin::KernelKind::laplacian:
        return std::exp(-spec.gamma * absolute);
      case widemargin::KernelKind::sigmoid:
        return std::tanh(spec.gamma * inner + spec.coef0);
    }
    return 0.0;
  }

  std::shared_ptr<widemargin::Source> dense(const widemargin::KernelSpec& spec) const {
    return std::make_shared<widemargin::SampleSource>(
        std::make_unique<widemargin::Samples>(values.data(), n, features), spec);
  }
  std::shared_ptr<widemargin::Source> sparse(const widemargin::KernelSpec& spec) const {
    return std::make_shared<widemargin::SampleSource>(
        std::make_unique<widemargin::Samples>(data.data(), indices.data(), offsets.data(), n,
                                              features),
        spec);
  }
};

inline std::vector<widemargin::Index> all_samples(widemargin::Size n) {
  std::vector<widemargin::Index> all(n);
  for (widemargin::Size k = 0; k < n; ++k) all[k] = widemargin::Index(k);
  return all;
}

}  // namespace testing

#define WIDEMARGIN_TEST(name)                                      \
  static void name();                                              \
  static const testing::Registered registered_##name(#name, name); \
  static void name()
