#include "kernel/near_sweeps.hpp"

#include <algorithm>
#include <memory>
#include <vector>

namespace widemargin {

namespace {

constexpr Size kBuffer = Size(1) << 22;  // entries that are evaluated before they are put in place

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
  const Size most = work.store ? std::max<Size>(kStripRows, kBuffer / columns.size()) : rows.size();
  Size evaluated = 0;
  for (Size first = 0; first < rows.size(); first += most) {
    const Size count = std::min(most, rows.size() - first);
    NearSegments near(count, boxes.count);
    locality.find_near(rows.data() + first, count, boxes, 0, kNegligible<Real>, near);
    Sweep<Real> part{rows.data() + first, count, columns.data(), columns.size()};
    part.near = near.rows();
    if (work.weights) part.weights = weights.data() + first;
    if (work.accumulate) part.accumulate = sums.data();
    if (work.sizes) part.sizes = sizes.data();
    if (!work.store) {
      evaluated += sweep_samples(kernel, samples, samples, part, team);
      continue;
    }
    const OrderedRows<Real> kept(count, columns.size(), near);
    part.pieces = kept.pieces();
    evaluated += sweep_samples(kernel, samples, samples, part, team);
    for (Size r = 0; r < count; ++r)
      if (Real* to = work.store[row_order[first + r]]) kept.put(r, column_order, to);
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
