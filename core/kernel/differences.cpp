#include "kernel/differences.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <vector>

#include "kernel/slots.hpp"
#include "simd/dispatch.hpp"

namespace widemargin {

namespace {

constexpr Size kColumns = 64;              // evaluated at a time: a multiple of the panel width
constexpr Size kRowBytes = Size(1) << 21;  // of rows prepared for all columns

// entries[r][c] = K(rows[r], columns[c]) for one strip of rows and one piece of columns
class DenseDifferences {
 public:
  // Strips of rows, packed [feature][kStripRows].
  struct Rows {
    Rows(const Samples& samples, const Index* rows, Size count)
        : strip_size(kStripRows * samples.features()),
          packed((count + kStripRows - 1) / kStripRows * strip_size) {
      for (Size row = 0; row < count; row += kStripRows)
        samples.pack_given(rows + row, std::min(kStripRows, count - row), kStripRows,
                           packed.data() + row / kStripRows * strip_size);
    }
    Size strip_size;
    std::vector<double> packed;
  };

  DenseDifferences(const KernelSpec& kernel, const Rows& rows, const Samples& columns)
      : kernel_(kernel), rows_(rows), column_samples_(columns) {}

  void choose_columns(const Index* columns, Size count) {
    constexpr Size width = panel_width<double>();
    n_panels_ = (count + width - 1) / width;
    panels_.resize(kColumns * column_samples_.features());
    for (Size first = 0; first < count; first += width)
      column_samples_.pack_given(columns + first, std::min(width, count - first), width,
                                 panels_.data() + first * column_samples_.features());
  }

  void evaluate(Size row, Size count, double (*entries)[kColumns]) {
    StripCall<double> call{};
    call.kernel = kernel_;
    call.features = column_samples_.features();
    call.strip = rows_.packed.data() + row / kStripRows * rows_.strip_size;
    call.panels = panels_.data();
    call.n_panels = n_panels_;
    for (Size r = 0; r < count; ++r) call.store[r] = entries[r];
    routines<double>().distances(call);
  }

 private:
  const KernelSpec& kernel_;
  const Rows& rows_;
  const Samples& column_samples_;
  Size n_panels_ = 0;
  std::vector<double> panels_;
};

// The same of CSR rows. The features of a strip are renumbered: what is as long as the number of
// features is allocated once for many strips.
class SparseDifferences {
 public:
  struct Rows {
    Rows(const Samples& given, const Index* rows, Size) : samples(given), ids(rows) {}
    const Samples& samples;
    const Index* ids;
  };

  SparseDifferences(const KernelSpec& kernel, const Rows& rows, const Samples& columns)
      : kernel_(kernel), rows_(rows), column_samples_(columns), slots_(columns.features()) {}

  void choose_columns(const Index* columns, Size count) {
    columns_ = column_samples_.given_rows(columns, count, column_values_);
  }

  void evaluate(Size row, Size count, double (*entries)[kColumns]) {
    const std::vector<SparseRow> own =
        rows_.samples.given_rows(rows_.ids + row, count, row_values_);
    scatter(own);
    SparseDistanceCall call{};
    call.kernel = kernel_;
    call.slots = slots_.data();
    call.strip = strip_.data();
    call.row_slots = strip_slots_.data();
    call.row_values = strip_values_.data();
    call.longest = strip_slots_.size() / kStripRows;
    call.values = column_.data();
    for (Size c = 0; c < columns_.size(); ++c) {
      call.column = columns_[c];
      routines<double>().sparse_distances(call);
      for (Size r = 0; r < count; ++r) entries[r][c] = call.entries[r];
    }
    for (const SparseRow& row : own)
      for (Size k = 0; k < row.count; ++k) slots_[Size(row.indices[k])] = 0;
  }

 private:
  // The rows in both orders of SparseDistanceCall, their features numbered from 1.
  void scatter(const std::vector<SparseRow>& own) {
    Size longest = 0, used = 1;
    for (const SparseRow& row : own) {
      longest = std::max(longest, row.count);
      for (Size k = 0; k < row.count; ++k) {
        Index& slot = slots_[Size(row.indices[k])];
        if (slot == 0) slot = Index(used++);
      }
    }
    strip_.assign(used * kStripRows, 0.0);
    column_.assign(used, 0.0);
    strip_slots_.assign(longest * kStripRows, 0);
    strip_values_.assign(longest * kStripRows, 0.0);
    for (Size r = 0; r < own.size(); ++r)
      for (Size k = 0; k < own[r].count; ++k) {
        const Index slot = slots_[Size(own[r].indices[k])];
        strip_[Size(slot) * kStripRows + r] = own[r].values[k];
        strip_slots_[k * kStripRows + r] = slot;
        strip_values_[k * kStripRows + r] = own[r].values[k];
      }
  }

  const KernelSpec& kernel_;
  const Rows& rows_;
  const Samples& column_samples_;
  Slots slots_;
  std::vector<Index> strip_slots_;
  std::vector<double> strip_, strip_values_, column_, row_values_, column_values_;
  std::vector<SparseRow> columns_;
};

// Adds the entries of one strip up and keeps them: of columns from `first` on, all of them or
// those of a segment.
template <class Real>
void deliver(const Sweep<Real>& work, Size row, Real* store, Size first, Size count,
             const double* entries) {
  const double least = std::exp2(kLeastExponent<Real>);
  if (store)
    for (Size c = 0; c < count; ++c) store[c] = Real(std::max(entries[c], least));
  if (work.accumulate)
    for (Size c = 0; c < count; ++c) work.accumulate[first + c] += work.weights[row] * entries[c];
}

template <class Real, class Differences>
Size sweep_pieces(const KernelSpec& kernel, const Samples& row_samples,
                  const Samples& column_samples, const Sweep<Real>& work, Team& team) {
  const double cost =
      2.0 * double(work.n_rows) * double(work.n_columns) * column_samples.entry_cost();
  const typename Differences::Rows rows(row_samples, work.rows, work.n_rows);
  team.run(work.n_columns, kColumns, cost, [&](Size begin, Size end) {
    Differences differences(kernel, rows, column_samples);
    double entries[kStripRows][kColumns];
    for (Size first = begin; first < end; first += kColumns) {
      const Size count = std::min(kColumns, end - first);
      differences.choose_columns(work.columns + first, count);
      for (Size row = 0; row < work.n_rows; row += kStripRows) {
        const Size present = std::min(kStripRows, work.n_rows - row);
        differences.evaluate(row, present, entries);
        for (Size r = row; r < row + present; ++r)
          deliver(work, r, work.store && work.store[r] ? work.store[r] + first : nullptr, first,
                  count, entries[r - row]);
      }
    }
  });
  return work.n_rows * work.n_columns;
}

// The same of near segments.
template <class Real>
Size sweep_near(const KernelSpec& kernel, const Samples& row_samples, const Samples& column_samples,
                const Sweep<Real>& work, Team& team) {
  static_assert(kColumns == kSegment);
  const double cost =
      2.0 * double(work.n_rows) * double(work.n_columns) * column_samples.entry_cost();
  const DenseDifferences::Rows rows(row_samples, work.rows, work.n_rows);
  std::atomic<Size> evaluated{0};
  team.run(segments_of(work.begun + work.n_columns), 1, cost, [&](Size begin, Size end) {
    DenseDifferences differences(kernel, rows, column_samples);
    double entries[kStripRows][kColumns];
    for (Size segment = begin; segment < end; ++segment) {
      if (near_rows(work, 0, work.n_rows, segment) == 0) continue;
      const SegmentColumns columns(work, segment);
      differences.choose_columns(work.columns + columns.first, columns.count);
      for (Size row = 0; row < work.n_rows; row += kStripRows) {
        const Size present = std::min(kStripRows, work.n_rows - row);
        if (near_rows(work, row, present, segment) == 0) continue;
        differences.evaluate(row, present, entries);
        evaluated += present * columns.count;
        for (Size r = row; r < row + present; ++r)
          if (is_near(work.near[r], segment))
            deliver(work, r, piece_of(work, r, segment, columns), columns.first, columns.count,
                    entries[r - row]);
      }
    }
  });
  return evaluated;
}

// The rows [first, first + count) of a sweep.
template <class Real>
Sweep<Real> some_rows(const Sweep<Real>& work, Size first, Size count) {
  Sweep<Real> out = work;
  out.rows += first, out.n_rows = count;
  if (out.store) out.store += first;
  if (out.weights) out.weights += first;
  if (out.near) out.near += first;
  if (out.pieces) out.pieces += first;
  return out;
}

}  // namespace

template <class Real>
Size sweep_differences(const KernelSpec& kernel, const Samples& row_samples,
                       const Samples& column_samples, const Sweep<Real>& work, Team& team) {
  const Size row_bytes = std::max<Size>(1, row_samples.features()) * sizeof(double);
  const Size most = row_samples.sparse()  // nothing is prepared of these
                        ? std::max<Size>(1, work.n_rows)
                        : std::max<Size>(1, kRowBytes / row_bytes / kStripRows) * kStripRows;
  const auto sweep = work.near                 ? sweep_near<Real>
                     : column_samples.sparse() ? sweep_pieces<Real, SparseDifferences>
                                               : sweep_pieces<Real, DenseDifferences>;
  Size evaluated = 0;
  for (Size first = 0; first < work.n_rows; first += most)
    evaluated += sweep(kernel, row_samples, column_samples,
                       some_rows(work, first, std::min(most, work.n_rows - first)), team);
  return evaluated;
}

template Size sweep_differences<float>(const KernelSpec&, const Samples&, const Samples&,
                                       const Sweep<float>&, Team&);
template Size sweep_differences<double>(const KernelSpec&, const Samples&, const Samples&,
                                        const Sweep<double>&, Team&);

}  // namespace widemargin
