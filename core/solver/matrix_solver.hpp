// Dual problems over one kernel matrix that is wholly in memory: many small ones, one after the
// other, each started from the last.
//
//   minimise 1/2 beta' K beta - linear' beta + kink' |beta|
//   subject to lower <= beta <= upper  [and a fixed sum]
//
// over some members of the matrix. Cross-validation is this: every fold and every C
// has the same matrix, and the held-out rows are further columns of the rows that a solve reads
// anyway, so their values K beta come with it. There is no cache, no shrinking and no thread:
// working sets whose block stays in the processor's cache, and sums of whole rows between them.
#pragma once

#include <vector>

#include "solver/control.hpp"
#include "solver/extremes.hpp"
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

template <class Real>
class MatrixSolver {
 public:
  explicit MatrixSolver(const MatrixPart<Real>& part);

  // Moves `beta` (feasible, one a member) to the optimum of a problem; returns how it ended and the
  // pair steps taken. A start that is optimal already costs one look.
  Outcome solve(const Problem& problem, double tolerance, Control& control, double* beta);

  // K beta at the members, then at the others.
  void values(double* out) const;

 private:
  void gather();
  void take_all();
  void follow(const double* beta);
  double gradient(Size k) const { return values_[columns_[k]] - problem_->linear[k]; }
  bool can_grow(Size k) const { return beta_[k] < problem_->upper[k]; }
  bool can_fall(Size k) const { return beta_[k] > problem_->lower[k]; }
  bool is_free(Size k) const { return problem_->is_free(Index(k), beta_[k]); }
  Extremes extremes() const;
  void choose(const Extremes& extremes);
  void clear_block();
  static void fetch(void* self, Size member);
  long solve_working_set(const Extremes& extremes, double tolerance, long max_steps);
  void apply(const std::vector<Size>& moved, const std::vector<double>& changes);

  MatrixPart<Real> part_;
  Size width_;                     // columns of a row as it is read
  std::vector<Real> gathered_;     // the rows, where members and others are few of the matrix
  std::vector<const Real*> rows_;  // of the members
  std::vector<Index> columns_;     // of the members, then of the others, in a row
  std::vector<double> values_;     // K beta_, by column
  std::vector<double> beta_;       // the point that values_ belong to

  const Problem* problem_ = nullptr;
  std::vector<Size> working_;  // the members of the working set
  std::vector<char> in_working_;
  std::vector<Real> block_, diagonal_, gradient_, growth_, fall_, above_, below_;
  std::vector<double> sub_beta_, sub_lower_, sub_upper_;
  Size stride_ = 0;                      // of the block of the working set
  std::vector<Index> block_columns_;     // of its members, in a row of the matrix
  std::vector<const Real*> block_rows_;  // gathered when a step needs them
  std::vector<std::pair<double, Size>> growing_, falling_;
};

// A chain of problems, each started from the one before.
struct ChainSteps {
  Size n_steps;
  const double* linear;  // [n_steps][n_members], as are the bounds
  const double* lower;
  const double* upper;
  const double* kink;  // nullptr where there is none
  bool equality;
};

// The start of a problem from the solution of one with another box: members at a bound stay there,
// the others keep their value, and the sum is mended (mathematics 9.4).
void carry_over(const Problem& from, const Problem& to, double* beta);

// Solves the steps in order; the first row of `betas` is the start of the first, all rows are the
// solutions after. values: [n_steps][n_members + n_others]. Where a limit comes first, the steps
// that were not solved have pair_steps = kNotSolved.
constexpr std::int64_t kNotSolved = -1;

template <class Real>
Outcome solve_chain(const MatrixPart<Real>& part, const ChainSteps& chain, double tolerance,
                    Control& control, double* betas, double* values, std::int64_t* pair_steps);

}  // namespace widemargin
