// Intercept and certificate of a point whose K beta is known with bounds on its rounding.
//
// The figures of widemargin/engine/bounds.py and intercept.py, in one pass over a small problem:
//
//   primal <= 1/2 sum beta_i values_i + 1/2 sum |beta_i| errors_i + total b
//             + sum_i loss_i at the worse end of values_i -+ errors_i
//   dual   >= linear'beta - kink'|beta| - 1/2 sum beta_i values_i - 1/2 sum |beta_i| errors_i
//             - repair
//
// (mathematics 8), every sum rounded outward. A member with a kink has the losses of its two sides
// of zero, with the linear terms linear_i - kink_i and linear_i + kink_i (mathematics 0.6).
#pragma once

#include "solver/table_point.hpp"

namespace widemargin {

// K beta of a point.
struct TableValues {
  const double* values;
  const double* errors;  // bounds on their rounding
  const bool* summed;    // false: certain to lie beyond the margin, where there is no loss; nullptr
                         // where all values are summed
};

// A point of a problem over a table.
struct CertifiedPoint {
  const KernelTable& table;
  const MatrixProblem& problem;
  const double* beta;
};

struct TableCertificate {
  double intercept = 0.0;
  double objective = kInfinity;  // upper bound on the primal
  double bound = -kInfinity;     // lower bound on the optimum, if the kernel is semidefinite
  double gap = kInfinity;        // objective less bound, rounded up
  double violation = kInfinity;  // upper bound on the KKT violation
  bool repaired = false;         // whether the bound holds: one member could make the sum exact
};

// The midpoint of the optimal intercepts (mathematics 0.2), of the members that were summed: the
// others do not move it. 0 without an equality constraint.
double optimal_intercept(const MatrixProblem& problem, const TableValues& known);

TableCertificate certify(const CertifiedPoint& point, const TableValues& known);

}  // namespace widemargin
