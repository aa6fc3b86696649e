// Optimality of a set of samples: how far the gradients of those that can move lie apart.
//
//   I_up = {i: beta_i < upper_i}, I_low = {i: beta_i > lower_i}
//   violation = max over I_low of gradient_i - min over I_up of gradient_i   (Keerthi et al. 2001)
//
// With a kink, of the slopes on the side of zero that a variable moves on. Without an equality
// constraint: the largest projected gradient.
#pragma once

#include <algorithm>

#include "solver/problem.hpp"

namespace widemargin {

struct Extremes {
  double lowest_up = kInfinity;     // over I_up, which can grow
  double highest_low = -kInfinity;  // over I_low, which can fall

  void meet(double gradient, double beta, double lower, double upper, double kink) {
    if (beta < upper) lowest_up = std::min(lowest_up, gradient + growth_offset(beta, kink));
    if (beta > lower) highest_low = std::max(highest_low, gradient + fall_offset(beta, kink));
  }
  double violation(bool equality) const {
    if (equality) return std::max(0.0, highest_low - lowest_up);
    return std::max({0.0, -lowest_up, highest_low});
  }
  // The level -b at which optimal gradients of free samples meet.
  double level(bool equality) const {
    if (!equality) return 0.0;
    if (lowest_up == kInfinity) return highest_low == -kInfinity ? 0.0 : highest_low;
    if (highest_low == -kInfinity) return lowest_up;
    return 0.5 * (lowest_up + highest_low);
  }
};

// The extremes of either side of zero by themselves, without what a kink adds: a step keeps the sum
// of |beta| where the one that grows and the one that falls are on the same side.
struct SideExtremes {
  Extremes positive, negative;

  void meet(double gradient, double beta, double lower, double upper) {
    Extremes& growing = beta >= 0.0 ? positive : negative;
    Extremes& falling = beta > 0.0 ? positive : negative;
    if (beta < upper) growing.lowest_up = std::min(growing.lowest_up, gradient);
    if (beta > lower) falling.highest_low = std::max(falling.highest_low, gradient);
  }
  // The kink with which the levels of both sides meet: the violation of all is then the larger of
  // theirs.
  double multiplier() const { return 0.5 * (negative.level(true) - positive.level(true)); }
};

}  // namespace widemargin
