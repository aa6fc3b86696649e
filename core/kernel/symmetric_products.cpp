#include "kernel/symmetric_products.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "simd/dispatch.hpp"

namespace widemargin {

namespace {

constexpr Size kRows = 64, kColumns = 256;  // a block of entries stays in the second-level cache
static_assert(kColumns % kSegment == 0 && kSegment % kRows == 0);
constexpr Size kPadding = 8;                // columns of a block: a multiple of it

// Samples [begin, end) of one sign of the first weights.
struct Group {
  Size begin, end;
  bool positive;
};

// Products of the symmetric matrix with several vectors, one chunk of columns after the other. Of
// the first vector, sums over positive and over negative weights are wanted on all rows: a block of
// entries belongs to one group of rows and one of columns. Of the other vectors only weights' K
// weights, so that what a block adds to its rows, counted twice above the diagonal, is enough.
class SymmetricProducts {
 public:
  std::vector<double> positive, negative;  // of the sizes of the first weights
  std::vector<double> others;              // (n_vectors - 1) x n

  SymmetricProducts(Gram& gram, Team& team, const std::vector<Index>& rows,
                    const std::vector<Group>& groups, const std::vector<double>& weights,
                    Size n_vectors)
      : positive(rows.size(), 0.0),
        negative(positive),
        others(rows.size() * (n_vectors - 1), 0.0),
        gram_(gram),
        team_(team),
        rows_(rows.data()),
        n_(rows.size()),
        groups_(groups),
        weights_(weights.data()),
        n_vectors_(n_vectors) {
    for (const Group& group : groups_)
      for (Size row = group.begin; row < group.end; row += kRows)
        blocks_.push_back({row, std::min(row + kRows, group.end), group.positive});
  }

  bool run(const std::function<bool()>& proceed) {
    const WorkLog::Timer timer(gram_.log(), Activity::entries);
    const bool local = gram_.source().near_share() < 1.0;
    const Size width = local ? kSegment : kColumns;
    for (const Group& group : groups_) {
      const Near near(local ? near_segments(group) : nullptr);
      for (Size first = group.begin; first < group.end; first += width) {
        if (!proceed()) return false;
        chunk({first, std::min(first + width, group.end), group.positive}, near.get(),
              (first - group.begin) / kSegment);
      }
    }
    return true;
  }

 private:
  // Entries of some rows with columns of a chunk; weights of these columns lie a stride apart,
  // vector by vector.
  struct Block {
    Size row, count;
    double* const* entries;
    const double* weights;
    Size stride;
    double* transposed;  // sums of the columns
    double* sums;        // of the rows: those of the columns' sign
  };

  using Near = std::unique_ptr<NearSegments>;

  // Of a local kernel: which columns of a group are near each row before its end.
  Near near_segments(const Group& columns) const {
    const Source& source = gram_.source();
    Boxes boxes;
    source.enclose(rows_ + columns.begin, columns.end - columns.begin, boxes);
    Near out = std::make_unique<NearSegments>(columns.end, boxes.count);
    source.find_near(rows_, columns.end, boxes, 0, kNegligible<double>, *out);
    return out;
  }

  std::vector<double>& sums_of(const Group& group) { return group.positive ? positive : negative; }

  // Entries of these columns with all rows before their end, of a block of rows among these columns
  // those from the diagonal on: above it, entries serve their rows and, transposed, their columns.
  // Of a local kernel they are one segment, and blocks that are not near it are left out.
  void chunk(const Group& columns, const NearSegments* near, Size segment) {
    const Size first = columns.begin, count = columns.end - columns.begin;
    const Source& source = gram_.source();
    Prepared<double> prepared;
    source.prepare(rows_ + first, count, prepared);
    const Size padded = (count + kPadding - 1) / kPadding * kPadding;
    std::vector<double> own(n_vectors_ * padded, 0.0);  // weights of the columns
    for (Size v = 0; v < n_vectors_; ++v)
      std::copy_n(weights_ + v * n_ + first, count, own.data() + v * padded);
    const auto last = std::partition_point(blocks_.begin(), blocks_.end(), [&](const Group& block) {
      return block.begin < columns.end;
    });
    const Size n_blocks = Size(last - blocks_.begin());
    std::vector<double> transposed(n_blocks * padded, 0.0);
    const double cost = double(first + count) * double(count) * 2.0 * source.entry_cost() *
                        (near ? source.near_share() : 1.0);
    team_.run(n_blocks, 1, cost, [&](Size begin, Size end) {
      Team alone(1);
      std::vector<double> entries(kRows * padded, 0.0);
      std::vector<double*> store(kRows);
      for (Size r = 0; r < kRows; ++r) store[r] = entries.data() + r * padded;
      for (Size block = begin; block < end; ++block) {
        const Size row = blocks_[block].begin, next = std::min(blocks_[block].end, columns.end);
        if (near && std::none_of(near->rows() + row, near->rows() + next, [&](const auto* own) {
              return is_near(own, segment);
            }))
          continue;
        const Size diagonal = row < first ? 0 : row - first;  // whole panels
        const Size square = row < first ? 0 : std::min(kRows, padded - diagonal);
        Sweep<double> work{rows_ + row, next - row, rows_ + first + diagonal, count - diagonal,
                           store.data()};
        if (!prepared.panels.empty()) work.prepared = &prepared, work.prepared_before = diagonal;
        source.sweep(work, alone);
        gram_.log().count(Purpose::certificate, work.n_rows * work.n_columns);
        const Block evaluated{row,
                              work.n_rows,
                              store.data(),
                              own.data() + diagonal,
                              padded,
                              transposed.data() + block * padded + diagonal,
                              sums_of(columns).data()};
        multiply(evaluated, 0, square, false);
        multiply(evaluated, square, padded - diagonal, true);
      }
    });
    for (Size block = 0; block < n_blocks; ++block) {
      double* to = sums_of(blocks_[block]).data() + first;
      for (Size c = 0; c < count; ++c) to[c] += transposed[block * padded + c];
    }
  }

  // Columns [begin, end) of a block; those above the diagonal serve both sides.
  void multiply(const Block& block, Size begin, Size end, bool above) {
    if (begin == end) return;
    for (Size r = 0; r < block.count; r += kStripRows) {
      const Size count = std::min(kStripRows, block.count - r), row = block.row + r;
      for (Size v = 0; v < n_vectors_; v += kMostVectors) {
        ProductCall call{};
        call.n_vectors = std::min(kMostVectors, n_vectors_ - v);
        call.n_columns = end - begin;
        for (Size k = 0; k < kStripRows; ++k)
          call.rows[k] = block.entries[k < count ? r + k : r] + begin;
        for (Size u = 0; u < call.n_vectors; ++u)
          call.column_weights[u] = block.weights + (v + u) * block.stride + begin;
        if (v == 0 && above) {
          std::copy_n(weights_ + row, count, call.row_weights);
          call.transposed = block.transposed + begin;
        }
        routines<double>().products(call);
        for (Size u = 0; u < call.n_vectors; ++u) {
          double* to = v + u == 0 ? block.sums + row : others.data() + (v + u - 1) * n_ + row;
          const double factor = v + u > 0 && above ? 2.0 : 1.0;
          for (Size k = 0; k < count; ++k) to[k] += factor * call.sums[u][k];
        }
      }
    }
  }

  Gram& gram_;
  Team& team_;
  const Index* rows_;
  Size n_;
  const std::vector<Group>& groups_;
  const double* weights_;
  Size n_vectors_;
  std::vector<Group> blocks_;  // of rows
};

// An order of the samples in which far ones come first, so that they are the rows of all entries
// they have with near ones, and within either the signs of the weights are apart; and its groups.
// Of a local kernel, these are in the order of places.
std::vector<Group> in_groups(const Source& source, const Index* rows, Size n, const double* weights,
                             std::vector<Size>& order) {
  std::vector<Group> groups;
  order.reserve(n);
  std::vector<char> far(n);
  for (Size i = 0; i < n; ++i) far[i] = source.by_differences(rows[i]);
  for (const bool far_ones : {true, false})
    for (const bool positive : {true, false}) {
      const Size begin = order.size();
      for (Size i = 0; i < n; ++i)
        if (bool(far[i]) == far_ones && (weights[i] > 0.0) == positive) order.push_back(i);
      if (source.near_share() < 1.0)
        std::sort(order.begin() + std::ptrdiff_t(begin), order.end(), [&](Size i, Size j) {
          return source.place(rows[i]) < source.place(rows[j]);
        });
      if (order.size() > begin) groups.push_back({begin, order.size(), positive});
    }
  return groups;
}

}  // namespace

bool symmetric_products(Gram& gram, Team& team, const Index* rows, Size n, const double* weights,
                        Size n_vectors, const std::function<bool()>& proceed, double* values,
                        double* error, double* squares) {
  std::vector<Size> order;
  const std::vector<Group> groups = in_groups(gram.source(), rows, n, weights, order);
  std::vector<Index> ordered(n);
  std::vector<double> own(n * n_vectors);
  for (Size i = 0; i < n; ++i) {
    ordered[i] = rows[order[i]];
    own[i] = std::abs(weights[order[i]]);
    for (Size v = 1; v < n_vectors; ++v) own[v * n + i] = weights[v * n + order[i]];
  }
  SymmetricProducts products(gram, team, ordered, groups, own, n_vectors);
  if (!products.run(proceed)) return false;
  std::vector<double> rounding(n), sizes(n), sums(n);
  for (Size v = 0; v < n_vectors; ++v) {
    const double* vector = weights + v * n;
    double total = 0.0;
    for (Size i = 0; i < n; ++i) total += std::abs(vector[i]);
    for (Size i = 0; i < n; ++i) {
      const double plus = products.positive[i], minus = products.negative[i];
      sums[order[i]] = v == 0 ? plus - minus : products.others[(v - 1) * n + i];
      // Of the others only the norm is asked for: where sizes count, no entry exceeds 1.
      sizes[order[i]] = v == 0 ? plus + minus : total;
    }
    std::fill(rounding.begin(), rounding.end(), 0.0);
    Sweep<double> work{rows, n, rows, n, nullptr, vector};
    work.sizes = sizes.data();
    gram.source().rounding(work, rounding.data());
    if (v == 0) {
      std::copy_n(sums.data(), n, values);
      std::copy_n(rounding.data(), n, error);
    }
    double square = 0.0, uncertain = 0.0, size = 0.0;
    for (Size i = 0; i < n; ++i) {
      square += vector[i] * sums[i];
      size += std::abs(vector[i] * sums[i]);
      uncertain += std::abs(vector[i]) * rounding[i];
    }
    squares[v] = square + 1.01 * (uncertain + double(n + 4) * 0x1p-53 * size);
  }
  return true;
}

}  // namespace widemargin
