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

template <class Real, KernelKind kind, Size panels>
__attribute__((always_inline)) inline void distances_tile(const StripCall<Real>& call, Size first) {
  using Vector = typename Lanes<Real>::Vector;
  constexpr Size vectors = panels * kPanelVectors<Real>, lanes = kLanes<Real>;
  const Size features = call.features;
  const Real* own = call.panels + first * features * panel_width<Real>();
  Vector sum[kStripRows][vectors] = {};
  for (Size k = 0; k < features; ++k) {
    Vector column[vectors];
#pragma GCC unroll 4
    for (Size v = 0; v < vectors; ++v) column[v] = tile_columns(own, features, k, v);
#pragma GCC unroll 4
    for (Size r = 0; r < kStripRows; ++r) {
      const Vector value = splat<Real>(call.strip[k * kStripRows + r]);
#pragma GCC unroll 4
      for (Size v = 0; v < vectors; ++v) sum[r][v] += term<Real, kind>(value - column[v]);
    }
  }
#pragma GCC unroll 4
  for (Size r = 0; r < kStripRows; ++r) {
    if (call.store[r] == nullptr) continue;
    Real* to = call.store[r] + first * panel_width<Real>();
#pragma GCC unroll 4
    for (Size v = 0; v < vectors; ++v)
      save(to + v * lanes, of_distance<Real, kind>(sum[r][v], Real(call.kernel.gamma)));
  }
}

template <class Real, KernelKind kind>
void distances_kind(const StripCall<Real>& call) {
  Size p = 0;
  for (; p + kTilePanels <= call.n_panels; p += kTilePanels)
    distances_tile<Real, kind, kTilePanels>(call, p);
  for (; p < call.n_panels; ++p) distances_tile<Real, kind, 1>(call, p);
}

template <class Real>
void distances(const StripCall<Real>& call) {
  if (call.kernel.kind == KernelKind::laplacian)
    distances_kind<Real, KernelKind::laplacian>(call);
  else
    distances_kind<Real, KernelKind::gaussian>(call);
}
