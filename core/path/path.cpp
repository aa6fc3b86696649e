#include "path/path.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "path/vector_sums.hpp"

namespace widemargin {

namespace {

constexpr double kTie = 1e-13;  // steps shorter than this make no progress
// Steps without progress, and as many for each member of the margin set, before the tie is broken.
constexpr long kIdleSteps = 60, kIdleStepsPerMember = 2;
constexpr long kMostPerturbations = 8;
constexpr double kSumRounding = 1e-12;    // of the sums of rates
constexpr double kDirectionNoise = 1e-9;  // of a null direction, relative
constexpr int kRefinements = 2;           // of the end of the path

}  // namespace

Path::Path(PathProblem problem, Column column, Poll poll, long max_steps, std::uint64_t seed)
    : now_(std::move(problem)),
      column_(std::move(column)),
      poll_(std::move(poll)),
      max_steps_(max_steps),
      random_(seed),
      margin_(now_.diagonal, now_.has_equality),
      lag_(now_.diagonal) {
  const Size rows = now_.rows;
  sum_to_ = sum_of(now_.beta) + now_.total_rate;
  lower_shift_.assign(rows, 0);
  upper_shift_.assign(rows, 0);
  linear_shift_.assign(rows, 0);
  beta_at_look_.assign(rows, 0);
}

PathReport Path::run() {
  lower_rate_.assign(now_.rows, 0);
  upper_rate_.assign(now_.rows, 0);
  for (Size i = 0; i < now_.rows; ++i) {
    lower_rate_[i] = now_.lower_to[i] - now_.lower[i];
    upper_rate_[i] = now_.upper_to[i] - now_.upper[i];
  }
  drive_.assign(now_.rows, 0);
  seed_margin();
  begin_phase(!now_.drive.empty());
  observing_ = !now_.observed.empty();
  report_.status = follow_phase();
  observing_ = false;
  look();
  while (report_.status == PathStatus::complete && perturbed_) {
    schedule_return();
    begin_phase(false);
    report_.status = follow_phase();
    look();
  }
  refine();
  return report_;
}

// The interior rows of the start, made independent by exchanges (0.3, polish).
void Path::seed_margin() {
  std::vector<Size> interior;
  for (Size i = 0; i < now_.rows; ++i)
    if (now_.side[i] == Side::margin) interior.push_back(i);
  // insert() leaves rates alone while the drive is empty: bounds stand still here.
  std::vector<double> lower_rate(now_.rows, 0), upper_rate(now_.rows, 0);
  lower_rate_.swap(lower_rate);
  upper_rate_.swap(upper_rate);
  for (Size row : interior) {
    std::vector<double> column(now_.rows);
    column_(row, column.data());
    insert(row, std::move(column), true);
  }
  lower_rate_.swap(lower_rate);
  upper_rate_.swap(upper_rate);
  displaced_.assign(now_.rows, 0);
  for (Size row : interior) displaced_[row] = now_.side[row] != Side::margin;
}

// Sets the rates of a phase. A bound that moves outwards while its row is elsewhere
// may go to its end at once: it binds nothing (3.2: "then has its full box").
void Path::begin_phase(bool use_drive) {
  eta_ = 0;
  moving_.clear();
  rest_rate_ = 0;
  drive_.assign(now_.rows, 0);
  if (use_drive) drive_ = now_.drive;
  std::vector<double> column(now_.rows);
  for (Size i = 0; i < now_.rows; ++i) {
    const Side side = now_.side[i];
    const bool binds_nothing = side != Side::pinned && !now_.every_point;
    if (side != Side::upper && binds_nothing && upper_rate_[i] > 0) {
      now_.upper[i] = now_.upper_to[i];
      upper_rate_[i] = 0;
    }
    if (side != Side::lower && binds_nothing && lower_rate_[i] < 0) {
      now_.lower[i] = now_.lower_to[i];
      lower_rate_[i] = 0;
    }
    if (lower_rate_[i] != 0 || upper_rate_[i] != 0) moving_.push_back(i);
    drive_[i] -= now_.linear_rate[i];
    if (side == Side::margin) continue;
    const double rate = rate_of(i);
    if (rate == 0) continue;
    rest_rate_ += rate;
    if (use_drive && !displaced_[i]) continue;
    column_(i, column.data());
    for (Size k = 0; k < now_.rows; ++k) drive_[k] += rate * column[k];
  }
}

// Follows one phase to eta = 1, piece by piece.
PathStatus Path::follow_phase() {
  long idle = 0;
  while (report_.steps < max_steps_) {
    poll_();
    report_.largest_margin = std::max(report_.largest_margin, long(margin_.size()));
    if (sum_is_stuck()) {
      if (eta_ >= 1) return PathStatus::complete;
      const bool found = shift_intercept();
      if (!found) return PathStatus::infeasible;
      continue;
    }
    compute_rates();
    Event event = next_event();
    if (!lagging_rows_keep_sides(std::min(event.step, 1 - eta_))) {
      look();
      correct_rates();
      event = next_event();
    }
    if (event.step >= 1 - eta_) {
      finish_phase();
      return PathStatus::complete;
    }
    advance(event.step);
    if (!lag_.any()) let_far_rows_lag();
    ++report_.steps;
    if (event.leaves)
      leave(event.row, event.bound);
    else
      enter(event.row);
    idle = event.step > kTie ? 0 : idle + 1;
    if (idle <= kIdleSteps + kIdleStepsPerMember * long(margin_.size())) continue;
    if (report_.perturbations >= kMostPerturbations) return PathStatus::stalled;
    perturb();
    idle = 0;
  }
  return PathStatus::stalled;
}

// Corner case 1: an empty margin set cannot carry a change of the sum.
bool Path::sum_is_stuck() const {
  const double needed = now_.total_rate - rest_rate_;
  const double rounding = kSumRounding * (std::abs(now_.total_rate) + std::abs(rest_rate_));
  return now_.has_equality && margin_.empty() && std::abs(needed) > rounding;
}

// The last stretch, to exactly eta = 1.
void Path::finish_phase() {
  report_.steps += moves();
  advance(1 - eta_);
  eta_ = 1;
  place_bounds();
}

// Whether the last stretch of a phase moves anything: the paper's loop counts it only
// while newcomers are on their way (Algorithm 1, line 2).
bool Path::moves() const {
  const auto carried = [this](Size row) {
    return now_.side[row] != Side::margin && rate_of(row) != 0;
  };
  const auto nonzero = [](double rate) { return rate != 0; };
  return now_.total_rate != 0 || std::any_of(moving_.begin(), moving_.end(), carried) ||
         std::any_of(now_.linear_rate.begin(), now_.linear_rate.end(), nonzero);
}

// Where the gradients of observed rows change their sign on a piece; `shift` moves all of them.
void Path::note_crossings(double step, double before, double shift) {
  if (!observing_ || perturbed_) return;
  report_.breakpoints.push_back(before + step);
  for (Size k = 0; k < lag_.watched().size(); ++k) {
    const Size i = lag_.watched()[k];
    if (!now_.observed[i]) continue;
    const double from = now_.gradient[i];
    const double to = from + (step > 0 ? step * gradient_rate_[k] : shift);
    if ((from >= 0) != (to >= 0))
      report_.crossings.push_back({before + step * (from / (from - to)), i});
  }
}

void Path::advance(double step) {
  if (step <= 0) return;
  note_crossings(step, eta_, 0);
  eta_ += step;
  for (const Position k : margin_.positions()) now_.beta[margin_[k]] += step * margin_rate_[k];
  for (Size k = 0; k < lag_.watched().size(); ++k)
    now_.gradient[lag_.watched()[k]] += step * gradient_rate_[k];
  for (Size i : lag_.lagging()) now_.gradient[i] += step * drive_[i];
  if (lag_.any()) lag_.advance(step, intercept_rate_, departure_);
  place_bounds();
}

// Bounds at eta, measured from their end so that eta = 1 is exact; bound rows follow.
void Path::place_bounds() {
  const double left = 1 - eta_;
  for (Size i : moving_) {
    now_.lower[i] = now_.lower_to[i] - left * lower_rate_[i];
    now_.upper[i] = now_.upper_to[i] - left * upper_rate_[i];
    if (now_.side[i] == Side::upper)
      now_.beta[i] = now_.upper[i];
    else if (now_.side[i] != Side::margin)
      now_.beta[i] = now_.lower[i];
  }
}

// Only the intercept moves, until the first row that can move the right way has gradient 0. False
// where there is no such row.
bool Path::shift_intercept() {
  ++report_.steps;
  ++report_.shifts;
  look();
  const bool grow = now_.total_rate - rest_rate_ > 0;
  const Side wanted = grow ? Side::lower : Side::upper;
  double nearest = kInfinity;
  Size chosen = now_.rows;
  for (Size i = 0; i < now_.rows; ++i) {
    if (now_.side[i] != wanted) continue;
    const double distance = std::max(grow ? now_.gradient[i] : -now_.gradient[i], 0.0);
    if (distance < nearest) {
      nearest = distance;
      chosen = i;
    }
  }
  if (chosen == now_.rows) return false;
  const double shift = grow ? -nearest : nearest;
  note_crossings(0, eta_, shift);
  for (double& value : now_.gradient) value += shift;
  enter(chosen);
  return true;
}

// A bound row with gradient 0 joins the margin set; its bound, if it was moving
// outwards, is no longer in the way.
void Path::enter(Size row) {
  std::vector<double> column(now_.rows);
  column_(row, column.data());
  const bool upward = now_.side[row] == Side::lower;
  const double rate = rate_of(row);
  if (rate != 0) {
    rest_rate_ -= rate;
    for (Size k = 0; k < now_.rows; ++k) drive_[k] -= rate * column[k];
  }
  if (!upward && upper_rate_[row] > 0 && !now_.every_point) {
    now_.upper[row] = now_.upper_to[row];
    upper_rate_[row] = 0;
  }
  if (upward && lower_rate_[row] < 0 && !now_.every_point) {
    now_.lower[row] = now_.lower_to[row];
    lower_rate_[row] = 0;
  }
  insert(row, std::move(column), upward);
}

// Takes a row into the margin set, exchanging while it depends on the members.
void Path::insert(Size row, std::vector<double> column, bool upward) {
  while (!margin_.insert(row, column)) {
    ++report_.exchanges;
    const Block block = exchange(row, column, upward);
    if (block.row == row) {
      settle(row, block.bound, column);
      return;
    }
    leave(block.row, block.bound);
  }
  now_.side[row] = Side::margin;
  beta_at_look_[row] = now_.beta[row];
}

// Corner case 2: along the null direction of a dependent row (it moves by +-1, the
// margin set by -+v) the decision function stands still. Moves until the first bound.
Path::Block Path::exchange(Size row, const std::vector<double>& column, bool upward) {
  look();
  ByPosition<double> direction(margin_.size(), 0);
  for (const Position k : margin_.positions()) direction[k] = column[margin_[k]];
  const double shift = margin_.solve(direction, 1.0);
  const double sign = upward ? 1 : -1;
  const auto room = [this](Size i, bool up) {
    return std::max(up ? now_.upper[i] - now_.beta[i] : now_.beta[i] - now_.lower[i], 0.0);
  };
  Block block{row, upward ? Side::upper : Side::lower};
  double step = room(row, upward), steepest = 0;
  const double noise = kDirectionNoise * std::max(1.0, largest_of(direction.values()));
  for (const Position k : margin_.positions()) {
    const double rate = -sign * direction[k];
    if (std::abs(rate) <= noise) continue;
    const double limit = room(margin_[k], rate > 0) / std::abs(rate);
    if (limit < step || (limit == step && std::abs(rate) > steepest)) {
      step = limit;
      steepest = std::abs(rate);
      block = {margin_[k], rate > 0 ? Side::upper : Side::lower};
    }
  }
  for (const Position k : margin_.positions()) {
    direction[k] *= -sign * step;
    now_.beta[margin_[k]] += direction[k];
  }
  now_.beta[row] += sign * step;
  // The gradient would not change at all if the dependence were exact: keep what it does.
  margin_.accumulate(direction, now_.gradient);
  for (Size i = 0; i < now_.rows; ++i) now_.gradient[i] += sign * step * (column[i] - shift);
  return block;
}

void Path::leave(Size row, Side bound) {
  const std::vector<double> column = margin_.remove(row);
  const double moved = now_.beta[row] - beta_at_look_[row];
  for (Size i : lag_.lagging()) now_.gradient[i] += moved * column[i];
  if (lag_.any()) watch(row);
  settle(row, bound, column);
}

// Puts a row on a bound; if that bound moves, the row moves with it from now on.
void Path::settle(Size row, Side bound, const std::vector<double>& column) {
  now_.side[row] = bound;
  now_.beta[row] = bound == Side::upper ? now_.upper[row] : now_.lower[row];
  const double rate = rate_of(row);
  if (rate == 0) return;
  rest_rate_ += rate;
  for (Size k = 0; k < now_.rows; ++k) drive_[k] += rate * column[k];
}

// Corner case 5: solve the margin set once more, exactly, at the end.
void Path::refine() {
  for (int pass = 0; pass < kRefinements && !margin_.empty(); ++pass) {
    ByPosition<double> right(margin_.size(), 0);
    for (const Position k : margin_.positions()) right[k] = -now_.gradient[margin_[k]];
    const double shift = margin_.solve(right, sum_to_ - sum_of(now_.beta));
    for (const Position k : margin_.positions()) {
      const Size i = margin_[k];
      const double value = std::clamp(now_.beta[i] + right[k], now_.lower[i],
                                      std::max(now_.upper[i], now_.lower[i]));
      right[k] = value - now_.beta[i];
      now_.beta[i] = value;
    }
    margin_.accumulate(right, now_.gradient);
    for (double& value : now_.gradient) value += shift;
  }
}

}  // namespace widemargin
