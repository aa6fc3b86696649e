// Candidates of a working set: pairs of a figure, the worst the least, and a member. Which of them
// are the worst does not depend on the order in which they are found.
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
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

// The worst of many candidates that are offered one by one, members rising: those that are no
// longer among them are given up on the way, and the limit says what need not be offered.
template <class Member>
class WorstCandidates {
 public:
  using Candidate = std::pair<double, Member>;

  // At most `count` are kept, all below the limit.
  void begin(Size count, double limit) {
    list_.clear();
    count_ = count;
    limit_ = limit;
  }
  double limit() const { return limit_; }
  void offer(double figure, Member member) {
    if (!(figure < limit_)) return;
    list_.push_back({figure, member});
    if (list_.size() < kSpareRoom * count_) return;
    const auto last = list_.begin() + std::ptrdiff_t(count_ - 1);
    std::nth_element(list_.begin(), last, list_.end());
    limit_ = last->first;  // of the same figure, members that were offered before are worse
    list_.resize(count_);
  }
  void sort() { keep_worst(list_, count_); }
  const std::vector<Candidate>& list() const { return list_; }  // worst first, once sorted

 private:
  static constexpr Size kSpareRoom = 2;  // candidates for one that is kept, between two choices

  std::vector<Candidate> list_;
  Size count_ = 0;
  double limit_ = 0.0;
};

}  // namespace widemargin
