// The engine's loop: working sets solved in cache, on a set of active samples that is grown from
// a small start and trimmed as the solution settles.
#pragma once

#include "control.hpp"
#include "gram.hpp"
#include "problem.hpp"

namespace widemargin {

// On entry beta is feasible and gradient = K beta - linear; on return both are up to date for all
// samples, whatever the status. Bitwise the same for any number of threads.
template <class Real>
Outcome solve_blocks(const Problem& problem, Gram& gram, const Options& options, double* beta,
                     double* gradient);

}  // namespace widemargin
