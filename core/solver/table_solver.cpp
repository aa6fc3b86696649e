#include "solver/table_solver.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

#include "simd/dispatch.hpp"
#include "solver/box_pairs.hpp"

namespace widemargin {

namespace {

constexpr Size kWhole = 512;           // members up to which all are in the working set
constexpr Size kCapacity = 320;        // of a working set
constexpr double kKeptShare = 0.5;     // of a working set that stays for the next one
constexpr double kInnerShare = 0.1;    // of the violation, to which a working set is solved
constexpr double kInnerTarget = 0.5;   // but no further than this share of the tolerance
constexpr double kWholeTarget = 0.9;   // of the tolerance: rounding of the sums must not lift it
constexpr long kLongestSolve = 20000;  // pair steps between two calls of `proceed`
constexpr Size kLongRun = 16;          // columns, on average, from which runs are copied
constexpr int kMostVain = 3;           // solves of all members that do not bring them nearer

}  // namespace

Outcome TableSolver::run(double relative, long max_steps) {
  const Size n = point_.problem().n;
  const bool equality = point_.problem().equality, whole = n <= kWhole;
  long steps = 0;
  int vain = 0;
  double best = kInfinity;
  for (bool first = true;; first = false) {
    point_.recentre();
    const double tolerance = point_.problem().unit() * relative;
    const Extremes extremes = point_.extremes();
    const double violation = extremes.violation(equality);
    if (violation <= tolerance) return {Status::converged, steps};
    if (steps >= max_steps) return {Status::max_steps, steps};
    if (!proceed_()) return {Status::interrupted, steps};
    vain = violation < 0.9 * best ? 0 : vain + 1;
    best = std::min(best, violation);
    if (whole && vain > kMostVain) return {Status::stalled, steps};
    if (!whole) choose();
    if (whole && first) {
      members_.resize(n);
      std::iota(members_.begin(), members_.end(), Size(0));
    }
    if (!whole || first) clear_block();
    const double inner = whole ? kWholeTarget * tolerance
                               : std::max(kInnerShare * violation, kInnerTarget * tolerance);
    bool moved = false;
    const long limit = std::min(max_steps - steps, kLongestSolve);
    steps += take_steps(extremes.level(equality), inner, limit, moved);
    if (!moved) return {Status::stalled, steps};  // the rows have no more digits
  }
}

// The most recent free members of the last set stay, then the most recent at a bound; the most
// violating ones that can grow and that can fall take the other places in turn.
void TableSolver::choose() {
  std::vector<char> chosen(point_.problem().n, 0);
  std::vector<Size> next;
  const Size kept = Size(double(kCapacity) * kKeptShare);
  for (const bool free_ones : {true, false})
    for (Size k = members_.size(); k-- > 0 && next.size() < kept;)
      if (!chosen[members_[k]] && point_.is_free(members_[k]) == free_ones) {
        chosen[members_[k]] = 1;
        next.push_back(members_[k]);
      }
  std::reverse(next.begin(), next.end());
  std::vector<std::vector<Size>> lists;  // of two sums, of either side: a pair is of one
  Size longest = 0;
  const std::vector<double> sides = point_.problem().margins == nullptr
                                        ? std::vector<double>{0.0}
                                        : std::vector<double>{1.0, -1.0};
  for (const double side : sides)
    for (const bool growing : {true, false}) {
      lists.push_back(worst(growing, side, kCapacity));
      longest = std::max(longest, lists.back().size());
    }
  for (Size k = 0; next.size() < kCapacity && k < longest; ++k)
    for (const std::vector<Size>& list : lists)
      if (k < list.size() && next.size() < kCapacity && !chosen[list[k]]) {
        chosen[list[k]] = 1;
        next.push_back(list[k]);
      }
  members_.swap(next);
}

// The members that can grow with the lowest gradients, or can fall with the highest, in order; of
// one side of zero, or with side 0 of both.
std::vector<Size> TableSolver::worst(bool growing, double side, Size count) const {
  std::vector<std::pair<double, Size>> list;
  for (Size k = 0; k < point_.problem().n; ++k)
    if ((side == 0.0 || side == point_.problem().side(k)) &&
        (growing ? point_.can_grow(k) : point_.can_fall(k)))
      list.push_back({growing ? point_.gradient(k) : -point_.gradient(k), k});
  if (list.size() > count) {
    std::nth_element(list.begin(), list.begin() + std::ptrdiff_t(count), list.end());
    list.resize(count);
  }
  std::sort(list.begin(), list.end());
  std::vector<Size> out;
  for (const auto& candidate : list) out.push_back(candidate.second);
  return out;
}

void TableSolver::clear_block() {
  constexpr Size width = panel_width<float>();
  stride_ = (members_.size() + width - 1) / width * width;
  if (block_.size() < members_.size() * stride_) block_.resize(members_.size() * stride_);
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
  if (runs_.size() * kLongRun > members_.size()) runs_.clear();
}

// Gathers the row of a member, padded with zeros to whole panels. Few members of a set take part in
// a step.
void TableSolver::fetch(void* self, Size member) {
  TableSolver& solver = *static_cast<TableSolver*>(self);
  const std::vector<Index>& columns = solver.columns_;
  const float* row = solver.point_.table().row(columns[member]);
  float* to = solver.block_.data() + member * solver.stride_;
  for (const Run& run : solver.runs_)
    std::copy_n(row + columns[run.first], run.length, to + run.first);
  if (solver.runs_.empty())
    for (Size b = 0; b < columns.size(); ++b) to[b] = row[columns[b]];
  std::fill(to + columns.size(), to + solver.stride_, 0.0f);
  solver.rows_[member] = to;
}

long TableSolver::take_steps(double level, double tolerance, long limit, bool& moved) {
  const TableProblem& problem = point_.problem();
  const Size count = members_.size();
  const float never = std::numeric_limits<float>::infinity();
  std::vector<float> diagonal(stride_, 1.0f), gradient(stride_, 0.0f);
  std::vector<float> growth(stride_, never), fall(stride_, -never), no_kink(stride_, 0.0f);
  std::vector<double> beta(stride_, 0.0), lower(stride_, 0.0), upper(stride_, 0.0);
  std::vector<float> minus_growth, minus_fall;
  if (problem.margins != nullptr) minus_growth = growth, minus_fall = fall;
  for (Size a = 0; a < count; ++a) {
    const Size k = members_[a];
    diagonal[a] = float(point_.table().diagonal(problem.members[k]));
    gradient[a] = float(point_.gradient(k) - level);
    beta[a] = point_.beta(k), lower[a] = problem.lower[k], upper[a] = problem.upper[k];
  }
  PairCall<float> call{};
  call.size = stride_, call.rows = rows_.data(), call.diagonal = diagonal.data();
  call.gradient = gradient.data(), call.growth = growth.data(), call.fall = fall.data();
  call.above = call.below = no_kink.data();
  call.beta = beta.data(), call.lower = lower.data(), call.upper = upper.data();
  call.tolerance = tolerance, call.max_steps = limit;
  call.fetch = &TableSolver::fetch, call.owner = this;
  if (problem.margins != nullptr)
    call.minus_growth = minus_growth.data(), call.minus_fall = minus_fall.data();
  for (Size a = 0; a < count; ++a) note_sides(call, a);
  const long steps = problem.equality ? routines<float>().pairs(call) : box_pairs(call, count);
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

}  // namespace widemargin
