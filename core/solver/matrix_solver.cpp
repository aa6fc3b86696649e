#include "solver/matrix_solver.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

#include "solver/subspace_step.hpp"
#include "solver/worst_candidates.hpp"

namespace widemargin {

namespace {

constexpr Size kWhole = 512;           // members up to which all are in the working set
constexpr Size kWholeInPlace = 2048;   // the same, where no entry has to be copied
constexpr Size kCapacity = 512;        // of a working set
constexpr Size kLargeCapacity = 2048;  // where the free members then fit
constexpr double kFreeRoom = 1.25;     // of them
constexpr double kTurns = 6;           // of every free member in a set, before larger ones
constexpr Size kLazyFirst = 64;        // of the first one, where rows are evaluated as needed,
constexpr Size kLazyCapacity = 256;    // and of the others: fewer are chosen for nothing
constexpr double kLikelyShare = 0.5;   // of the violation, from which a step will need a row
constexpr double kKeptShare = 0.5;     // of a working set that stays for the next one
constexpr double kInnerShare = 0.1;    // of the violation, to which a working set is solved
constexpr double kInnerTarget = 0.5;   // but no further than this share of the tolerance
constexpr double kWholeTarget = 0.9;   // of the tolerance: rounding of the sums must not lift it
constexpr long kLongestSolve = 20000;  // pair steps between two calls of `proceed`
constexpr Size kLongRun = 16;          // columns, on average, from which runs are copied
constexpr double kNearer = 0.9;        // of the least violation: what counts as nearer
constexpr double kMostVainSolves = 3;  // of all members that do not bring them nearer
constexpr double kMostVainSets = 60;   // and of working sets
constexpr double kFaceShare = 1.0;     // time of pair steps that go before a face step, in its own
constexpr double kFactorSpeed = 1.0;   // entries of a factor in the time of one in a pair step

// Free members that are not all in one set move in ever new ones, and each time their rows are
// summed over all columns: small sets take less time where few of them do, large ones where each
// member has had its turn and the steps still creep.
Size pair_capacity(Size free_members, long sets) {
  const double wanted = kFreeRoom * double(free_members);
  const bool creeps = double(sets) * double(kCapacity) > kTurns * double(free_members);
  if (wanted > double(kLargeCapacity)) return creeps ? kLargeCapacity : kCapacity;
  return std::max(kCapacity, Size(wanted));
}

using Candidates = std::vector<std::pair<double, Size>>;

}  // namespace

template <class Real>
Outcome MatrixSolver<Real>::run(double relative, long max_steps) {
  const Size n = point_.problem().n;
  const bool equality = point_.problem().equality;
  const bool whole = n <= kWhole || (n <= kWholeInPlace && lies_in_place());
  long steps = 0;
  long since_face = 0, sets = 0;
  double vain = 0.0, last_share = 1.0;
  double best = kInfinity;
  for (;;) {
    point_.recentre();
    const double tolerance = point_.problem().unit() * relative;
    const Extremes extremes = point_.extremes();
    const double violation = extremes.violation(equality);
    if (violation <= tolerance) return {Status::converged, steps};
    if (steps >= max_steps) return {Status::max_steps, steps};
    if (!proceed_(steps, violation)) return {Status::interrupted, steps};
    vain = violation < (whole ? kNearer : 1.0) * best ? 0.0 : vain + last_share;
    best = std::min(best, violation);
    if (vain > (whole ? kMostVainSolves : kMostVainSets)) return {Status::stalled, steps};
    if (!whole) choose(extremes, sets++);
    if (whole && members_.empty()) {
      members_.resize(n);
      std::iota(members_.begin(), members_.end(), Size(0));
      clear_block();
    }
    const double inner = whole ? kWholeTarget * tolerance
                               : std::max(kInnerShare * violation, kInnerTarget * tolerance);
    bool moved = false;
    const long until_face = steps_before_face();
    const long limit = std::min({max_steps - steps, kLongestSolve, until_face});
    const long taken = take_steps(extremes.level(equality), inner, limit, moved);
    if (!moved) return {Status::stalled, steps};  // precision is exhausted
    steps += taken, since_face += taken;
    // A solve cut off by its step limit does not count as one without progress.
    last_share = taken < limit ? 1.0 : double(taken) / double(kLongestSolve);
    if (since_face < until_face) continue;
    face_->take(point_);
    since_face = 0;
  }
}

// Whether the rows of all members can be read as they are, up to whole panels. Chains begin near
// their solutions, where few members move: working sets suit them better.
template <class Real>
bool MatrixSolver<Real>::lies_in_place() const {
  const MatrixProblem& problem = point_.problem();
  constexpr Size width = panel_width<Real>();
  const Size first = Size(problem.members[0]), padded = (problem.n + width - 1) / width * width;
  if (face_ != nullptr || point_.rows().room(first) < padded) return false;
  for (Size k = 1; k < problem.n; ++k)
    if (Size(problem.members[k]) != first + k) return false;
  return true;
}

template <class Real>
Size MatrixSolver<Real>::free_count() const {
  Size count = 0;
  for (Size k = 0; k < point_.problem().n; ++k) count += point_.is_free(k) ? 1 : 0;
  return count;
}

// A face step is taken where pair steps have worked for as long as it takes, the sums over its rows
// included: its entries and rows are counted.
template <class Real>
long MatrixSolver<Real>::steps_before_face() const {
  if (face_ == nullptr) return std::numeric_limits<long>::max();
  const Size n = point_.problem().n, free_members = free_count();
  if (!FaceStep<Real>::suits(free_members)) return std::numeric_limits<long>::max();
  const double factor =
      face_->work() > 0.0 ? face_->work() : FaceStep<Real>::first_work(free_members);
  const double pair_step = kFactorSpeed * double(std::min(n, kCapacity));
  return long(kFaceShare * (factor / pair_step + double(n)));
}

// The most recent free members of the last set stay, then the most recent at a bound; the most
// violating ones that can grow and that can fall take the other places in turn.
template <class Real>
void MatrixSolver<Real>::choose(const Extremes& extremes, long sets) {
  const Size n = point_.problem().n;
  const bool equality = point_.problem().equality;
  std::vector<char> chosen(n, 0);
  std::vector<Size> next;
  const Size lazy = members_.empty() ? kLazyFirst : kLazyCapacity;
  const Size capacity = point_.rows().whole() ? pair_capacity(free_count(), sets) : lazy;
  next.reserve(capacity);
  const auto take = [&](Size k) {
    chosen[k] = 1;
    next.push_back(k);
  };
  const Size kept = Size(double(capacity) * kKeptShare);
  for (const bool free_ones : {true, false})
    for (Size k = recent_.size(); k-- > 0 && next.size() < kept;)
      if (!chosen[recent_[k]] && point_.is_free(recent_[k]) == free_ones) take(recent_[k]);
  std::reverse(next.begin(), next.end());
  const double above = equality ? extremes.highest_low : 0.0;
  const double below = equality ? extremes.lowest_up : 0.0;
  // Those that grow and those that fall; with two sums, of either side, as a pair is of one.
  Candidates lists[4];
  const bool two_sums = point_.problem().two_sums();
  for (Size k = 0; k < n; ++k) {
    if (chosen[k]) continue;
    const Size grows = two_sums && point_.beta(k) < 0.0 ? 2 : 0;
    const Size falls = two_sums && point_.beta(k) <= 0.0 ? 3 : 1;
    const double growth = point_.growth_slope(k), fall = point_.fall_slope(k);
    if (point_.can_grow(k) && growth < above) lists[grows].push_back({growth, k});
    if (point_.can_fall(k) && fall > below) lists[falls].push_back({-fall, k});
  }
  Size longest = 0;
  for (Candidates& list : lists) {
    keep_worst(list, capacity - next.size());
    longest = std::max(longest, list.size());
  }
  for (Size k = 0; next.size() < capacity && k < longest; ++k)
    for (const Candidates& list : lists)
      if (k < list.size() && next.size() < capacity && !chosen[list[k].second])
        take(list[k].second);
  recent_.swap(next);
  // Rows are gathered in the order in which they lie in memory.
  members_ = recent_;
  const Index* samples = point_.problem().members;
  std::sort(members_.begin(), members_.end(),
            [&](Size a, Size b) { return samples[a] < samples[b]; });
  clear_block();
}

template <class Real>
void MatrixSolver<Real>::clear_block() {
  constexpr Size width = panel_width<Real>();
  stride_ = (members_.size() + width - 1) / width * width;
  rows_.assign(members_.size(), nullptr);
  const Index* samples = point_.problem().members;
  columns_.resize(members_.size());
  runs_.clear();
  for (Size a = 0; a < members_.size(); ++a) {
    columns_[a] = samples[members_[a]];
    if (a > 0 && columns_[a] == columns_[a - 1] + 1)
      ++runs_.back().length;
    else
      runs_.push_back({a, 1});
  }
  if (members_.size() == point_.problem().n && lies_in_place()) {
    const Size first = Size(columns_[0]);
    for (Size a = 0; a < members_.size(); ++a) rows_[a] = point_.rows().at(columns_[a], first);
    return;
  }
  if (block_.size() < members_.size() * stride_) block_.resize(members_.size() * stride_);
  if (runs_.size() * kLongRun > members_.size() || !point_.rows().whole()) runs_.clear();
}

// Gathers the row of a member, padded with zeros to whole panels. Few members of a set take part in
// a step.
template <class Real>
void MatrixSolver<Real>::fetch(void* self, Size member) {
  MatrixSolver& solver = *static_cast<MatrixSolver*>(self);
  const std::vector<Index>& columns = solver.columns_;
  const MatrixRows<Real>& matrix = solver.point_.rows();
  const Index row = solver.columns_[member];
  solver.provide_with_likely(member);
  Real* to = solver.block_.data() + member * solver.stride_;
  for (const Run& run : solver.runs_)
    std::copy_n(matrix.at(row, Size(columns[run.first])), run.length, to + run.first);
  if (solver.runs_.empty()) matrix.gather(row, columns.data(), columns.size(), to);
  std::fill(to + columns.size(), to + solver.stride_, Real(0));
  solver.rows_[member] = to;
}

// Where rows are evaluated as they are needed, several at a time take little longer than one: those
// of the members that violate the conditions most will be needed, too.
template <class Real>
void MatrixSolver<Real>::provide_with_likely(Size member) {
  if (point_.has_row(members_[member])) return;
  const Size count = members_.size();
  const auto growth = [this](Size a) { return call_->gradient[a] + call_->growth[a]; };
  const auto fall = [this](Size a) { return call_->gradient[a] + call_->fall[a]; };
  Real lowest = std::numeric_limits<Real>::infinity(), highest = -lowest;
  for (Size a = 0; a < count; ++a)
    lowest = std::min(lowest, growth(a)), highest = std::max(highest, fall(a));
  const Real least = Real(kLikelyShare) * (highest - lowest);
  Candidates likely;
  for (Size a = 0; a < count; ++a) {
    const Real violation = std::max(highest - growth(a), fall(a) - lowest);
    if (a != member && violation > least && !point_.has_row(members_[a]))
      likely.push_back({-double(violation), members_[a]});
  }
  keep_worst(likely, point_.rows().together() - 1);
  std::vector<Size> wanted{members_[member]};
  for (const auto& candidate : likely) wanted.push_back(candidate.second);
  point_.provide(wanted);
}

template <class Real>
long MatrixSolver<Real>::take_steps(double level, double tolerance, long limit, bool& moved) {
  const MatrixProblem& problem = point_.problem();
  const Size count = members_.size();
  constexpr Real never = std::numeric_limits<Real>::infinity();
  Aligned<Real> diagonal(stride_, Real(1)), gradient(stride_, Real(0));
  Aligned<Real> growth(stride_, never), fall(stride_, -never), minus_growth, minus_fall;
  Aligned<Real> above(stride_, Real(0)), below(stride_, Real(0));
  std::vector<double> beta(stride_, 0.0), lower(stride_, 0.0), upper(stride_, 0.0);
  if (problem.two_sums()) minus_growth = growth, minus_fall = fall;
  for (Size a = 0; a < count; ++a) {
    const Size k = members_[a];
    diagonal[a] = point_.rows().diagonal(columns_[a]);
    beta[a] = point_.beta(k), lower[a] = problem.lower[k], upper[a] = problem.upper[k];
    // The slope of its own side of zero is part of a member's gradient: near the optimum these are
    // small numbers with all digits.
    const double relative = point_.gradient(k) - level, kink = problem.kink_of(Index(k));
    const double own = own_side(beta[a], relative) * kink;
    gradient[a] = Real(relative + own);
    above[a] = Real(kink - own), below[a] = Real(-kink - own);
  }
  PairCall<Real> call{};
  call.size = stride_, call.rows = rows_.data(), call.diagonal = diagonal.data();
  call.gradient = gradient.data(), call.growth = growth.data(), call.fall = fall.data();
  call.above = above.data(), call.below = below.data();
  call.beta = beta.data(), call.lower = lower.data(), call.upper = upper.data();
  call.tolerance = tolerance, call.max_steps = limit;
  call.fetch = &MatrixSolver::fetch, call.owner = this;
  if (problem.two_sums())
    call.minus_growth = minus_growth.data(), call.minus_fall = minus_fall.data();
  for (Size a = 0; a < count; ++a) note_sides(call, a);
  call_ = &call;
  const long steps = descend(call, count, problem.equality);
  std::vector<Size> changed;
  std::vector<double> targets;
  for (Size a = 0; a < count; ++a)
    if (beta[a] != point_.beta(members_[a])) {
      changed.push_back(members_[a]);
      targets.push_back(beta[a]);
    }
  moved = !changed.empty();
  point_.move(changed, targets);
  return steps;
}

template class MatrixSolver<float>;
template class MatrixSolver<double>;

}  // namespace widemargin
