#include "kernel/symmetric_products.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "simd/dispatch.hpp"

namespace widemargin {

namespace {

constexpr Size kRows = 64, kColumns = 256;  // a block of entries stays in the second-level cache
constexpr Size kWanted = 2;  // vectors whose products are wanted, not only their norm

// Products of the symmetric matrix with several vectors, one chunk of columns after the other. The
// first two are wanted on all rows; of the others only weights' K weights, so that what a block
// adds to its rows, counted twice above the diagonal, is enough.
class SymmetricProducts {
 public:
  std::vector<double> sums;  // n_vectors x n

  SymmetricProducts(Gram& gram, const Index* rows, Size n, const double* weights, Size n_vectors)
      : sums(n * n_vectors, 0.0),
        gram_(gram),
        team_(gram.threads()),
        rows_(rows),
        n_(n),
        weights_(weights),
        n_vectors_(n_vectors) {}

  bool run(const std::function<bool()>& proceed) {
    const WorkLog::Timer timer(gram_.log(), Activity::entries);
    for (Size first = 0; first < n_; first += kColumns) {
      if (!proceed()) return false;
      chunk(first, std::min(kColumns, n_ - first));
    }
    return true;
  }

 private:
  // Entries of columns [first, first + count) with all rows before their end. A block above the
  // diagonal serves its rows and, transposed, its columns.
  void chunk(Size first, Size count) {
    const Source& source = gram_.source();
    Prepared<double> prepared;
    source.prepare(rows_ + first, count, prepared);
    const Size padded = (count + 3) / 4 * 4;
    std::vector<double> own(n_vectors_ * padded, 0.0);  // weights of the columns
    for (Size v = 0; v < n_vectors_; ++v)
      std::copy_n(weights_ + v * n_ + first, count, own.data() + v * padded);
    const Size n_blocks = (first + count + kRows - 1) / kRows;
    const Size wanted = std::min(kWanted, n_vectors_);
    std::vector<double> transposed(n_blocks * wanted * padded, 0.0);
    const double cost = double(first + count) * double(count) * 2.0 * source.entry_cost();
    team_.run(n_blocks, 1, cost, [&](Size begin, Size end) {
      Team alone(1);
      std::vector<double> entries(kRows * padded, 0.0);
      std::vector<double*> store(kRows);
      for (Size r = 0; r < kRows; ++r) store[r] = entries.data() + r * padded;
      for (Size block = begin; block < end; ++block) {
        const Size row = block * kRows, present = std::min(kRows, first + count - row);
        Sweep<double> work{rows_ + row, present, rows_ + first, count, store.data()};
        work.prepared = prepared.panels.empty() ? nullptr : &prepared;
        source.sweep(work, alone);
        gram_.log().count(Purpose::certificate, present * count);
        const bool above = row + present <= first;
        multiply(row, present, above, store, own.data(), padded,
                 transposed.data() + block * wanted * padded);
      }
    });
    for (Size block = 0; block < n_blocks; ++block)
      for (Size v = 0; v < wanted; ++v)
        for (Size c = 0; c < count; ++c)
          sums[v * n_ + first + c] += transposed[(block * wanted + v) * padded + c];
  }

  void multiply(Size row, Size present, bool above, const std::vector<double*>& store,
                const double* own, Size padded, double* transposed) {
    for (Size r = 0; r < present; r += kStripRows) {
      const Size count = std::min(kStripRows, present - r);
      for (Size v = 0; v < n_vectors_; v += kMostVectors) {
        ProductCall call{};
        call.n_vectors = std::min(kMostVectors, n_vectors_ - v);
        call.n_columns = padded;
        for (Size k = 0; k < kStripRows; ++k) call.rows[k] = store[k < count ? r + k : r];
        for (Size u = 0; u < call.n_vectors; ++u) {
          call.column_weights[u] = own + (v + u) * padded;
          for (Size k = 0; k < count; ++k)
            call.row_weights[u][k] = weights_[(v + u) * n_ + row + r + k];
          call.transposed[u] = above && v + u < kWanted ? transposed + (v + u) * padded : nullptr;
        }
        routines<double>().products(call);
        for (Size u = 0; u < call.n_vectors; ++u)
          for (Size k = 0; k < count; ++k)
            sums[(v + u) * n_ + row + r + k] +=
                call.sums[u][k] * (above && v + u >= kWanted ? 2.0 : 1.0);
      }
    }
  }

  Gram& gram_;
  Team team_;
  const Index* rows_;
  Size n_;
  const double* weights_;
  Size n_vectors_;
};

}  // namespace

bool symmetric_products(Gram& gram, const Index* rows, Size n, const double* weights,
                        Size n_vectors, const std::function<bool()>& proceed, double* values,
                        double* error, double* squares) {
  // The sizes of the terms of the first vector are summed as the second one.
  std::vector<double> all(weights, weights + n);
  for (Size i = 0; i < n; ++i) all.push_back(std::abs(weights[i]));
  all.insert(all.end(), weights + n, weights + n_vectors * n);
  SymmetricProducts products(gram, rows, n, all.data(), n_vectors + 1);
  if (!products.run(proceed)) return false;
  std::copy_n(products.sums.data(), n, values);
  std::vector<double> rounding(n), sizes(n);
  for (Size v = 0; v < n_vectors; ++v) {
    const double* own = weights + v * n;
    const double* sums = products.sums.data() + (v == 0 ? 0 : v + 1) * n;
    double total = 0.0;
    for (Size i = 0; i < n; ++i) total += std::abs(own[i]);
    // Of the others only the norm is asked for: where sizes count, no entry exceeds 1.
    if (v == 0)
      std::copy_n(products.sums.data() + n, n, sizes.data());
    else
      std::fill(sizes.begin(), sizes.end(), total);
    std::fill(rounding.begin(), rounding.end(), 0.0);
    Sweep<double> work{rows, n, rows, n, nullptr, own};
    work.sizes = sizes.data();
    gram.source().rounding(work, rounding.data());
    if (v == 0) std::copy_n(rounding.data(), n, error);
    double square = 0.0, uncertain = 0.0, size = 0.0;
    for (Size i = 0; i < n; ++i) {
      square += own[i] * sums[i];
      size += std::abs(own[i] * sums[i]);
      uncertain += std::abs(own[i]) * rounding[i];
    }
    squares[v] = square + 1.01 * (uncertain + double(n + 4) * 0x1p-53 * size);
  }
  return true;
}

}  // namespace widemargin
