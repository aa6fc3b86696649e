#include "numerics/cholesky.hpp"

#include <algorithm>

#include "simd/clones.hpp"

namespace widemargin {

namespace {

// Where the rows of a triangle begin: with a stride, or row behind row.
struct Rows {
  const double* first;
  Size stride;  // 0: packed

  const double* operator[](Size i) const {
    return first + (stride == 0 ? i * (i + 1) / 2 : i * stride);
  }
};

WIDEMARGIN_CLONES
void substitute_forward(const Rows& rows, Size order, double* __restrict x) {
  for (Size i = 0; i < order; ++i) {
    const double* __restrict row = rows[i];
    double sums[4] = {0, 0, 0, 0};
    Size k = 0;
    for (; k + 4 <= i; k += 4)
      for (Size lane = 0; lane < 4; ++lane) sums[lane] += row[k + lane] * x[k + lane];
    for (; k < i; ++k) sums[0] += row[k] * x[k];
    x[i] = (x[i] - ((sums[0] + sums[1]) + (sums[2] + sums[3]))) / row[i];
  }
}

WIDEMARGIN_CLONES
void substitute_both(const Rows& rows, Size order, double* __restrict x, double* __restrict y) {
  for (Size i = 0; i < order; ++i) {
    const double* __restrict row = rows[i];
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
    const double* __restrict row = rows[i];
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
void substitute_backward(const Rows& rows, Size order, double* __restrict x) {
  for (Size i = order; i-- > 0;) {
    const double* __restrict row = rows[i];
    const double a = x[i] / row[i];
    x[i] = a;
    for (Size k = 0; k < i; ++k) x[k] -= a * row[k];
  }
}

constexpr Size kTogether = 4;  // rows

// Applies the rotations begin to end to some rows, each of which moves up by one: rows[r + 1] goes
// to rows[r]. The numbers of a row depend on each other in turn: four rows take the time of one.
WIDEMARGIN_CLONES
void rotate(double* const* rows, Size count, const double* cosine, const double* sine, Size begin,
            Size end, double* carried) {
  if (count == kTogether) {
    double *to = rows[0], *b = rows[1], *c = rows[2], *d = rows[3];
    const double* last = rows[4];
    double va = carried[0], vb = carried[1], vc = carried[2], vd = carried[3];
    for (Size k = begin; k < end; ++k) {
      const double x = cosine[k], y = sine[k];
      const double ea = b[k + 1], eb = c[k + 1], ec = d[k + 1], ed = last[k + 1];
      to[k] = x * ea + y * va, va = x * va - y * ea;
      b[k] = x * eb + y * vb, vb = x * vb - y * eb;
      c[k] = x * ec + y * vc, vc = x * vc - y * ec;
      d[k] = x * ed + y * vd, vd = x * vd - y * ed;
    }
    carried[0] = va, carried[1] = vb, carried[2] = vc, carried[3] = vd;
    return;
  }
  for (Size r = 0; r < count; ++r)
    for (Size k = begin; k < end; ++k) {
      const double entry = rows[r + 1][k + 1];
      rows[r][k] = cosine[k] * entry + sine[k] * carried[r];
      carried[r] = cosine[k] * carried[r] - sine[k] * entry;
    }
}

}  // namespace

void substitute(const double* factor, Size stride, Size order, double* first, double* second) {
  substitute_both({factor, stride}, order, first, second);
}

void GrowingCholesky::forward(double* work) const {
  substitute_forward({storage_.data(), 0}, order_, work);
}

void GrowingCholesky::solve(double* only) const {
  substitute_forward({storage_.data(), 0}, order_, only);
  substitute_backward({storage_.data(), 0}, order_, only);
}

void GrowingCholesky::solve(double* first, double* second) const {
  substitute_both({storage_.data(), 0}, order_, first, second);
}

void GrowingCholesky::remove(Size position) {
  std::vector<double> cosine, sine;
  cosine.reserve(order_ - position);
  sine.reserve(order_ - position);
  for (Size first = position + 1; first < order_; first += kTogether) {
    const Size count = std::min(kTogether, order_ - first), known = cosine.size();
    double* rows[kTogether + 1] = {};
    double carried[kTogether] = {};
    for (Size r = 0; r <= count; ++r) rows[r] = row_of(first + r - 1);
    for (Size r = 0; r < count; ++r) {
      carried[r] = rows[r + 1][position];
      std::copy_n(rows[r + 1], position, rows[r]);
      rows[r] += position;
    }
    rows[count] += position;
    rotate(rows, count, cosine.data(), sine.data(), 0, known, carried);
    for (Size r = 0; r < count; ++r) {
      rotate(rows + r, 1, cosine.data(), sine.data(), known, known + r, carried + r);
      const double last = rows[r + 1][known + r + 1];
      const double length = std::hypot(last, carried[r]);
      cosine.push_back(last / length);
      sine.push_back(carried[r] / length);
      rows[r][known + r] = length;
    }
  }
  --order_;
  storage_.resize(order_ * (order_ + 1) / 2);
}

}  // namespace widemargin
