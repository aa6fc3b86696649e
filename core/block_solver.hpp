// The engine's loop: working sets solved in cache, on a set of active samples that is grown from
// a small start and trimmed as the solution settles.
#pragma once

#include "control.hpp"
#include "gram.hpp"
#include "problem.hpp"

namespace widemargin {

// On entry beta is feasible and gradient = K beta - linear. On return the gradient is up to date
// except where `stale`: those samples are at zero and their gradient, though old, is on the right
// side of the margin, as the present one provably is (after an interruption all are stale, and
// nothing is promised). Bitwise the same for any number of threads.
template <class Real>
Outcome solve_blocks(const Problem& problem, Gram& gram, const Options& options, double* beta,
                     double* gradient, bool* stale);

}  // namespace widemargin
