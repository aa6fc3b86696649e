#include "path/lagging_rows.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "simd/clones.hpp"

namespace widemargin {

namespace {

constexpr double kRounding = 1e-13;  // of squared lengths, relative to their terms

WIDEMARGIN_CLONES
double product_of(const double* a, const double* b, Size count) {
  double sums[4] = {0, 0, 0, 0};
  Size i = 0;
  for (; i + 4 <= count; i += 4)
    for (Size lane = 0; lane < 4; ++lane) sums[lane] += a[i + lane] * b[i + lane];
  for (; i < count; ++i) sums[0] += a[i] * b[i];
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

WIDEMARGIN_CLONES
int sides_left(const double* distance, const double* rate, const double* sign, const double* width,
               Size count, double elapsed, double shift, double departed) {
  int left = 0;
  for (Size k = 0; k < count; ++k)
    left |= distance[k] + elapsed * rate[k] + shift * sign[k] <= departed * width[k];
  return left;
}

}  // namespace

LaggingRows::LaggingRows(const std::vector<double>& diagonal) {
  for (double value : diagonal) root_.push_back(std::sqrt(std::max(value, 0.0)));
  watch_all();
}

void LaggingRows::watch_all() {
  last_reach_ = reach();
  elapsed_ = shift_ = departed_ = 0;
  lagging_.clear();
  watched_.resize(root_.size());
  std::iota(watched_.begin(), watched_.end(), Size(0));
}

bool LaggingRows::watch(Size row) {
  if (kinds_[row] == Kind::watched) return false;
  kinds_[row] = Kind::watched;
  watched_.push_back(row);
  return true;
}

void LaggingRows::let_lag(std::vector<Kind> kinds, const Look& look) {
  kinds_ = std::move(kinds);
  watched_.clear();
  for (std::vector<double>* values : {&distance_, &rate_, &sign_, &width_}) values->clear();
  for (Size row = 0; row < root_.size(); ++row) {
    if (kinds_[row] == Kind::watched) watched_.push_back(row);
    if (kinds_[row] != Kind::lagging) continue;
    lagging_.push_back(row);
    const double sign = look.gradient[row] > 0 ? 1 : -1;
    distance_.push_back(sign * look.gradient[row]);
    rate_.push_back(sign * look.rate[row]);
    sign_.push_back(sign);
    width_.push_back(root_[row]);
  }
  product_ = look.product;
  square_ = product_of(look.velocity.data(), product_.data(), product_.size());
}

double LaggingRows::departure(const std::vector<double>& velocity, double square) const {
  const double both = product_of(velocity.data(), product_.data(), product_.size());
  const double rounding = kRounding * (std::abs(square) + std::abs(square_));
  const double departed = square - 2 * both + square_;
  return departed < -rounding ? kInfinity : std::sqrt(std::max(departed, 0.0) + rounding);
}

bool LaggingRows::keep_sides(double step, double shift_rate, double departure) const {
  // Linear on a piece: what holds at both ends holds between them.
  if (departure == kInfinity) return false;
  return !sides_left(distance_.data(), rate_.data(), sign_.data(), width_.data(), lagging_.size(),
                     elapsed_ + step, shift_ + step * shift_rate, departed_ + step * departure);
}

void LaggingRows::advance(double step, double shift_rate, double departure) {
  elapsed_ += step;
  shift_ += step * shift_rate;
  departed_ += step * departure;
}

}  // namespace widemargin
