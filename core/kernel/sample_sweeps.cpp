// Kernel entries between samples: columns in packed panels past strips of rows.
#include "kernel/source.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <deque>
#include <vector>

#include "kernel/differences.hpp"
#include "kernel/far_samples.hpp"
#include "kernel/kernel_facts.hpp"
#include "kernel/sparse_sweeps.hpp"
#include "kernel/strips.hpp"
#include "memory/aligned.hpp"
#include "simd/dispatch.hpp"

namespace widemargin {

namespace {

constexpr Size kPanelBytes =
    192 * 1024;  // packed columns per pass: stays in the second-level cache

constexpr Size kPanelGroup = 4;  // panels of the largest tile: a pass is whole tiles

constexpr Size kPreparedBytes = Size(1) << 27;  // columns packed once for many sweeps

template <class Real>
void pack_panels(const KernelSpec& kernel, const Samples& columns, const Index* ids, Size count,
                 Real* panels, Real* norms) {
  constexpr Size width = panel_width<Real>();
  const Real* own = kernel.kind == KernelKind::gaussian ? columns.half_norms<Real>() : nullptr;
  for (Size first = 0; first < count; first += width) {
    const Size present = std::min(width, count - first);
    const Size next = first + present;
    columns.fetch_ahead<Real>(ids + next, std::min(width, count - next));
    columns.pack(ids + first, present, width, panels + first * columns.features());
    if (own != nullptr)
      for (Size c = 0; c < width; ++c)
        norms[first + c] = c < present ? own[ids[first + c]] : Real(0);
  }
}

// Rows past columns that it shares with other sweeps.
template <class Real>
struct Part {
  const Strips<Real>& strips;
  const Sweep<Real>& work;
};

// Packed columns [first, first + count) of a sweep.
template <class Real>
struct Packed {
  const Real* panels;
  const Real* norms;
  Size first, count;
};

// The strip of a call, with its weights and where its rows are kept, past packed columns.
template <class Real>
void strip_past(StripCall<Real>& call, const Packed<Real>& columns, double* accumulate) {
  constexpr Size width = panel_width<Real>();
  const Size full = columns.count / width, rest = columns.count - full * width;
  call.panels = columns.panels;
  call.panel_norms = columns.norms;
  call.n_panels = full;
  call.accumulate = accumulate;
  routines<Real>().strip(call);
  if (rest == 0) return;
  // The last, partly filled panel goes through a buffer: nothing is written past the end.
  Real tail[kStripRows][width];
  double sums[width] = {};
  Real* destination[kStripRows];
  for (Size r = 0; r < kStripRows; ++r) {
    destination[r] = call.store[r] ? call.store[r] + full * width : nullptr;
    call.store[r] = destination[r] ? tail[r] : nullptr;
  }
  call.panels = columns.panels + full * call.features * width;
  call.panel_norms = columns.norms + full * width;
  call.n_panels = 1;
  call.accumulate = accumulate ? sums : nullptr;
  routines<Real>().strip(call);
  for (Size r = 0; r < kStripRows; ++r)
    if (destination[r]) std::copy_n(tail[r], rest, destination[r]);
  if (accumulate)
    for (Size c = 0; c < rest; ++c) accumulate[full * width + c] += sums[c];
}

// Strip s of a part; its rows are kept nowhere and have no weight yet.
template <class Real>
StripCall<Real> call_of(const KernelSpec& kernel, const Part<Real>& part, Size features, Size s) {
  StripCall<Real> call{};
  call.kernel = kernel;
  call.features = features;
  part.strips.use(s, call);
  return call;
}

template <class Real>
void strips_past(const KernelSpec& kernel, const Part<Real>& part, Size features,
                 const Packed<Real>& columns) {
  const Sweep<Real>& work = part.work;
  for (Size s = 0; s * kStripRows < work.n_rows; ++s) {
    StripCall<Real> call = call_of(kernel, part, features, s);
    for (Size r = 0; r < std::min(kStripRows, work.n_rows - s * kStripRows); ++r) {
      const Size row = s * kStripRows + r;
      call.store[r] = work.store && work.store[row] ? work.store[row] + columns.first : nullptr;
      call.weights[r] = work.weights ? Real(work.weights[row]) : Real(0);
    }
    strip_past(call, columns, work.accumulate ? work.accumulate + columns.first : nullptr);
  }
}

// Packed columns that the second-level cache holds while all strips of a sweep go past them.
template <class Real>
Size panels_per_pass(Size features) {
  const Size panel_bytes = std::max<Size>(features, 1) * panel_width<Real>() * sizeof(Real);
  return (kPanelBytes / panel_bytes + kPanelGroup - 1) / kPanelGroup * kPanelGroup;
}

// Columns [begin, end) of dense sweeps that share them, chunk by chunk.
template <class Real>
void dense_columns(const KernelSpec& kernel, const std::vector<Part<Real>>& parts,
                   const Samples& columns, Size begin, Size end) {
  constexpr Size width = panel_width<Real>();
  const Sweep<Real>& work = parts.front().work;
  const Size features = columns.features();
  const Size chunk = std::min(panels_per_pass<Real>(features), (end - begin + width - 1) / width);
  Aligned<Real> packed;
  Aligned<Real> packed_norms;
  if (!work.prepared) {
    packed.resize(chunk * features * width);
    packed_norms.resize(chunk * width);
  }
  for (Size first = begin; first < end; first += chunk * width) {
    const Size count = std::min(chunk * width, end - first);
    const Real* panels = packed.data();
    const Real* norms = packed_norms.data();
    if (work.prepared) {
      panels = work.prepared->panels.data() + (work.prepared_before + first) * features;
      norms = work.prepared->norms.data() + work.prepared_before + first;
    } else {
      pack_panels(kernel, columns, work.columns + first, count, packed.data(), packed_norms.data());
    }
    for (const Part<Real>& part : parts)
      strips_past(kernel, part, features, {panels, norms, first, count});
  }
}

// The strips that have a row near a segment; returns the entries evaluated. Only the near rows of a
// strip are kept and added up.
template <class Real>
Size near_strips_past(const KernelSpec& kernel, const Part<Real>& part, Size features,
                      const Packed<Real>& packed, Size segment) {
  const Sweep<Real>& work = part.work;
  const SegmentColumns columns(work, segment);
  Size evaluated = 0;
  for (Size s = 0; s * kStripRows < work.n_rows; ++s) {
    const Size present = std::min(kStripRows, work.n_rows - s * kStripRows);
    if (near_rows(work, s * kStripRows, present, segment) == 0) continue;
    StripCall<Real> call = call_of(kernel, part, features, s);
    for (Size r = 0; r < present; ++r) {
      const Size row = s * kStripRows + r;
      const bool adds = work.weights && is_near(work.near[row], segment);
      call.store[r] = piece_of(work, row, segment, columns);
      call.weights[r] = adds ? Real(work.weights[row]) : Real(0);
    }
    strip_past(call, packed, work.accumulate ? work.accumulate + columns.first : nullptr);
    evaluated += present * columns.count;
  }
  return evaluated;
}

// Segments [begin, end) of dense sweeps that share their columns.
template <class Real>
Size near_segments(const KernelSpec& kernel, const std::vector<Part<Real>>& parts,
                   const Samples& columns, Size begin, Size end) {
  const Sweep<Real>& work = parts.front().work;
  const Size features = columns.features();
  Aligned<Real> panels(kSegment * features), norms(kSegment);
  Size evaluated = 0;
  for (Size segment = begin; segment < end; ++segment) {
    const SegmentColumns own(work, segment);
    if (std::none_of(parts.begin(), parts.end(), [&](const Part<Real>& part) {
          return near_rows(part.work, 0, part.work.n_rows, segment) > 0;
        }))
      continue;
    Packed<Real> packed{panels.data(), norms.data(), own.first, own.count};
    if (work.prepared && work.begun == 0) {
      packed.panels = work.prepared->panels.data() + (work.prepared_before + own.first) * features;
      packed.norms = work.prepared->norms.data() + work.prepared_before + own.first;
    } else {
      pack_panels(kernel, columns, work.columns + own.first, own.count, panels.data(),
                  norms.data());
    }
    for (const Part<Real>& part : parts)
      evaluated += near_strips_past(kernel, part, features, packed, segment);
  }
  return evaluated;
}

// Dense sweeps over the same columns, which are packed once for all of them.
template <class Real>
Size sweep_dense(const KernelSpec& kernel, const Samples& row_samples,
                 const Samples& column_samples, const std::vector<Sweep<Real>>& works, Team& team) {
  std::deque<Strips<Real>> packed;
  std::vector<Part<Real>> parts;
  Size n_rows = 0;
  for (const Sweep<Real>& work : works) {
    if (!work.strips) packed.emplace_back(row_samples, kernel, work.rows, work.n_rows);
    parts.push_back({work.strips ? *work.strips : packed.back(), work});
    n_rows += work.n_rows;
  }
  const Size n_columns = works.front().n_columns;
  const double cost = double(n_rows) * double(n_columns) * column_samples.entry_cost();
  if (kernel.kind == KernelKind::gaussian) column_samples.half_norms<Real>();
  if (works.front().near) {
    std::atomic<Size> evaluated{0};
    team.run(segments_of(works.front().begun + n_columns), 1, cost, [&](Size begin, Size end) {
      evaluated += near_segments(kernel, parts, column_samples, begin, end);
    });
    return evaluated;
  }
  team.run(n_columns, panel_width<Real>(), cost,
           [&](Size begin, Size end) { dense_columns(kernel, parts, column_samples, begin, end); });
  return n_rows * n_columns;
}

// Rows whose weights have the same sign, and their sums.
template <class Real>
struct SignedRows {
  std::vector<Index> rows;
  std::vector<double> weights, sums;
  std::vector<Real*> store;
  std::vector<const std::uint64_t*> near;
};

// Sums and sums of sizes. No entry of a kernel of differences is negative: rows of positive and of
// negative weight are added up apart. (Dot-product kernels bound their rounding without sizes.)
template <class Real>
Size sweep_by_sign(const KernelSpec& kernel, const Samples& row_samples,
                   const Samples& column_samples, const Sweep<Real>& work, Team& team) {
  Sweep<Real> plain = work;
  plain.sizes = nullptr;
  plain.strips = nullptr;
  if (!of_differences(kernel))
    return sweep_samples(kernel, row_samples, column_samples, plain, team);
  std::array<SignedRows<Real>, 2> sides;
  for (Size r = 0; r < work.n_rows; ++r) {
    SignedRows<Real>& own = sides[work.weights[r] < 0.0 ? 1 : 0];
    own.rows.push_back(work.rows[r]);
    own.weights.push_back(std::abs(work.weights[r]));
    if (work.store) own.store.push_back(work.store[r]);
    if (work.near) own.near.push_back(work.near[r]);
  }
  std::vector<Sweep<Real>> works;
  for (SignedRows<Real>& own : sides) {
    own.sums.assign(work.n_columns, 0.0);
    plain.rows = own.rows.data(), plain.n_rows = own.rows.size();
    plain.weights = own.weights.data();
    plain.store = work.store ? own.store.data() : nullptr;
    plain.near = work.near ? own.near.data() : nullptr;
    plain.accumulate = own.sums.data();
    works.push_back(plain);
  }
  Size evaluated = 0;
  if (!row_samples.sparse() && kernel.kind == KernelKind::gaussian &&
      !FarRows<Real>(kernel, row_samples, work).any())
    evaluated = sweep_dense(kernel, row_samples, column_samples, works, team);
  else
    for (const Sweep<Real>& own : works)
      evaluated += sweep_samples(kernel, row_samples, column_samples, own, team);
  for (Size c = 0; c < work.n_columns; ++c) {
    work.accumulate[c] += sides[0].sums[c];
    work.sizes[c] += sides[0].sums[c];
    work.accumulate[c] -= sides[1].sums[c];
    work.sizes[c] += sides[1].sums[c];
  }
  return evaluated;
}

}  // namespace

template <class Real>
Size sweep_samples(const KernelSpec& kernel, const Samples& row_samples,
                   const Samples& column_samples, const Sweep<Real>& work, Team& team) {
  if (work.n_rows == 0 || work.n_columns == 0) return 0;
  if (work.sizes) return sweep_by_sign(kernel, row_samples, column_samples, work, team);
  if (kernel.kind == KernelKind::laplacian)
    return sweep_differences(kernel, row_samples, column_samples, work, team);
  const FarRows<Real> far(kernel, row_samples, work);
  if (far.any())
    return sweep_differences(kernel, row_samples, column_samples, far.far(), team) +
           sweep_samples(kernel, row_samples, column_samples, far.near(), team);
  if (row_samples.sparse()) return sweep_sparse(kernel, row_samples, column_samples, work, team);
  return sweep_dense<Real>(kernel, row_samples, column_samples, {work}, team);
}

template Size sweep_samples<float>(const KernelSpec&, const Samples&, const Samples&,
                                   const Sweep<float>&, Team&);
template Size sweep_samples<double>(const KernelSpec&, const Samples&, const Samples&,
                                    const Sweep<double>&, Team&);

void multiply_samples(const KernelSpec& kernel, Size features, const PackedProducts& work) {
  constexpr Size width = panel_width<double>();
  const Size pass = panels_per_pass<double>(features);
  for (Size first = 0; first < work.n_panels; first += pass) {
    StripCall<double> call{};
    call.kernel = kernel;
    call.features = features;
    call.panels = work.columns.panels.data() + (work.first_panel + first) * width * features;
    call.panel_norms = work.columns.norms.data() + (work.first_panel + first) * width;
    call.n_panels = std::min(pass, work.n_panels - first);
    call.accumulate = work.column_sums + first * width;
    call.column_weights = work.column_weights + first * width;
    for (Size row = 0; row < work.n_rows; row += kStripRows) {
      work.rows.use(row / kStripRows, call);
      const Size present = std::min(kStripRows, work.n_rows - row);
      double sums[kStripRows] = {};
      call.row_sums = sums;
      std::fill_n(call.weights, kStripRows, 0.0);
      std::copy_n(work.row_weights + row, present, call.weights);
      routines<double>().strip(call);
      for (Size r = 0; r < present; ++r) work.row_sums[row + r] += sums[r];
    }
  }
}

template <class Real>
void prepare_samples(const KernelSpec& kernel, const Samples& samples, const Index* columns,
                     Size count, Prepared<Real>& out) {
  constexpr Size width = panel_width<Real>();
  if (samples.sparse() || kernel.kind == KernelKind::laplacian) return;
  const Size padded = (count + width - 1) / width * width;
  if (padded * samples.features() * sizeof(Real) > kPreparedBytes) {
    out.panels = {};  // about as large as the samples themselves: packed for each sweep instead
    return;
  }
  if (out.panels.capacity() < padded * samples.features()) out.panels = {}, out.norms = {};
  out.panels.resize(padded * samples.features());
  out.norms.resize(padded);
  pack_panels(kernel, samples, columns, count, out.panels.data(), out.norms.data());
}

template void prepare_samples<float>(const KernelSpec&, const Samples&, const Index*, Size,
                                     Prepared<float>&);
template void prepare_samples<double>(const KernelSpec&, const Samples&, const Index*, Size,
                                      Prepared<double>&);

}  // namespace widemargin
