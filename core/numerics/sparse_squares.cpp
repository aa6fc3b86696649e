#include "numerics/sparse_squares.hpp"

namespace widemargin {

template <class Value>
void add_sparse_squares(double* square, Size width, const SparseRows<Value>& X, const Index* rows,
                        const double* weights, Size n) {
  const Size stride = width + 1;
  double* ones = square + width * stride;
  for (Size r = 0; r < n; ++r) {
    const std::int64_t begin = X.starts[rows[r]], end = X.starts[rows[r] + 1];
    for (std::int64_t a = begin; a < end; ++a) {
      const double own = weights[r] * double(X.values[a]);
      double* target = square + Size(X.columns[a]) * stride;
      for (std::int64_t b = begin; b <= a; ++b) target[X.columns[b]] += own * double(X.values[b]);
      ones[X.columns[a]] += own;
    }
    ones[width] += weights[r];
  }
}

template void add_sparse_squares<float>(double*, Size, const SparseRows<float>&, const Index*,
                                        const double*, Size);
template void add_sparse_squares<double>(double*, Size, const SparseRows<double>&, const Index*,
                                         const double*, Size);

}  // namespace widemargin
