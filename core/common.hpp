// Small types every part of the core shares.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

namespace widemargin {

using Index = std::int32_t;  // a sample; 2^31 samples are out of reach of any kernel method
using Size = std::size_t;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

enum class KernelKind { linear, polynomial, gaussian, laplacian, sigmoid };

// Parameters of an evaluated kernel. For the Gaussian, `gamma` is folded into the packed
// samples (see kernel/source.cpp), so that the epilogue is two subtractions and one exp2.
struct KernelSpec {
  KernelKind kind = KernelKind::linear;
  double gamma = 1.0;
  double coef0 = 0.0;
  int degree = 3;
};

}  // namespace widemargin
