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

constexpr Size kTogether = 4;  // rows
constexpr Size kLanes = 4;

typedef double Lanes __attribute__((vector_size(kLanes * sizeof(double))));

// Inlined, to be compiled for the processor of the caller.
#define WIDEMARGIN_INLINE inline __attribute__((always_inline))

WIDEMARGIN_INLINE void load(const double* from, Lanes& to) {
  __builtin_memcpy(&to, from, sizeof(to));
}

WIDEMARGIN_INLINE void store(const Lanes& from, double* to) {
  __builtin_memcpy(to, &from, sizeof(from));
}

// Forward substitution of some rows for some right-hand sides. The sums of a row depend on each
// other in turn: those of several rows take the time of one, and are the same to the last bit.
template <Size kRows, Size kSides>
WIDEMARGIN_INLINE void forward_rows(const Rows& rows, Size first, double* const* x) {
  const Size whole = first / kLanes * kLanes;
  const double* row[kRows];
  Lanes sums[kRows][kSides];
#pragma GCC unroll 4
  for (Size r = 0; r < kRows; ++r) {
    row[r] = rows[first + r];
    for (Size s = 0; s < kSides; ++s) sums[r][s] = Lanes{};
  }
  for (Size k = 0; k < whole; k += kLanes) {
    Lanes side[kSides], entries;
#pragma GCC unroll 2
    for (Size s = 0; s < kSides; ++s) load(x[s] + k, side[s]);
#pragma GCC unroll 4
    for (Size r = 0; r < kRows; ++r) {
      load(row[r] + k, entries);
#pragma GCC unroll 2
      for (Size s = 0; s < kSides; ++s) sums[r][s] += entries * side[s];
    }
  }
#pragma GCC unroll 4
  for (Size r = 0; r < kRows; ++r)
#pragma GCC unroll 2
    for (Size s = 0; s < kSides; ++s) {
      const Lanes& sum = sums[r][s];
      double rest = sum[0];
      for (Size k = whole; k < first + r; ++k) rest += row[r][k] * x[s][k];
      double& value = x[s][first + r];
      value = (value - ((rest + sum[1]) + (sum[2] + sum[3]))) / row[r][first + r];
    }
}

// The same backwards: the last row first.
template <Size kRows, Size kSides>
WIDEMARGIN_INLINE void backward_rows(const Rows& rows, Size first, double* const* x) {
  const double* row[kRows];
  double solved[kRows][kSides];
#pragma GCC unroll 4
  for (Size back = 1; back <= kRows; ++back) {
    const Size r = kRows - back;
    row[r] = rows[first + r];
#pragma GCC unroll 2
    for (Size s = 0; s < kSides; ++s) {
      const double value = x[s][first + r] / row[r][first + r];
      solved[r][s] = x[s][first + r] = value;
      for (Size k = first; k < first + r; ++k) x[s][k] -= value * row[r][k];
    }
  }
  const Size whole = first / kLanes * kLanes;
  for (Size k = 0; k < whole; k += kLanes) {
    Lanes side[kSides], entries;
#pragma GCC unroll 2
    for (Size s = 0; s < kSides; ++s) load(x[s] + k, side[s]);
#pragma GCC unroll 4
    for (Size back = 1; back <= kRows; ++back) {
      const Size r = kRows - back;
      load(row[r] + k, entries);
#pragma GCC unroll 2
      for (Size s = 0; s < kSides; ++s) side[s] -= solved[r][s] * entries;
    }
#pragma GCC unroll 2
    for (Size s = 0; s < kSides; ++s) store(side[s], x[s] + k);
  }
  for (Size k = whole; k < first; ++k)
    for (Size r = kRows; r-- > 0;)
      for (Size s = 0; s < kSides; ++s) x[s][k] -= solved[r][s] * row[r][k];
}

template <Size kSides>
WIDEMARGIN_INLINE void forward_all(const Rows& rows, Size order, double* const* x) {
  Size first = 0;
  for (; first + kTogether <= order; first += kTogether)
    forward_rows<kTogether, kSides>(rows, first, x);
  for (; first < order; ++first) forward_rows<1, kSides>(rows, first, x);
}

template <Size kSides>
WIDEMARGIN_INLINE void backward_all(const Rows& rows, Size order, double* const* x) {
  Size first = order;
  while (first % kTogether != 0) backward_rows<1, kSides>(rows, --first, x);
  while (first > 0) backward_rows<kTogether, kSides>(rows, first -= kTogether, x);
}

WIDEMARGIN_CLONES
void substitute_forward(const Rows& rows, Size order, double* x) {
  forward_all<1>(rows, order, &x);
}

WIDEMARGIN_CLONES
void substitute_backward(const Rows& rows, Size order, double* x) {
  backward_all<1>(rows, order, &x);
}

WIDEMARGIN_CLONES
void substitute_both(const Rows& rows, Size order, double* x, double* y) {
  double* const both[] = {x, y};
  forward_all<2>(rows, order, both);
  backward_all<2>(rows, order, both);
}

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
