#include "solver/table_certificate.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "numerics/outward.hpp"

namespace widemargin {

namespace {

constexpr double kMassSlack = 1e-12;  // of all mass: box widths that meet the target
constexpr double kRepairFactor = 1.0 + 1e-9;

// The loss max(lower r, upper r) of a member at the worse end of its residual r = linear - value -
// b: it is convex and piecewise linear, so largest at one of the two ends.
double loss_above(double linear, double lower, double upper, double intercept, double value,
                  double error) {
  if (lower == 0.0 && upper == 0.0) return 0.0;
  const double residual = linear - value - intercept;
  const double size = std::abs(linear) + std::abs(value) + std::abs(intercept);
  const double slack = (error + kFew * size) * (1.0 + kFew);
  const double rises = residual + slack, falls = residual - slack;
  return std::max({lower * rises, upper * rises, lower * falls, upper * falls});
}

// The loss of a member, that of its two sides where it has a kink.
double member_loss_above(const MatrixProblem& problem, Size k, double intercept, double value,
                         double error) {
  const double linear = problem.linear[k], kink = problem.kink_of(Index(k));
  const double lower = problem.lower[k], upper = problem.upper[k];
  if (kink == 0.0) return loss_above(linear, lower, upper, intercept, value, error);
  return loss_above(linear - kink, 0.0, upper, intercept, value, error) +
         loss_above(linear + kink, lower, 0.0, intercept, value, error);
}

// What the dual loses at most when one member, that with most room to grow or that with most to
// fall, makes sum(beta) = total exact; infinite where one has not the room. Moving beta_j by t
// costs at most |t| (|linear_j - value_j| + error_j + kink_j) + 1/2 t^2 K_jj.
double repair_cost(const CertifiedPoint& point, const TableValues& known) {
  const MatrixProblem& problem = point.problem;
  Sum missing;
  Size widest[2] = {0, 0};  // to grow, to fall
  double most[2] = {-kInfinity, -kInfinity};
  for (Size k = 0; k < problem.n; ++k) {
    const double beta = point.beta[k];
    const double room[2] = {problem.upper[k] - beta, beta - problem.lower[k]};
    if (room[0] < 0.0 || room[1] < 0.0) return kInfinity;  // outside its box
    for (const Size way : {0, 1})
      if (room[way] > most[way]) most[way] = room[way], widest[way] = k;
    missing.add(beta);
  }
  if (!problem.equality) return 0.0;
  missing.add(-problem.total);
  const double needed = std::abs(missing.value()) * (1.0 + kFew) + kSumLeft * missing.sizes();
  if (needed == 0.0) return 0.0;
  double cost = 0.0;  // rounding leaves it open which way: the larger of both
  for (const Size way : {0, 1}) {
    const Size k = widest[way];
    if (!(most[way] * (1.0 - kFew) > needed)) return kInfinity;
    const double pull =
        std::abs(problem.linear[k] - known.values[k]) + known.errors[k] + problem.kink_of(Index(k));
    const double square = std::max(0.0, point.table.diagonal(problem.members[k]));
    cost = std::max(cost, (needed * pull + 0.5 * needed * needed * square) * kRepairFactor);
  }
  return cost;
}

double violation_above(const CertifiedPoint& point, const TableValues& known) {
  const MatrixProblem& problem = point.problem;
  Extremes extremes;
  for (Size k = 0; k < problem.n; ++k) {
    const double gradient = known.values[k] - problem.linear[k];
    const double beta = point.beta[k], kink = problem.kink_of(Index(k));
    const double slack = known.errors[k] + kFew * (std::abs(gradient) + kink);
    const double growth = gradient + growth_offset(beta, kink) - slack;
    const double fall = gradient + fall_offset(beta, kink) + slack;
    if (beta < problem.upper[k]) extremes.lowest_up = std::min(extremes.lowest_up, growth);
    if (beta > problem.lower[k]) extremes.highest_low = std::max(extremes.highest_low, fall);
  }
  return extremes.violation(problem.equality) * (1.0 + kFew);
}

// Of variables with a kink, those that were not summed leave the optimal intercepts of the others
// only one end: -b must lie between the extremes of these, too, which those that were not do not
// decide.
double between_extremes(const CertifiedPoint& point, const TableValues& known, double intercept) {
  const MatrixProblem& problem = point.problem;
  if (known.summed == nullptr || !problem.equality) return intercept;
  bool kinked = false;
  Extremes extremes;
  for (Size k = 0; k < problem.n; ++k) {
    kinked |= problem.kink_of(Index(k)) > 0.0;
    if (known.summed[k])
      extremes.meet(known.values[k] - problem.linear[k], point.beta[k], problem.lower[k],
                    problem.upper[k], problem.kink_of(Index(k)));
  }
  if (!kinked || extremes.lowest_up == kInfinity || extremes.highest_low == -kInfinity)
    return intercept;
  const double low = std::min(extremes.lowest_up, extremes.highest_low);
  const double high = std::max(extremes.lowest_up, extremes.highest_low);
  return std::clamp(intercept, -high, -low);
}

}  // namespace

double optimal_intercept(const MatrixProblem& problem, const TableValues& known) {
  if (!problem.equality) return 0.0;
  // The primal is piecewise linear in b: breakpoints linear - value of mass upper - lower; of a
  // member with a kink one on either side.
  std::vector<std::pair<double, double>> breaks;
  double least = kInfinity, most = -kInfinity, target = -problem.total, mass = 0.0;
  for (Size k = 0; k < problem.n; ++k) {
    if (known.summed != nullptr && !known.summed[k]) continue;
    const double at = problem.linear[k] - known.values[k], kink = problem.kink_of(Index(k));
    const double lower = problem.lower[k], upper = problem.upper[k];
    least = std::min(least, at - kink), most = std::max(most, at + kink);
    target += upper, mass += upper - lower;
    const bool parted = kink > 0.0;
    if (parted && upper > 0.0) breaks.push_back({at - kink, upper});
    if (parted && lower < 0.0) breaks.push_back({at + kink, -lower});
    if (!parted && upper > lower) breaks.push_back({at, upper - lower});
  }
  if (least > most) return 0.0;     // no member
  if (target <= 0.0) return least;  // only beta = upper is feasible: b is unbounded below
  if (target >= mass) return most;
  std::sort(breaks.begin(), breaks.end());
  const double slack = kMassSlack * mass;
  Size left = 0;
  double cumulative = breaks[0].second;
  while (cumulative < target - slack && left + 1 < breaks.size())
    cumulative += breaks[++left].second;
  const bool meets = std::abs(cumulative - target) <= slack && left + 1 < breaks.size();
  return 0.5 * (breaks[left].first + breaks[meets ? left + 1 : left].first);
}

TableCertificate certify(const CertifiedPoint& point, const TableValues& known) {
  const MatrixProblem& problem = point.problem;
  TableCertificate out;
  out.intercept = between_extremes(point, known, optimal_intercept(problem, known));
  Sum squares, gains, losses;
  bool no_loss_is_negative = problem.total == 0.0 || !problem.equality;
  for (Size k = 0; k < problem.n; ++k) {
    const double beta = point.beta[k], value = known.values[k], error = known.errors[k];
    const double linear = problem.linear[k], lower = problem.lower[k], upper = problem.upper[k];
    no_loss_is_negative = no_loss_is_negative && lower <= 0.0 && upper >= 0.0;
    losses.add(member_loss_above(problem, k, out.intercept, value, error));
    if (beta == 0.0) continue;
    const double product = beta * value, rounding = std::abs(beta) * error;
    squares.add(0.5 * (product + rounding), 0.5 * (std::abs(product) + rounding));
    gains.add(-linear * beta);
    gains.add(problem.kink_of(Index(k)) * std::abs(beta));
  }
  const double square = squares.above(), gain = gains.above(), loss = losses.above();
  const double offset = problem.equality ? problem.total * out.intercept : 0.0;
  out.objective = loss + square + offset;
  out.objective += kFew * (std::abs(loss) + std::abs(square) + std::abs(offset));
  const double repair = repair_cost(point, known);
  out.repaired = repair < kInfinity;
  out.bound = -(square + gain) - repair * (1.0 + kFew);
  out.bound -= kFew * (std::abs(square) + std::abs(gain) + repair);
  if (no_loss_is_negative) out.bound = std::max(out.bound, 0.0);
  out.gap = std::nextafter(std::max(0.0, out.objective - out.bound), kInfinity);
  out.violation = violation_above(point, known);
  return out;
}

}  // namespace widemargin
