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
constexpr Size kPadding = panel_width<double>();  // columns of a block: a multiple of it
constexpr Size kPackedBytes = Size(1) << 27;      // of rows packed once for all chunks of columns

// Samples [begin, end), of one sign of the first weights where signs are apart; only those before
// `moved` have weights in vectors that are no points.
struct Group {
  Size begin, moved, end;
  bool positive;

  Group part(Size first, Size count) const {
    const Size last = std::min(first + count, end);
    return {first, std::clamp(moved, first, last), last, positive};
  }
};

// Products of the symmetric matrix with several vectors, one chunk of columns after the other. Of
// the first vectors, the points, sums are wanted on all rows, of positive and of negative groups
// apart: a block of entries belongs to one group of rows and one of columns. Of the other vectors
// only weights' K weights, so that what a block adds to its rows, counted twice above the diagonal,
// is enough, and only entries between moved samples count.
class SymmetricProducts {
 public:
  std::vector<double> positive, negative;  // n_points x n, of the sizes of the weights
  std::vector<double> others;              // (n_vectors - n_points) x n

  SymmetricProducts(Gram& gram, Team& team, const std::vector<Index>& rows,
                    const std::vector<Group>& groups, const std::vector<double>& weights,
                    Size n_vectors, Size n_points)
      : positive(rows.size() * n_points, 0.0),
        negative(positive),
        others(rows.size() * (n_vectors - n_points), 0.0),
        gram_(gram),
        team_(team),
        rows_(rows.data()),
        n_(rows.size()),
        groups_(groups),
        weights_(weights.data()),
        n_vectors_(n_vectors),
        n_points_(n_points) {
    for (const Group& group : groups_)
      for (Size row = group.begin; row < group.end; row += kRows)
        blocks_.push_back(group.part(row, kRows));
    pack_rows();
  }

  bool run(const std::function<bool()>& proceed) {
    const WorkLog::Timer timer(gram_.log(), Activity::entries);
    const bool local = gram_.source().near_share() < 1.0;
    const Size width = local ? kSegment : kColumns;
    for (const Group& group : groups_) {
      const Near near(local ? near_segments(group) : nullptr);
      for (Size first = group.begin; first < group.end; first += width) {
        if (!proceed()) return false;
        chunk(group.part(first, width), near.get(), (first - group.begin) / kSegment);
      }
    }
    return true;
  }

 private:
  // Entries of some rows with columns of a chunk; weights of these columns lie a stride apart,
  // vector by vector.
  struct Block {
    Size row, count, moved;
    Size moved_columns;  // at most
    double* const* entries;
    const double* weights;
    Size stride;
    double* transposed;  // sums of the columns, point by point a stride apart
    double* sums;        // of the rows, point by point: those of the columns' sign

    // The first columns, whose entries serve one side only, or vectors that are no points.
    Size kept(Size square) const { return moved == 0 ? square : std::max(square, moved_columns); }
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

  // The first blocks, which meet most columns, as far as memory allows.
  void pack_rows() {
    if (blocks_.empty()) return;
    const auto pack = [&](const Group& block) {
      return gram_.source().strips(rows_ + block.begin, block.end - block.begin);
    };
    packed_.resize(blocks_.size());
    packed_[0] = pack(blocks_[0]);
    if (packed_[0] == nullptr) return;
    const Size most = kPackedBytes / std::max<Size>(1, packed_[0]->bytes());
    const Size count = std::min(blocks_.size(), most);
    const double cost = double(n_) * gram_.source().entry_cost();
    team_.run(count, 1, cost, [&](Size begin, Size end) {
      for (Size b = std::max<Size>(begin, 1); b < end; ++b) packed_[b] = pack(blocks_[b]);
    });
  }

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
    const Size stride = n_points_ * padded;  // of the sums of a block
    std::vector<double> transposed(n_blocks * stride, 0.0);
    const double cost = double(first + count) * double(count) * 2.0 * source.entry_cost() *
                        (near ? source.near_share() : 1.0);
    team_.run(n_blocks, 1, cost, [&](Size begin, Size end) {
      Team alone(1);
      std::vector<double> entries(kRows * padded, 0.0);
      std::vector<double*> store(kRows);
      for (Size r = 0; r < kRows; ++r) store[r] = entries.data() + r * padded;
      for (Size block = begin; block < end; ++block) {
        const Size row = blocks_[block].begin, next = std::min(blocks_[block].end, columns.end);
        if (near && std::none_of(near->rows() + row, near->rows() + next,
                                 [&](const auto* own) { return is_near(own, segment); }))
          continue;
        const Size diagonal = row < first ? 0 : row - first;  // whole panels
        const Size square = row < first ? 0 : std::min(kRows, padded - diagonal);
        Sweep<double> work{rows_ + row, next - row, rows_ + first + diagonal, count - diagonal,
                           store.data()};
        if (!prepared.panels.empty()) work.prepared = &prepared, work.prepared_before = diagonal;
        work.strips = packed_[block].get();
        gram_.log().count(Purpose::certificate, work.n_rows * work.n_columns);
        const Size moved = (columns.moved - first + kPadding - 1) / kPadding * kPadding;
        const Block evaluated{row,
                              work.n_rows,
                              blocks_[block].moved - row,
                              moved - std::min(moved, diagonal),
                              store.data(),
                              own.data() + diagonal,
                              padded,
                              transposed.data() + block * stride + diagonal,
                              sums_of(columns).data()};
        const Size kept = multiplied_directly(work) ? evaluated.kept(square) : padded - diagonal;
        work.n_columns = std::min(work.n_columns, kept);
        source.sweep(work, alone);
        multiply(evaluated, 0, square, false);
        multiply(evaluated, square, kept, true);
        if (kept < padded - diagonal)
          source.multiply({*work.strips, work.n_rows, prepared, (diagonal + kept) / kPadding,
                           (padded - diagonal - kept) / kPadding, weights_ + row,
                           evaluated.weights + kept, evaluated.sums + row,
                           evaluated.transposed + kept});
      }
    });
    const double additions = double(n_blocks) * double(stride);
    team_.run(n_points_, 1, additions, [&](Size begin, Size end) {
      for (Size point = begin; point < end; ++point)
        for (Size block = 0; block < n_blocks; ++block) {
          double* to = sums_of(blocks_[block]).data() + point * n_ + first;
          const double* from = transposed.data() + block * stride + point * padded;
          for (Size c = 0; c < count; ++c) to[c] += from[c];
        }
    });
  }

  // Whether entries that serve one point on both sides need not be kept.
  bool multiplied_directly(const Sweep<double>& work) const {
    const Source& source = gram_.source();
    return n_points_ == 1 && work.strips && work.prepared && source.multiplies() &&
           !source.by_differences(work.rows[0]);
  }

  // Columns [begin, end) of a block; those above the diagonal serve both sides.
  void multiply(const Block& block, Size begin, Size end, bool above) {
    for (Size v = 0; v < n_points_; v += kMostVectors)
      multiply(block, block.count, v, std::min(kMostVectors, n_points_ - v), begin, end, above);
    const Size moved = std::min(end, block.moved_columns);
    for (Size v = n_points_; v < n_vectors_; v += kMostVectors)
      multiply(block, block.moved, v, std::min(kMostVectors, n_vectors_ - v), begin, moved, above);
  }

  // The first rows of a block with some of the points, or some of the others, from `vector` on.
  void multiply(const Block& block, Size n_rows, Size vector, Size n_vectors, Size begin, Size end,
                bool above) {
    if (begin >= end) return;
    const bool points = vector < n_points_;
    const double factor = !points && above ? 2.0 : 1.0;
    for (Size r = 0; r < n_rows; r += kStripRows) {
      const Size count = std::min(kStripRows, n_rows - r), row = block.row + r;
      ProductCall call{};
      call.n_vectors = n_vectors;
      call.n_columns = end - begin;
      for (Size k = 0; k < kStripRows; ++k)
        call.rows[k] = block.entries[k < count ? r + k : r] + begin;
      for (Size u = 0; u < n_vectors; ++u) {
        call.column_weights[u] = block.weights + (vector + u) * block.stride + begin;
        if (!points || !above) continue;
        std::copy_n(weights_ + (vector + u) * n_ + row, count, call.row_weights[u]);
        call.transposed[u] = block.transposed + (vector + u) * block.stride + begin;
      }
      routines<double>().products(call);
      for (Size u = 0; u < n_vectors; ++u) {
        double* to = points ? block.sums + (vector + u) * n_ + row
                            : others.data() + (vector + u - n_points_) * n_ + row;
        for (Size k = 0; k < count; ++k) to[k] += factor * call.sums[u][k];
      }
    }
  }

  Gram& gram_;
  Team& team_;
  const Index* rows_;
  Size n_;
  const std::vector<Group>& groups_;
  const double* weights_;
  Size n_vectors_, n_points_;
  std::vector<Group> blocks_;  // of rows
  std::vector<std::unique_ptr<Strips<double>>> packed_;
};

// Sets an order of the samples and returns its groups. Samples evaluated by differences (far ones)
// come first, so that they are the rows of their entries with the others. Each half has a group per
// sign of the weights; within a group the samples that moved come first. Where the kernel is local,
// ties are in the order of places.
std::vector<Group> in_groups(const Source& source, const Index* rows, Size n, const double* weights,
                             Size n_vectors, std::vector<Size>& order) {
  std::vector<Group> groups;
  order.reserve(n);
  std::vector<char> far(n), moved(n, false);
  for (Size i = 0; i < n; ++i) far[i] = source.by_differences(rows[i]);
  for (Size v = 1; v < n_vectors; ++v)
    for (Size i = 0; i < n; ++i) moved[i] |= weights[v * n + i] != 0.0;
  for (const bool far_ones : {true, false})
    for (const bool positive : {true, false}) {
      const Size begin = order.size();
      const auto choose = [&](bool moved_ones) {
        const Size first = order.size();
        for (Size i = 0; i < n; ++i)
          if (bool(far[i]) == far_ones && (weights[i] > 0.0) == positive &&
              bool(moved[i]) == moved_ones)
            order.push_back(i);
        if (source.near_share() < 1.0)
          std::sort(order.begin() + std::ptrdiff_t(first), order.end(),
                    [&](Size i, Size j) { return source.place(rows[i]) < source.place(rows[j]); });
      };
      choose(true);
      const Size end_of_moved = order.size();
      choose(false);
      if (order.size() > begin) groups.push_back({begin, end_of_moved, order.size(), positive});
    }
  return groups;
}

// An upper bound on weights' K weights from sums that are right to within their error.
double above(const double* weights, const double* sums, const double* error, Size n) {
  double square = 0.0, uncertain = 0.0, size = 0.0;
  for (Size i = 0; i < n; ++i) {
    square += weights[i] * sums[i];
    size += std::abs(weights[i] * sums[i]);
    uncertain += std::abs(weights[i]) * error[i];
  }
  return square + 1.01 * (uncertain + double(n + 4) * 0x1p-53 * size);
}

// Samples with a weight in one of the other vectors.
struct Moved {
  std::vector<Index> rows;
  std::vector<double> weights, sums;

  void add(Index row, double weight, double sum) {
    rows.push_back(row);
    weights.push_back(weight);
    sums.push_back(sum);
  }
  double square_above(const Source& source) const {
    const Size n = rows.size();
    // Only the norm is asked for: where sizes count, no entry exceeds 1.
    double total = 0.0;
    for (const double weight : weights) total += std::abs(weight);
    std::vector<double> sizes(n, total), error(n, 0.0);
    Sweep<double> work{rows.data(), n, rows.data(), n, nullptr, weights.data()};
    work.sizes = sizes.data();
    source.rounding(work, error.data());
    return above(weights.data(), sums.data(), error.data(), n);
  }
};

}  // namespace

bool symmetric_products(Gram& gram, Team& team, const Index* rows, Size n, const double* weights,
                        Size n_vectors, const std::function<bool()>& proceed, double* values,
                        double* error, double* squares) {
  std::vector<Size> order;
  const std::vector<Group> groups = in_groups(gram.source(), rows, n, weights, n_vectors, order);
  std::vector<Index> ordered(n);
  std::vector<double> own(n * n_vectors);
  for (Size i = 0; i < n; ++i) {
    ordered[i] = rows[order[i]];
    own[i] = std::abs(weights[order[i]]);
    for (Size v = 1; v < n_vectors; ++v) own[v * n + i] = weights[v * n + order[i]];
  }
  SymmetricProducts products(gram, team, ordered, groups, own, n_vectors, 1);
  if (!products.run(proceed)) return false;
  std::vector<double> sizes(n);
  for (Size i = 0; i < n; ++i) {
    const double plus = products.positive[i], minus = products.negative[i];
    values[order[i]] = plus - minus;
    sizes[order[i]] = plus + minus;
  }
  std::fill_n(error, n, 0.0);
  Sweep<double> work{rows, n, rows, n, nullptr, weights};
  work.sizes = sizes.data();
  gram.source().rounding(work, error);
  squares[0] = above(weights, values, error, n);
  for (Size v = 1; v < n_vectors; ++v) {
    Moved moved;
    for (Size i = 0; i < n; ++i)
      if (own[v * n + i] != 0.0)
        moved.add(ordered[i], own[v * n + i], products.others[(v - 1) * n + i]);
    squares[v] = moved.square_above(gram.source());
  }
  return true;
}

bool symmetric_sums(Gram& gram, Team& team, const Index* rows, Size n, const double* weights,
                    Size n_vectors, const std::function<bool()>& proceed, double* values,
                    double* error) {
  std::vector<Size> order;
  const std::vector<double> ones(n, 1.0);  // signs are not apart
  const std::vector<Group> groups = in_groups(gram.source(), rows, n, ones.data(), 1, order);
  std::vector<Index> ordered(n);
  std::vector<double> own(n * (n_vectors + 1), 0.0);  // the last one: sizes of no vector exceed it
  double* largest = own.data() + n_vectors * n;
  for (Size i = 0; i < n; ++i) {
    ordered[i] = rows[order[i]];
    for (Size v = 0; v < n_vectors; ++v) {
      const double weight = own[v * n + i] = weights[v * n + order[i]];
      largest[i] = std::max(largest[i], std::abs(weight));
    }
  }
  SymmetricProducts products(gram, team, ordered, groups, own, n_vectors + 1, n_vectors + 1);
  if (!products.run(proceed)) return false;
  std::vector<double> sizes(n), most(n), bound(n, 0.0);
  for (Size i = 0; i < n; ++i) {
    sizes[order[i]] = products.positive[n_vectors * n + i];
    most[order[i]] = largest[i];
  }
  Sweep<double> work{rows, n, rows, n, nullptr, most.data()};
  work.sizes = sizes.data();
  gram.source().rounding(work, bound.data());
  for (Size v = 0; v < n_vectors; ++v) {
    std::copy_n(bound.data(), n, error + v * n);
    for (Size i = 0; i < n; ++i) values[v * n + order[i]] = products.positive[v * n + i];
  }
  return true;
}

}  // namespace widemargin
