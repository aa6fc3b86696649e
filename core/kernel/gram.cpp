#include "kernel/gram.hpp"

#include <algorithm>
#include <numeric>

#include "memory/aligned.hpp"
#include "simd/dispatch.hpp"

namespace widemargin {

template <>
RowCache<float>& Gram::cache<float>() {
  if (!cache32_) cache32_ = make_row_cache<float>(*source_, budget_, log_);
  return *cache32_;
}

template <>
RowCache<double>& Gram::cache<double>() {
  if (!cache64_) cache64_ = make_row_cache<double>(*source_, budget_, log_);
  return *cache64_;
}

template <class Real>
void Gram::rows(const Index* rows, Size n_rows, const Index* columns, Size n_columns, Real* out) {
  Team team(threads_);
  const WorkLog::Timer timer(log_, Activity::entries);
  std::vector<Real*> store(n_rows);
  for (Size r = 0; r < n_rows; ++r) store[r] = out + r * n_columns;
  const Size evaluated =
      source_->sweep(Sweep<Real>{rows, n_rows, columns, n_columns, store.data()}, team);
  log_.count(Purpose::other, n_rows * n_columns, evaluated);
}

template void Gram::rows<float>(const Index*, Size, const Index*, Size, float*);
template void Gram::rows<double>(const Index*, Size, const Index*, Size, double*);

template <class Real>
void Gram::times(const Index* rows, const double* weights, Size n_rows, const Index* columns,
                 Size n_columns, double* out) {
  Team team(threads_);
  const WorkLog::Timer timer(log_, Activity::entries);
  std::fill_n(out, n_columns, 0.0);
  const Size evaluated =
      source_->sweep(Sweep<Real>{rows, n_rows, columns, n_columns, nullptr, weights, out}, team);
  log_.count(Purpose::products, n_rows * n_columns, evaluated);
}

template void Gram::times<float>(const Index*, const double*, Size, const Index*, Size, double*);
template void Gram::times<double>(const Index*, const double*, Size, const Index*, Size, double*);

template <class Real>
void Gram::several_times(const Index* rows, Size n_rows, const double* weights, Size n_vectors,
                         const Index* columns, Size n_columns, double* out) {
  constexpr Size most_rows = 256, most_columns = 1024;  // entries that stay in the cache
  Team team(threads_);
  const WorkLog::Timer timer(log_, Activity::entries);
  Aligned<Real> block(most_rows * most_columns);
  std::vector<Real*> store(most_rows);
  for (Size r = 0; r < most_rows; ++r) store[r] = block.data() + r * most_columns;
  std::vector<const Real*> chosen;
  std::vector<double> factors;
  std::fill_n(out, n_vectors * n_columns, 0.0);
  for (Size row = 0; row < n_rows; row += most_rows) {
    const Size count = std::min(most_rows, n_rows - row);
    for (Size column = 0; column < n_columns; column += most_columns) {
      const Size width = std::min(most_columns, n_columns - column);
      log_.count(Purpose::products, count * width,
                 source_->sweep(
                     Sweep<Real>{rows + row, count, columns + column, width, store.data()}, team));
      for (Size v = 0; v < n_vectors; ++v) {
        chosen.clear(), factors.clear();
        for (Size r = 0; r < count; ++r) {
          const double weight = weights[v * n_rows + row + r];
          if (weight != 0.0) chosen.push_back(store[r]), factors.push_back(weight);
        }
        routines<Real>().combine(chosen.data(), factors.data(), chosen.size(), width,
                                 out + v * n_columns + column);
      }
    }
  }
}

template void Gram::several_times<float>(const Index*, Size, const double*, Size, const Index*,
                                         Size, double*);
template void Gram::several_times<double>(const Index*, Size, const double*, Size, const Index*,
                                          Size, double*);

template <class Real>
void Gram::bounded_times(const Index* rows, const double* weights, Size n_rows,
                         const Index* columns, Size n_columns, double* out, double* error) {
  Team team(threads_);
  const WorkLog::Timer timer(log_, Activity::entries);
  std::fill_n(out, n_columns, 0.0);
  std::fill_n(error, n_columns, 0.0);
  std::vector<double> sizes(n_columns);
  Sweep<Real> work{rows, n_rows, columns, n_columns, nullptr, weights, out};
  work.sizes = sizes.data();
  log_.count(Purpose::certificate, n_rows * n_columns, source_->sweep(work, team));
  source_->rounding(work, error);
}

template void Gram::bounded_times<float>(const Index*, const double*, Size, const Index*, Size,
                                         double*, double*);
template void Gram::bounded_times<double>(const Index*, const double*, Size, const Index*, Size,
                                          double*, double*);

void Gram::add_rows(const Index* rows, const double* weights, Size n_rows, double* out) {
  std::lock_guard<std::mutex> lock(busy_);
  RowCache<float>& cache = this->cache<float>();
  std::vector<Index> columns = cache.columns().values();
  std::vector<double> sums(size());
  if (columns.size() == size()) {
    Team team(threads_);
    const std::vector<char> keep(n_rows, 0);
    cache.apply(rows, weights, keep.data(), n_rows, sums.data(), team);
  } else {  // its rows are of some samples only
    columns.resize(size());
    std::iota(columns.begin(), columns.end(), Index(0));
    times<float>(rows, weights, n_rows, columns.data(), size(), sums.data());
  }
  for (Size c = 0; c < size(); ++c) out[columns[c]] += sums[c];
}

}  // namespace widemargin
