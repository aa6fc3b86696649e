#include "kernel/strips.hpp"

#include <algorithm>
#include <cstring>

namespace widemargin {

namespace {

constexpr Size kFewFeatures = 16;      // with so few, going by a list costs what it saves
constexpr double kMostPresent = 0.85;  // share of the features

template <class Real>
bool all_zero(const Real* values) {
  std::uint64_t bits[kStripRows * sizeof(Real) / sizeof(std::uint64_t)], any = 0;
  std::memcpy(bits, values, sizeof(bits));
  for (const std::uint64_t part : bits) any |= part;
  return any == 0;
}

}  // namespace

template <class Real>
Strips<Real>::Strips(const Samples& samples, const KernelSpec& kernel, const Index* rows,
                     Size n_rows)
    : features_(samples.features()) {
  const Size strips = (n_rows + kStripRows - 1) / kStripRows;
  packed_.resize(strips * features_ * kStripRows);
  norms_.resize(strips * kStripRows);
  shortened_.resize(strips);
  const Real* norms = kernel.kind == KernelKind::gaussian ? samples.half_norms<Real>() : nullptr;
  if (features_ >= kFewFeatures) {
    present_.resize(strips * features_);
    ends_.resize(strips * dot_blocks(features_));
  }
  for (Size s = 0; s < strips; ++s) {
    const Index* ids = rows + s * kStripRows;
    const Size count = std::min(kStripRows, n_rows - s * kStripRows);
    samples.pack(ids, count, kStripRows, packed_.data() + s * features_ * kStripRows);
    if (norms != nullptr)
      for (Size r = 0; r < count; ++r) norms_[s * kStripRows + r] = norms[ids[r]];
    if (features_ >= kFewFeatures) leave_out_zeros(s);
  }
}

// Moves the features that some row has to the front, in their order.
template <class Real>
void Strips<Real>::leave_out_zeros(Size s) {
  Real* values = packed_.data() + s * features_ * kStripRows;
  Index* present = present_.data() + s * features_;
  Size count = 0;
  for (Size k = 0; k < features_; ++k) {
    present[count] = Index(k);
    count += !all_zero(values + k * kStripRows);
  }
  if (double(count) > kMostPresent * double(features_)) return;
  shortened_[s] = true;
  for (Size k = 0; k < count; ++k)
    std::copy_n(values + Size(present[k]) * kStripRows, kStripRows, values + k * kStripRows);
  Index* ends = ends_.data() + s * dot_blocks(features_);
  Size end = 0;
  for (Size block = 0; block < dot_blocks(features_); ++block) {
    while (end < count && Size(present[end]) < (block + 1) * kDotBlock) ++end;
    ends[block] = Index(end);
  }
}

template <class Real>
void Strips<Real>::use(Size s, StripCall<Real>& call) const {
  call.strip = packed_.data() + s * features_ * kStripRows;
  call.strip_norms = norms_.data() + s * kStripRows;
  call.present = call.ends = nullptr;
  if (!shortened_[s]) return;
  call.present = present_.data() + s * features_;
  call.ends = ends_.data() + s * dot_blocks(features_);
}

template class Strips<float>;
template class Strips<double>;

}  // namespace widemargin
