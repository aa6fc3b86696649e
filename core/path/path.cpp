#include "path/path.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace widemargin {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double tie = 1e-13;  // steps shorter than this make no progress
constexpr int most_perturbations = 8;

double sum_of(const std::vector<double>& values) {
  double sum = 0;
  for (double value : values) sum += value;
  return sum;
}

double largest_of(const std::vector<double>& values) {
  double largest = 0;
  for (double value : values) largest = std::max(largest, std::abs(value));
  return largest;
}

}  // namespace

Path::Path(PathProblem problem, Column column, Poll poll, std::int64_t max_steps,
           std::uint64_t seed)
    : now_(std::move(problem)),
      column_(std::move(column)),
      poll_(std::move(poll)),
      max_steps_(max_steps),
      random_(seed),
      margin_(now_.diagonal, now_.has_equality) {
  const std::size_t rows = now_.rows;
  sum_to_ = sum_of(now_.beta) + now_.total_rate;
  lower_shift_.assign(rows, 0);
  upper_shift_.assign(rows, 0);
  linear_shift_.assign(rows, 0);
}

PathReport Path::run() {
  lower_rate_.assign(now_.rows, 0);
  upper_rate_.assign(now_.rows, 0);
  for (std::size_t i = 0; i < now_.rows; ++i) {
    lower_rate_[i] = now_.lower_to[i] - now_.lower[i];
    upper_rate_[i] = now_.upper_to[i] - now_.upper[i];
  }
  drive_.assign(now_.rows, 0);
  seed_margin();
  begin_phase(!now_.drive.empty());
  while (follow_phase() && owed_) {
    schedule_return();
    begin_phase(false);
  }
  refine();
  return report_;
}

// The interior rows of the start, made independent by exchanges (0.3, polish).
void Path::seed_margin() {
  std::vector<std::size_t> interior;
  for (std::size_t i = 0; i < now_.rows; ++i)
    if (now_.side[i] == Side::Margin) interior.push_back(i);
  // insert() leaves rates alone while the drive is empty: bounds stand still here.
  std::vector<double> lower_rate(now_.rows, 0), upper_rate(now_.rows, 0);
  lower_rate_.swap(lower_rate);
  upper_rate_.swap(upper_rate);
  for (std::size_t row : interior) {
    std::vector<double> column(now_.rows);
    column_(row, column.data());
    insert(row, std::move(column), true);
  }
  lower_rate_.swap(lower_rate);
  upper_rate_.swap(upper_rate);
  displaced_.assign(now_.rows, 0);
  for (std::size_t row : interior) displaced_[row] = now_.side[row] != Side::Margin;
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
  for (std::size_t i = 0; i < now_.rows; ++i) {
    const Side side = now_.side[i];
    if (side != Side::Upper && side != Side::Pinned && upper_rate_[i] > 0) {
      now_.upper[i] = now_.upper_to[i];
      upper_rate_[i] = 0;
    }
    if (side != Side::Lower && side != Side::Pinned && lower_rate_[i] < 0) {
      now_.lower[i] = now_.lower_to[i];
      lower_rate_[i] = 0;
    }
    if (lower_rate_[i] != 0 || upper_rate_[i] != 0) moving_.push_back(i);
    drive_[i] -= now_.linear_rate[i];
    if (side == Side::Margin) continue;
    const double rate = rate_of(i);
    if (rate == 0) continue;
    rest_rate_ += rate;
    if (use_drive && !displaced_[i]) continue;
    column_(i, column.data());
    for (std::size_t k = 0; k < now_.rows; ++k) drive_[k] += rate * column[k];
  }
}

// Follows one phase to eta = 1. False: stalled or infeasible.
bool Path::follow_phase() {
  std::int64_t idle = 0;
  for (;;) {
    if (report_.steps >= max_steps_) {
      report_.status = PathStatus::Stalled;
      return false;
    }
    poll_();
    report_.largest_margin =
        std::max(report_.largest_margin, static_cast<std::int64_t>(margin_.size()));
    const double needed = now_.total_rate - rest_rate_;
    if (now_.has_equality && margin_.empty() &&
        std::abs(needed) > 1e-12 * (std::abs(now_.total_rate) + std::abs(rest_rate_))) {
      if (eta_ >= 1) return true;
      ++report_.steps;
      ++report_.shifts;
      if (!shift_intercept()) {
        report_.status = PathStatus::Infeasible;
        return false;
      }
      continue;
    }
    compute_rates();
    const Event event = next_event();
    const double left = 1 - eta_;
    if (event.step >= left) {
      report_.steps += moves();
      advance(left);
      eta_ = 1;
      place_bounds();
      return true;
    }
    advance(event.step);
    ++report_.steps;
    if (event.leaves)
      leave(event.row, event.bound);
    else
      enter(event.row);
    idle = event.step > tie ? 0 : idle + 1;
    if (idle > 60 + 2 * static_cast<std::int64_t>(margin_.size())) {
      if (report_.perturbations >= most_perturbations) {
        report_.status = PathStatus::Stalled;
        return false;
      }
      perturb();
      idle = 0;
    }
  }
}

// Whether the last stretch of a phase moves anything: the paper's loop counts it only
// while newcomers are on their way (Algorithm 1, line 2).
bool Path::moves() const {
  const auto carried = [this](std::size_t row) {
    return now_.side[row] != Side::Margin && rate_of(row) != 0;
  };
  const auto nonzero = [](double rate) { return rate != 0; };
  return now_.total_rate != 0 || std::any_of(moving_.begin(), moving_.end(), carried) ||
         std::any_of(now_.linear_rate.begin(), now_.linear_rate.end(), nonzero);
}

// Rates of the margin set and of every gradient (0.4), with one correction when the
// factor has lost digits and a fresh factor when that does not help.
void Path::compute_rates() {
  const std::size_t count = margin_.size();
  const double wanted = now_.total_rate - rest_rate_;
  margin_rate_.assign(count, 0);
  intercept_rate_ = 0;
  gradient_rate_ = drive_;
  double residual = 0;
  const double drive_scale = largest_of(drive_);
  double scale = drive_scale;
  for (int attempt = 0; count > 0 && attempt < 4; ++attempt) {
    std::vector<double> right(count);
    for (std::size_t k = 0; k < count; ++k) right[k] = -gradient_rate_[margin_[k]];
    double shift = 0;
    margin_.solve(right, attempt == 0 ? wanted : wanted - sum_of(margin_rate_), &shift);
    intercept_rate_ += shift;
    double spread = 0;
    for (std::size_t k = 0; k < count; ++k) {
      margin_rate_[k] += right[k];
      spread += std::abs(margin_rate_[k]);
    }
    margin_.accumulate(right, gradient_rate_);
    for (double& value : gradient_rate_) value += shift;
    residual = 0;
    for (std::size_t row : margin_.members())
      residual = std::max(residual, std::abs(gradient_rate_[row]));
    scale = drive_scale + margin_.largest_diagonal() * spread + std::abs(intercept_rate_);
    if (residual <= 1e-12 * scale) break;
    if (attempt == 1 && residual > 1e-10 * scale) {
      margin_.refactor();
      ++report_.refactorisations;
    }
  }
  gradient_noise_ = 1e-11 * scale + 100 * residual;
  margin_noise_ = 1e-11 * largest_of(margin_rate_);
}

void Path::advance(double step) {
  if (step <= 0) return;
  eta_ += step;
  for (std::size_t k = 0; k < margin_.size(); ++k) now_.beta[margin_[k]] += step * margin_rate_[k];
  for (std::size_t i = 0; i < now_.rows; ++i) now_.gradient[i] += step * gradient_rate_[i];
  place_bounds();
}

// Bounds at eta, measured from their end so that eta = 1 is exact; bound rows follow.
void Path::place_bounds() {
  const double left = 1 - eta_;
  for (std::size_t i : moving_) {
    now_.lower[i] = now_.lower_to[i] - left * lower_rate_[i];
    now_.upper[i] = now_.upper_to[i] - left * upper_rate_[i];
    if (now_.side[i] == Side::Upper)
      now_.beta[i] = now_.upper[i];
    else if (now_.side[i] != Side::Margin)
      now_.beta[i] = now_.lower[i];
  }
}

// Corner case 1: an empty margin set cannot carry the sum. Only the intercept moves,
// until the first row that can move the right way has gradient 0.
bool Path::shift_intercept() {
  const bool grow = now_.total_rate - rest_rate_ > 0;
  const Side wanted = grow ? Side::Lower : Side::Upper;
  double nearest = infinity;
  std::size_t chosen = now_.rows;
  for (std::size_t i = 0; i < now_.rows; ++i) {
    if (now_.side[i] != wanted) continue;
    const double distance = std::max(grow ? now_.gradient[i] : -now_.gradient[i], 0.0);
    if (distance < nearest) {
      nearest = distance;
      chosen = i;
    }
  }
  if (chosen == now_.rows) return false;
  const double shift = grow ? -nearest : nearest;
  for (double& value : now_.gradient) value += shift;
  enter(chosen);
  return true;
}

// A bound row with gradient 0 joins the margin set; its bound, if it was moving
// outwards, is no longer in the way.
void Path::enter(std::size_t row) {
  std::vector<double> column(now_.rows);
  column_(row, column.data());
  const bool upward = now_.side[row] == Side::Lower;
  const double rate = rate_of(row);
  if (rate != 0) {
    rest_rate_ -= rate;
    for (std::size_t k = 0; k < now_.rows; ++k) drive_[k] -= rate * column[k];
  }
  if (!upward && upper_rate_[row] > 0) {
    now_.upper[row] = now_.upper_to[row];
    upper_rate_[row] = 0;
  }
  if (upward && lower_rate_[row] < 0) {
    now_.lower[row] = now_.lower_to[row];
    lower_rate_[row] = 0;
  }
  insert(row, std::move(column), upward);
}

// Takes a row into the margin set, exchanging while it depends on the members.
void Path::insert(std::size_t row, std::vector<double> column, bool upward) {
  while (!margin_.insert(row, column)) {
    ++report_.exchanges;
    std::size_t blocker = 0;
    const Side bound = exchange(row, column, upward, &blocker);
    if (blocker == row) {
      settle(row, bound, column);
      return;
    }
    leave(blocker, bound);
  }
  now_.side[row] = Side::Margin;
}

// Corner case 2: along the null direction of a dependent row (it moves by +-1, the
// margin set by -+v) the decision function stands still. Moves until the first bound.
Side Path::exchange(std::size_t row, const std::vector<double>& column, bool upward,
                    std::size_t* blocker) {
  const std::size_t count = margin_.size();
  std::vector<double> direction(count);
  for (std::size_t k = 0; k < count; ++k) direction[k] = column[margin_[k]];
  double shift = 0;
  margin_.solve(direction, 1.0, &shift);
  const double sign = upward ? 1 : -1;
  double step = upward ? now_.upper[row] - now_.beta[row] : now_.beta[row] - now_.lower[row];
  step = std::max(step, 0.0);
  double steepest = 0;
  *blocker = row;
  Side bound = upward ? Side::Upper : Side::Lower;
  const double noise = 1e-9 * std::max(1.0, largest_of(direction));
  for (std::size_t k = 0; k < count; ++k) {
    const double rate = -sign * direction[k];
    if (std::abs(rate) <= noise) continue;
    const std::size_t i = margin_[k];
    const double room =
        std::max(rate > 0 ? now_.upper[i] - now_.beta[i] : now_.beta[i] - now_.lower[i], 0.0);
    const double limit = room / std::abs(rate);
    if (limit < step || (limit == step && std::abs(rate) > steepest)) {
      step = limit;
      steepest = std::abs(rate);
      *blocker = i;
      bound = rate > 0 ? Side::Upper : Side::Lower;
    }
  }
  for (std::size_t k = 0; k < count; ++k) {
    direction[k] *= -sign * step;
    now_.beta[margin_[k]] += direction[k];
  }
  now_.beta[row] += sign * step;
  // The gradient would not change at all if the dependence were exact: keep what it does.
  margin_.accumulate(direction, now_.gradient);
  for (std::size_t i = 0; i < now_.rows; ++i) now_.gradient[i] += sign * step * (column[i] - shift);
  return bound;
}

void Path::leave(std::size_t row, Side bound) {
  settle(row, bound, margin_.remove(row));
}

// Puts a row on a bound; if that bound moves, the row moves with it from now on.
void Path::settle(std::size_t row, Side bound, const std::vector<double>& column) {
  now_.side[row] = bound;
  now_.beta[row] = bound == Side::Upper ? now_.upper[row] : now_.lower[row];
  const double rate = rate_of(row);
  if (rate == 0) return;
  rest_rate_ += rate;
  for (std::size_t k = 0; k < now_.rows; ++k) drive_[k] += rate * column[k];
}

// Corner case 5: solve the margin set once more, exactly, at the end.
void Path::refine() {
  for (int pass = 0; pass < 2 && !margin_.empty(); ++pass) {
    std::vector<double> right(margin_.size());
    for (std::size_t k = 0; k < margin_.size(); ++k) right[k] = -now_.gradient[margin_[k]];
    double shift = 0;
    margin_.solve(right, sum_to_ - sum_of(now_.beta), &shift);
    for (std::size_t k = 0; k < margin_.size(); ++k) {
      const std::size_t i = margin_[k];
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
