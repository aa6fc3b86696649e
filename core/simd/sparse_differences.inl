// Kernel entries by differences of CSR samples; part of routines.inl.

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
