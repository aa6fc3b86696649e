// Certificate of a problem with a second sum: nu-SVC and nu-SVR, on few samples.
//
// The figures of widemargin/engine/nu/nu_bounds.py. The objective is that of the problem at the
// multiplier found, in the unit of the problem with both sums, less multiplier x budget (nu-SVC) or
// plus it (nu-SVR). For the bound there must be a point on both sums. Some real point a + t near
// the one reached is (mathematics 9.3): sizes shrink in proportion, or grow into the room of their
// boxes. With shift >= sum |t_i| sqrt(K_ii) its value is at least
//
//   linear' a - |linear|' |t| - 1/2 (||w|| + shift)^2.
#pragma once

#include "solver/table_certificate.hpp"

namespace widemargin {

// The problem, its point and K beta, in its own unit: a lower bound on the optimum, minus infinity
// where no point on both sums is near.
double second_sum_bound(const CertifiedPoint& point, const TableValues& known, double budget);

// The figures of the model from those of the problem at its multiplier, and the bound. A nu-SVC
// with a margin of m is stored in units of m.
TableCertificate with_second_sum(const TableCertificate& at_multiplier,
                                 const MatrixProblem& problem, double multiplier, double budget,
                                 double bound);

}  // namespace widemargin
