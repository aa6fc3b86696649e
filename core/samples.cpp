#include "samples.hpp"

#include <algorithm>

#include "dispatch.hpp"

namespace widemargin {

Samples::Samples(const float* dense, Size n, Size features)
    : n_(n), features_(features), dense32_(dense) {}
Samples::Samples(const double* dense, Size n, Size features)
    : n_(n), features_(features), dense64_(dense) {}
Samples::Samples(const float* data, const Index* indices, const std::int64_t* offsets, Size n,
                 Size features)
    : n_(n), features_(features), data32_(data), indices_(indices), offsets_(offsets) {}
Samples::Samples(const double* data, const Index* indices, const std::int64_t* offsets, Size n,
                 Size features)
    : n_(n), features_(features), data64_(data), indices_(indices), offsets_(offsets) {}

template <>
Samples::Lazy<float>& Samples::lazy<float>() const {
  return *lazy32_;
}
template <>
Samples::Lazy<double>& Samples::lazy<double>() const {
  return *lazy64_;
}

void Samples::transform(std::vector<double> shift, double scale) {
  shift_ = std::move(shift);
  scale_ = scale;
}

double Samples::entry_cost() const {
  const double stored =
      sparse() ? double(offsets_[n_]) / double(std::max<Size>(n_, 1)) : double(features_);
  return 1.0 + stored / 32.0;
}

std::vector<double> Samples::mean() const {
  std::vector<double> sum(features_, 0.0);
  for (Size i = 0; i < n_; ++i)
    for (Size k = 0; k < features_; ++k)
      sum[k] += dense32_ ? double(dense32_[i * features_ + k]) : dense64_[i * features_ + k];
  for (double& value : sum) value /= double(std::max<Size>(n_, 1));
  return sum;
}

double Samples::largest_square() const {
  const float* norms = half_norms<float>();
  float most = 0.0f;
  for (Size i = 0; i < n_; ++i) most = std::max(most, norms[i]);
  return 2.0 * double(most);
}

// The dense samples in the precision and the coordinates of the tiles; the caller's own array when
// nothing is to be changed.
template <class Real>
const Real* Samples::transformed() const {
  constexpr bool is_float = sizeof(Real) == 4;
  const void* same =
      is_float ? static_cast<const void*>(dense32_) : static_cast<const void*>(dense64_);
  if (same != nullptr && shift_.empty()) return static_cast<const Real*>(same);
  Lazy<Real>& cached = lazy<Real>();
  std::call_once(cached.data_once, [&] {
    cached.data.resize(n_ * features_);
    for (Size i = 0; i < n_; ++i)
      for (Size k = 0; k < features_; ++k) {
        const Size at = i * features_ + k;
        const double value = dense32_ ? double(dense32_[at]) : dense64_[at];
        cached.data[at] = Real(shift_.empty() ? value : (value - shift_[k]) * scale_);
      }
  });
  return cached.data.data();
}

template <class Real>
void Samples::pack(const Index* ids, Size count, Size width, Real* out) const {
  const Real* samples = transformed<Real>();
  for (Size c = 0; c < width; ++c) {
    const Real* sample = c < count ? samples + Size(ids[c]) * features_ : nullptr;
    for (Size k = 0; k < features_; ++k) out[k * width + c] = sample ? sample[k] : Real(0);
  }
}

template <class Real>
const Real* Samples::half_norms() const {
  Lazy<Real>& cached = lazy<Real>();
  std::call_once(cached.norms_once, [&] {
    constexpr Size width = panel_width<Real>();
    const Size padded = (n_ + width - 1) / width * width;
    cached.norms.assign(padded, Real(0));
    if (sparse()) {
      const Rows<Real> all = rows<Real>();
      for (Size i = 0; i < n_; ++i)
        cached.norms[i] = routines<Real>().sparse_norm(all.data + all.offsets[i],
                                                       Size(all.offsets[i + 1] - all.offsets[i]));
      return;
    }
    std::vector<Real> panel(width * std::max<Size>(features_, 1));
    std::vector<Index> ids(width);
    for (Size first = 0; first < n_; first += width) {
      const Size count = std::min(width, n_ - first);
      for (Size c = 0; c < count; ++c) ids[c] = Index(first + c);
      pack(ids.data(), count, width, panel.data());
      routines<Real>().panel_norms(panel.data(), features_, cached.norms.data() + first);
    }
  });
  return cached.norms.data();
}

template <class Real>
Samples::Rows<Real> Samples::rows() const {
  constexpr bool is_float = sizeof(Real) == 4;
  const void* same =
      is_float ? static_cast<const void*>(data32_) : static_cast<const void*>(data64_);
  if (same != nullptr && scale_ == 1.0) return {offsets_, indices_, static_cast<const Real*>(same)};
  Lazy<Real>& cached = lazy<Real>();
  std::call_once(cached.data_once, [&] {
    const Size count = Size(offsets_[n_]);
    cached.data.resize(count);
    for (Size k = 0; k < count; ++k)
      cached.data[k] = Real((data32_ ? double(data32_[k]) : data64_[k]) * scale_);
  });
  return {offsets_, indices_, cached.data.data()};
}

template <class Real>
Size Samples::scatter(const Index* ids, Size count, Size width, Index* slots,
                      std::vector<Real>& out) const {
  const Rows<Real> all = rows<Real>();
  Size used = features_;
  if (slots != nullptr) {
    used = 1;
    for (Size c = 0; c < count; ++c)
      for (std::int64_t k = all.offsets[ids[c]]; k < all.offsets[ids[c] + 1]; ++k)
        if (slots[all.indices[k]] == 0) slots[all.indices[k]] = Index(used++);
  }
  out.assign(used * width, Real(0));
  for (Size c = 0; c < count; ++c)
    for (std::int64_t k = all.offsets[ids[c]]; k < all.offsets[ids[c] + 1]; ++k) {
      const Size feature = Size(slots != nullptr ? slots[all.indices[k]] : all.indices[k]);
      out[feature * width + c] += all.data[k];
    }
  return used;
}

void Samples::clear_slots(const Index* ids, Size count, Index* slots) const {
  for (Size c = 0; c < count; ++c)
    for (std::int64_t k = offsets_[ids[c]]; k < offsets_[ids[c] + 1]; ++k) slots[indices_[k]] = 0;
}

template void Samples::pack<float>(const Index*, Size, Size, float*) const;
template void Samples::pack<double>(const Index*, Size, Size, double*) const;
template const float* Samples::half_norms<float>() const;
template const double* Samples::half_norms<double>() const;
template Samples::Rows<float> Samples::rows<float>() const;
template Samples::Rows<double> Samples::rows<double>() const;
template Size Samples::scatter<float>(const Index*, Size, Size, Index*, std::vector<float>&) const;
template Size Samples::scatter<double>(const Index*, Size, Size, Index*,
                                       std::vector<double>&) const;

}  // namespace widemargin
