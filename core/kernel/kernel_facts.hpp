// What is known of a kernel without evaluating it between samples.
//
// No default in the switches: the compiler complains about a kind that is missing.
#pragma once

#include <cmath>
#include <limits>

#include "common.hpp"

namespace widemargin {

// K(x, x), where <x, x> is given.
inline double with_itself(const KernelSpec& kernel, double square) {
  const double inner = kernel.gamma * square + kernel.coef0;
  switch (kernel.kind) {
    case KernelKind::linear:
      return square;
    case KernelKind::polynomial:
      return std::pow(inner, kernel.degree);
    case KernelKind::gaussian:
    case KernelKind::laplacian:
      return 1.0;
    case KernelKind::sigmoid:
      return std::tanh(inner);
  }
  return std::numeric_limits<double>::quiet_NaN();
}

// Whether the kernel is a function of x - z with values between 0 and K(x, x) = 1.
inline bool of_differences(const KernelSpec& kernel) {
  return kernel.kind == KernelKind::gaussian || kernel.kind == KernelKind::laplacian;
}

inline bool semidefinite(const KernelSpec& kernel) {
  switch (kernel.kind) {
    case KernelKind::linear:
    case KernelKind::gaussian:
    case KernelKind::laplacian:
      return true;
    case KernelKind::polynomial:  // all terms of the expanded power, as in kernels.py
      return kernel.gamma >= 0.0 && kernel.coef0 >= 0.0;
    case KernelKind::sigmoid:
      return false;
  }
  return false;
}

}  // namespace widemargin
