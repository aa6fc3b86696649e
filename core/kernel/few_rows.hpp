// Kernel entries between a few samples and many, straight from the arrays: to pack the many for the
// tiles would take longer than to evaluate the entries.
#pragma once

#include "common.hpp"

namespace widemargin {

// out[i * n + j] = K(z_i, x_j) in double, for dense samples row by row.
void few_rows(const KernelSpec& kernel, const double* Z, Size few, const double* X, Size n,
              Size features, double* out);
void few_rows(const KernelSpec& kernel, const double* Z, Size few, const float* X, Size n,
              Size features, double* out);

}  // namespace widemargin
