// All removals of one row from one solution: each the path on which its box closes (mathematics
// 3.2), from the same start.
//
// The paths share what costs most. With N the rows at a bound and M the margin set of the solution,
// the gradients of N and the coefficients of M are linear in the coefficients of N and the
// gradients of M, by one symmetric matrix (a principal pivot transform of the bordered kernel
// matrix):
//
//   [dg_N; dbeta_M] = U [dbeta_N; -dg_M],   U_NN positive, U_MM negative semidefinite.
//
// U is computed once. A removal changes the kind of a few rows Q only: keeping their conditions
// takes a system of that size (a Schur complement of U, as in active-set methods: Gill,
// Murray, Saunders and Wright, 1990), and a piece of the path is a sum of |Q| columns, where a path
// of its own would pass over rows x margin set.
#pragma once

#include <vector>

#include "common.hpp"
#include "threads/parallel.hpp"

namespace widemargin {

struct RemovalProblem {
  Size rows = 0;
  bool has_equality = true;
  double linear_scale = 1;             // size of the linear term: unit of gradients
  std::vector<double> beta, gradient;  // the solution; the gradient includes the intercept
  std::vector<double> lower, upper;
};

class Removals {
 public:
  // `matrix` holds the kernel values of all rows, row-major, and is replaced by U.
  Removals(RemovalProblem problem, double* matrix, Team& team);

  // False where the margin set is dependent or carries no change of the sum: nothing is removed.
  bool ready() const { return ready_; }

  // Writes the solution without `row` to `beta`. False where the path met a tie or a dependence,
  // which the engine of single paths (path.hpp) knows how to leave.
  bool remove(Size row, double* beta) const;

 private:
  class Walk;

  void transform(Team& team);
  bool factorise(std::vector<double>& factor) const;
  void reduce(const std::vector<double>& factor, std::vector<double>& reduced, Team& team) const;
  const double* column(Size row) const { return matrix_ + row * problem_.rows; }

  RemovalProblem problem_;
  double* matrix_;
  std::vector<Size> margin_;
  std::vector<char> in_margin_;
  double corner_ = 0;   // added to every entry: with a fixed sum it changes nothing (3.4)
  double largest_ = 0;  // of the diagonal
  bool ready_ = false;
};

}  // namespace widemargin
