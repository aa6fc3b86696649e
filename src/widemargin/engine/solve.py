"""Solve any dual problem: the one place that chooses a solver and a precision.

Float32 kernel rows first; float64 refinement for tolerances below 1e-4 or where float32
is not accurate enough; with ``exact``, the polish of :mod:`widemargin.engine.polish`.
The runs of the compiled solver are in :mod:`widemargin.engine.refinement`.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from .certificate import violation
from .interrupted import Interrupted
from .kernels import CallableKernel, Precomputed
from .path import path_seconds, repair
from .polish import polish
from .problem import DualProblem
from .refinement import Descent
from .solution import NOT_FINITE, Solution
from .solve_options import DrawnPairs, SolveOptions
from .status import Status

SINGLE_PRECISION = 1e-4  # below this the gradient is refined in float64
NEARLY = 0.97  # share of the tolerance that is aimed at: room for rounding in the proof
LEAST_ROOM = 0.5  # share of the tolerance that rounding leaves, to go on for the proof
POLISH_START = 1e-6  # tolerance of the second polish, if the one at ``tol`` failed
PATH_SECONDS = 2.0  # longest estimated path that is tried where both failed
DEFAULTS = SolveOptions()


def solve(
    problem: DualProblem,
    options: SolveOptions = DEFAULTS,
    *,
    start: ArrayLike | Solution | None = None,
) -> Solution:
    """Solve a dual problem and return a point that certifies itself.

    Optimal when, with ``gradient = K beta - linear``, the largest gradient over members
    that can shrink exceeds the smallest over members that can grow by at most ``tol``
    (Keerthi et al. 2001); without an intercept, when no projected gradient exceeds it.

    The algorithm is decomposition with shrinking (Joachims 1999): working sets of some
    hundred variables, each solved by pair steps of second-order selection (Fan, Chen
    and Lin 2005), over float32 kernel rows, with gradients summed again in float64
    (iterative refinement). A linear kernel on many rows begins with Newton's method in
    the primal (Chapelle 2007). With ``exact`` Newton steps on the free variables follow
    (polish).

    Parameters
    ----------
    problem : DualProblem
        What to solve.
    options : SolveOptions
        Tolerance, limits, observers.
    start : array or Solution, optional
        Where to begin (warm start); an array is projected on the constraints. A
        Solution of a problem on the same ``gram`` also brings its kernel products.

    Returns
    -------
    Solution
        Also when the limits were reached first: the status says which.

    Raises
    ------
    ValueError
        Where kernel values overflow the floating-point type they are stored in.
    KeyboardInterrupt
        On Ctrl-C; an :class:`~widemargin.engine.interrupted.Interrupted` with the point
        that was reached, if a step had been taken.
    """
    descent = Descent(problem, start, options)
    try:
        return _solved(descent)
    except KeyboardInterrupt as stop:
        if not descent.beta.any():
            raise
        spent = descent.spent
        raise Interrupted(problem, descent.beta, spent.steps, spent.seconds) from stop


def _solved(descent: Descent) -> Solution:
    """Run a descent, refine it, and polish it if ``exact`` is set."""
    problem, options = descent.problem, descent.options
    tol, certify = options.tol, options.certify
    drawn = isinstance(options.selection, DrawnPairs)  # float64 rows: no refinement
    first = tol if drawn else NEARLY * max(tol, SINGLE_PRECISION)
    descent.run(first)
    solution = descent.solution()
    if (drawn or solution.status == Status.STALLED) and problem.gram.overflows:
        raise ValueError(NOT_FINITE)  # no step is possible: entries are infinite
    if drawn or solution.status.stopped:
        return proved(solution, tol) if certify else solution
    exact = options.exact and solution.margin.size <= options.polish_limit
    if exact and solution.status == Status.CONVERGED:
        polished = polish(solution, tol=tol)
        if polished.status == Status.POLISHED:
            return proved(polished, tol) if certify else polished
    if certify and not exact and tol >= SINGLE_PRECISION:
        solution = _until_proved(descent, tol)
        if solution.status != Status.STALLED or _rounding_decides(solution, tol):
            return solution
        single = False
    else:
        single = descent.float32_suffices(first)
        if single and not exact and tol >= SINGLE_PRECISION:
            return solution
    # The polish mostly succeeds from a loose solution; if not, from a tight one.
    for goal in (NEARLY * tol, min(tol, POLISH_START)) if exact else (NEARLY * tol,):
        descent.refine(tol, goal, single)
        solution = descent.solution()
        if exact and not solution.status.stopped:
            solution = polish(solution, tol=tol)
        if solution.status == Status.POLISHED:
            break
    if exact and solution.status in (Status.CONVERGED, Status.STALLED):
        solution = _along_the_path(solution, descent)
    if not certify:
        return solution
    found = proved(solution, tol)
    if found.status == Status.STALLED and solution.converged and not exact:
        return _with_room_for_rounding(descent, found, tol)
    return found


def _with_room_for_rounding(descent: Descent, found: Solution, tol: float) -> Solution:
    """Go on from a point that meets ``tol`` but for the bounds on rounding."""
    assert found.checked is not None
    own = violation(found.problem, found.beta, found.checked.values)
    room = tol - (found.proved_violation - own)
    if room < LEAST_ROOM * tol:
        return found
    descent.refine(tol, NEARLY * room, single=False)
    closer = proved(descent.solution(), tol)
    return closer if closer.proved_violation < found.proved_violation else found


def _until_proved(descent: Descent, tol: float) -> Solution:
    """Verify the point; restart from the verified values while that helps."""
    before = np.inf
    while True:
        solution = proved(descent.solution(), tol)
        if (
            solution.status != Status.STALLED
            or solution.proved_violation > 0.9 * before
        ):
            return solution
        if _rounding_decides(solution, tol):
            return solution
        before = solution.proved_violation
        assert solution.checked is not None
        descent.resume_from(solution.checked, NEARLY * tol)


def _rounding_decides(solution: Solution, tol: float) -> bool:
    """Whether the point meets ``tol`` and only the bounds on rounding exceed it."""
    checked = solution.checked
    if checked is None:
        return False
    return violation(solution.problem, solution.beta, checked.values) <= NEARLY * tol


def proved(solution: Solution, tol: float) -> Solution:
    """Return the verified solution; its status is what its violation proves.

    Where rounding alone leaves more than ``tol`` the precision is exhausted.
    """
    solution = solution.verified()
    if solution.converged and solution.proved_violation > tol:
        solution = solution.verified_closely()
    if solution.converged and solution.proved_violation > tol:
        return replace(solution, status=Status.STALLED)
    if solution.status == Status.STALLED and solution.proved_violation <= tol:
        return replace(solution, status=Status.CONVERGED)
    return solution


def _along_the_path(solution: Solution, descent: Descent) -> Solution:
    """Follow a path to the exact solution where the polish failed, if there is one.

    Rows that are all but equal, as float32 makes them of decimals, leave the polish a
    system that it cannot solve; the path meets them one by one.
    """
    problem, margin = solution.problem, solution.margin.size
    kernel = problem.gram.kernel
    known = not isinstance(kernel, Precomputed | CallableKernel)
    if not (known and kernel.semidefinite):  # else there may be no path
        return solution
    left = min(PATH_SECONDS, descent.options.deadline.seconds_left)
    if path_seconds(problem.n, margin, margin) > left:
        return solution
    reached, _, _ = repair(solution, seed=descent.options.seed)
    if reached is None:
        return solution
    done = solution.n_iter + reached.n_iter, solution.seconds + reached.seconds
    return replace(reached, n_iter=done[0], seconds=done[1], screened=solution.screened)
