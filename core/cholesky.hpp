// The Cholesky factor of a symmetric positive definite matrix whose members come
// and go one at a time (mathematics.md 3.4). Entering appends a row; leaving is a
// rank-one *update* of the rows behind it, so no step ever subtracts and the factor
// stays as accurate as a fresh one.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstring>
#include <vector>

namespace widemargin {

class GrowingCholesky {
 public:
  std::size_t order() const { return order_; }

  // Forward substitution L work = work with the factor as it stands.
  void forward(double* work) const {
    for (std::size_t i = 0; i < order_; ++i) {
      const double* row = row_of(i);
      work[i] = (work[i] - dot(row, work, i)) / row[i];
    }
  }

  // Backward substitution L' work = work.
  void backward(double* work) const {
    for (std::size_t i = order_; i-- > 0;) {
      const double* row = row_of(i);
      const double value = work[i] / row[i];
      work[i] = value;
      for (std::size_t k = 0; k < i; ++k) work[k] -= value * row[k];
    }
  }

  void solve(double* work) const {
    forward(work);
    backward(work);
  }

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
  void remove(std::size_t position) {
    std::vector<double> cosine, sine;
    cosine.reserve(order_ - position);
    sine.reserve(order_ - position);
    for (std::size_t i = position + 1; i < order_; ++i) {
      const double* old = row_of(i);
      double* row = row_of(i - 1);
      double carried = old[position];
      if (position > 0) std::memcpy(row, old, position * sizeof(double));
      for (std::size_t k = position; k + 1 < i; ++k) {
        const double entry = old[k + 1];
        const double c = cosine[k - position], s = sine[k - position];
        row[k] = c * entry + s * carried;
        carried = c * carried - s * entry;
      }
      const double last = old[i];
      const double length = std::hypot(last, carried);
      cosine.push_back(last / length);
      sine.push_back(carried / length);
      row[i - 1] = length;
    }
    --order_;
  }

  void clear() { order_ = 0; }

 private:
  static double dot(const double* a, const double* b, std::size_t count) {
    double s0 = 0, s1 = 0, s2 = 0, s3 = 0;
    std::size_t k = 0;
    for (; k + 4 <= count; k += 4) {
      s0 += a[k] * b[k];
      s1 += a[k + 1] * b[k + 1];
      s2 += a[k + 2] * b[k + 2];
      s3 += a[k + 3] * b[k + 3];
    }
    for (; k < count; ++k) s0 += a[k] * b[k];
    return (s0 + s1) + (s2 + s3);
  }

  double* row_of(std::size_t i) { return storage_.data() + i * stride_; }
  const double* row_of(std::size_t i) const { return storage_.data() + i * stride_; }

  void reserve(std::size_t wanted) {
    if (wanted <= stride_) return;
    const std::size_t stride = wanted < 32 ? 64 : 2 * wanted;
    std::vector<double> grown(stride * stride);
    for (std::size_t i = 0; i < order_; ++i)
      std::memcpy(grown.data() + i * stride, row_of(i), (i + 1) * sizeof(double));
    storage_.swap(grown);
    stride_ = stride;
  }

  std::vector<double> storage_;  // row-major lower triangle
  std::size_t stride_ = 0;
  std::size_t order_ = 0;
};

}  // namespace widemargin
