// Kernel entries: dense strips and CSR columns; part of routines.inl.

template <class Real>
constexpr Size kPanelVectors = panel_width<Real>() / kLanes<Real>;

// A tile is four rows and this many panels of columns: its sums stay in registers, and there are
// enough of them to hide the latency of a product (8 of 16 registers with AVX2, 16 of 32).
constexpr Size kTilePanels = WIDEMARGIN_VECTOR_BYTES == 64 ? 4 : 1;

// Vector v of a tile, of feature k; the panels of the tile lie `features` vectors of columns apart.
template <class Real>
inline typename Lanes<Real>::Vector tile_columns(const Real* panels, Size features, Size k,
                                                 Size v) {
  constexpr Size width = panel_width<Real>(), vectors = kPanelVectors<Real>;
  return load(panels + (v / vectors * features + k) * width + v % vectors * kLanes<Real>);
}

// Where a block of features ends, among those of the strip.
template <class Real, bool shortened>
inline Size block_end(const StripCall<Real>& call, Size block) {
  if (shortened) return Size(call.ends[block]);
  const Size whole = (block + 1) * kDotBlock;
  return call.features < whole ? call.features : whole;
}

// dot[r] += the products of the features [begin, end) of a strip of four rows and a tile of columns
template <class Real, bool shortened, Size vectors>
__attribute__((always_inline)) inline void add_products(
    const StripCall<Real>& call, const Real* panels, Size begin, Size end,
    typename Lanes<Real>::Vector (&dot)[kStripRows][vectors]) {
  using Vector = typename Lanes<Real>::Vector;
  const Size features = call.features;
  for (Size k = begin; k < end; ++k) {
    const Size feature = shortened ? Size(call.present[k]) : k;
    Vector column[vectors];
#pragma GCC unroll 4
    for (Size v = 0; v < vectors; ++v) column[v] = tile_columns(panels, features, feature, v);
#pragma GCC unroll 4
    for (Size r = 0; r < kStripRows; ++r) {
      const Vector value = splat<Real>(call.strip[k * kStripRows + r]);
#pragma GCC unroll 4
      for (Size v = 0; v < vectors; ++v) dot[r][v] += value * column[v];
    }
  }
}

// Adds the blocks of features after the first one.
template <class Real, bool shortened, Size vectors>
__attribute__((always_inline)) inline void add_blocks(
    const StripCall<Real>& call, const Real* panels,
    typename Lanes<Real>::Vector (&dot)[kStripRows][vectors]) {
  using Vector = typename Lanes<Real>::Vector;
  const Size blocks = dot_blocks(call.features);
  for (Size b = 1; b < blocks; ++b) {
    Vector block[kStripRows][vectors] = {};
    add_products<Real, shortened>(call, panels, block_end<Real, shortened>(call, b - 1),
                                  block_end<Real, shortened>(call, b), block);
#pragma GCC unroll 4
    for (Size r = 0; r < kStripRows; ++r)
#pragma GCC unroll 4
      for (Size v = 0; v < vectors; ++v) dot[r][v] += block[r][v];
  }
}

// Sums along the rows of a strip, a lane for each column of a panel.
template <class Real>
struct RowSums {
  typename Lanes<Real>::Vector lanes[kStripRows][kPanelVectors<Real>] = {};

  void add_to(double* sums) const {
    for (Size r = 0; r < kStripRows; ++r)
      for (Size part = 0; part < kPanelVectors<Real>; ++part)
        for (Size lane = 0; lane < kLanes<Real>; ++lane) sums[r] += lanes[r][part][lane];
  }
};

template <class Real, KernelKind kind, bool shortened, bool along, Size panels>
__attribute__((always_inline)) inline void strip_tile(const StripCall<Real>& call, Size first,
                                                      RowSums<Real>& row_sums) {
  using Vector = typename Lanes<Real>::Vector;
  constexpr Size vectors = panels * kPanelVectors<Real>, lanes = kLanes<Real>;
  const Real* own = call.panels + first * call.features * panel_width<Real>();
  const Size column = first * panel_width<Real>();
  Vector dot[kStripRows][vectors] = {};
  if (call.features > 0)
    add_products<Real, shortened>(call, own, 0, block_end<Real, shortened>(call, 0), dot);
  add_blocks<Real, shortened>(call, own, dot);
#pragma GCC unroll 4
  for (Size v = 0; v < vectors; ++v) {
    const Size c = column + v * lanes;
    Vector column_norm = {}, column_weight = {}, sum = {};
    if (kind == KernelKind::gaussian) column_norm = load(call.panel_norms + c);
    if (along) column_weight = load(call.column_weights + c);
#pragma GCC unroll 4
    for (Size r = 0; r < kStripRows; ++r) {
      Vector norm = {};
      if (kind == KernelKind::gaussian) norm = splat<Real>(call.strip_norms[r]);
      const Vector entries = epilogue<Real, kind>(dot[r][v], column_norm, norm, call.kernel);
      if (call.store[r] != nullptr) save(call.store[r] + c, entries);
      if (along) row_sums.lanes[r][v % kPanelVectors<Real>] += entries * column_weight;
      sum += call.weights[r] * entries;
    }
    if (call.accumulate != nullptr) add_to(call.accumulate + c, sum);
  }
}

template <class Real, KernelKind kind, bool shortened, bool along>
void strip_features(const StripCall<Real>& call) {
  RowSums<Real> row_sums;
  Size p = 0;
  for (; p + kTilePanels <= call.n_panels; p += kTilePanels)
    strip_tile<Real, kind, shortened, along, kTilePanels>(call, p, row_sums);
  for (; p < call.n_panels; ++p) strip_tile<Real, kind, shortened, along, 1>(call, p, row_sums);
  if (along) row_sums.add_to(call.row_sums);
}

template <class Real, KernelKind kind, bool along>
void strip_kind(const StripCall<Real>& call) {
  if (call.present != nullptr) return strip_features<Real, kind, true, along>(call);
  return strip_features<Real, kind, false, along>(call);
}

template <class Real>
void strip(const StripCall<Real>& call) {
  switch (call.kernel.kind) {
    case KernelKind::linear:
      return strip_kind<Real, KernelKind::linear, false>(call);
    case KernelKind::polynomial:
      return strip_kind<Real, KernelKind::polynomial, false>(call);
    case KernelKind::gaussian:
      if constexpr (sizeof(Real) == sizeof(double))
        if (call.row_sums != nullptr) return strip_kind<Real, KernelKind::gaussian, true>(call);
      return strip_kind<Real, KernelKind::gaussian, false>(call);
    case KernelKind::laplacian:  // no function of the dot product: `distances`
      return;
    case KernelKind::sigmoid:
      return strip_kind<Real, KernelKind::sigmoid, false>(call);
  }
}

template <class Real>
void panel_norms(const Real* panel, Size features, Real* norms) {
  using Vector = typename Lanes<Real>::Vector;
  constexpr Size vectors = kPanelVectors<Real>;
  Vector sums[vectors] = {};
  for (Size first = 0; first < features; first += kDotBlock) {  // in the order of the strips
    Vector block[vectors] = {};
    for (Size k = first; k < first + dot_block(features, first); ++k)
      for (Size v = 0; v < vectors; ++v) {
        const Vector value = tile_columns(panel, features, k, v);
        block[v] += value * value;
      }
    for (Size v = 0; v < vectors; ++v) sums[v] += block[v];
  }
  for (Size v = 0; v < vectors; ++v) save(norms + v * kLanes<Real>, Real(0.5) * sums[v]);
}

template <class Real>
Real sparse_norm(const Real* data, Size count) {
  using Vector = typename Lanes<Real>::Vector;
  Vector sum = {};
  for (Size k = 0; k < count; ++k) {
    const Vector value = splat<Real>(data[k]);
    sum += value * value;
  }
  return Real(0.5) * sum[0];
}

// Hands a finished [column][row] tile on: rows kept, weighted sums added, both by whole vectors.
template <class Real>
inline void deliver_tile(const SparseCall<Real>& call, Size first, Size count,
                         const Real (*tile)[panel_width<Real>()]) {
  using Vector = typename Lanes<Real>::Half;
  constexpr Size width = panel_width<Real>();
  constexpr Size half = width / 2;
  for (Size start = 0; start < count; start += half) {
    const Size present = count - start < half ? count - start : half;
    Vector sum = {};
    for (Size side = 0; side < width; side += half) {
      Vector rows[half];
      for (Size c = 0; c < half; ++c)
        __builtin_memcpy(rows + c, tile[start + c] + side, sizeof(Vector));
      transpose(rows);
      for (Size r = 0; r < half; ++r) {
        sum += call.weights[side + r] * rows[r];
        if (call.store == nullptr || side + r >= call.n_rows) continue;
        Real* to = call.store[side + r];
        if (to == nullptr) continue;
        if (present == half)
          __builtin_memcpy(to + first + start, rows + r, sizeof(Vector));
        else
          for (Size c = 0; c < present; ++c) to[first + start + c] = rows[r][c];
      }
    }
    if (call.accumulate == nullptr) continue;
    double* target = call.accumulate + first + start;
    if (present == half)
      add_to(target, sum);
    else
      for (Size c = 0; c < present; ++c) target[c] += double(sum[c]);
  }
}

template <class Real, KernelKind kind, bool mapped>
void sparse_kind(const SparseCall<Real>& call) {
  using Vector = typename Lanes<Real>::Vector;
  constexpr Size width = panel_width<Real>(), vectors = kPanelVectors<Real>, lanes = kLanes<Real>;
  alignas(64) Real tile[width][width] = {};  // [column][row]
  for (Size first = 0; first < call.n_columns; first += width) {
    const Size count = call.n_columns - first < width ? call.n_columns - first : width;
    for (Size c = 0; c < count; ++c) {
      const Index column = call.columns[first + c];
      Vector dot[vectors] = {};
      for (std::int64_t k = call.offsets[column]; k < call.offsets[column + 1]; ++k) {
        const Size feature = Size(mapped ? call.slots[call.indices[k]] : call.indices[k]);
        const Vector value = splat<Real>(call.data[k]);
        for (Size v = 0; v < vectors; ++v)
          dot[v] += value * load(call.panel + feature * width + v * lanes);
      }
      const Vector norm = splat<Real>(kind == KernelKind::gaussian ? call.norms[column] : Real(0));
      for (Size v = 0; v < vectors; ++v)
        save(tile[c] + v * lanes,
             epilogue<Real, kind>(dot[v], load(call.row_norms + v * lanes), norm, call.kernel));
    }
    deliver_tile(call, first, count, tile);
  }
}

template <class Real, KernelKind kind>
void sparse_mapped(const SparseCall<Real>& call) {
  if (call.slots != nullptr) return sparse_kind<Real, kind, true>(call);
  return sparse_kind<Real, kind, false>(call);
}

template <class Real>
void sparse(const SparseCall<Real>& call) {
  switch (call.kernel.kind) {
    case KernelKind::linear:
      return sparse_mapped<Real, KernelKind::linear>(call);
    case KernelKind::polynomial:
      return sparse_mapped<Real, KernelKind::polynomial>(call);
    case KernelKind::gaussian:
      return sparse_mapped<Real, KernelKind::gaussian>(call);
    case KernelKind::laplacian:
      return;
    case KernelKind::sigmoid:
      return sparse_mapped<Real, KernelKind::sigmoid>(call);
  }
}
