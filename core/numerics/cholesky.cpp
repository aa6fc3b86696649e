#include "numerics/cholesky.hpp"

#include "simd/clones.hpp"

namespace widemargin {

namespace {

WIDEMARGIN_CLONES
void substitute_forward(const double* storage, Size stride, Size order, double* __restrict x) {
  for (Size i = 0; i < order; ++i) {
    const double* __restrict row = storage + i * stride;
    double sums[4] = {0, 0, 0, 0};
    Size k = 0;
    for (; k + 4 <= i; k += 4)
      for (Size lane = 0; lane < 4; ++lane) sums[lane] += row[k + lane] * x[k + lane];
    for (; k < i; ++k) sums[0] += row[k] * x[k];
    x[i] = (x[i] - ((sums[0] + sums[1]) + (sums[2] + sums[3]))) / row[i];
  }
}

WIDEMARGIN_CLONES
void substitute_both(const double* storage, Size stride, Size order, double* __restrict x,
                     double* __restrict y) {
  for (Size i = 0; i < order; ++i) {
    const double* __restrict row = storage + i * stride;
    double sums[4] = {0, 0, 0, 0}, others[4] = {0, 0, 0, 0};
    Size k = 0;
    for (; k + 4 <= i; k += 4)
      for (Size lane = 0; lane < 4; ++lane) {
        sums[lane] += row[k + lane] * x[k + lane];
        others[lane] += row[k + lane] * y[k + lane];
      }
    for (; k < i; ++k) {
      sums[0] += row[k] * x[k];
      others[0] += row[k] * y[k];
    }
    x[i] = (x[i] - ((sums[0] + sums[1]) + (sums[2] + sums[3]))) / row[i];
    y[i] = (y[i] - ((others[0] + others[1]) + (others[2] + others[3]))) / row[i];
  }
  for (Size i = order; i-- > 0;) {
    const double* __restrict row = storage + i * stride;
    const double a = x[i] / row[i], b = y[i] / row[i];
    x[i] = a;
    y[i] = b;
    for (Size k = 0; k < i; ++k) {
      x[k] -= a * row[k];
      y[k] -= b * row[k];
    }
  }
}

WIDEMARGIN_CLONES
void substitute_backward(const double* storage, Size stride, Size order, double* __restrict x) {
  for (Size i = order; i-- > 0;) {
    const double* __restrict row = storage + i * stride;
    const double a = x[i] / row[i];
    x[i] = a;
    for (Size k = 0; k < i; ++k) x[k] -= a * row[k];
  }
}

}  // namespace

void substitute(const double* factor, Size stride, Size order, double* first, double* second) {
  substitute_both(factor, stride, order, first, second);
}

void GrowingCholesky::forward(double* work) const {
  substitute_forward(storage_.data(), stride_, order_, work);
}

void GrowingCholesky::solve(double* only) const {
  substitute_forward(storage_.data(), stride_, order_, only);
  substitute_backward(storage_.data(), stride_, order_, only);
}

void GrowingCholesky::solve(double* first, double* second) const {
  substitute(storage_.data(), stride_, order_, first, second);
}

void GrowingCholesky::remove(Size position) {
  std::vector<double> cosine, sine;
  cosine.reserve(order_ - position);
  sine.reserve(order_ - position);
  for (Size i = position + 1; i < order_; ++i) {
    const double* old = row_of(i);
    double* row = row_of(i - 1);
    double carried = old[position];
    if (position > 0) std::memcpy(row, old, position * sizeof(double));
    for (Size k = position; k + 1 < i; ++k) {
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

}  // namespace widemargin
