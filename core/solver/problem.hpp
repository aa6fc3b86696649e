// The quadratic problem as a view, and what a solve is told and reports.
#pragma once

#include <functional>
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

struct Progress {
  long steps;
  double violation;
  Size active;
};

struct Options {
  double tolerance = 1e-3;
  long max_steps = -1;      // pair steps; negative: no limit
  double max_seconds = -1;  // negative: no limit
  bool shrinking = true;
  std::uint64_t seed = 0;
  // Whether every gradient is wanted at the end, also of samples that provably cannot violate.
  bool every_gradient = false;
  // Called between blocks, at most every few milliseconds; false stops the solve.
  std::function<bool(const Progress&)> go_on;
  // Screening: called with the samples still in play whenever the gradients of all of them are
  // up to date; leaves keep[k] = 0 where samples[k] is certain to stay at the bound it is at.
  std::function<void(long steps, const Index* samples, Size count, char* keep)> decide;
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
  double violation = 0.0;
};

}  // namespace widemargin
