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

}  // namespace widemargin
