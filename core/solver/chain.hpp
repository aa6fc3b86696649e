// Problems over the same members of a matrix in memory, one after the other, each started from the
// last.
//
// Cross-validation is this: every fold and every C has the same matrix, and the held-out rows are
// further columns of the rows that a solve reads anyway, so their values K beta come with it.
#pragma once

#include "solver/control.hpp"
#include "solver/problem.hpp"

namespace widemargin {

// Which rows of a symmetric matrix are members of a problem, and which columns are only read.
template <class Real>
struct MatrixPart {
  const Real* entries;  // row by row
  Size stride;
  const Index* members;
  Size n_members;
  const Index* others;  // held-out columns
  Size n_others;
};

// A chain of problems, each started from the one before.
struct ChainSteps {
  Size n_steps;
  const double* linear;  // [n_steps][n_members], as are the bounds
  const double* lower;
  const double* upper;
  const double* kink;  // nullptr where there is none
  bool equality;
  bool started = false;  // each step from its own row of betas, whose values are given
  // Solutions of similar problems at the members and the others, and K times them, both
  // [n_steps][n_members + n_others], or nullptr: a step starts from the solution before, moved as
  // these moved.
  const double* similar = nullptr;
  const double* similar_values = nullptr;
};

// The start of a problem from the solution of one with another box: members at a bound stay there,
// the others keep their value, and the sum is restored along the gradient of that solution
// (mathematics 9.4).
void carry_over(const Problem& from, const Problem& to, const double* gradient, double* beta);

// Solves the steps in order; the first row of `betas` is the start of the first (with `started`,
// each row is that of its step, and its values are given), all rows are the solutions after.
// values: [n_steps][n_members + n_others]; intercepts: [n_steps], the midpoints of the optimal ones
// (mathematics 0.2). Where a limit comes first, the steps that were not solved have pair_steps =
// kNotSolved.
constexpr std::int64_t kNotSolved = -1;

template <class Real>
Outcome solve_chain(const MatrixPart<Real>& part, const ChainSteps& chain, double tolerance,
                    Control& control, double* betas, double* values, double* intercepts,
                    std::int64_t* pair_steps);

}  // namespace widemargin
