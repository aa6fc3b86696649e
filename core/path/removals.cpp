#include "path/removals.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "numerics/cholesky.hpp"
#include "numerics/dense.hpp"
#include "numerics/subtract_rows.hpp"
#include "simd/clones.hpp"

namespace widemargin {

namespace {

constexpr double kDependence = 1e-12;  // of a pivot, relative
constexpr double kRounding = 1e-12;    // of gradients, per unit of the linear term
constexpr double kRateNoise = 1e-11;   // relative; slower rows are taken for standing still
constexpr double kResidual = 1e-13;    // of the rates, relative: no correction is needed
constexpr Size kMostChanges = 256;     // rows of another kind than at the start
constexpr long kMostSteps = 1000;
constexpr Size kColumns = 64;  // reduced together: they stay in the second-level cache

// Forward substitution for `count` right-hand sides, the columns of a matrix with row stride
// `stride`.
WIDEMARGIN_CLONES
void reduce_columns(const double* factor, Size order, double* work, Size stride, Size count) {
  for (Size i = 0; i < order; ++i) {
    const double* weights = factor + i * order;
    double* __restrict own = work + i * stride;
    subtract_rows(work, stride, weights, i, count, own);
    const double pivot = weights[i];
    for (Size j = 0; j < count; ++j) own[j] /= pivot;
  }
}

WIDEMARGIN_CLONES
void add(double weight, const double* __restrict column, Size rows, double* __restrict out) {
  for (Size i = 0; i < rows; ++i) out[i] += weight * column[i];
}

// The longest step that no row forbids, each allowed to be past its limit by `slack`.
WIDEMARGIN_CLONES
double longest_step(const double* __restrict value, const double* __restrict rate,
                    const double* __restrict low, const double* __restrict high,
                    const double* __restrict noise, double slack, Size rows) {
  double longest[4] = {kInfinity, kInfinity, kInfinity, kInfinity};
  const auto step = [&](Size i) {
    const double room = rate[i] > 0 ? high[i] - value[i] : value[i] - low[i];
    const double speed = std::abs(rate[i]);
    const double wide = room + slack > 0 ? room + slack : 0;
    return speed > noise[i] ? wide / speed : kInfinity;
  };
  Size i = 0;
  for (; i + 4 <= rows; i += 4)
    for (Size lane = 0; lane < 4; ++lane) {
      const double candidate = step(i + lane);
      longest[lane] = candidate < longest[lane] ? candidate : longest[lane];
    }
  for (; i < rows; ++i) longest[0] = std::min(longest[0], step(i));
  return std::min(std::min(longest[0], longest[1]), std::min(longest[2], longest[3]));
}

}  // namespace

Removals::Removals(RemovalProblem problem, double* matrix, Team& team)
    : problem_(std::move(problem)), matrix_(matrix) {
  const Size rows = problem_.rows;
  in_margin_.assign(rows, 0);
  double sum = 0;
  for (Size i = 0; i < rows; ++i) {
    largest_ = std::max(largest_, std::abs(matrix_[i * rows + i]));
    sum += matrix_[i * rows + i];
    if (problem_.beta[i] <= problem_.lower[i] || problem_.beta[i] >= problem_.upper[i]) continue;
    in_margin_[i] = 1;
    margin_.push_back(i);
  }
  if (problem_.has_equality) {
    if (margin_.empty()) return;
    corner_ = sum > 0 ? sum / double(rows) : 1;
  }
  transform(team);
}

// The factor of K_MM + corner 11', by rows. False where a row depends on those before.
bool Removals::factorise(std::vector<double>& factor) const {
  const Size order = margin_.size();
  factor.assign(order * order, 0);
  GrowingCholesky growing;
  std::vector<double> reduced(order);
  for (Size i = 0; i < order; ++i) {
    const double* own = column(margin_[i]);
    for (Size k = 0; k < i; ++k) reduced[k] = own[margin_[k]] + corner_;
    growing.forward(reduced.data());
    double pivot = own[margin_[i]] + corner_;
    for (Size k = 0; k < i; ++k) pivot -= reduced[k] * reduced[k];
    if (!(pivot > kDependence * (largest_ + corner_))) return false;
    growing.append(reduced.data(), pivot);
    std::copy_n(reduced.data(), i, factor.data() + i * order);
    factor[i * order + i] = std::sqrt(pivot);
  }
  return true;
}

// L^-1 [K_MN, I], a column a row of the problem.
void Removals::reduce(const std::vector<double>& factor, std::vector<double>& reduced,
                      Team& team) const {
  const Size order = margin_.size(), rows = problem_.rows;
  for (Size k = 0; k < order; ++k) {
    const double* own = column(margin_[k]);
    double* out = reduced.data() + k * rows;
    for (Size i = 0; i < rows; ++i) out[i] = in_margin_[i] ? 0 : own[i] + corner_;
    out[margin_[k]] = 1;
  }
  const double cost = double(order) * double(order) * double(rows) / 64;
  team.run(rows, kColumns, cost, [&](Size begin, Size end) {
    std::vector<double> work(order * kColumns);
    for (Size first = begin; first < end; first += kColumns) {
      const Size count = std::min(kColumns, end - first);
      for (Size k = 0; k < order; ++k)
        std::copy_n(reduced.data() + k * rows + first, count, work.data() + k * kColumns);
      reduce_columns(factor.data(), order, work.data(), kColumns, kColumns);
      for (Size k = 0; k < order; ++k)
        std::copy_n(work.data() + k * kColumns, count, reduced.data() + k * rows + first);
    }
  });
}

// U = [K_NN 0; 0 0] - W'W for W = L^-1 [K_MN, I], and the border eliminated after it.
void Removals::transform(Team& team) {
  const Size order = margin_.size(), rows = problem_.rows;
  std::vector<double> factor;
  if (!factorise(factor)) return;
  std::vector<double> reduced(order * rows);
  reduce(factor, reduced, team);
  std::vector<double> border(rows);
  double square = 0;
  if (problem_.has_equality) {
    std::vector<double> ones(order * kColumns, 1.0);
    reduce_columns(factor.data(), order, ones.data(), kColumns, 1);
    for (Size i = 0; i < rows; ++i) border[i] = in_margin_[i] ? 0 : 1;
    for (Size k = 0; k < order; ++k) {
      const double own = ones[k * kColumns];
      square += own * own;
      add(-own, reduced.data() + k * rows, rows, border.data());
    }
  }
  for (Size i = 0; i < rows; ++i)
    for (Size j = 0; j <= i; ++j) {
      double& entry = matrix_[i * rows + j];
      entry = in_margin_[i] || in_margin_[j] ? 0 : entry + corner_;
      if (square > 0) entry += border[i] * border[j] / square;
    }
  add_squares(matrix_, rows, reduced.data(), order, rows, rows, -1.0, team);
  for (Size i = 0; i < rows; ++i)
    for (Size j = 0; j < i; ++j) matrix_[j * rows + i] = matrix_[i * rows + j];
  ready_ = true;
}

// One removal on its way. A row's value is what depends: the coefficient of a margin row, the
// gradient of a row at a bound.
class Removals::Walk {
 public:
  Walk(const Removals& all, Size row) : all_(all), row_(row) {
    const RemovalProblem& problem = all.problem_;
    value_ = problem.gradient;
    low_.assign(problem.rows, 0);
    high_.assign(problem.rows, 0);
    inside_ = all.in_margin_;
    for (Size i = 0; i < problem.rows; ++i)
      if (inside_[i])
        put_inside(i, problem.beta[i]);
      else
        put_on_bound(i, problem.beta[i] >= problem.upper[i], problem.gradient[i]);
  }

  bool run() {
    const double from = all_.problem_.beta[row_];
    direction_ = from > 0 ? -1 : 1;
    if (inside_[row_] && !change(row_)) return false;
    inside_[row_] = 0;
    value_[row_] = all_.in_margin_[row_] ? 0 : all_.problem_.gradient[row_];
    low_[row_] = -kInfinity;  // its gradient may be anything
    high_[row_] = kInfinity;
    double left = std::abs(from);
    for (long steps = 0; steps < kMostSteps; ++steps) {
      compute_rates();
      Size next = 0;
      const double step = next_event(next);
      const double moved = std::min(step, left);
      add(moved, rate_.data(), rate_.size(), value_.data());
      if (step >= left) return true;
      left -= moved;
      if (!pass(next)) return false;
    }
    return false;
  }

  void write(double* beta) const {
    const RemovalProblem& problem = all_.problem_;
    for (Size i = 0; i < problem.rows; ++i)
      if (inside_[i])
        beta[i] = std::clamp(value_[i], problem.lower[i], problem.upper[i]);
      else
        beta[i] = high_[i] > 0 ? problem.lower[i] : problem.upper[i];
    beta[row_] = 0;
  }

 private:
  void put_inside(Size i, double beta) {
    inside_[i] = 1;
    value_[i] = beta;
    low_[i] = all_.problem_.lower[i];
    high_[i] = all_.problem_.upper[i];
  }

  void put_on_bound(Size i, bool above, double gradient) {
    const bool closed = all_.problem_.lower[i] == all_.problem_.upper[i];
    inside_[i] = 0;
    value_[i] = gradient;
    low_[i] = above || closed ? -kInfinity : 0;
    high_[i] = above && !closed ? 0 : kInfinity;
  }

  // The rows that are not of the kind they were hold what depended on them: U_QQ z = right.
  void compute_rates() {
    const Size rows = all_.problem_.rows, count = changed_.size();
    const bool free = all_.in_margin_[row_];
    rate_.assign(rows, 0);
    noise_.resize(rows);
    if (!free) add(direction_, all_.column(row_), rows, rate_.data());
    std::vector<double> weights(count, 0), right(count);
    double largest = 0;
    for (int attempt = 0; attempt < 2 && count > 0; ++attempt) {
      double worst = 0;
      for (Size k = 0; k < count; ++k) {
        const double wanted = free && changed_[k] == row_ ? direction_ : 0;
        right[k] = wanted - rate_[changed_[k]];
        worst = std::max(worst, std::abs(right[k]));
      }
      if (attempt > 0 && worst <= kResidual * largest) break;
      solve(right);
      for (Size k = 0; k < count; ++k) {
        weights[k] += right[k];
        add(right[k], all_.column(changed_[k]), rows, rate_.data());
        largest = std::max(largest, std::abs(weights[k] * all_.column(changed_[k])[changed_[k]]));
      }
    }
    for (Size k = 0; k < count; ++k)
      rate_[changed_[k]] = all_.in_margin_[changed_[k]] ? -weights[k] : weights[k];
    double fastest[2] = {0, 0};
    for (Size i = 0; i < rows; ++i)
      fastest[Size(inside_[i])] = std::max(fastest[Size(inside_[i])], std::abs(rate_[i]));
    for (Size i = 0; i < rows; ++i) noise_[i] = kRateNoise * fastest[Size(inside_[i])];
  }

  // Of the rows that would be past their event by no more than rounding the steepest (Harris,
  // 1973).
  double next_event(Size& next) const {
    const Size rows = rate_.size();
    const double limit = longest_step(value_.data(), rate_.data(), low_.data(), high_.data(),
                                      noise_.data(), kRounding * all_.problem_.linear_scale, rows);
    double best = kInfinity, steepest = 0;
    if (limit == kInfinity) return best;
    for (Size i = 0; i < rows; ++i) {
      const double speed = std::abs(rate_[i]);
      if (speed <= noise_[i] || speed <= steepest) continue;
      const double room = rate_[i] > 0 ? high_[i] - value_[i] : value_[i] - low_[i];
      const double step = std::max(room, 0.0) / speed;
      if (step > limit) continue;
      best = step;
      steepest = speed;
      next = i;
    }
    return best;
  }

  // A row meets its event: it changes its kind.
  bool pass(Size i) {
    const bool up = rate_[i] > 0;
    if (!change(i)) return false;
    if (inside_[i])
      put_on_bound(i, up, 0);
    else  // at the lower bound gradients fall to 0
      put_inside(i, up ? all_.problem_.upper[i] : all_.problem_.lower[i]);
    return true;
  }

  bool change(Size i) {
    const auto place = std::find(changed_.begin(), changed_.end(), i);
    if (place == changed_.end()) {
      changed_.push_back(i);
      return changed_.size() <= kMostChanges && append(changed_.size() - 1);
    }
    const Size position = Size(place - changed_.begin());
    changed_.erase(place);
    factor_.resize(position);
    pivots_.resize(position);
    for (Size k = position; k < changed_.size(); ++k)
      if (!append(k)) return false;
    return true;
  }

  // U_QQ = L D L' without pivoting: it is quasidefinite, so any order will do (Vanderbei, 1995).
  bool append(Size k) {
    const double* own = all_.column(changed_[k]);
    std::vector<double> row(k);
    double pivot = own[changed_[k]];
    for (Size i = 0; i < k; ++i) {
      double entry = own[changed_[i]];
      for (Size j = 0; j < i; ++j) entry -= row[j] * factor_[i][j];
      row[i] = entry;
    }
    for (Size i = 0; i < k; ++i) {
      const double entry = row[i] / pivots_[i];
      pivot -= entry * row[i];
      row[i] = entry;
    }
    const bool enters = !all_.in_margin_[changed_[k]];
    const double least = enters ? kDependence * (all_.largest_ + all_.corner_)
                                : kDependence * std::abs(own[changed_[k]]);
    factor_.push_back(std::move(row));
    pivots_.push_back(pivot);
    return enters ? pivot > least : -pivot > least;
  }

  void solve(std::vector<double>& x) const {
    const Size count = changed_.size();
    for (Size i = 0; i < count; ++i)
      for (Size j = 0; j < i; ++j) x[i] -= factor_[i][j] * x[j];
    for (Size i = 0; i < count; ++i) x[i] /= pivots_[i];
    for (Size i = count; i-- > 0;)
      for (Size j = 0; j < i; ++j) x[j] -= factor_[i][j] * x[i];
  }

  const Removals& all_;
  Size row_;
  double direction_ = 0;
  std::vector<double> value_, low_, high_, rate_, noise_;
  std::vector<char> inside_;
  std::vector<Size> changed_;  // Q
  std::vector<std::vector<double>> factor_;
  std::vector<double> pivots_;
};

bool Removals::remove(Size row, double* beta) const {
  Walk walk(*this, row);
  if (!walk.run()) return false;
  walk.write(beta);
  return true;
}

}  // namespace widemargin
