// The engine: decomposition with large working sets, stages and shrinking.
//
// Problem
//
//   minimise 1/2 beta' K beta - linear' beta
//   subject to lower <= beta <= upper  and, with an equality constraint,  sum(beta) fixed
//
// Symbols
//
//   gradient   K beta - linear
//   I_up       {i: beta_i < upper_i}, can grow;  I_low  {i: beta_i > lower_i}, can fall
//   violation  max over I_low of gradient - min over I_up of gradient; without an equality
//              constraint the largest projected gradient. Optimal when at most the tolerance
//   level      where the gradients of free variables meet: minus the intercept
//
// Algorithm
//
//   repeat
//     until the active samples are optimal to a target:
//       choose a working set, solve its sub-problem by pair steps, update the active gradients
//     grow the universe by a stage, update the gradients of inactive samples
//     stop when all samples are optimal to the tolerance
//     screen, shrink: choose the active samples again
//
// Decomposition and shrinking: Joachims, "Making large-scale SVM learning practical" (1999).
// Violation: Keerthi et al., Neural Computation 13 (2001). Second-order choice of pairs: Fan, Chen
// and Lin, JMLR 6 (2005). Working sets that keep half of the last one: Wen et al., "ThunderSVM",
// JMLR 19 (2018).
#pragma once

#include "kernel/gram.hpp"
#include "solver/options.hpp"
#include "solver/problem.hpp"

namespace widemargin {

// On entry beta is feasible and gradient = K beta - linear to within errors. On return the gradient
// is up to date except where `anchors` says otherwise: those samples are at zero and their
// gradient, though of an earlier point, is on the right side of the margin, as the present one is
// expected to be (after an interruption all are unknown). With `every_gradient` none is left
// behind. Bitwise the same for any number of threads.
Outcome solve_blocks(const Problem& problem, Gram& gram, const SolverOptions& options,
                     const Callbacks& callbacks, Iterate& iterate);

}  // namespace widemargin
