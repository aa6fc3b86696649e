// Sum and largest size of the numbers of a vector.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

namespace widemargin {

inline double sum_of(const std::vector<double>& values) {
  double sum = 0;
  for (double value : values) sum += value;
  return sum;
}

inline double largest_of(const std::vector<double>& values) {
  double largest = 0;
  for (double value : values) largest = std::max(largest, std::abs(value));
  return largest;
}

}  // namespace widemargin
