#include "solver/table_problem.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "simd/dispatch.hpp"

namespace widemargin {

namespace {

constexpr Size kGap = 64;  // columns that are rather summed in vain than passed over

}  // namespace

TablePoint::TablePoint(const KernelTable& table, const TableProblem& problem, double* beta)
    : table_(table), problem_(problem), beta_(beta), places_(problem.n) {
  for (Size k = 0; k < problem.n; ++k) {
    const Size column = Size(problem.members[k]);
    if (ranges_.empty() || column > ranges_.back().begin + ranges_.back().length + kGap) {
      const Size offset = ranges_.empty() ? 0 : ranges_.back().offset + ranges_.back().length;
      ranges_.push_back({column, 0, offset});
    }
    Range& range = ranges_.back();
    range.length = column - range.begin + 1;
    places_[k] = range.offset + column - range.begin;
  }
  sums_.resize(ranges_.empty() ? 0 : ranges_.back().offset + ranges_.back().length);
  renew();
}

std::vector<Size> TablePoint::support() const {
  std::vector<Size> out;
  out.reserve(problem_.n);
  for (Size k = 0; k < problem_.n; ++k)
    if (beta_[k] != 0.0) out.push_back(k);
  return out;
}

Extremes TablePoint::extremes() const {
  Extremes out;
  for (Size k = 0; k < problem_.n; ++k)
    out.meet(gradient(k), beta_[k], problem_.lower[k], problem_.upper[k], 0.0);
  return out;
}

void TablePoint::recentre() {
  if (problem_.margins == nullptr) return;
  SideExtremes sides;
  for (Size k = 0; k < problem_.n; ++k)
    sides.meet(gradient(k), beta_[k], problem_.lower[k], problem_.upper[k]);
  const double kink = sides.multiplier();
  for (Size k = 0; k < problem_.n; ++k) sums_[places_[k]] += kink * problem_.side(k);
  problem_.add_to_margin(-kink);
}

void TablePoint::to_vertex() {
  const bool two_sums = problem_.margins != nullptr;
  for (const double side : {1.0, -1.0}) {
    if (side < 0.0 && !two_sums) break;
    std::vector<std::pair<double, Size>> order;
    double left = 0.0;
    for (Size k = 0; k < problem_.n; ++k) {
      if (two_sums && problem_.side(k) != side) continue;
      order.push_back({side * gradient(k), k});
      left += side > 0.0 ? beta_[k] - problem_.lower[k] : problem_.upper[k] - beta_[k];
    }
    std::sort(order.begin(), order.end());
    for (const auto& member : order) {
      const Size k = member.second;
      const double width = problem_.upper[k] - problem_.lower[k];
      const double first = side > 0.0 ? problem_.lower[k] : problem_.upper[k];
      const double last = side > 0.0 ? problem_.upper[k] : problem_.lower[k];
      beta_[k] = left >= width ? last : first + side * left;
      left = std::max(0.0, left - width);
    }
  }
  renew();
}

void TablePoint::move(const std::vector<Size>& members, const std::vector<double>& targets) {
  std::vector<double> changes(members.size());
  for (Size a = 0; a < members.size(); ++a) {
    changes[a] = targets[a] - beta_[members[a]];
    beta_[members[a]] = targets[a];
  }
  add(members, changes, sums_.data());
}

void TablePoint::renew() {
  std::fill(sums_.begin(), sums_.end(), 0.0);
  const std::vector<Size> chosen = support();
  std::vector<double> weights(chosen.size());
  for (Size a = 0; a < chosen.size(); ++a) weights[a] = beta_[chosen[a]];
  add(chosen, weights, sums_.data());
  for (Size k = 0; k < problem_.n; ++k) sums_[places_[k]] -= problem_.linear[k];
}

void TablePoint::products(const std::vector<Size>& members, const std::vector<double>& weights,
                          double* out) const {
  std::vector<double> sums(sums_.size(), 0.0);
  add(members, weights, sums.data());
  for (Size k = 0; k < problem_.n; ++k) out[k] = sums[places_[k]];
}

void TablePoint::add(const std::vector<Size>& members, const std::vector<double>& weights,
                     double* sums) const {
  std::vector<const float*> rows(members.size());
  for (const Range& range : ranges_) {
    for (Size a = 0; a < members.size(); ++a)
      rows[a] = table_.row(problem_.members[members[a]]) + range.begin;
    routines<float>().combine(rows.data(), weights.data(), rows.size(), range.length,
                              sums + range.offset);
  }
}

}  // namespace widemargin
