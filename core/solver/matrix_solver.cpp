#include "solver/matrix_solver.hpp"

#include <algorithm>
#include <cmath>

#include "simd/dispatch.hpp"
#include "solver/box_pairs.hpp"

namespace widemargin {

namespace {

constexpr Size kWhole = 400;           // up to this many members, all of them are the working set
constexpr Size kCapacity = 512;        // of a working set: its block of floats takes 1 MB
constexpr double kKeptShare = 0.5;     // of a working set that stays for the next one
constexpr double kInnerShare = 0.1;    // of the violation, to which a working set is solved
constexpr double kInnerTarget = 0.5;   // but no further than this share of the tolerance
constexpr double kWholeTarget = 0.9;   // of the tolerance: rounding must not lift it above
constexpr double kGatherShare = 0.6;   // of the columns: fewer are gathered into rows of their own
constexpr Size kMostRounds = 60;       // without a smaller violation: rounding decides
constexpr long kLongestSolve = 40000;  // pair steps between two looks at the limits

template <class Real>
constexpr Size padded(Size count) {
  constexpr Size width = panel_width<Real>();
  return (count + width - 1) / width * width;
}

// The `count` worst candidates, in order; ties go to the lowest member.
void keep_worst(std::vector<std::pair<double, Size>>& list, Size count) {
  if (list.size() > count) {
    std::nth_element(list.begin(), list.begin() + std::ptrdiff_t(count), list.end());
    list.resize(count);
  }
  std::sort(list.begin(), list.end());
}

}  // namespace

template <class Real>
MatrixSolver<Real>::MatrixSolver(const MatrixPart<Real>& part)
    : part_(part),
      rows_(part.n_members),
      columns_(part.n_members + part.n_others),
      beta_(part.n_members, 0.0),
      in_working_(part.n_members, 0) {
  const Size read = part.n_members + part.n_others;
  if (double(read) < kGatherShare * double(part.stride)) {
    gather();
  } else {
    width_ = part.stride;
    std::copy_n(part.members, part.n_members, columns_.begin());
    std::copy_n(part.others, part.n_others, columns_.begin() + std::ptrdiff_t(part.n_members));
    for (Size k = 0; k < part.n_members; ++k)
      rows_[k] = part.entries + Size(part.members[k]) * part.stride;
  }
  values_.assign(width_, 0.0);
  if (part.n_members <= kWhole) take_all();
}

// Copies the entries that are read into rows of their own.
template <class Real>
void MatrixSolver<Real>::gather() {
  const Size m = part_.n_members, read = m + part_.n_others;
  width_ = padded<Real>(read);
  gathered_.assign(m * width_, Real(0));
  for (Size k = 0; k < m; ++k) {
    const Real* from = part_.entries + Size(part_.members[k]) * part_.stride;
    Real* to = gathered_.data() + k * width_;
    for (Size c = 0; c < m; ++c) to[c] = from[part_.members[c]];
    for (Size c = m; c < read; ++c) to[c] = from[part_.others[c - m]];
    rows_[k] = to;
  }
  for (Size c = 0; c < read; ++c) columns_[c] = Index(c);
}

// All members are the working set; its rows stay for the whole chain.
template <class Real>
void MatrixSolver<Real>::take_all() {
  working_.resize(part_.n_members);
  for (Size k = 0; k < part_.n_members; ++k) working_[k] = k;
  clear_block();
}

template <class Real>
void MatrixSolver<Real>::values(double* out) const {
  for (Size c = 0; c < columns_.size(); ++c) out[c] = values_[Size(columns_[c])];
}

// Brings the values to another point.
template <class Real>
void MatrixSolver<Real>::follow(const double* beta) {
  std::vector<Size> moved;
  std::vector<double> changes;
  for (Size k = 0; k < part_.n_members; ++k) {
    if (beta[k] == beta_[k]) continue;
    moved.push_back(k);
    changes.push_back(beta[k] - beta_[k]);
    beta_[k] = beta[k];
  }
  apply(moved, changes);
}

template <class Real>
void MatrixSolver<Real>::apply(const std::vector<Size>& moved, const std::vector<double>& changes) {
  std::vector<const Real*> rows;
  for (const Size k : moved) rows.push_back(rows_[k]);
  routines<Real>().combine(rows.data(), changes.data(), rows.size(), width_, values_.data());
}

template <class Real>
Extremes MatrixSolver<Real>::extremes() const {
  Extremes found;
  for (Size k = 0; k < part_.n_members; ++k)
    found.meet(gradient(k), beta_[k], problem_->lower[k], problem_->upper[k],
               problem_->kink_of(Index(k)));
  return found;
}

// The free members of the last set stay, then the worst violators come.
template <class Real>
void MatrixSolver<Real>::choose(const Extremes& extremes) {
  const Size capacity = std::min(kCapacity, part_.n_members);
  const Size most_kept = Size(double(capacity) * kKeptShare);
  std::fill(in_working_.begin(), in_working_.end(), char(0));
  std::vector<Size> next;
  for (Size k = working_.size(); k-- > 0 && next.size() < most_kept;)
    if (is_free(working_[k])) next.push_back(working_[k]);
  std::reverse(next.begin(), next.end());
  for (const Size k : next) in_working_[k] = 1;
  growing_.clear(), falling_.clear();
  const double above = problem_->equality ? extremes.highest_low : 0.0;
  const double below = problem_->equality ? extremes.lowest_up : 0.0;
  for (Size k = 0; k < part_.n_members; ++k) {
    if (in_working_[k]) continue;
    const double kink = problem_->kink_of(Index(k));
    const double growth = gradient(k) + growth_offset(beta_[k], kink);
    const double fall = gradient(k) + fall_offset(beta_[k], kink);
    if (can_grow(k) && growth < above) growing_.push_back({growth, k});
    if (can_fall(k) && fall > below) falling_.push_back({-fall, k});
  }
  const Size room = capacity - next.size();
  keep_worst(growing_, room);
  keep_worst(falling_, room);
  for (Size k = 0; next.size() < capacity && (k < growing_.size() || k < falling_.size()); ++k)
    for (const auto* list : {&growing_, &falling_}) {
      if (k >= list->size() || next.size() == capacity) continue;
      const Size member = (*list)[k].second;
      if (in_working_[member]) continue;
      in_working_[member] = 1;
      next.push_back(member);
    }
  working_ = std::move(next);
  clear_block();
}

// A new working set: of its block nothing is gathered yet but the diagonal.
template <class Real>
void MatrixSolver<Real>::clear_block() {
  const Size count = working_.size();
  stride_ = padded<Real>(count);
  if (block_.size() < count * stride_) block_.resize(count * stride_);
  block_rows_.assign(stride_, nullptr);
  block_columns_.resize(count);
  diagonal_.assign(stride_, Real(1));
  for (Size a = 0; a < count; ++a) {
    block_columns_[a] = columns_[working_[a]];
    diagonal_[a] = rows_[working_[a]][block_columns_[a]];
  }
}

// Gathers the row of a member. Few members of a set take part in a step.
template <class Real>
void MatrixSolver<Real>::fetch(void* self, Size member) {
  MatrixSolver& solver = *static_cast<MatrixSolver*>(self);
  const Real* from = solver.rows_[solver.working_[member]];
  Real* to = solver.block_.data() + member * solver.stride_;
  const Size count = solver.working_.size();
  for (Size b = 0; b < count; ++b) to[b] = from[solver.block_columns_[b]];
  std::fill(to + count, to + solver.stride_, Real(0));
  solver.block_rows_[member] = to;
}

template <class Real>
long MatrixSolver<Real>::solve_working_set(const Extremes& extremes, double tolerance,
                                           long max_steps) {
  constexpr Real never = std::numeric_limits<Real>::infinity();
  const Size count = working_.size(), size = stride_;
  const double level = extremes.level(problem_->equality);
  gradient_.assign(size, Real(0));
  growth_.assign(size, never), fall_.assign(size, -never);
  above_.assign(size, Real(0)), below_.assign(size, Real(0));
  sub_beta_.assign(size, 0.0), sub_lower_.assign(size, 0.0), sub_upper_.assign(size, 0.0);
  for (Size a = 0; a < count; ++a) {
    const Size k = working_[a];
    gradient_[a] = Real(gradient(k) - level);
    sub_beta_[a] = beta_[k];
    sub_lower_[a] = problem_->lower[k], sub_upper_[a] = problem_->upper[k];
    const double kink = problem_->kink_of(Index(k));
    above_[a] = Real(kink), below_[a] = -Real(kink);
    if (can_grow(k)) growth_[a] = Real(growth_offset(beta_[k], kink));
    if (can_fall(k)) fall_[a] = Real(fall_offset(beta_[k], kink));
  }
  const PairCall<Real> call{size,
                            block_rows_.data(),
                            diagonal_.data(),
                            gradient_.data(),
                            growth_.data(),
                            fall_.data(),
                            above_.data(),
                            below_.data(),
                            sub_beta_.data(),
                            sub_lower_.data(),
                            sub_upper_.data(),
                            tolerance,
                            max_steps,
                            &MatrixSolver::fetch,
                            this};
  const long steps = problem_->equality ? routines<Real>().pairs(call) : box_pairs(call, count);
  std::vector<Size> moved;
  std::vector<double> changes;
  for (Size a = 0; a < count; ++a) {
    const Size k = working_[a];
    if (sub_beta_[a] == beta_[k]) continue;
    moved.push_back(k);
    changes.push_back(sub_beta_[a] - beta_[k]);
    beta_[k] = sub_beta_[a];
  }
  apply(moved, changes);
  return moved.empty() ? 0 : steps;
}

template <class Real>
Outcome MatrixSolver<Real>::solve(const Problem& problem, double tolerance, Control& control,
                                  double* beta) {
  problem_ = &problem;
  follow(beta);
  const bool whole = part_.n_members <= kWhole;
  Outcome outcome;
  double best = kInfinity;
  for (Size since_best = 0;; ++since_best) {
    const Extremes found = extremes();
    const double violation = found.violation(problem.equality);
    if (violation <= tolerance) break;
    outcome.status = control.limit_reached(outcome.steps);
    if (outcome.status != Status::converged) break;
    control.report({outcome.steps, violation, part_.n_members});
    if (violation < best) best = violation, since_best = 0;
    if (since_best > kMostRounds) outcome.status = Status::stalled;
    if (outcome.status == Status::stalled) break;
    if (!whole) choose(found);
    const double inner = whole ? kWholeTarget * tolerance
                               : std::max(kInnerShare * violation, kInnerTarget * tolerance);
    const long most = std::min(kLongestSolve, control.steps_left(outcome.steps));
    const long steps = solve_working_set(found, inner, most);
    outcome.steps += steps;
    if (steps > 0) continue;
    outcome.status = Status::stalled;  // no pair can move: the entries have no more digits
    break;
  }
  std::copy(beta_.begin(), beta_.end(), beta);
  return outcome;
}

void carry_over(const Problem& from, const Problem& to, double* beta) {
  double sum = 0.0, carried = 0.0;
  for (Size k = 0; k < from.n; ++k) {
    sum += beta[k];
    const bool up = beta[k] == from.upper[k] && from.upper[k] > 0.0;
    const bool down = beta[k] == from.lower[k] && from.lower[k] < 0.0;
    if (up) beta[k] = to.upper[k];
    if (down) beta[k] = to.lower[k];
    beta[k] = std::min(std::max(beta[k], to.lower[k]), to.upper[k]);
    carried += beta[k];
  }
  if (!to.equality) return;
  // What is too much is taken from members in equal shares of their room, free ones first.
  for (const bool free_only : {true, false}) {
    const double excess = carried - sum;
    if (excess == 0.0) return;
    double room = 0.0;
    const auto left = [&](Size k) {
      if (free_only && !to.is_free(Index(k), beta[k])) return 0.0;
      return excess > 0.0 ? beta[k] - to.lower[k] : to.upper[k] - beta[k];
    };
    for (Size k = 0; k < to.n; ++k) room += left(k);
    if (!(room > 0.0)) continue;
    const double share = std::min(1.0, std::abs(excess) / room);
    for (Size k = 0; k < to.n; ++k) {
      const double move = share * left(k);
      beta[k] = excess > 0.0 ? std::max(beta[k] - move, to.lower[k])
                             : std::min(beta[k] + move, to.upper[k]);
    }
    carried = 0.0;
    for (Size k = 0; k < to.n; ++k) carried += beta[k];
  }
}

template <class Real>
Outcome solve_chain(const MatrixPart<Real>& part, const ChainSteps& chain, double tolerance,
                    Control& control, double* betas, double* values, std::int64_t* pair_steps) {
  const Size m = part.n_members, read = m + part.n_others;
  std::fill_n(pair_steps, chain.n_steps, kNotSolved);
  MatrixSolver<Real> solver(part);
  Problem last{};
  Outcome total;
  try {
    for (Size step = 0; step < chain.n_steps; ++step) {
      const Problem problem{m,
                            chain.linear + step * m,
                            chain.lower + step * m,
                            chain.upper + step * m,
                            chain.equality,
                            chain.kink == nullptr ? nullptr : chain.kink + step * m};
      double* beta = betas + step * m;
      if (step > 0) {
        std::copy_n(betas + (step - 1) * m, m, beta);
        carry_over(last, problem, beta);
      }
      const Outcome outcome = solver.solve(problem, tolerance, control, beta);
      total.steps += outcome.steps;
      const bool limited = outcome.status != Status::converged && outcome.status != Status::stalled;
      if (outcome.status != Status::converged) total.status = outcome.status;
      if (limited) return total;
      pair_steps[step] = outcome.steps;
      solver.values(values + step * read);
      last = problem;
    }
  } catch (const Interrupted&) {
    total.status = Status::interrupted;
  }
  return total;
}

template class MatrixSolver<float>;
template class MatrixSolver<double>;
template Outcome solve_chain<float>(const MatrixPart<float>&, const ChainSteps&, double, Control&,
                                    double*, double*, std::int64_t*);
template Outcome solve_chain<double>(const MatrixPart<double>&, const ChainSteps&, double, Control&,
                                     double*, double*, std::int64_t*);

}  // namespace widemargin
