// Sums of outer products of sparse rows: what Newton's method in the primal needs of them.
#pragma once

#include "common.hpp"

namespace widemargin {

// Rows in CSR form, their columns rising.
template <class Value>
struct SparseRows {
  const Value* values;
  const Index* columns;
  const std::int64_t* starts;
};

// square += Z' diag(weights) Z in the lower triangle, Z the chosen rows with a one behind each; it
// has width + 1 columns. Work is that of the stored values alone, so one thread does it.
template <class Value>
void add_sparse_squares(double* square, Size width, const SparseRows<Value>& X, const Index* rows,
                        const double* weights, Size n);

}  // namespace widemargin
