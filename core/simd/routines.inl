// The hot loops, written once with compiler vectors and compiled per instruction set.

#include "simd/dispatch.hpp"

namespace widemargin {
namespace WIDEMARGIN_TARGET_NAMESPACE {
namespace {

#include "simd/lanes.inl"
#include "simd/pairs.inl"
#include "simd/products.inl"
#include "simd/sample_differences.inl"
#include "simd/symmetric_products.inl"
#include "simd/tiles.inl"

template <class Real>
constexpr Routines<Real> make_table() {
  return {strip<Real>,       distances<Real>,   sparse<Real>, sparse_distances,
          panel_norms<Real>, sparse_norm<Real>, pairs<Real>,  combine<Real>,
          times_rows<Real>,  sum_rows<Real>,    products};
}

}  // namespace

template <>
const Routines<float>& table<float>() {
  static constexpr Routines<float> routines = make_table<float>();
  return routines;
}

template <>
const Routines<double>& table<double>() {
  static constexpr Routines<double> routines = make_table<double>();
  return routines;
}

}  // namespace WIDEMARGIN_TARGET_NAMESPACE
}  // namespace widemargin
