#include "numerics/dense.hpp"

#include <algorithm>
#include <vector>

#include "simd/dispatch.hpp"

namespace widemargin {

namespace {

constexpr Size kBlockRows = 2048;         // summed by one thread: the same for any number of them
constexpr Size kGroupBytes = 192 * 1024;  // packed columns that stay in the second-level cache
constexpr Size kDepth = 256;              // rows of X whose squares are added at a time
constexpr double kProductCost = 1.0 / 32.0;  // of a multiplication, in kernel entries

constexpr Size kWidth = panel_width<double>();

Size panels_of(Size columns) {
  return (columns + kWidth - 1) / kWidth;
}

}  // namespace

template <class Value>
void times(const Value* X, Size n, Size width, const double* weights, double* out, Team& team) {
  team.run(n, 4, double(n) * double(width) * kProductCost, [&](Size begin, Size end) {
    routines<Value>().times_rows(X + begin * width, end - begin, width, weights, out + begin);
  });
}

template <class Value>
void transposed_times(const Value* X, Size n, Size width, const double* weights, double* out,
                      Team& team) {
  const Size blocks = (n + kBlockRows - 1) / kBlockRows;
  std::vector<double> sums(blocks * width);
  team.run(blocks, 1, double(n) * double(width) * kProductCost, [&](Size begin, Size end) {
    for (Size block = begin; block < end; ++block) {
      const Size first = block * kBlockRows;
      routines<Value>().sum_rows(X + first * width, std::min(kBlockRows, n - first), width,
                                 weights + first, sums.data() + block * width);
    }
  });
  std::fill_n(out, width, 0.0);
  for (Size block = 0; block < blocks; ++block)
    for (Size k = 0; k < width; ++k) out[k] += sums[block * width + k];
}

template void times<float>(const float*, Size, Size, const double*, double*, Team&);
template void times<double>(const double*, Size, Size, const double*, double*, Team&);
template void transposed_times<float>(const float*, Size, Size, const double*, double*, Team&);
template void transposed_times<double>(const double*, Size, Size, const double*, double*, Team&);

// By the tiles that evaluate kernels: a linear kernel between the columns of X.
void add_squares(double* square, Size stride, const double* X, Size n, Size width, Size row_stride,
                 double sign, Team& team) {
  std::vector<double> panels(panels_of(width) * kWidth * std::min(kDepth, n));
  for (Size start = 0; start < n; start += kDepth) {
    const Size depth = std::min(kDepth, n - start);
    for (Size i = 0; i < depth; ++i)
      for (Size k = 0; k < width; k += kWidth)
        std::copy_n(X + (start + i) * row_stride + k, std::min(kWidth, width - k),
                    panels.data() + k * depth + i * kWidth);
    const Size group = std::max<Size>(1, kGroupBytes / (depth * kWidth * sizeof(double)));
    const double cost = 0.5 * double(width) * double(width) * double(depth) * kProductCost;
    team.run(width, kStripRows, cost, [&](Size begin, Size end) {
      std::vector<double> strip(depth * kStripRows), products(kStripRows * group * kWidth);
      StripCall<double> call{};
      call.features = depth;
      call.strip = strip.data();
      for (Size r = 0; r < kStripRows; ++r) call.store[r] = products.data() + r * group * kWidth;
      for (Size first = 0; first < end; first += group * kWidth)
        for (Size row = std::max(begin, first); row < end; row += kStripRows) {
          const Size present = std::min(kStripRows, end - row);
          const double* own = panels.data() + row / kWidth * kWidth * depth + row % kWidth;
          for (Size k = 0; k < depth; ++k)
            std::copy_n(own + k * kWidth, kStripRows, strip.data() + k * kStripRows);
          call.panels = panels.data() + first * depth;
          call.n_panels = std::min(group, panels_of(row + present - first));
          routines<double>().strip(call);
          for (Size r = 0; r < present; ++r) {
            double* target = square + (row + r) * stride + first;
            const double* product = call.store[r];
            const Size count = std::min(group * kWidth, row + r + 1 - first);
            for (Size c = 0; c < count; ++c) target[c] += sign * product[c];
          }
        }
    });
  }
}

}  // namespace widemargin
