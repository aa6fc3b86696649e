#include "kernel/far_samples.hpp"

#include <algorithm>

#include "kernel/rounding.hpp"

namespace widemargin {

namespace {

constexpr double kSteering = 1e3;    // half squared norm up to which single precision steers
constexpr double kAccurate = 1e-12;  // relative error of an entry in double precision

}  // namespace

template <>
bool is_far<float>(double half_norm, Size) {
  return !(half_norm < kSteering);
}

template <>
bool is_far<double>(double half_norm, Size terms) {
  return !(expansion_error<double>(half_norm, half_norm, terms) <= kAccurate);
}

template <class Real>
FarRows<Real>::FarRows(const KernelSpec& kernel, const Samples& samples, const Sweep<Real>& work)
    : work_(work) {
  if (kernel.kind != KernelKind::gaussian) return;
  const Real* norms = samples.half_norms<Real>();
  const Size terms = samples.most_roundings();
  const auto far = [&](Index id) { return is_far<Real>(double(norms[id]), terms); };
  if (std::none_of(work.rows, work.rows + work.n_rows, far)) return;
  for (Size r = 0; r < work.n_rows; ++r) {
    Part& part = far(work.rows[r]) ? far_ : near_;
    part.rows.push_back(work.rows[r]);
    if (work.weights) part.weights.push_back(work.weights[r]);
    if (work.store) part.store.push_back(work.store[r]);
    if (work.near) part.near.push_back(work.near[r]);
    if (work.pieces) part.pieces.push_back(work.pieces[r]);
  }
}

template <class Real>
Sweep<Real> FarRows<Real>::part(const Part& chosen) const {
  Sweep<Real> out = work_;
  out.rows = chosen.rows.data();
  out.n_rows = chosen.rows.size();
  out.strips = nullptr;
  if (work_.weights) out.weights = chosen.weights.data();
  if (work_.store) out.store = chosen.store.data();
  if (work_.near) out.near = chosen.near.data();
  if (work_.pieces) out.pieces = chosen.pieces.data();
  return out;
}

template class FarRows<float>;
template class FarRows<double>;

}  // namespace widemargin
