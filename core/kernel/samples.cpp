#include "kernel/samples.hpp"

#include <algorithm>
#include <cstring>

#include "simd/dispatch.hpp"

namespace widemargin {

namespace {

// A converted copy of the samples is kept up to this size. Beyond it the copy would be felt, on
// data that fills the memory already, more than converting again for each packed panel.
constexpr Size kKeptBytes = Size(1) << 27;
constexpr Size kKeptDoubleBytes = Size(1) << 22;  // double precision has few panels to pack

// Of an eighth of the samples, between these: it must not take longer than the fit.
constexpr Size kFewestForMedian = 31, kMostForMedian = 255;

constexpr Size kFetchedLines = 8;           // of a sample: the processor goes on by itself
constexpr Size kNearBytes = Size(1) << 18;  // samples that the second-level cache holds anyway

// Scaled coordinates are cut off here: every Gaussian entry with a sample near the centre is zero
// that far away, and squares must not overflow.
constexpr double kFarthest = 1e15;

double bounded(double value) {
  return std::max(-kFarthest, std::min(kFarthest, value));
}

// out[k] = the transformed feature k: compilers make vectors of it
template <class From, class To>
void transform_row(const From* given, const std::vector<double>& shift, double scale, To* out) {
  for (Size k = 0; k < shift.size(); ++k) {
    const double value = (double(given[k]) - shift[k]) * scale;
    const double below = value < kFarthest ? value : kFarthest;
    out[k] = To(below > -kFarthest ? below : -kFarthest);
  }
}

constexpr Size kTogether = 4;  // columns whose values are stored side by side; panels are multiples

// out[k * width + j] = feature k of row j, for whole blocks of features; returns how many.
// Compilers make no vectors of it by themselves: the rows might be written to.
template <class Real>
Size pack_blocks(const Real* const* rows, Size features, Size width, Real* out) {
  typedef Real Quartet __attribute__((vector_size(kTogether * sizeof(Real))));
  const Size whole = features / kTogether * kTogether;
  for (Size k = 0; k < whole; k += kTogether) {
    Quartet a[kTogether];
    for (Size j = 0; j < kTogether; ++j) std::memcpy(a + j, rows[j] + k, sizeof(Quartet));
    const Quartet low[] = {__builtin_shufflevector(a[0], a[1], 0, 4, 1, 5),
                           __builtin_shufflevector(a[2], a[3], 0, 4, 1, 5)};
    const Quartet high[] = {__builtin_shufflevector(a[0], a[1], 2, 6, 3, 7),
                            __builtin_shufflevector(a[2], a[3], 2, 6, 3, 7)};
    a[0] = __builtin_shufflevector(low[0], low[1], 0, 1, 4, 5);
    a[1] = __builtin_shufflevector(low[0], low[1], 2, 3, 6, 7);
    a[2] = __builtin_shufflevector(high[0], high[1], 0, 1, 4, 5);
    a[3] = __builtin_shufflevector(high[0], high[1], 2, 3, 6, 7);
    for (Size j = 0; j < kTogether; ++j) std::memcpy(out + (k + j) * width, a + j, sizeof(Quartet));
  }
  return whole;
}

template <class From, class To>
Size pack_blocks(const From* const*, Size, Size, To*) {
  return 0;  // what is converted goes value by value
}

// out[k * width + c] = feature k of sample ids[c]; zero for count <= c < width
template <class From, class To>
void pack_rows(const From* samples, Size features, const Index* ids, Size count, Size width,
               To* out) {
  const Size whole = count / kTogether * kTogether;
  for (Size c = 0; c < whole; c += kTogether) {
    const From* rows[kTogether];
    for (Size j = 0; j < kTogether; ++j) rows[j] = samples + Size(ids[c + j]) * features;
    for (Size k = pack_blocks(rows, features, width, out + c); k < features; ++k)
      for (Size j = 0; j < kTogether; ++j) out[k * width + c + j] = To(rows[j][k]);
  }
  for (Size c = whole; c < width; ++c)
    for (Size k = 0; k < features; ++k)
      out[k * width + c] = c < count ? To(samples[Size(ids[c]) * features + k]) : To(0);
}

}  // namespace

Samples::Samples(const float* dense, Size n, Size features)
    : n_(n), features_(features), most_terms_(features), dense32_(dense) {}
Samples::Samples(const double* dense, Size n, Size features)
    : n_(n), features_(features), most_terms_(features), dense64_(dense) {}
Samples::Samples(const float* data, const Index* indices, const std::int64_t* offsets, Size n,
                 Size features)
    : n_(n),
      features_(features),
      most_terms_(0),
      data32_(data),
      indices_(indices),
      offsets_(offsets) {
  count_terms();
}
Samples::Samples(const double* data, const Index* indices, const std::int64_t* offsets, Size n,
                 Size features)
    : n_(n),
      features_(features),
      most_terms_(0),
      data64_(data),
      indices_(indices),
      offsets_(offsets) {
  count_terms();
}

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

void Samples::count_terms() {
  for (Size i = 0; i < n_; ++i)
    most_terms_ = std::max(most_terms_, Size(offsets_[i + 1] - offsets_[i]));
}

std::vector<double> Samples::median() const {
  const Size count = std::min(n_, std::clamp(n_ / 8, kFewestForMedian, kMostForMedian));
  std::vector<double> out(features_, 0.0), values(count);
  if (count == 0) return out;
  for (Size k = 0; k < features_; ++k) {
    for (Size s = 0; s < count; ++s) {
      const Size at = (s * n_ / count) * features_ + k;
      values[s] = dense32_ ? double(dense32_[at]) : dense64_[at];
    }
    const auto middle = values.begin() + std::ptrdiff_t(count / 2);
    std::nth_element(values.begin(), middle, values.end());
    out[k] = *middle;
  }
  return out;
}

template <class Real>
void Samples::copy_row(Size i, Real* out) const {
  const Size at = i * features_;
  if (shift_.empty() && dense32_) std::copy_n(dense32_ + at, features_, out);
  if (shift_.empty() && dense64_) std::copy_n(dense64_ + at, features_, out);
  if (shift_.empty()) return;
  if (dense32_)
    transform_row(dense32_ + at, shift_, scale_, out);
  else
    transform_row(dense64_ + at, shift_, scale_, out);
}

float Samples::coordinate(Index id, Size feature) const {
  const Size at = Size(id) * features_ + feature;
  const double given = dense32_ ? double(dense32_[at]) : dense64_[at];
  return float(shift_.empty() ? given : bounded((given - shift_[feature]) * scale_));
}

// The dense samples in the precision and the coordinates of the tiles; the caller's own array when
// nothing is to be changed.
template <class Real>
const Real* Samples::transformed() const {
  constexpr bool is_float = sizeof(Real) == 4;
  const void* same =
      is_float ? static_cast<const void*>(dense32_) : static_cast<const void*>(dense64_);
  if (same != nullptr && shift_.empty()) return static_cast<const Real*>(same);
  const Size most = is_float ? kKeptBytes : kKeptDoubleBytes;
  if (n_ * features_ * sizeof(Real) > most) return nullptr;
  Lazy<Real>& cached = lazy<Real>();
  std::call_once(cached.data_once, [&] {
    cached.data.resize(n_ * features_);
    for (Size i = 0; i < n_; ++i) copy_row(i, cached.data.data() + i * features_);
  });
  return cached.data.data();
}

template <class Real>
void Samples::pack(const Index* ids, Size count, Size width, Real* out) const {
  if (const Real* samples = transformed<Real>())
    return pack_rows(samples, features_, ids, count, width, out);
  std::vector<Real> rows(count * features_);
  std::vector<Index> at(count);
  for (Size c = 0; c < count; ++c) {
    at[c] = Index(c);
    copy_row(Size(ids[c]), rows.data() + c * features_);
  }
  pack_rows(rows.data(), features_, at.data(), count, width, out);
}

template <class Real>
void Samples::fetch_ahead(const Index* ids, Size count) const {
  constexpr Size line = 64 / sizeof(Real);
  if (n_ * features_ * sizeof(Real) <= kNearBytes) return;
  const Real* samples = transformed<Real>();
  if (samples == nullptr) return;
  for (Size c = 0; c < count; ++c) {
    const Real* row = samples + Size(ids[c]) * features_;
    for (Size k = 0; k < std::min(features_, kFetchedLines * line); k += line)
      __builtin_prefetch(row + k);
    __builtin_prefetch(row + std::min(features_, kFetchedLines * line) - 1);
  }
}

void Samples::pack_given(const Index* ids, Size count, Size width, double* out) const {
  if (dense32_)
    pack_rows(dense32_, features_, ids, count, width, out);
  else
    pack_rows(dense64_, features_, ids, count, width, out);
}

std::vector<SparseRow> Samples::given_rows(const Index* ids, Size count,
                                           std::vector<double>& values) const {
  values.clear();
  std::vector<SparseRow> out;
  for (Size c = 0; c < count; ++c) {
    const std::int64_t begin = offsets_[ids[c]], end = offsets_[ids[c] + 1];
    if (data32_) values.insert(values.end(), data32_ + begin, data32_ + end);
    out.push_back({indices_ + begin, data64_ ? data64_ + begin : nullptr, Size(end - begin)});
  }
  const double* next = values.data();
  for (SparseRow& row : out) {
    if (row.values) continue;
    row.values = next;
    next += row.count;
  }
  return out;
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
      const Real factor = Real(scale_left<Real>() * scale_left<Real>());
      for (Size i = 0; i < n_; ++i)
        cached.norms[i] =
            factor * routines<Real>().sparse_norm(all.data + all.offsets[i],
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

// Double precision works on the caller's own values, which may fill the memory already: the
// product of two samples is scaled instead.
template <class Real>
double Samples::scale_left() const {
  return sizeof(Real) == 8 && data64_ != nullptr ? scale_ : 1.0;
}

template <class Real>
Samples::Rows<Real> Samples::rows() const {
  constexpr bool is_float = sizeof(Real) == 4;
  const void* same =
      is_float ? static_cast<const void*>(data32_) : static_cast<const void*>(data64_);
  if (same != nullptr && (scale_ == 1.0 || scale_left<Real>() == scale_))
    return {offsets_, indices_, static_cast<const Real*>(same)};
  Lazy<Real>& cached = lazy<Real>();
  std::call_once(cached.data_once, [&] {
    const Size count = Size(offsets_[n_]);
    cached.data.resize(count);
    for (Size k = 0; k < count; ++k)
      cached.data[k] = Real(bounded((data32_ ? double(data32_[k]) : data64_[k]) * scale_));
  });
  return {offsets_, indices_, cached.data.data()};
}

template <class Real>
Size Samples::scatter(const Index* ids, Size count, Size width, double factor, Index* slots,
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
  const Real multiple = Real(scale_left<Real>() * factor);
  for (Size c = 0; c < count; ++c)
    for (std::int64_t k = all.offsets[ids[c]]; k < all.offsets[ids[c] + 1]; ++k) {
      const Size feature = Size(slots != nullptr ? slots[all.indices[k]] : all.indices[k]);
      out[feature * width + c] += multiple * all.data[k];
    }
  return used;
}

template void Samples::pack<float>(const Index*, Size, Size, float*) const;
template void Samples::pack<double>(const Index*, Size, Size, double*) const;
template void Samples::fetch_ahead<float>(const Index*, Size) const;
template void Samples::fetch_ahead<double>(const Index*, Size) const;
template const float* Samples::half_norms<float>() const;
template const double* Samples::half_norms<double>() const;
template Samples::Rows<float> Samples::rows<float>() const;
template Samples::Rows<double> Samples::rows<double>() const;
template double Samples::scale_left<float>() const;
template double Samples::scale_left<double>() const;
template Size Samples::scatter<float>(const Index*, Size, Size, double, Index*,
                                      std::vector<float>&) const;
template Size Samples::scatter<double>(const Index*, Size, Size, double, Index*,
                                       std::vector<double>&) const;

}  // namespace widemargin
