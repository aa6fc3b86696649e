// Products with a block of kernel entries that stays in cache, on both sides; part of routines.inl.

// Four rows of doubles against the weights of their columns and, transposed, the columns against
// the weights of the rows. Sums along a row are kept in eight lanes, of one vector or of two: their
// depth is n_columns / 8 + 8, and they are the same to the last bit.
template <Size n_vectors>
void products_of(ProductCall& call) {
  using Vector = Lanes<double>::Vector;
  constexpr Size lanes = sizeof(Vector) / sizeof(double), parts = 8 / lanes;
  Vector along[n_vectors][kStripRows][parts] = {};
  for (Size c = 0; c < call.n_columns; c += lanes * parts) {
#pragma GCC unroll 2
    for (Size part = 0; part < parts; ++part) {
      const Size column = c + part * lanes;
      Vector entries[kStripRows];
#pragma GCC unroll 4
      for (Size r = 0; r < kStripRows; ++r) entries[r] = load(call.rows[r] + column);
#pragma GCC unroll 4
      for (Size v = 0; v < n_vectors; ++v) {
        const Vector weights = load(call.column_weights[v] + column);
#pragma GCC unroll 4
        for (Size r = 0; r < kStripRows; ++r) along[v][r][part] += entries[r] * weights;
        double* transposed = call.transposed[v];
        if (transposed == nullptr) continue;
        const double* own = call.row_weights[v];
        const Vector sum = (own[0] * entries[0] + own[1] * entries[1]) +
                           (own[2] * entries[2] + own[3] * entries[3]);
        save(transposed + column, load(transposed + column) + sum);
      }
    }
  }
  for (Size v = 0; v < n_vectors; ++v)
    for (Size r = 0; r < kStripRows; ++r) {
      double sum = 0.0;
      for (Size part = 0; part < parts; ++part)
        for (Size lane = 0; lane < lanes; ++lane) sum += along[v][r][part][lane];
      call.sums[v][r] = sum;
    }
}

inline void products(ProductCall& call) {
  switch (call.n_vectors) {
    case 1:
      return products_of<1>(call);
    case 2:
      return products_of<2>(call);
    case 3:
      return products_of<3>(call);
    default:
      return products_of<4>(call);
  }
}
