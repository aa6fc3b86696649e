// Optimality of a set of samples: how far the gradients of those that can move lie apart.
#pragma once

#include <algorithm>

#include "common.hpp"

namespace widemargin {

// Largest and smallest gradient over the samples that can move; optimal when they meet.
struct Extremes {
  double lowest_growing = kInfinity;
  double highest_falling = -kInfinity;

  void meet(double gradient, double beta, double lower, double upper) {
    if (beta < upper) lowest_growing = std::min(lowest_growing, gradient);
    if (beta > lower) highest_falling = std::max(highest_falling, gradient);
  }
  double violation(bool equality) const {
    if (equality) return std::max(0.0, highest_falling - lowest_growing);
    return std::max({0.0, -lowest_growing, highest_falling});
  }
  // The level -b at which optimal gradients of free samples meet.
  double level(bool equality) const {
    if (!equality) return 0.0;
    if (lowest_growing == kInfinity) return highest_falling == -kInfinity ? 0.0 : highest_falling;
    if (highest_falling == -kInfinity) return lowest_growing;
    return 0.5 * (lowest_growing + highest_falling);
  }
};

}  // namespace widemargin
