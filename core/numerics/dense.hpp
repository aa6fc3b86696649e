// Products of dense matrices, by the threads of a fit. A BLAS has threads of its own, as many as
// the process may use, which delay each other as soon as anything else runs on the machine.
// Every sum is taken by one thread in a fixed order: results do not depend on how many there are.
#pragma once

#include "common.hpp"
#include "threads/parallel.hpp"

namespace widemargin {

// out = X weights, for row-major X of n rows and `width` columns.
template <class Value>
void times(const Value* X, Size n, Size width, const double* weights, double* out, Team& team);

// out = X' weights.
template <class Value>
void transposed_times(const Value* X, Size n, Size width, const double* weights, double* out,
                      Team& team);

// square += sign * X' X in the lower triangle, for row-major X of n rows and `width` columns.
void add_squares(double* square, Size stride, const double* X, Size n, Size width, Size row_stride,
                 double sign, Team& team);

}  // namespace widemargin
