#include "kernel/few_rows.hpp"

#include <cmath>

#include "kernel/kernel_facts.hpp"
#include "simd/clones.hpp"

namespace widemargin {

namespace {

constexpr Size kLanes = 8;

// Sum over the features of term(z_k, x_k), in a fixed order.
template <class Value, class Term>
inline __attribute__((always_inline)) double sum_over(const double* z, const Value* x,
                                                      Size features, const Term& term) {
  double sums[kLanes] = {};
  Size k = 0;
  for (; k + kLanes <= features; k += kLanes)
    for (Size lane = 0; lane < kLanes; ++lane) sums[lane] += term(z[k + lane], double(x[k + lane]));
  double rest = 0.0;
  for (; k < features; ++k) rest += term(z[k], double(x[k]));
  return ((sums[0] + sums[4]) + (sums[1] + sums[5])) + ((sums[2] + sums[6]) + (sums[3] + sums[7])) +
         rest;
}

// What the kernel is a function of: the squared or absolute distance, or the inner product.
template <class Value>
inline __attribute__((always_inline)) void arguments(KernelKind kind, const double* z,
                                                     const Value* X, Size n, Size features,
                                                     double* out) {
  for (Size j = 0; j < n; ++j) {
    const Value* x = X + j * features;
    if (kind == KernelKind::gaussian)
      out[j] = sum_over(z, x, features, [](double a, double b) { return (a - b) * (a - b); });
    else if (kind == KernelKind::laplacian)
      out[j] = sum_over(z, x, features, [](double a, double b) { return std::abs(a - b); });
    else
      out[j] = sum_over(z, x, features, [](double a, double b) { return a * b; });
  }
}

WIDEMARGIN_CLONES
void arguments_of(KernelKind kind, const double* z, const double* X, Size n, Size features,
                  double* out) {
  arguments(kind, z, X, n, features, out);
}

WIDEMARGIN_CLONES
void arguments_of(KernelKind kind, const double* z, const float* X, Size n, Size features,
                  double* out) {
  arguments(kind, z, X, n, features, out);
}

template <class Value>
void evaluate(const KernelSpec& kernel, const double* Z, Size few, const Value* X, Size n,
              Size features, double* out) {
  for (Size i = 0; i < few; ++i, out += n) {
    arguments_of(kernel.kind, Z + i * features, X, n, features, out);
    if (of_differences(kernel))
      for (Size j = 0; j < n; ++j) out[j] = std::exp(-kernel.gamma * out[j]);
    else  // these are functions of the inner product, with itself or another
      for (Size j = 0; j < n; ++j) out[j] = with_itself(kernel, out[j]);
  }
}

}  // namespace

void few_rows(const KernelSpec& kernel, const double* Z, Size few, const double* X, Size n,
              Size features, double* out) {
  evaluate(kernel, Z, few, X, n, features, out);
}

void few_rows(const KernelSpec& kernel, const double* Z, Size few, const float* X, Size n,
              Size features, double* out) {
  evaluate(kernel, Z, few, X, n, features, out);
}

}  // namespace widemargin
