// The quadratic problem as a view, its point, and how a solve ended.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "common.hpp"

namespace widemargin {

// minimise 1/2 beta' K beta - linear' beta + kink' |beta|
// subject to lower <= beta <= upper  [and a fixed sum]
//
// A solver starts at a feasible beta and keeps its sum when `equality` holds.

// A second sum, that of |beta|, is fixed too (nu-SVC, nu-SVR). Its multiplier is a kink of all
// variables: a step between two variables on the same side of zero leaves both sums, and so any
// multiplier, as they are. The solver moves it to where the levels of both sides meet.
struct SecondSum {
  static constexpr double kLeastMargin = 1e-3;

  double multiplier;
  bool has_margin;  // nu-SVC, with linear terms +1 and -1: 1 - multiplier is its margin

  // What the tolerance is counted in.
  double unit() const { return has_margin ? std::max(1.0 - multiplier, kLeastMargin) : 1.0; }
};

struct Problem {
  Size n;
  const double* linear;
  const double* lower;
  const double* upper;
  bool equality;
  const double* kink = nullptr;  // none; else not negative, and zero lies in the box of a kink
  SecondSum* second = nullptr;   // none; else there is an equality constraint and no other kink

  double kink_of(Index i) const {
    if (second != nullptr) return second->multiplier;
    return kink == nullptr ? 0.0 : kink[i];
  }
  bool stops_at_zero(Index i) const { return second != nullptr || kink_of(i) > 0.0; }
  // Whether a variable stands neither at a bound nor at its kink.
  bool is_free(Index i, double beta) const {
    return beta > lower[i] && beta < upper[i] && !(beta == 0.0 && stops_at_zero(i));
  }
};

// What the kink adds to the slope of the objective where beta grows, and where it falls.
inline double growth_offset(double beta, double kink) {
  return beta >= 0.0 ? kink : -kink;
}
inline double fall_offset(double beta, double kink) {
  return beta > 0.0 ? kink : -kink;
}

// The side of zero that a variable stands on; at zero the one it is nearer to leave by, of its
// gradient relative to the level.
inline double own_side(double beta, double relative) {
  if (beta == 0.0) return relative < 0.0 ? 1.0 : -1.0;
  return beta > 0.0 ? 1.0 : -1.0;
}

// The side of zero that a step from `before` to `after` belongs to: its slope there is gradient +
// side * kink, and kink (|after| - |before|) = side * kink * (after - before) - crossing, where the
// crossing is not zero only for a step across zero.
inline double side_of(double after, double before) {
  const double decides = after != 0.0 ? after : before;
  return decides >= 0.0 ? 1.0 : -1.0;
}
inline double crossing(double before, double side, double kink) {
  return side * before < 0.0 ? 2.0 * kink * std::abs(before) : 0.0;
}

// Which point a gradient belongs to, beside the numbers of earlier points.
constexpr Index kCurrent = -1, kUnknown = -2;

// The point of a solve, and what is known of its gradient K beta - linear.
struct Iterate {
  double* beta;
  double* gradient;
  double* errors;  // bounds on the rounding in `gradient`; infinite where unknown
  Index* anchors;  // the point each gradient belongs to: kCurrent, kUnknown, or one of `points`
  std::vector<std::vector<double>> points;
};

enum class Status { converged, max_steps, max_seconds, interrupted, stalled, exhausted };

struct Outcome {
  Status status = Status::converged;
  long steps = 0;
};

}  // namespace widemargin
