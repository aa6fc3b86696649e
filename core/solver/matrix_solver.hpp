// Pair steps for a problem over a matrix in memory, on blocks of entries that stay in the
// second-level cache: all members where they are few, else a working set of the most violating
// ones beside the free ones of the last set. A fit of consecutive columns takes all members and
// reads its rows where they lie: copying them for ever new sets takes longer than the steps.
//
// Pairs of classes are such problems, and so are folds and costs of a cross-validation, one after
// the other over the same members: then the solver goes on with the block it has.
#pragma once

#include <functional>
#include <vector>

#include "memory/aligned.hpp"
#include "simd/dispatch.hpp"
#include "solver/face_step.hpp"
#include "solver/matrix_point.hpp"

namespace widemargin {

// Called between blocks with the steps so far and the violation; false ends a solve as interrupted.
using Proceed = std::function<bool(long steps, double violation)>;

template <class Real>
class MatrixSolver {
 public:
  // `block` is memory that a thread keeps for its next problem. Without `face` there are pair steps
  // alone: a fit that a polish follows needs no other.
  MatrixSolver(MatrixPoint<Real>& point, const Proceed& proceed, Aligned<Real>& block,
               FaceStep<Real>* face = nullptr)
      : point_(point), proceed_(proceed), block_(block), face_(face) {}

  // Solves the problem of the point, from there, to the tolerance with at most this many steps;
  // with a second sum it is relative to the margin. A start that is optimal already costs one look.
  Outcome run(double relative, long max_steps);

 private:
  struct Run {
    Size first, length;  // members
  };

  bool lies_in_place() const;
  Size free_count() const;
  long steps_before_face() const;
  void choose(const Extremes& extremes, long sets);
  void clear_block();
  static void fetch(void* self, Size member);
  void provide_with_likely(Size member);
  long take_steps(double level, double tolerance, long limit, bool& moved);

  MatrixPoint<Real>& point_;
  const Proceed& proceed_;
  std::vector<Size> members_;   // of the working set, in the order of their columns
  std::vector<Size> recent_;    // the same, the latest to enter last
  std::vector<Index> columns_;  // of the matrix, that the members are
  std::vector<Run> runs_;       // of consecutive columns, where these are long
  Aligned<Real>& block_;        // entries between the members, a row when a step needs it
  std::vector<const Real*> rows_;
  const PairCall<Real>* call_ = nullptr;  // the steps being taken
  Size stride_ = 0;
  FaceStep<Real>* face_;
};

}  // namespace widemargin
