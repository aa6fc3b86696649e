// The Cholesky factor of a symmetric positive definite matrix whose members come
// and go one at a time (mathematics 3.4). Entering appends a row; leaving is a
// rank-one *update* of the rows behind it, so no step ever subtracts and the factor
// stays as accurate as a fresh one.
#pragma once

#include <cmath>
#include <cstring>
#include <vector>

#include "common.hpp"

namespace widemargin {

// Solves L L' x = x for two right-hand sides in one pass over a row-major lower triangle.
void substitute(const double* factor, Size stride, Size order, double* first, double* second);

class GrowingCholesky {
 public:
  Size order() const { return order_; }

  // Forward substitution: L work = work.
  void forward(double* work) const;

  // Solves L L' x = x for two right-hand sides in one pass over the factor.
  void solve(double* first, double* second) const;
  void solve(double* only) const;

  // Appends a member. `reduced` is its column after forward(), `pivot` the squared
  // new diagonal element: diagonal - |reduced|^2, which the caller has tested.
  void append(const double* reduced, double pivot) {
    reserve(order_ + 1);
    double* row = row_of(order_);
    if (order_ > 0) std::memcpy(row, reduced, order_ * sizeof(double));
    row[order_] = std::sqrt(pivot);
    ++order_;
  }

  // Removes member `position`: drop its row, then restore the rows behind it with
  // rotations that fold its column back in.
  void remove(Size position);

  void clear() { order_ = 0; }

 private:
  double* row_of(Size i) { return storage_.data() + i * stride_; }
  const double* row_of(Size i) const { return storage_.data() + i * stride_; }

  void reserve(Size wanted) {
    if (wanted <= stride_) return;
    const Size stride = wanted < 32 ? 64 : 2 * wanted;
    std::vector<double> grown(stride * stride);
    for (Size i = 0; i < order_; ++i)
      std::memcpy(grown.data() + i * stride, row_of(i), (i + 1) * sizeof(double));
    storage_.swap(grown);
    stride_ = stride;
  }

  std::vector<double> storage_;  // row-major lower triangle
  Size stride_ = 0;
  Size order_ = 0;
};

}  // namespace widemargin
