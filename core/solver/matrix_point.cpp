#include "solver/matrix_point.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "simd/dispatch.hpp"

namespace widemargin {

namespace {

constexpr Index kProbed = 8;  // one row in this many tells where to begin

}  // namespace

template <class Real>
MatrixPoint<Real>::MatrixPoint(MatrixRows<Real>& rows, const MatrixProblem& problem, double* beta,
                               const OtherColumns& others, bool from_vertex)
    : rows_(rows),
      provided_(rows.whole() ? 0 : problem.n, 0),
      problem_(&problem),
      beta_(beta),
      places_(problem.n + others.count) {
  const auto column = [&](Size c) {
    return Size(c < problem.n ? problem.members[c] : others.columns[c - problem.n]);
  };
  std::vector<Size> rising(places_.size());
  std::iota(rising.begin(), rising.end(), Size(0));
  const auto before = [&](Size a, Size b) { return column(a) < column(b); };
  if (!std::is_sorted(rising.begin(), rising.end(), before))
    std::sort(rising.begin(), rising.end(), before);
  for (const Size c : rising) {
    const Size at = column(c);
    if (ranges_.empty() || at > ranges_.back().begin + ranges_.back().length + kColumnGap ||
        rows.segment(at) != rows.segment(ranges_.back().begin)) {
      const Size offset = ranges_.empty() ? 0 : ranges_.back().offset + ranges_.back().length;
      ranges_.push_back({at, 0, offset});
    }
    Range& range = ranges_.back();
    range.length = at - range.begin + 1;
    places_[c] = range.offset + at - range.begin;
  }
  sums_.resize(ranges_.empty() ? 0 : ranges_.back().offset + ranges_.back().length);
  if (from_vertex) to_vertex();
  renew();
}

template <class Real>
std::vector<Size> MatrixPoint<Real>::segments() const {
  std::vector<Size> out;
  for (const Range& range : ranges_) {
    const Size segment = rows_.segment(range.begin);
    if (out.empty() || out.back() != segment) out.push_back(segment);
  }
  return out;
}

template <class Real>
void MatrixPoint<Real>::provide(const std::vector<Size>& members) const {
  if (rows_.whole()) return;
  std::vector<Index> missing;
  for (const Size k : members) {
    if (provided_[k] != 0) continue;
    provided_[k] = 1;
    missing.push_back(problem_->members[k]);
  }
  if (!missing.empty()) rows_.provide(missing, segments());
}

template <class Real>
std::vector<Size> MatrixPoint<Real>::support() const {
  std::vector<Size> out;
  out.reserve(problem_->n);
  for (Size k = 0; k < problem_->n; ++k)
    if (beta_[k] != 0.0) out.push_back(k);
  return out;
}

template <class Real>
Extremes MatrixPoint<Real>::extremes() const {
  Extremes out;
  for (Size k = 0; k < problem_->n; ++k)
    out.meet(gradient(k), beta_[k], problem_->lower[k], problem_->upper[k],
             problem_->kink_of(Index(k)));
  return out;
}

template <class Real>
void MatrixPoint<Real>::recentre() {
  if (!problem_->two_sums()) return;
  SideExtremes sides;
  for (Size k = 0; k < problem_->n; ++k)
    sides.meet(gradient(k), beta_[k], problem_->lower[k], problem_->upper[k]);
  problem_->set_multiplier(problem_->meeting(sides));
}

// Sums the gradient roughly where rows are evaluated as they are needed, else as it is: the same
// rows serve all problems over a segment.
template <class Real>
void MatrixPoint<Real>::estimate() {
  const Index every = rows_.whole() ? 1 : kProbed;
  std::vector<Size> probes;
  std::vector<double> weights;
  for (const Size k : support()) {
    if (problem_->members[k] % every != 0) continue;
    probes.push_back(k);
    weights.push_back(double(every) * beta_[k]);
  }
  add(probes, weights, sums_.data());
}

template <class Real>
void MatrixPoint<Real>::to_vertex() {
  estimate();
  const bool two_sums = problem_->margins != nullptr;
  for (const double side : {1.0, -1.0}) {
    if (side < 0.0 && !two_sums) break;
    std::vector<std::pair<double, Size>> order;
    double left = 0.0;
    for (Size k = 0; k < problem_->n; ++k) {
      if (two_sums && problem_->side(k) != side) continue;
      order.push_back({side * gradient(k), k});
      left += side > 0.0 ? beta_[k] - problem_->lower[k] : problem_->upper[k] - beta_[k];
    }
    std::sort(order.begin(), order.end());
    for (const auto& member : order) {
      const Size k = member.second;
      const double width = problem_->upper[k] - problem_->lower[k];
      const double first = side > 0.0 ? problem_->lower[k] : problem_->upper[k];
      const double last = side > 0.0 ? problem_->upper[k] : problem_->lower[k];
      beta_[k] = left >= width ? last : first + side * left;
      left = std::max(0.0, left - width);
    }
  }
}

template <class Real>
void MatrixPoint<Real>::move(const std::vector<Size>& members, const std::vector<double>& targets) {
  std::vector<double> changes(members.size());
  for (Size a = 0; a < members.size(); ++a) {
    changes[a] = targets[a] - beta_[members[a]];
    beta_[members[a]] = targets[a];
  }
  add(members, changes, sums_.data());
}

template <class Real>
void MatrixPoint<Real>::take(const MatrixProblem& problem, double* beta) {
  std::vector<Size> moved;
  std::vector<double> changes;
  for (Size k = 0; k < problem.n; ++k) {
    if (beta[k] == beta_[k]) continue;
    moved.push_back(k);
    changes.push_back(beta[k] - beta_[k]);
  }
  problem_ = &problem;
  beta_ = beta;
  add(moved, changes, sums_.data());
}

template <class Real>
void MatrixPoint<Real>::go_to(const MatrixProblem& problem, double* beta,
                              const std::vector<double>& targets) {
  problem_ = &problem;
  beta_ = beta;
  std::vector<Size> moved;
  std::vector<double> to;
  for (Size k = 0; k < problem.n; ++k) {
    if (targets[k] == beta_[k]) continue;
    moved.push_back(k);
    to.push_back(targets[k]);
  }
  move(moved, to);
}

template <class Real>
void MatrixPoint<Real>::take(const MatrixProblem& problem, double* beta, const double* values,
                             const std::vector<Index>& rows, const std::vector<double>& weights) {
  problem_ = &problem;
  beta_ = beta;
  for (Size c = 0; c < places_.size(); ++c) sums_[places_[c]] = values[c];
  add_rows(rows, weights, sums_.data());
}

template <class Real>
void MatrixPoint<Real>::renew() {
  std::fill(sums_.begin(), sums_.end(), 0.0);
  const std::vector<Size> chosen = support();
  std::vector<double> weights(chosen.size());
  for (Size a = 0; a < chosen.size(); ++a) weights[a] = beta_[chosen[a]];
  add(chosen, weights, sums_.data());
}

template <class Real>
void MatrixPoint<Real>::products(const std::vector<Size>& members,
                                 const std::vector<double>& weights, double* out) const {
  std::vector<double> sums(sums_.size(), 0.0);
  add(members, weights, sums.data());
  for (Size k = 0; k < problem_->n; ++k) out[k] = sums[places_[k]];
}

template <class Real>
void MatrixPoint<Real>::values(double* out) const {
  for (Size c = 0; c < places_.size(); ++c) out[c] = sums_[places_[c]];
}

template <class Real>
void MatrixPoint<Real>::add(const std::vector<Size>& members, const std::vector<double>& weights,
                            double* sums) const {
  provide(members);
  std::vector<Index> rows(members.size());
  for (Size a = 0; a < members.size(); ++a) rows[a] = problem_->members[members[a]];
  add_rows(rows, weights, sums);
}

template <class Real>
void MatrixPoint<Real>::add_rows(const std::vector<Index>& rows, const std::vector<double>& weights,
                                 double* sums) const {
  std::vector<const Real*> entries(rows.size());
  for (const Range& range : ranges_) {
    for (Size a = 0; a < rows.size(); ++a) entries[a] = rows_.at(rows[a], range.begin);
    routines<Real>().combine(entries.data(), weights.data(), rows.size(), range.length,
                             sums + range.offset);
  }
}

template class MatrixPoint<float>;
template class MatrixPoint<double>;

}  // namespace widemargin
