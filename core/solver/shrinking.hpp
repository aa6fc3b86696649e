// When samples are shrunk (Joachims 1999): left out of the active set, their gradients lazy.
#pragma once

#include <algorithm>
#include <vector>

#include "common.hpp"
#include "solver/problem.hpp"

namespace widemargin {

constexpr double kActiveMargin = 0.1;  // how near a violation a sample stays active,
constexpr Size kFewAtBounds = 500;     // as long as those at a bound are no more than this
constexpr double kPerSupport = 2.0;    // and so many for each support vector
constexpr double kFewLeave = 0.25;     // smallest share of the active set that is worth shrinking

// The levels at which gradients of free samples meet: of the former active set and, where that set
// had nothing to do, of all samples, so that the most violating pair is active: else two active
// sets could take turns for ever.
struct Levels {
  double lowest, highest;
  Levels(double active, double whole)
      : lowest(std::min(active, whole)), highest(std::max(active, whole)) {}
};

// How far the gradient of sample i is from a violation; below zero, by how much it violates.
inline double slack_of(const Problem& problem, Index i, double gradient, double beta,
                       const Levels& levels) {
  const double kink = problem.kink_of(i);
  double slack = kInfinity;
  if (beta < problem.upper[i])
    slack = std::min(slack, gradient + growth_offset(beta, kink) - levels.highest);
  if (beta > problem.lower[i])
    slack = std::min(slack, levels.lowest - gradient - fall_offset(beta, kink));
  return slack;
}

// The slack up to which samples at a bound stay active, given the slacks of all of them that are
// within the margin: where one class is rare nearly all of the other are, and few will ever move.
inline double active_margin(std::vector<double> slacks, Size support) {
  const Size most = kFewAtBounds + Size(kPerSupport * double(support));
  if (support == 0 || slacks.size() <= most) return kActiveMargin;
  const auto last = slacks.begin() + std::ptrdiff_t(most);
  std::nth_element(slacks.begin(), last, slacks.end());
  return *last;
}

// Every cached row is compacted when a sample leaves: where few would, all stay, and their
// gradients are kept up to date by rows that are read anyway.
inline bool shrinking_pays(Size leaving, Size active) {
  return double(leaving) > kFewLeave * double(active);
}

}  // namespace widemargin
