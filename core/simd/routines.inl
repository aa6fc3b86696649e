// The hot loops, written once with compiler vectors and compiled per instruction set.

#include "simd/dispatch.hpp"

namespace widemargin {
namespace WIDEMARGIN_TARGET_NAMESPACE {
namespace {

#include "simd/lanes.inl"
// after the lanes, whose vectors it compares
#include "simd/lane_sets.inl"
#include "simd/pairs.inl"
#include "simd/tiles.inl"
// after the tiles, whose columns it reads
#include "simd/boxes.inl"
#include "simd/sample_differences.inl"
#include "simd/slopes.inl"
#include "simd/symmetric_products.inl"

#ifdef __AVX512F__

// Products with a matrix wait for memory, and a strip of CSR rows has four doubles: what wider
// vectors give nothing is AVX2's. The others do the same operations in the same order, so results
// are those of AVX2 to the last bit.
template <class Real>
Routines<Real> make_table() {
  Routines<Real> table = avx2::table<Real>();
  table.strip = strip<Real>;
  table.distances = distances<Real>;
  table.sparse = sparse<Real>;
  table.panel_norms = panel_norms<Real>;
  table.sparse_norm = sparse_norm<Real>;
  table.pairs = pairs<Real>;
  table.combine = combine<Real>;
  table.products = products;
  table.box_distances = box_distances;
  table.slope_extremes = slope_extremes;
  table.next_beyond = next_beyond;
  return table;
}

#else

#include "simd/products.inl"
#include "simd/sparse_differences.inl"

template <class Real>
Routines<Real> make_table() {
  return {strip<Real>,       distances<Real>,  sparse<Real>,  sparse_distances, panel_norms<Real>,
          sparse_norm<Real>, pairs<Real>,      combine<Real>, times_rows<Real>, sum_rows<Real>,
          products,          transposed<Real>, box_distances, slope_extremes,   next_beyond};
}

#endif

}  // namespace

template <>
const Routines<float>& table<float>() {
  static const Routines<float> routines = make_table<float>();
  return routines;
}

template <>
const Routines<double>& table<double>() {
  static const Routines<double> routines = make_table<double>();
  return routines;
}

}  // namespace WIDEMARGIN_TARGET_NAMESPACE
}  // namespace widemargin
