// Kernel entries: dense strips and CSR columns; part of routines.inl.

// dot[r] += the products of `count` features of four rows and a panel of columns
template <class Real>
__attribute__((always_inline)) inline void add_products(
    const Real* row, const Real* column, Size count,
    typename Lanes<Real>::Vector (&dot)[kStripRows][2]) {
  using Vector = typename Lanes<Real>::Vector;
  constexpr Size width = panel_width<Real>();
  constexpr Size half = width / 2;
  for (Size k = 0; k < count; ++k, row += kStripRows, column += width) {
    const Vector left = load(column), right = load(column + half);
#pragma GCC unroll 4
    for (Size r = 0; r < kStripRows; ++r) {
      const Vector value = splat<Real>(row[r]);
      dot[r][0] += value * left;
      dot[r][1] += value * right;
    }
  }
}

template <class Real, KernelKind kind>
void strip_kind(const StripCall<Real>& call) {
  using Vector = typename Lanes<Real>::Vector;
  constexpr Size width = panel_width<Real>();
  constexpr Size half = width / 2;
  const Size features = call.features;
  const Real* panel = call.panels;
  for (Size p = 0; p < call.n_panels; ++p, panel += features * width) {
    Vector dot[kStripRows][2] = {};
    add_products(call.strip, panel, dot_block(features, 0), dot);
    for (Size k = kDotBlock; k < features; k += kDotBlock) {
      Vector block[kStripRows][2] = {};
      add_products(call.strip + k * kStripRows, panel + k * width, dot_block(features, k), block);
#pragma GCC unroll 4
      for (Size r = 0; r < kStripRows; ++r) {
        dot[r][0] += block[r][0];
        dot[r][1] += block[r][1];
      }
    }
    Vector left_norm = {}, right_norm = {};
    if (kind == KernelKind::gaussian) {
      left_norm = load(call.panel_norms + p * width);
      right_norm = load(call.panel_norms + p * width + half);
    }
    Vector left_sum = {}, right_sum = {};
#pragma GCC unroll 4
    for (Size r = 0; r < kStripRows; ++r) {
      Vector norm = {};
      if (kind == KernelKind::gaussian) norm = splat<Real>(call.strip_norms[r]);
      const Vector left = epilogue<Real, kind>(dot[r][0], left_norm, norm, call.kernel);
      const Vector right = epilogue<Real, kind>(dot[r][1], right_norm, norm, call.kernel);
      if (call.store[r] != nullptr) {
        save(call.store[r] + p * width, left);
        save(call.store[r] + p * width + half, right);
      }
      left_sum += call.weights[r] * left;
      right_sum += call.weights[r] * right;
    }
    if (call.accumulate != nullptr) {
      add_to(call.accumulate + p * width, left_sum);
      add_to(call.accumulate + p * width + half, right_sum);
    }
  }
}

template <class Real>
void strip(const StripCall<Real>& call) {
  switch (call.kernel.kind) {
    case KernelKind::linear:
      return strip_kind<Real, KernelKind::linear>(call);
    case KernelKind::polynomial:
      return strip_kind<Real, KernelKind::polynomial>(call);
    case KernelKind::gaussian:
      return strip_kind<Real, KernelKind::gaussian>(call);
    case KernelKind::laplacian:  // no function of the dot product: `distances`
      return;
    case KernelKind::sigmoid:
      return strip_kind<Real, KernelKind::sigmoid>(call);
  }
}

template <class Real>
void panel_norms(const Real* panel, Size features, Real* norms) {
  using Vector = typename Lanes<Real>::Vector;
  constexpr Size half = panel_width<Real>() / 2;
  Vector left = {}, right = {};
  for (Size first = 0; first < features; first += kDotBlock) {  // in the order of the strips
    Vector left_block = {}, right_block = {};
    for (Size k = 0; k < dot_block(features, first); ++k, panel += 2 * half) {
      const Vector a = load(panel), b = load(panel + half);
      left_block += a * a;
      right_block += b * b;
    }
    left += left_block;
    right += right_block;
  }
  save(norms, Real(0.5) * left);
  save(norms + half, Real(0.5) * right);
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
  using Vector = typename Lanes<Real>::Vector;
  constexpr Size width = panel_width<Real>();
  constexpr Size half = width / 2;
  for (Size start = 0; start < count; start += half) {
    const Size present = count - start < half ? count - start : half;
    Vector sum = {};
    for (Size side = 0; side < width; side += half) {
      Vector rows[half];
      for (Size c = 0; c < half; ++c) rows[c] = load(tile[start + c] + side);
      transpose(rows);
      for (Size r = 0; r < half; ++r) {
        sum += call.weights[side + r] * rows[r];
        if (call.store == nullptr || side + r >= call.n_rows) continue;
        Real* to = call.store[side + r];
        if (to == nullptr) continue;
        if (present == half)
          save(to + first + start, rows[r]);
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
  constexpr Size width = panel_width<Real>();
  constexpr Size half = width / 2;
  const Vector left_norm = load(call.row_norms), right_norm = load(call.row_norms + half);
  alignas(64) Real tile[width][width] = {};  // [column][row]
  for (Size first = 0; first < call.n_columns; first += width) {
    const Size count = call.n_columns - first < width ? call.n_columns - first : width;
    for (Size c = 0; c < count; ++c) {
      const Index column = call.columns[first + c];
      Vector left = {}, right = {};
      for (std::int64_t k = call.offsets[column]; k < call.offsets[column + 1]; ++k) {
        const Size feature = Size(mapped ? call.slots[call.indices[k]] : call.indices[k]);
        const Vector value = splat<Real>(call.data[k]);
        left += value * load(call.panel + feature * width);
        right += value * load(call.panel + feature * width + half);
      }
      const Vector norm = splat<Real>(kind == KernelKind::gaussian ? call.norms[column] : Real(0));
      left = epilogue<Real, kind>(left, left_norm, norm, call.kernel);
      right = epilogue<Real, kind>(right, right_norm, norm, call.kernel);
      save(tile[c], left);
      save(tile[c] + half, right);
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
