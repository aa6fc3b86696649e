#include "kernel/near_sweeps.hpp"

#include <algorithm>
#include <atomic>
#include <memory>
#include <vector>

namespace widemargin {

namespace {

constexpr Size kBuffer = Size(1) << 22;  // entries that are evaluated before they are put in place
constexpr Size kOwnBuffer = Size(1) << 16;  // the same of one thread: they stay in its cache

// The positions 0 ... count - 1 of samples in the order of their places.
std::vector<Size> by_place(const Locality& locality, const Index* ids, Size count) {
  std::vector<std::uint64_t> keys(count);
  for (Size k = 0; k < count; ++k)
    keys[k] = std::uint64_t(locality.place(ids[k])) << 32 | std::uint64_t(k);
  if (!std::is_sorted(keys.begin(), keys.end())) std::sort(keys.begin(), keys.end());
  std::vector<Size> out(count);
  for (Size k = 0; k < count; ++k) out[k] = Size(keys[k] & 0xFFFFFFFF);
  return out;
}

template <class T>
std::vector<T> chosen(const T* values, const std::vector<Size>& order) {
  std::vector<T> out(values ? order.size() : 0);
  for (Size k = 0; k < out.size(); ++k) out[k] = values[order[k]];
  return out;
}

// Rows of a sweep that keeps them, evaluated in the order of the places.
template <class Real>
class OrderedRows {
 public:
  OrderedRows(Size rows, Size columns, const NearSegments& near)
      : near_(near),
        columns_(columns),
        stride_(segments_of(columns) * kSegment),
        entries_(new Real[rows * stride_]),
        pieces_(rows * segments_of(columns)),
        rows_(rows) {
    const Size segments = segments_of(columns);
    for (Size r = 0; r < rows; ++r) {
      for (Size s = 0; s < segments; ++s)
        pieces_[r * segments + s] = entries_.get() + r * stride_ + s * kSegment;
      rows_[r] = pieces_.data() + r * segments;
    }
  }
  Real* const* const* pieces() const { return rows_.data(); }
  // Writes a row to where its columns stood before.
  void put(Size row, const std::vector<Size>& places, Real* to) const {
    std::fill_n(to, columns_, Real(0));
    for (Size s = 0; s < segments_of(columns_); ++s)
      if (is_near(near_.rows()[row], s))
        for (Size c = s * kSegment; c < std::min((s + 1) * kSegment, columns_); ++c)
          to[places[c]] = entries_[row * stride_ + c];
  }

 private:
  const NearSegments& near_;
  Size columns_, stride_;
  std::unique_ptr<Real[]> entries_;  // near ones are written before they are read
  std::vector<Real*> pieces_;
  std::vector<Real* const*> rows_;
};

// A sweep with its rows and columns in the order of their places.
template <class Real>
struct OrderedSweep {
  const KernelSpec& kernel;
  const Samples& samples;
  const Locality& locality;
  const std::vector<Size>& row_order;
  const std::vector<Size>& column_order;
  const std::vector<Index>& rows;
  Real* const* store;
  const Boxes& boxes;
};

// Evaluates rows [first, first + count) of a part that is all of them, and puts those that are kept
// in place.
template <class Real>
Size keep_in_order(const OrderedSweep<Real>& work, Sweep<Real> part, Size first, Size count,
                   Team& team) {
  NearSegments near(count, work.boxes.count);
  work.locality.find_near(work.rows.data() + first, count, work.boxes, 0, kNegligible<Real>, near);
  const OrderedRows<Real> kept(count, part.n_columns, near);
  part.rows += first;
  part.n_rows = count;
  part.near = near.rows();
  part.pieces = kept.pieces();
  if (part.weights) part.weights += first;
  const Size evaluated = sweep_samples(work.kernel, work.samples, work.samples, part, team);
  for (Size r = 0; r < count; ++r)
    if (Real* to = work.store[work.row_order[first + r]]) kept.put(r, work.column_order, to);
  return evaluated;
}

// Rows that are kept and not added up: each thread evaluates a few at a time, past columns that are
// packed once. Which rows come together depends on no number of threads, so that the same entries
// are evaluated.
template <class Real>
Size keep_by_threads(const OrderedSweep<Real>& work, Sweep<Real> part, Team& team) {
  Prepared<Real> prepared;
  prepare_samples(work.kernel, work.samples, part.columns, part.n_columns, prepared);
  if (!prepared.panels.empty()) part.prepared = &prepared;
  const Size most = std::max(kStripRows, kOwnBuffer / part.n_columns / kStripRows * kStripRows);
  const double cost = double(part.n_rows) * double(part.n_columns) * work.samples.entry_cost();
  std::atomic<Size> evaluated{0};
  team.run((part.n_rows + most - 1) / most, 1, cost, [&](Size begin, Size end) {
    Team alone(1);
    for (Size first = begin * most; first < std::min(end * most, part.n_rows); first += most)
      evaluated += keep_in_order(work, part, first, std::min(most, part.n_rows - first), alone);
  });
  return evaluated;
}

}  // namespace

template <class Real>
Size sweep_in_order(const KernelSpec& kernel, const Samples& samples, const Locality& locality,
                    const Sweep<Real>& work, Team& team) {
  const std::vector<Size> row_order = by_place(locality, work.rows, work.n_rows);
  const std::vector<Size> column_order = by_place(locality, work.columns, work.n_columns);
  const std::vector<Index> rows = chosen(work.rows, row_order);
  const std::vector<Index> columns = chosen(work.columns, column_order);
  const std::vector<double> weights = chosen(work.weights, row_order);
  std::vector<double> sums(work.accumulate ? columns.size() : 0, 0.0);
  std::vector<double> sizes(work.sizes ? columns.size() : 0, 0.0);
  Boxes boxes;
  locality.enclose(columns.data(), columns.size(), boxes);
  Sweep<Real> part{rows.data(), rows.size(), columns.data(), columns.size()};
  if (work.weights) part.weights = weights.data();
  if (work.accumulate) part.accumulate = sums.data();
  if (work.sizes) part.sizes = sizes.data();
  Size evaluated = 0;
  if (!work.store) {
    NearSegments near(rows.size(), boxes.count);
    locality.find_near(rows.data(), rows.size(), boxes, 0, kNegligible<Real>, near);
    part.near = near.rows();
    evaluated = sweep_samples(kernel, samples, samples, part, team);
  } else {
    const OrderedSweep<Real> ordered{kernel,       samples, locality,   row_order,
                                     column_order, rows,    work.store, boxes};
    if (!work.weights && columns.size() * samples.features() <= kBuffer)
      return keep_by_threads(ordered, part, team);
    const Size most = std::max<Size>(kStripRows, kBuffer / columns.size());
    for (Size first = 0; first < rows.size(); first += most)
      evaluated += keep_in_order(ordered, part, first, std::min(most, rows.size() - first), team);
  }
  for (Size c = 0; c < sums.size(); ++c) work.accumulate[column_order[c]] += sums[c];
  for (Size c = 0; c < sizes.size(); ++c) work.sizes[column_order[c]] += sizes[c];
  return evaluated;
}

template Size sweep_in_order<float>(const KernelSpec&, const Samples&, const Locality&,
                                    const Sweep<float>&, Team&);
template Size sweep_in_order<double>(const KernelSpec&, const Samples&, const Locality&,
                                     const Sweep<double>&, Team&);

}  // namespace widemargin
