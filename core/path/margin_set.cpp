#include "path/margin_set.hpp"

#include <algorithm>
#include <cmath>

#include "path/vector_sums.hpp"
#include "simd/clones.hpp"

namespace widemargin {

namespace {

// A squared pivot below this share of the diagonal marks a dependent row. It is near rounding:
// whatever the factor can hold is held, since an exchange leaves the decision function alone
// only if the dependence is exact.
constexpr double kDependence = 1e-13;

WIDEMARGIN_CLONES
void add_columns(const std::vector<double>* columns, const double* weights, Size count, Size rows,
                 double* __restrict out) {
  Size k = 0;
  for (; k + 4 <= count; k += 4) {
    const double* __restrict a = columns[k].data();
    const double* __restrict b = columns[k + 1].data();
    const double* __restrict c = columns[k + 2].data();
    const double* __restrict d = columns[k + 3].data();
    const double wa = weights[k], wb = weights[k + 1], wc = weights[k + 2], wd = weights[k + 3];
    for (Size i = 0; i < rows; ++i) out[i] += (wa * a[i] + wb * b[i]) + (wc * c[i] + wd * d[i]);
  }
  for (; k < count; ++k) {
    const double* __restrict a = columns[k].data();
    const double wa = weights[k];
    for (Size i = 0; i < rows; ++i) out[i] += wa * a[i];
  }
}

WIDEMARGIN_CLONES
void add_columns_twice(const std::vector<double>* columns, const double* weights,
                       const double* others, Size count, Size rows, double* __restrict out,
                       double* __restrict other_out) {
  Size k = 0;
  for (; k + 2 <= count; k += 2) {
    const double* __restrict a = columns[k].data();
    const double* __restrict b = columns[k + 1].data();
    const double wa = weights[k], wb = weights[k + 1], va = others[k], vb = others[k + 1];
    for (Size i = 0; i < rows; ++i) {
      out[i] += wa * a[i] + wb * b[i];
      other_out[i] += va * a[i] + vb * b[i];
    }
  }
  for (; k < count; ++k) {
    const double* __restrict a = columns[k].data();
    for (Size i = 0; i < rows; ++i) {
      out[i] += weights[k] * a[i];
      other_out[i] += others[k] * a[i];
    }
  }
}

}  // namespace

MarginSet::MarginSet(const std::vector<double>& diagonal, bool has_equality)
    : diagonal_(diagonal), has_equality_(has_equality) {
  for (double value : diagonal) largest_diagonal_ = std::max(largest_diagonal_, std::abs(value));
  if (!has_equality) return;
  corner_ = diagonal.empty() ? 0 : sum_of(diagonal) / double(diagonal.size());
  if (!(corner_ > 0)) corner_ = 1;
}

double MarginSet::least_pivot() const {
  return kDependence * (largest_diagonal_ + corner_);
}

// Forward substitution of a row's column; returns the squared pivot it would bring.
double MarginSet::reduce(Size row, const std::vector<double>& column, Size count,
                         std::vector<double>& reduced) const {
  reduced.resize(count);
  for (Size k = 0; k < count; ++k) reduced[k] = column[members_[Position(k)]] + corner_;
  factor_.forward(reduced.data());
  double squares = 0;
  for (double value : reduced) squares += value * value;
  return diagonal_[row] + corner_ - squares;
}

bool MarginSet::insert(Size row, std::vector<double>& column) {
  std::vector<double> reduced;
  const double pivot = reduce(row, column, members_.size(), reduced);
  if (!(pivot > least_pivot())) return false;
  factor_.append(reduced.data(), pivot);
  members_.push_back(row);
  if (!watches_all_) take_excerpt(column, excerpts_.emplace_back());
  columns_.push_back(std::move(column));
  return true;
}

std::vector<double> MarginSet::remove(Size row) {
  const std::vector<Size>& rows = members_.values();
  const Size position = Size(std::find(rows.begin(), rows.end(), row) - rows.begin());
  factor_.remove(position);
  members_.erase(Position(position));
  std::vector<double> column = std::move(columns_[position]);
  columns_.erase(columns_.begin() + std::ptrdiff_t(position));
  if (!watches_all_) excerpts_.erase(excerpts_.begin() + std::ptrdiff_t(position));
  return column;
}

double MarginSet::solve(ByPosition<double>& right, double sum) const {
  if (!has_equality_) {
    factor_.solve(right.data());
    return 0;
  }
  std::vector<double> ones(right.size(), 1.0);
  for (const Position k : right.positions()) right[k] += corner_ * sum;
  factor_.solve(right.data(), ones.data());
  const double shift = (sum_of(right.values()) - sum) / sum_of(ones);
  for (const Position k : right.positions()) right[k] -= shift * ones[Size(k)];
  return shift;
}

void MarginSet::accumulate(const ByPosition<double>& weights, std::vector<double>& out) const {
  add_columns(columns_.data(), weights.data(), columns_.size(), out.size(), out.data());
}

void MarginSet::accumulate(const ByPosition<double>& weights, std::vector<double>& out,
                           const ByPosition<double>& others, std::vector<double>& other_out) const {
  add_columns_twice(columns_.data(), weights.data(), others.data(), columns_.size(), out.size(),
                    out.data(), other_out.data());
}

void MarginSet::accumulate_watched(const ByPosition<double>& weights,
                                   std::vector<double>& out) const {
  const auto& columns = watches_all_ ? columns_ : excerpts_;
  add_columns(columns.data(), weights.data(), columns.size(), out.size(), out.data());
}

void MarginSet::take_excerpt(const std::vector<double>& column, std::vector<double>& out) const {
  out.resize(watched_.size());
  for (Size k = 0; k < out.size(); ++k) out[k] = column[watched_[k]];
}

void MarginSet::watch(const std::vector<Size>& rows) {
  watches_all_ = false;
  watched_ = rows;
  excerpts_.resize(columns_.size());  // those of the last look lend their memory
  for (Size k = 0; k < columns_.size(); ++k) take_excerpt(columns_[k], excerpts_[k]);
}

void MarginSet::watch(Size row) {
  watched_.push_back(row);
  for (Size k = 0; k < columns_.size(); ++k) excerpts_[k].push_back(columns_[k][row]);
}

void MarginSet::watch_all() {
  watches_all_ = true;
}

void MarginSet::refactor() {
  factor_.clear();
  std::vector<double> reduced;
  for (Size k = 0; k < members_.size(); ++k) {
    const double pivot = reduce(members_[Position(k)], columns_[k], k, reduced);
    factor_.append(reduced.data(), std::max(pivot, least_pivot()));
  }
}

}  // namespace widemargin
