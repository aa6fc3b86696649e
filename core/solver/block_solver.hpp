// The engine's loop: working sets solved in cache, on a set of active samples that is grown from
// a small start and trimmed as the solution settles.
#pragma once

#include "kernel/gram.hpp"
#include "solver/control.hpp"
#include "solver/problem.hpp"

namespace widemargin {

// On entry beta is feasible and gradient = K beta - linear to within errors. On return the gradient
// is up to date except where `anchors` says otherwise: those samples are at zero and their
// gradient, though of an earlier point, is on the right side of the margin, as the present one is
// expected to be (after an interruption all are unknown). Bitwise the same for any number of
// threads.
Outcome solve_blocks(const Problem& problem, Gram& gram, const SolverOptions& options,
                     const Callbacks& callbacks, Iterate& iterate);

}  // namespace widemargin
