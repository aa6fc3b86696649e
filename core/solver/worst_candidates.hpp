// Candidates of a working set: pairs of a figure, the worst the least, and a member.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "common.hpp"

namespace widemargin {

// Keeps the `count` worst candidates, in order; ties go to the lowest member.
template <class Candidate>
void keep_worst(std::vector<Candidate>& list, Size count) {
  if (list.size() > count) {
    std::nth_element(list.begin(), list.begin() + std::ptrdiff_t(count), list.end());
    list.resize(count);
  }
  std::sort(list.begin(), list.end());
}

}  // namespace widemargin
