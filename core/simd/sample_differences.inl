// Kernel entries and distances by differences of samples; part of routines.inl.

// What a feature adds to the distance.
template <class Real, KernelKind kind>
inline typename Lanes<Real>::Vector term(typename Lanes<Real>::Vector difference) {
  return kind == KernelKind::gaussian ? difference * difference : absolute<Real>(difference);
}

// exp(-gamma d) = 2^(-gamma d log2 e) of a squared distance (Gaussian) or a sum of absolute
// differences (Laplacian). The latter may overflow: cut off there, 0 times it is still 0.
template <class Real, KernelKind kind>
inline typename Lanes<Real>::Vector of_distance(typename Lanes<Real>::Vector distance, Real gamma) {
  const Real log2_e = Real(1.4426950408889634);
  if (kind == KernelKind::gaussian) return exp2_negative<Real>(-log2_e * gamma * distance);
  const auto finite = lesser(distance, splat<Real>(std::numeric_limits<Real>::max()));
  return exp2_negative<Real>(-log2_e * (gamma * finite));
}

template <class Real, KernelKind kind>
void distances_kind(const StripCall<Real>& call) {
  using Vector = typename Lanes<Real>::Vector;
  constexpr Size width = panel_width<Real>();
  constexpr Size half = width / 2;
  const Real gamma = Real(call.kernel.gamma);
  const Real* panel = call.panels;
  for (Size p = 0; p < call.n_panels; ++p, panel += call.features * width) {
    Vector sum[kStripRows][2] = {};
    const Real* row = call.strip;
    const Real* column = panel;
    for (Size k = 0; k < call.features; ++k, row += kStripRows, column += width) {
      const Vector left = load(column), right = load(column + half);
#pragma GCC unroll 4
      for (Size r = 0; r < kStripRows; ++r) {
        const Vector value = splat<Real>(row[r]);
        sum[r][0] += term<Real, kind>(value - left);
        sum[r][1] += term<Real, kind>(value - right);
      }
    }
#pragma GCC unroll 4
    for (Size r = 0; r < kStripRows; ++r) {
      if (call.store[r] == nullptr) continue;
      save(call.store[r] + p * width, of_distance<Real, kind>(sum[r][0], gamma));
      save(call.store[r] + p * width + half, of_distance<Real, kind>(sum[r][1], gamma));
    }
  }
}

template <class Real>
void distances(const StripCall<Real>& call) {
  if (call.kernel.kind == KernelKind::laplacian)
    distances_kind<Real, KernelKind::laplacian>(call);
  else
    distances_kind<Real, KernelKind::gaussian>(call);
}

// Features that both have, that only the column and that only the row has are added up apart, each
// in rising order: an entry depends on its two samples alone, not on the other rows of the strip.
template <KernelKind kind>
void sparse_distances_kind(SparseDistanceCall& call) {
  typedef DoubleVector Vector;
  typedef Int64Vector Bits;
  static_assert(sizeof(Vector) == kStripRows * sizeof(double), "a strip is one vector");
  Vector both = {}, column_only = {}, row_only = {};
  const SparseRow& column = call.column;
  double* values = call.values;
  for (Size k = 0; k < column.count; ++k) {
    if (column.values[k] == 0.0) continue;  // stored, but no feature it has
    const Size slot = Size(call.slots[column.indices[k]]);
    const Vector rows = load(call.strip + slot * kStripRows);
    const Bits present = rows != Vector{};
    const Bits added = (Bits)term<double, kind>(rows - column.values[k]);
    both += (Vector)(added & present);
    column_only += (Vector)(added & ~present);
    values[slot] = column.values[k];
  }
  values[0] = 0.0;
  for (Size k = 0; k < call.longest; ++k) {
    const Index* slot = call.row_slots + k * kStripRows;
    const Vector other = {values[slot[0]], values[slot[1]], values[slot[2]], values[slot[3]]};
    const Bits added = (Bits)term<double, kind>(load(call.row_values + k * kStripRows));
    row_only += (Vector)(added & (other == Vector{}));
  }
  for (Size k = 0; k < column.count; ++k) values[call.slots[column.indices[k]]] = 0.0;
  const Vector distance = both + (column_only + row_only);
  save(call.entries, of_distance<double, kind>(distance, call.kernel.gamma));
}

void sparse_distances(SparseDistanceCall& call) {
  if (call.kernel.kind == KernelKind::laplacian)
    sparse_distances_kind<KernelKind::laplacian>(call);
  else
    sparse_distances_kind<KernelKind::gaussian>(call);
}
