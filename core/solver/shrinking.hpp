// When samples are shrunk (Joachims 1999): left out of the active set, their gradients lazy.
#pragma once

#include <algorithm>

#include "common.hpp"
#include "solver/problem.hpp"

namespace widemargin {

constexpr double kActiveMargin = 0.1;  // how near a violation a sample stays active
constexpr double kFewLeave = 0.25;     // share of the active set that shrinking takes away at least

// The levels at which gradients of free samples meet: of the former active set and, where that set
// had nothing to do, of all samples, so that the most violating pair is active: else two active
// sets could take turns for ever.
struct Levels {
  double lowest, highest;
  Levels(double active, double whole)
      : lowest(std::min(active, whole)), highest(std::max(active, whole)) {}
};

// Whether sample i is free, violating, or near a violation.
inline bool stays_active(const Problem& problem, Index i, double gradient, double beta,
                         const Levels& levels) {
  const double kink = problem.kink_of(i);
  const bool may_grow = beta < problem.upper[i] &&
                        gradient + growth_offset(beta, kink) < levels.highest + kActiveMargin;
  const bool may_fall =
      beta > problem.lower[i] && gradient + fall_offset(beta, kink) > levels.lowest - kActiveMargin;
  return may_grow || may_fall;
}

// Every cached row is compacted when a sample leaves: where few would, all stay, and their
// gradients are kept up to date by rows that are read anyway.
inline bool shrinking_pays(Size leaving, Size active) {
  return double(leaving) > kFewLeave * double(active);
}

}  // namespace widemargin
