#include "kernel/source.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "kernel/far_samples.hpp"
#include "kernel/kernel_facts.hpp"
#include "kernel/near_sweeps.hpp"
#include "kernel/rounding.hpp"

namespace widemargin {

namespace {

constexpr double kFarShare = 1.0 / 16;  // of the samples: more would make single precision slow

}  // namespace

std::vector<double> Source::whole_diagonal() const {
  std::vector<Index> all(size());
  std::iota(all.begin(), all.end(), Index(0));
  std::vector<double> out(size());
  diagonal(all.data(), size(), out.data());
  return out;
}

SampleSource::SampleSource(std::unique_ptr<Samples> samples, const KernelSpec& kernel)
    : samples_(std::move(samples)), kernel_(kernel) {
  if (kernel.kind != KernelKind::gaussian) return;
  const double log2_e = 1.4426950408889634;
  const double scale = std::sqrt(2.0 * kernel.gamma * log2_e);
  samples_->transform(samples_->sparse() ? std::vector<double>{} : samples_->median(), scale);
}

void SampleSource::diagonal(const Index* ids, Size count, double* out) const {
  if (of_differences(kernel_)) {  // whatever the norms: none are computed
    std::fill_n(out, count, with_itself(kernel_, 0.0));
    return;
  }
  const double* norms = samples_->half_norms<double>();
  for (Size k = 0; k < count; ++k) out[k] = with_itself(kernel_, 2.0 * norms[ids[k]]);
}

// The exponent of a Gaussian entry is the difference of numbers as large as the squared norms.
void SampleSource::magnitudes(const Index* ids, Size count, double* out) const {
  if (kernel_.kind != KernelKind::gaussian) return diagonal(ids, count, out);
  const double ln_2 = 0.6931471805599453;
  const float* norms = samples_->half_norms<float>();
  for (Size k = 0; k < count; ++k) {
    const double half = double(norms[ids[k]]);
    out[k] = 1.0 + (is_far<float>(half, 0) ? 0.0 : ln_2 * 2.0 * half);
  }
}

// Judged when first asked for: samples are packed for it.
const Locality* SampleSource::locality() const {
  if (kernel_.kind != KernelKind::gaussian || samples_->sparse()) return nullptr;
  std::call_once(located_, [&] { locality_ = std::make_unique<Locality>(*samples_); });
  return locality_->near_share() < 1.0 ? locality_.get() : nullptr;
}

template <class Real>
Size SampleSource::sweep_any(const Sweep<Real>& work, Team& team) const {
  if (!work.near && order_pays(work) && locality())
    return sweep_in_order(kernel_, *samples_, *locality(), work, team);
  return sweep_samples(kernel_, *samples_, *samples_, work, team);
}

Size SampleSource::sweep(const Sweep<float>& work, Team& team) const {
  return sweep_any(work, team);
}

Size SampleSource::sweep(const Sweep<double>& work, Team& team) const {
  return sweep_any(work, team);
}

void SampleSource::prepare(const Index* columns, Size count, Prepared<float>& out) const {
  prepare_samples(kernel_, *samples_, columns, count, out);
}
void SampleSource::prepare(const Index* columns, Size count, Prepared<double>& out) const {
  prepare_samples(kernel_, *samples_, columns, count, out);
}
std::unique_ptr<Strips<double>> SampleSource::strips(const Index* rows, Size count) const {
  if (samples_->sparse() || kernel_.kind == KernelKind::laplacian) return nullptr;
  return std::make_unique<Strips<double>>(*samples_, kernel_, rows, count);
}

bool SampleSource::semidefinite() const {
  return widemargin::semidefinite(kernel_);
}

bool SampleSource::single_precision_suffices() const {
  if (kernel_.kind != KernelKind::gaussian) return true;
  const float* norms = samples_->half_norms<float>();
  Size far = 0;
  for (Size i = 0; i < size(); ++i) far += is_far<float>(double(norms[i]), 0);
  return double(far) <= kFarShare * double(size());  // these few are evaluated by differences
}

// Between a far and a near sample it matters which of them is the row.
bool SampleSource::mirrors() const {
  if (kernel_.kind != KernelKind::gaussian) return true;
  const float* norms = samples_->half_norms<float>();
  return std::none_of(norms, norms + size(),
                      [](float half) { return is_far<float>(double(half), 0); });
}

bool SampleSource::by_differences(Index id) const {
  if (kernel_.kind != KernelKind::gaussian) return false;
  return is_far<double>(samples_->half_norms<double>()[id], samples_->most_roundings());
}

// Entries that were left out are below 2^-kNegligible each; the others are added one by one.
template <class Real>
void SampleSource::rounding_of(const Sweep<Real>& work, double* error) const {
  rounding_of_samples(kernel_, *samples_, *samples_, work, error);
  if (!locality()) return;
  double total = 0.0;
  for (Size r = 0; r < work.n_rows; ++r) total += std::abs(work.weights[r]);
  const double left_out = 1.01 * std::exp2(-kNegligible<Real>) * total;
  const double share = unit_roundoff<double>() * double(work.n_rows);
  for (Size c = 0; c < work.n_columns; ++c) error[c] += left_out + share * work.sizes[c];
}

void SampleSource::rounding(const Sweep<float>& work, double* error) const {
  rounding_of(work, error);
}
void SampleSource::rounding(const Sweep<double>& work, double* error) const {
  rounding_of(work, error);
}

namespace {

// Hands one evaluated row block to the caller: keep it, add it up, or both.
template <class Real>
void deliver(const Sweep<Real>& work, Size row, const double* entries) {
  if (work.store && work.store[row])
    for (Size c = 0; c < work.n_columns; ++c) work.store[row][c] = Real(entries[c]);
  if (work.accumulate)
    for (Size c = 0; c < work.n_columns; ++c) work.accumulate[c] += work.weights[row] * entries[c];
  if (work.sizes)
    for (Size c = 0; c < work.n_columns; ++c)
      work.sizes[c] += std::abs(work.weights[row] * entries[c]);
}

// The given entries are the kernel; only their sums are rounded.
template <class Real>
void rounding_of_sums(const Sweep<Real>& work, double* error) {
  const double share = unit_roundoff<double>() * double(work.n_rows + 4);
  for (Size c = 0; c < work.n_columns; ++c) error[c] += share * work.sizes[c];
}

template <class Real, class Value>
Size sweep_matrix(const Value* matrix, Size n, const Sweep<Real>& work) {
  std::vector<double> entries(work.n_columns);
  for (Size r = 0; r < work.n_rows; ++r) {
    const Value* row = matrix + Size(work.rows[r]) * n;
    for (Size c = 0; c < work.n_columns; ++c) entries[c] = double(row[work.columns[c]]);
    deliver(work, r, entries.data());
  }
  return work.n_rows * work.n_columns;
}

template <class Real>
Size sweep_callback(const FillFunction& fill, const Sweep<Real>& work) {
  if (work.n_columns == 0) return 0;
  const Size block = std::max<Size>(1, (Size(1) << 22) / work.n_columns);
  std::vector<double> entries(std::min(block, work.n_rows) * work.n_columns);
  for (Size first = 0; first < work.n_rows; first += block) {
    const Size count = std::min(block, work.n_rows - first);
    fill(work.rows + first, count, work.columns, work.n_columns, entries.data());
    for (Size r = 0; r < count; ++r) deliver(work, first + r, entries.data() + r * work.n_columns);
  }
  return work.n_rows * work.n_columns;
}

}  // namespace

template <class Value>
void MatrixSource<Value>::diagonal(const Index* ids, Size count, double* out) const {
  for (Size k = 0; k < count; ++k) out[k] = double(matrix_[Size(ids[k]) * n_ + Size(ids[k])]);
}
template <class Value>
Size MatrixSource<Value>::sweep(const Sweep<float>& work, Team&) const {
  return sweep_matrix(matrix_, n_, work);
}
template <class Value>
Size MatrixSource<Value>::sweep(const Sweep<double>& work, Team&) const {
  return sweep_matrix(matrix_, n_, work);
}
template <class Value>
void MatrixSource<Value>::rounding(const Sweep<float>& work, double* error) const {
  rounding_of_sums(work, error);
}
template <class Value>
void MatrixSource<Value>::rounding(const Sweep<double>& work, double* error) const {
  rounding_of_sums(work, error);
}
template class MatrixSource<float>;
template class MatrixSource<double>;

std::vector<Index> SubsetSource::map(const Index* ids, Size count) const {
  std::vector<Index> out(count);
  for (Size k = 0; k < count; ++k) out[k] = ids_[Size(ids[k])];
  return out;
}
template <class Real, class Use>
auto SubsetSource::in_base(const Sweep<Real>& work, const Use& use) const {
  const std::vector<Index> rows = map(work.rows, work.n_rows);
  const std::vector<Index> columns = map(work.columns, work.n_columns);
  Sweep<Real> inner = work;
  inner.rows = rows.data();
  inner.columns = columns.data();
  return use(inner);
}
void SubsetSource::diagonal(const Index* ids, Size count, double* out) const {
  base_->diagonal(map(ids, count).data(), count, out);
}
void SubsetSource::prepare(const Index* columns, Size count, Prepared<float>& out) const {
  base_->prepare(map(columns, count).data(), count, out);
}
void SubsetSource::prepare(const Index* columns, Size count, Prepared<double>& out) const {
  base_->prepare(map(columns, count).data(), count, out);
}
std::unique_ptr<Strips<double>> SubsetSource::strips(const Index* rows, Size count) const {
  return base_->strips(map(rows, count).data(), count);
}
void SubsetSource::rounding(const Sweep<float>& work, double* error) const {
  in_base(work, [&](const Sweep<float>& inner) { base_->rounding(inner, error); });
}
void SubsetSource::rounding(const Sweep<double>& work, double* error) const {
  in_base(work, [&](const Sweep<double>& inner) { base_->rounding(inner, error); });
}
Size SubsetSource::sweep(const Sweep<float>& work, Team& team) const {
  return in_base(work, [&](const Sweep<float>& inner) { return base_->sweep(inner, team); });
}
Size SubsetSource::sweep(const Sweep<double>& work, Team& team) const {
  return in_base(work, [&](const Sweep<double>& inner) { return base_->sweep(inner, team); });
}

void CallbackSource::diagonal(const Index* ids, Size count, double* out) const {
  std::vector<double> block;
  constexpr Size step = 256;  // blocks on the diagonal: one call per block, not per sample
  for (Size first = 0; first < count; first += step) {
    const Size present = std::min(step, count - first);
    block.resize(present * present);
    fill_(ids + first, present, ids + first, present, block.data());
    for (Size k = 0; k < present; ++k) out[first + k] = block[k * present + k];
  }
}
Size CallbackSource::sweep(const Sweep<float>& work, Team&) const {
  return sweep_callback(fill_, work);
}
Size CallbackSource::sweep(const Sweep<double>& work, Team&) const {
  return sweep_callback(fill_, work);
}
void CallbackSource::rounding(const Sweep<float>& work, double* error) const {
  rounding_of_sums(work, error);
}
void CallbackSource::rounding(const Sweep<double>& work, double* error) const {
  rounding_of_sums(work, error);
}

}  // namespace widemargin
