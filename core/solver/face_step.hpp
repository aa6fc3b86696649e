// All free members at once to the least objective with the others fixed: the Newton step of the
// active set method.
//
// A pair step moves two members; where hundreds are free and the costs are large, a million of them
// are needed. On the face of the box where a point lies the objective is quadratic, and its
// minimiser solves a linear system (K_FF symmetric positive definite, F the free members):
//
//   K_FF step + shift 1 = -slope_F,  1' step = 0      (without an equality constraint: no shift)
//
// The step ends at the first bound, or kink, that a member reaches. That member stays there, leaves
// the factor, and the others go on: from s of the way their slopes are (1 - s) slope - s shift, so
// that no entry is read again. The objective never rises.
#pragma once

#include <vector>

#include "numerics/cholesky.hpp"
#include "solver/matrix_point.hpp"

namespace widemargin {

template <class Real>
class FaceStep {
 public:
  // Whether a step of this many free members is affordable.
  static bool suits(Size free_members);
  // Entries of factors that a first step of this many free members goes through.
  static double first_work(Size free_members);

  // Moves the point, always of the same members of the same matrix: the factor is kept, and only
  // members that came or left since are worked in. Problems with a second sum are left alone.
  void take(MatrixPoint<Real>& point);
  // Entries of factors that the last step went through.
  double work() const { return work_; }

 private:
  void update_factor(const MatrixPoint<Real>& point);
  void append(const MatrixPoint<Real>& point, Size member);
  void remove(Size place);
  double newton_step(bool equality);
  std::vector<Size> advance(const MatrixProblem& problem, double shift);

  GrowingCholesky factor_;
  std::vector<Size> members_;  // of the factor, in its order
  std::vector<double> slopes_, steps_, ones_;
  std::vector<double> targets_;  // of all members of the problem
  double work_ = 0.0;
};

}  // namespace widemargin
