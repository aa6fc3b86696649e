// The Cholesky factor of a symmetric positive definite matrix whose members come
// and go one at a time (mathematics 3.4). Entering appends a row; leaving is a
// rank-one *update* of the rows behind it, so no step ever subtracts and the factor
// stays as accurate as a fresh one.
#pragma once

#include <cmath>
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
    storage_.insert(storage_.end(), reduced, reduced + order_);
    storage_.push_back(std::sqrt(pivot));
    ++order_;
  }

  // Removes member `position`: drop its row, then restore the rows behind it with
  // rotations that fold its column back in.
  void remove(Size position);

  void clear() {
    storage_.clear();
    order_ = 0;
  }

 private:
  double* row_of(Size i) { return storage_.data() + i * (i + 1) / 2; }

  std::vector<double> storage_;  // the lower triangle, row behind row
  Size order_ = 0;
};

}  // namespace widemargin
