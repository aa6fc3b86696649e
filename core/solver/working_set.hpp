// The working set of a block step, and the kernel entries between its members.
//
// Members are the most violating active samples, from I_up and I_low in turn (of two sums, on
// either side of zero, since a pair is of one side), beside the most
// recent free members of the last set (as in ThunderSVM: Wen et al. 2018); those bring their
// entries along. Where all entries between the active samples are cheap and fit in the cache, all
// are members.
#pragma once

#include <array>
#include <vector>

#include "memory/aligned.hpp"
#include "solver/active_set.hpp"
#include "solver/worst_candidates.hpp"

namespace widemargin {

template <class Real>
class WorkingSet {
 public:
  WorkingSet(const ActiveSet<Real>& active, RowCache<Real>& cache, Team& team, bool equality)
      : active_(active),
        cache_(cache),
        team_(team),
        equality_(equality),
        warm_(active.support() > 0) {}

  // The members, and their rows of kernel entries with each other, padded with zeros to whole
  // panels.
  const std::vector<Position>& members() const { return members_; }
  const Real* const* rows() const { return rows_.data(); }

  void choose(const Extremes& extremes);
  // Makes all active samples members where that pays; false, and nothing changed, where it does
  // not.
  bool choose_all();
  void clear() { members_.clear(); }

 private:
  Size capacity() const;
  void keep_recent();
  void collect_candidates(const Extremes& extremes);
  void fill_up();
  void fill_block();

  const ActiveSet<Real>& active_;
  RowCache<Real>& cache_;
  Team& team_;
  const bool equality_;
  const bool warm_;  // began at a point that is not the origin

  Size capacity_ = 0;  // of the present set
  std::vector<Position> members_;
  std::vector<Size> carried_;   // where the first members stood in the last set
  ByPosition<char> is_member_;  // while a set is chosen
  // Growing and falling, the worst violation first; of two sums, those below zero.
  std::array<WorstCandidates<Position>, 4> candidates_;
  Aligned<Real> block_, next_block_;
  Size stride_ = 0;     // of block_
  bool whole_ = false;  // all active samples are members, their rows are those of the cache
  std::vector<const Real*> rows_;
};

}  // namespace widemargin
