#include "solver/second_sum_certificate.hpp"

#include <algorithm>
#include <cmath>

#include "numerics/outward.hpp"

namespace widemargin {

namespace {

constexpr double kOutward = 16.0 * kUnit;  // more than the roundings of any formula here
constexpr double kMovedFactor = 1.0 + 1e-9;

// The members of one sign: their sizes, and the room that these have to grow.
struct Side {
  std::vector<Size> members;
  Sum sizes, room;
};

}  // namespace

double second_sum_bound(const CertifiedPoint& point, const TableValues& known, double budget) {
  const MatrixProblem& problem = point.problem;
  const bool has_margin = problem.margins != nullptr;
  Side sides[2];
  Sum squares, losses;
  for (Size k = 0; k < problem.n; ++k) {
    const double a = point.beta[k];
    if (!has_margin && a == 0.0) continue;  // what is at zero stays there
    const bool rises = has_margin ? problem.side(k) > 0.0 : a > 0.0;
    Side& side = sides[rises ? 0 : 1];
    side.members.push_back(k);
    side.sizes.add(std::abs(a));
    side.room.add(std::abs((rises ? problem.upper[k] : problem.lower[k]) - a));
    if (a == 0.0) continue;
    const double product = a * known.values[k], rounding = std::abs(a) * known.errors[k];
    squares.add(product + rounding, std::abs(product) + rounding);
    if (!has_margin) losses.add(-problem.linear[k] * a);
  }
  // nu-SVC has half the budget on either side; nu-SVR at most that, and as much on both.
  double goal = 0.5 * budget;
  if (!has_margin)
    goal = std::min({goal, sides[0].sizes.value(), sides[1].sizes.value()}) * (1.0 - kTerms);
  Sum shift;
  for (const Side& side : sides) {
    Sum missing = side.sizes;
    missing.add(-goal);
    const double shrinks = std::max(0.0, missing.value() + missing.rounding());
    const double grows = std::max(0.0, missing.rounding() - missing.value());
    const bool only_shrinks = !has_margin || grows == 0.0;
    const double room = side.room.value() * (1.0 - kTerms);
    if (!only_shrinks && !(grows < room * (1.0 - kTerms))) return -kInfinity;
    const double size = side.sizes.value();
    const double share = size > 0.0 ? std::min(1.0, shrinks / size) * kMovedFactor : 0.0;
    const double part = only_shrinks ? 0.0 : grows / room * kMovedFactor;
    for (const Size k : side.members) {
      const double a = point.beta[k];
      const double end = problem.side(k) > 0.0 ? problem.upper[k] : problem.lower[k];
      const double moved = std::max(share * std::abs(a), part * std::abs(end - a));
      shift.add(moved * std::sqrt(std::max(0.0, point.table.diagonal(problem.members[k]))));
      if (!has_margin) losses.add(std::abs(problem.linear[k]) * moved);
    }
  }
  const double norm = std::sqrt(std::max(0.0, squares.above()));
  const double reach = (norm + shift.above() * kMovedFactor) * (1.0 + kOutward);
  const double bound = -losses.above() - 0.5 * reach * reach * (1.0 + kOutward);
  return bound - kOutward * std::abs(bound);
}

TableCertificate with_second_sum(const TableCertificate& at_multiplier,
                                 const MatrixProblem& problem, double multiplier, double budget,
                                 double bound) {
  TableCertificate out = at_multiplier;
  const bool has_margin = problem.margins != nullptr;
  const double unit = has_margin ? multiplier : 1.0, price = budget * multiplier;
  const double here = at_multiplier.objective * unit * unit * (1.0 + kOutward);
  out.objective = here + (has_margin ? -price : price);
  out.objective += kOutward * (std::abs(here) + std::abs(price));
  out.bound = bound;
  out.repaired = bound > -kInfinity;
  out.gap = std::nextafter(std::max(0.0, out.objective - bound), kInfinity);
  return out;
}

}  // namespace widemargin
