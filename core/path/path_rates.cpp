// Rates of a piece of the path, and which rows have to be looked at for them.
#include <algorithm>
#include <cmath>
#include <utility>

#include "path/path.hpp"
#include "path/vector_sums.hpp"

namespace widemargin {

namespace {

constexpr int kMostCorrections = 4;       // of the rates of one piece
constexpr double kExactResidual = 1e-12;  // of the rates, relative: no correction is needed
constexpr double kPoorResidual = 1e-10;   // after one correction: the factor has lost digits
constexpr double kRateNoise = 1e-11;      // relative; slower rows are taken for standing still
constexpr double kResidualNoise = 100;    // how far a rate may be off, per unit of the residual
constexpr Size kLeastMargin = 32;         // members, from which a pass over all rows takes long
constexpr Size kWatchedPart = 3;          // of the rows, one is watched

}  // namespace

// Rates of the margin set and of the watched gradients (0.4). The gradients of members stand still.
void Path::compute_rates() {
  margin_rate_ = ByPosition<double>(margin_.size(), 0);
  for (const Position k : margin_.positions()) margin_rate_[k] = -drive_[margin_[k]];
  const double needed = now_.total_rate - rest_rate_;
  intercept_rate_ = margin_.empty() ? 0 : margin_.solve(margin_rate_, needed);
  const std::vector<Size>& watched = lag_.watched();
  gradient_rate_.resize(watched.size());
  for (Size k = 0; k < watched.size(); ++k)
    gradient_rate_[k] = drive_[watched[k]] + intercept_rate_;
  margin_.accumulate_watched(margin_rate_, gradient_rate_);
  lag_.any() ? note_noise(0) : correct_rates();
}

// With the rates of all rows at hand: those of the margin set must be 0. They are corrected where
// the factor has lost digits, and it is made anew where that does not help.
void Path::correct_rates() {
  ++report_.looks;
  double residual = 0;
  for (int attempt = 0; !margin_.empty() && attempt < kMostCorrections; ++attempt) {
    ByPosition<double> right(margin_.size(), 0);
    for (const Position k : margin_.positions()) right[k] = -gradient_rate_[margin_[k]];
    residual = largest_of(right.values());
    if (residual <= kExactResidual * rate_scale()) break;
    if (attempt == 2 && residual > kPoorResidual * rate_scale()) {
      margin_.refactor();
      ++report_.refactorisations;
    }
    const double needed = now_.total_rate - rest_rate_ - sum_of(margin_rate_.values());
    const double shift = margin_.solve(right, needed);
    intercept_rate_ += shift;
    for (const Position k : margin_.positions()) margin_rate_[k] += right[k];
    margin_.accumulate(right, gradient_rate_);
    for (double& value : gradient_rate_) value += shift;
  }
  note_noise(residual);
}

double Path::rate_scale() const {
  double spread = 0;
  for (const double rate : margin_rate_.values()) spread += std::abs(rate);
  return largest_of(drive_) + margin_.largest_diagonal() * spread + std::abs(intercept_rate_);
}

void Path::note_noise(double residual) {
  gradient_noise_ = kRateNoise * rate_scale() + kResidualNoise * residual;
  margin_noise_ = kRateNoise * largest_of(margin_rate_.values());
}

// Whether no lagging row has an event on a step; notes how fast the path departs from the direction
// at the last look.
bool Path::lagging_rows_keep_sides(double step) {
  departure_ = 0;
  if (!lag_.any()) return true;
  note_velocities();
  // v'Kv = v'(K v_bound) + v_margin'(K v), where K v_bound is the drive.
  double square = 0;
  for (Size i = 0; i < now_.rows; ++i) square += velocity_[i] * (drive_[i] + now_.linear_rate[i]);
  for (const Position k : margin_.positions())
    square += margin_rate_[k] * (now_.linear_rate[margin_[k]] - intercept_rate_);
  departure_ = lag_.departure(velocity_, square);
  return lag_.keep_sides(step, intercept_rate_, departure_);
}

// The rate at which every beta changes.
void Path::note_velocities() {
  velocity_.resize(now_.rows);
  for (Size i = 0; i < now_.rows; ++i) velocity_[i] = rate_of(i);
  for (const Position k : margin_.positions()) velocity_[margin_[k]] = margin_rate_[k];
}

// Brings the gradients of lagging rows up to date: they have had the drive of every piece and what
// members that left had moved. The rates of all rows come with it, in one pass.
void Path::look() {
  if (!lag_.any()) return;
  ByPosition<double> moved(margin_.size(), 0);
  for (const Position k : margin_.positions())
    moved[k] = now_.beta[margin_[k]] - beta_at_look_[margin_[k]];
  std::vector<double> change(now_.rows, lag_.shift());
  gradient_rate_ = drive_;
  for (double& rate : gradient_rate_) rate += intercept_rate_;
  margin_rate_.resize(margin_.size());  // those of a piece, if one is under way
  margin_.accumulate(moved, change, margin_rate_, gradient_rate_);
  for (Size i : lag_.lagging()) now_.gradient[i] += change[i];
  lag_.watch_all();
  margin_.watch_all();
}

// A row that leaves the margin set is watched from then on.
void Path::watch(Size row) {
  if (lag_.watch(row)) margin_.watch(row);
}

// After a piece with the rates of all rows: those that will be nearest to an event when as much of
// the path has gone by as between the last two looks are watched.
void Path::let_far_rows_lag() {
  const Size nearest = now_.rows / kWatchedPart;
  if (margin_.size() < kLeastMargin || margin_.size() + nearest > now_.rows) return;
  using Kind = LaggingRows::Kind;
  std::vector<Kind> chosen(now_.rows, Kind::lagging);
  for (const Position k : margin_.positions()) chosen[margin_[k]] = Kind::member;
  const double ahead = lag_.reach();
  std::vector<std::pair<double, Size>> distances;
  for (Size i = 0; i < now_.rows; ++i) {
    if (chosen[i] == Kind::member) continue;
    const double now = now_.gradient[i], then = now + ahead * gradient_rate_[i];
    const bool crosses = (now > 0) != (then > 0) || now == 0;
    distances.push_back({crosses ? 0.0 : std::min(std::abs(now), std::abs(then)), i});
  }
  std::nth_element(distances.begin(), distances.begin() + std::ptrdiff_t(nearest), distances.end());
  for (Size k = 0; k < distances.size(); ++k)
    if (k < nearest || now_.gradient[distances[k].second] == 0)
      chosen[distances[k].second] = Kind::watched;
  std::vector<double> rate(now_.rows), product(now_.rows);
  for (Size i = 0; i < now_.rows; ++i) {
    rate[i] = gradient_rate_[i] - intercept_rate_;
    product[i] = rate[i] + now_.linear_rate[i];
  }
  note_velocities();
  lag_.let_lag(std::move(chosen), {velocity_, product, now_.gradient, rate});
  margin_.watch(lag_.watched());
  beta_at_look_ = now_.beta;
}

}  // namespace widemargin
