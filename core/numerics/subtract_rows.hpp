// The inner loop of two factorisations. Inlined by force: a function of its own would be compiled
// for the baseline, and not with the loop around it for each processor (simd/clones.hpp).
#pragma once

#include "common.hpp"

#if defined(__GNUC__)
#define WIDEMARGIN_INLINE inline __attribute__((always_inline))
#else
#define WIDEMARGIN_INLINE inline
#endif

namespace widemargin {

// out -= the sum of weights[k] times row k, over `count` rows of `width`, `stride` apart.
WIDEMARGIN_INLINE void subtract_rows(const double* rows, Size stride, const double* weights,
                                     Size count, Size width, double* __restrict out) {
  Size k = 0;
  for (; k + 4 <= count; k += 4) {
    const double* __restrict a = rows + k * stride;
    const double* __restrict b = a + stride;
    const double* __restrict c = b + stride;
    const double* __restrict d = c + stride;
    const double wa = weights[k], wb = weights[k + 1], wc = weights[k + 2], wd = weights[k + 3];
    for (Size i = 0; i < width; ++i) out[i] -= (wa * a[i] + wb * b[i]) + (wc * c[i] + wd * d[i]);
  }
  for (; k < count; ++k) {
    const double* __restrict a = rows + k * stride;
    for (Size i = 0; i < width; ++i) out[i] -= weights[k] * a[i];
  }
}

}  // namespace widemargin
