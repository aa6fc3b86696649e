// The Cholesky factor of a symmetric positive semidefinite matrix, members in the order of their
// pivots: those that depend on the ones before, in feature space, are left out.
#pragma once

#include <vector>

#include "common.hpp"
#include "threads/parallel.hpp"

namespace widemargin {

class PivotedCholesky {
 public:
  // Takes the lower triangle of a row-major matrix over. Pivots of `least` or less are not taken.
  PivotedCholesky(std::vector<double> matrix, Size order, double least, Team& team);

  // How many members the factor is of.
  Size rank() const { return rank_; }

  // Solves for two right-hand sides of all members, in place; 0 for those left out.
  void solve(double* first, double* second) const;

 private:
  struct Panel;
  void exchange(Size here, Size there);
  Size factorise(Panel& panel, double least);

  std::vector<double> factor_;
  Size order_, rank_ = 0;
  std::vector<Size> members_;  // in the order of the factor
};

// [0 A'; A K] [shifts; step] = [0; -gradient], K the kernel entries `block[members, members]` and A
// a column of ones for each of the groups 0 and 1 that `groups` tells the members of; without
// groups K step = -gradient. Members whose pivot is below the share `independence` of the largest
// diagonal element stay where they are (mathematics 3.4).
void newton_step(const double* block, Size stride, const std::vector<Index>& members,
                 const double* gradient, const std::vector<Index>& groups, double independence,
                 double* step, Team& team);

}  // namespace widemargin
