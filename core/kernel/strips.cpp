#include "kernel/strips.hpp"

#include <algorithm>
#include <cstring>

namespace widemargin {

namespace {

constexpr Size kFewFeatures = 16;      // with so few, going by a list costs what it saves
constexpr double kMostPresent = 0.85;  // share of the features
constexpr Size kStripsAhead = 4;       // that are on their way while one is packed

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
    : blocks_(dot_blocks(samples.features())) {
  const Size strips = (n_rows + kStripRows - 1) / kStripRows, features = samples.features();
  norms_.resize(strips * kStripRows);
  const Real* norms = kernel.kind == KernelKind::gaussian ? samples.half_norms<Real>() : nullptr;
  std::vector<Real> strip(features * kStripRows);
  for (Size s = 0; s < strips; ++s) {
    const Index* ids = rows + s * kStripRows;
    const Size count = std::min(kStripRows, n_rows - s * kStripRows);
    const Size ahead = std::min(n_rows, (s + kStripsAhead) * kStripRows);
    samples.fetch_ahead<Real>(rows + ahead, std::min(kStripRows, n_rows - ahead));
    samples.pack(ids, count, kStripRows, strip.data());
    if (norms != nullptr)
      for (Size r = 0; r < count; ++r) norms_[s * kStripRows + r] = norms[ids[r]];
    strips_.push_back({packed_.size(), kWhole});
    if (features < kFewFeatures || !add_without_zeros(strip))
      packed_.insert(packed_.end(), strip.begin(), strip.end());
    if (s == 0) packed_.reserve(strips * packed_.size());
  }
}

// Keeps the features that some row has, in their order; false where that is most of them.
template <class Real>
bool Strips<Real>::add_without_zeros(const std::vector<Real>& strip) {
  const Size features = strip.size() / kStripRows;
  found_.resize(features);
  Size count = 0;
  for (Size k = 0; k < features; ++k) {
    found_[count] = Index(k);
    count += !all_zero(strip.data() + k * kStripRows);
  }
  if (double(count) > kMostPresent * double(features)) return false;
  strips_.back().lists = lists_.size();
  for (Size block = 0, end = 0; block < blocks_; ++block) {
    while (end < count && Size(found_[end]) < (block + 1) * kDotBlock) ++end;
    lists_.push_back(Index(end));
  }
  lists_.insert(lists_.end(), found_.begin(), found_.begin() + std::ptrdiff_t(count));
  for (Size k = 0; k < count; ++k) {
    const Real* values = strip.data() + Size(found_[k]) * kStripRows;
    packed_.insert(packed_.end(), values, values + kStripRows);
  }
  return true;
}

template <class Real>
void Strips<Real>::use(Size s, StripCall<Real>& call) const {
  const Strip& strip = strips_[s];
  call.strip = packed_.data() + strip.values;
  call.strip_norms = norms_.data() + s * kStripRows;
  call.present = call.ends = nullptr;
  if (strip.lists == kWhole) return;
  call.ends = lists_.data() + strip.lists;
  call.present = call.ends + blocks_;
}

template class Strips<float>;
template class Strips<double>;

}  // namespace widemargin
