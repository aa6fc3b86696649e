#include "solver/near_margin.hpp"

#include <algorithm>
#include <cmath>

#include "kernel/symmetric_products.hpp"
#include "simd/clones.hpp"
#include "simd/dispatch.hpp"

namespace widemargin {

namespace {

constexpr Size kBlock = 32;        // rows evaluated at a time, whole panels; columns from there on
constexpr double kCopyCost = 1.5;  // of an entry: one of fewer features takes no longer than a copy
constexpr double kNear = 0.1;  // of the kink, or the largest linear term: how far beyond is near

// Whether a member stays at zero, where its gradient lies between two numbers and the level between
// two others: it has no loss, and does not decide the violation.
bool rests(const MatrixProblem& problem, Size k, double least, double most, double low,
           double high) {
  const double kink = problem.kink_of(Index(k));
  const bool never_grows = problem.upper[k] == 0.0 || least + growth_offset(0.0, kink) > high;
  const bool never_falls = problem.lower[k] == 0.0 || most + fall_offset(0.0, kink) < low;
  return never_grows && never_falls;
}

WIDEMARGIN_CLONES
void add_sizes(const double* row, double weight, Size count, double* __restrict sizes) {
  for (Size c = 0; c < count; ++c) sizes[c] += weight * std::abs(row[c]);
}

std::vector<Index> samples_of(const MatrixProblem& problem, const std::vector<Size>& members) {
  std::vector<Index> out(members.size());
  for (Size a = 0; a < members.size(); ++a) out[a] = problem.members[members[a]];
  return out;
}

}  // namespace

NearMargin::NearMargin(const TablePoint& point, bool every, std::vector<double>& memory)
    : point_(point),
      places_(point.problem().n, kNowhere),
      numbers_(point.problem().n, kNowhere),
      rows_(memory) {
  const MatrixProblem& problem = point.problem();
  const Extremes extremes = point.extremes();
  double largest = 0.0;
  for (Size k = 0; k < problem.n; ++k) largest = std::max(largest, std::abs(problem.linear[k]));
  const double low = problem.equality ? std::min(extremes.lowest_up, extremes.highest_low) : 0.0;
  const double high = problem.equality ? std::max(extremes.lowest_up, extremes.highest_low) : 0.0;
  // Where no member can grow, or none can fall, the intercept is that of any of them.
  every = every || !point.table().mirrors() || std::isinf(high);
  members_ = point.support();
  members_.reserve(problem.n);
  for (Size c = 0; c < members_.size(); ++c) places_[members_[c]] = c;
  for (Size k = 0; k < problem.n; ++k) {
    if (contains(k)) continue;
    const double kink = problem.kink_of(Index(k));
    const double slack = kNear * (kink > 0.0 ? kink : largest);
    const double gradient = point.gradient(k);
    if (!every && rests(problem, k, gradient - slack, gradient + slack, low, high)) continue;
    places_[k] = members_.size();
    members_.push_back(k);
  }
}

void NearMargin::evaluate(const std::vector<Size>& members) {
  std::vector<Size> wanted;
  wanted.reserve(members.size());
  for (const Size k : members)
    if (numbers_[k] == kNowhere) wanted.push_back(k);
  if (wanted.empty()) return;
  const Size needed = (n_rows_ + wanted.size()) * size();
  if (rows_.size() < needed) rows_.resize(needed + needed / 2);
  std::vector<double*> store(wanted.size());
  for (Size a = 0; a < wanted.size(); ++a) {
    store[a] = rows_.data() + n_rows_ * size();
    numbers_[wanted[a]] = n_rows_++;
  }
  const bool first_places =
      n_rows_ == wanted.size() && std::equal(wanted.begin(), wanted.end(), members_.begin());
  Gram& gram = point_.table().gram();
  if (first_places && point_.table().mirrors() && gram.source().entry_cost() >= kCopyCost)
    return evaluate_by_symmetry(store);
  const std::vector<Index> rows = samples_of(point_.problem(), wanted);
  const std::vector<Index> columns = samples_of(point_.problem(), members_);
  Team alone(1);
  const Size evaluated = gram.source().sweep(
      Sweep<double>{rows.data(), rows.size(), columns.data(), columns.size(), store.data()}, alone);
  gram.log().count(Purpose::certificate, rows.size() * columns.size(), evaluated);
}

// Rows of the members at the first places, block by block: the columns of a block's own members are
// those of the rows below.
void NearMargin::evaluate_by_symmetry(const std::vector<double*>& store) {
  const std::vector<Index> samples = samples_of(point_.problem(), members_);
  Gram& gram = point_.table().gram();
  Prepared<double> prepared;
  if (store.size() > kBlock) gram.source().prepare(samples.data(), samples.size(), prepared);
  Team alone(1);
  for (Size first = 0; first < store.size(); first += kBlock) {
    const Size last = std::min(first + kBlock, store.size());
    std::vector<double*> to(store.begin() + std::ptrdiff_t(first),
                            store.begin() + std::ptrdiff_t(last));
    for (double*& row : to) row += first;
    Sweep<double> work{samples.data() + first, last - first, samples.data() + first,
                       samples.size() - first, to.data()};
    if (!prepared.panels.empty()) work.prepared = &prepared, work.prepared_before = first;
    gram.source().sweep(work, alone);
    gram.log().count(Purpose::certificate, work.n_rows * work.n_columns);
    if (last < store.size())
      routines<double>().transposed(store[first] + last, size(), last - first, store.size() - last,
                                    store[last] + first, size());
  }
}

void NearMargin::add(const std::vector<Size>& members, const std::vector<double>& weights,
                     std::vector<double>& sums) const {
  std::vector<const double*> rows(members.size());
  for (Size a = 0; a < members.size(); ++a) rows[a] = row(members[a]);
  routines<double>().combine(rows.data(), weights.data(), rows.size(), size(), sums.data());
}

// Rows that the polish has left are read again; without them nothing is stored.
void NearMargin::verify(Team& team, double* values, double* errors) const {
  const std::vector<Size> support = point_.support();
  std::vector<double> weights(support.size());
  for (Size a = 0; a < support.size(); ++a) weights[a] = point_.beta(support[a]);
  const bool held = holds(support);
  Gram& gram = point_.table().gram();
  std::vector<Size> others = members_;
  if (!held && gram.source().sizes_by_sign()) {
    verify_support(team, support, weights, values, errors);
    others.erase(std::remove_if(others.begin(), others.end(),
                                [this](Size k) { return point_.beta(k) != 0.0; }),
                 others.end());
  }
  std::vector<double> sums(others.size(), 0.0), sizes(sums), rounding(sums);
  const std::vector<Index> rows = samples_of(point_.problem(), support);
  const std::vector<Index> columns = samples_of(point_.problem(), others);
  Sweep<double> work{rows.data(), rows.size(),    columns.data(), columns.size(),
                     nullptr,     weights.data(), sums.data()};
  work.sizes = sizes.data();
  if (held) {
    add(support, weights, sums);
    for (Size a = 0; a < support.size(); ++a)
      add_sizes(row(support[a]), std::abs(weights[a]), size(), sizes.data());
  } else {
    const Size evaluated = gram.source().sweep(work, team);
    gram.log().count(Purpose::certificate, rows.size() * columns.size(), evaluated);
  }
  gram.source().rounding(work, rounding.data());
  for (Size c = 0; c < others.size(); ++c) {
    values[others[c]] = sums[c];
    errors[others[c]] = rounding[c];
  }
}

// Entries among the support vectors are evaluated once, by symmetry.
void NearMargin::verify_support(Team& team, const std::vector<Size>& support,
                                const std::vector<double>& weights, double* values,
                                double* errors) const {
  const std::vector<Index> rows = samples_of(point_.problem(), support);
  std::vector<double> sums(rows.size()), rounding(rows.size());
  double square = 0.0;
  symmetric_products(
      point_.table().gram(), team, rows.data(), rows.size(), weights.data(), 1, [] { return true; },
      sums.data(), rounding.data(), &square);
  for (Size a = 0; a < support.size(); ++a)
    values[support[a]] = sums[a], errors[support[a]] = rounding[a];
}

bool NearMargin::holds(const std::vector<Size>& members) const {
  return std::all_of(members.begin(), members.end(),
                     [this](Size k) { return numbers_[k] != kNowhere; });
}

Extremes worst_extremes(const TablePoint& point, const NearMargin& near, const double* values,
                        const double* errors) {
  Extremes out;
  for (const Size k : near.members()) {
    const double gradient = values[k] - point.problem().linear[k];
    const double beta = point.beta(k), kink = point.problem().kink_of(Index(k));
    const double growth = gradient - errors[k] + growth_offset(beta, kink);
    const double fall = gradient + errors[k] + fall_offset(beta, kink);
    if (point.can_grow(k)) out.lowest_up = std::min(out.lowest_up, growth);
    if (point.can_fall(k)) out.highest_low = std::max(out.highest_low, fall);
  }
  return out;
}

std::vector<Size> verify_far(const TablePoint& point, const NearMargin& near, double* values,
                             double* errors) {
  std::vector<Size> open;
  if (near.all()) return open;
  const MatrixProblem& problem = point.problem();
  const std::vector<Size> support = point.support();
  std::vector<double> sums(problem.n), sizes(problem.n);
  std::vector<double> weights(support.size()), absolute(support.size());
  for (Size a = 0; a < support.size(); ++a) {
    weights[a] = point.beta(support[a]);
    absolute[a] = std::abs(weights[a]);
  }
  // No entry of a kernel of differences is negative; other kernels bound rounding without sizes.
  point.products(support, weights, sums.data());
  point.products(support, absolute, sizes.data());
  std::vector<Size> far;
  far.reserve(problem.n - near.size());
  for (Size k = 0; k < problem.n; ++k)
    if (!near.contains(k)) far.push_back(k);
  std::vector<double> far_sums(far.size()), far_sizes(far.size()), rounding(far.size(), 0.0);
  for (Size c = 0; c < far.size(); ++c) far_sums[c] = sums[far[c]], far_sizes[c] = sizes[far[c]];
  const std::vector<Index> rows = samples_of(problem, support), columns = samples_of(problem, far);
  Sweep<float> work{rows.data(), rows.size(),    columns.data(), columns.size(),
                    nullptr,     weights.data(), far_sums.data()};
  work.sizes = far_sizes.data();
  point.table().gram().source().rounding(work, rounding.data());
  // Between the extremes of the near ones lies minus the intercept: beyond both there is no loss,
  // and such a member does not decide the violation.
  const Extremes extremes = worst_extremes(point, near, values, errors);
  const bool equality = problem.equality;
  const double low = equality ? std::min(extremes.lowest_up, extremes.highest_low) : 0.0;
  const double high = equality ? std::max(extremes.lowest_up, extremes.highest_low) : 0.0;
  for (Size c = 0; c < far.size(); ++c) {
    const Size k = far[c];
    values[k] = far_sums[c], errors[k] = rounding[c];
    const double gradient = values[k] - problem.linear[k];
    if (!rests(problem, k, gradient - errors[k], gradient + errors[k], low, high))
      open.push_back(k);
  }
  return open;
}

}  // namespace widemargin
