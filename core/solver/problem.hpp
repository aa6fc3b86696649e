// The quadratic problem as a view, its point, and how a solve ended.
#pragma once

#include <vector>

#include "common.hpp"

namespace widemargin {

// minimise 1/2 beta' K beta - linear' beta  s.t.  lower <= beta <= upper  [and a fixed sum]
// A solver starts at a feasible beta and keeps its sum when `equality` holds.
struct Problem {
  Size n;
  const double* linear;
  const double* lower;
  const double* upper;
  bool equality;
};

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
