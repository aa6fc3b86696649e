"""Active-set polish: from nearly optimal to optimal to the last digits.

Once it is known which samples lie exactly on their robust margin (``z_i = 0``, the
set M), which violate it (U, ``alpha_i = c_i``) and which are clear of it, the optimum
is the solution of smooth equations,

    w + sum_U c_i J_i(w) + sum_M alpha_i J_i(w) = 0,   sum_i y_i alpha_i = 0,   z_M = 0,

and Newton's method on them converges quadratically. Sets are corrected as the
multipliers and margins demand. Two fits of the same problem, written with weights or
with repeated rows, then agree to rounding.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve, lstsq

from widemargin.chance_constrained.objective import ChanceProblem
from widemargin.chance_constrained.rows import transpose_times
from widemargin.chance_constrained.smoothing import (
    Point,
    margin_rows,
    norm_curvature,
    point_at,
)

Floats = NDArray[np.float64]

_ROUNDS = 40
_ZERO_SPREAD = 1e-9  # relative to the largest: below it the norm has a corner


@dataclass(frozen=True)
class DualPoint:
    """A primal point with the multipliers and directions that certify it."""

    w: Floats
    b: float
    alpha: Floats
    directions: Floats


def polish(
    problem: ChanceProblem,
    point: Point,
    alpha: Floats,
    on_margin: NDArray[np.bool_],
) -> DualPoint | None:
    """Solve the optimality equations from a nearly optimal point.

    Parameters
    ----------
    problem : ChanceProblem
        What to solve.
    point : Point
        A nearly optimal point.
    alpha : ndarray of shape (n,)
        Multipliers; those off the margin must be at 0 or at their cost.
    on_margin : ndarray of bool
        The first guess of M.

    Returns
    -------
    DualPoint or None
        None when the sets did not settle: the guess was too far off.
    """
    on_margin, alpha = on_margin & (problem.costs > 0.0), alpha.copy()
    most = 3 * (problem.shape[1] + 1) + 50
    seen: set[bytes] = set()
    for _ in range(_ROUNDS):
        if np.count_nonzero(on_margin) > most:
            return None
        step = _newton_step(problem, point, alpha, on_margin)
        if step is None:
            return None
        dw, db, multipliers = step
        w = point.w + dw
        size = float(np.abs(dw).max(initial=0.0) + abs(db))
        reach = float(np.abs(w).max(initial=0.0) + abs(point.b + db))
        members = np.flatnonzero(on_margin)
        settled = size <= 1e-13 * reach
        if size > 1e3 * (reach + 1.0):
            return None
        point = point_at(problem, w, point.b + db)
        changed = _correct_sets(problem, point, alpha, on_margin, members, multipliers)
        if settled and not changed:
            return DualPoint(point.w, point.b, alpha, _directions(problem, point)[1])
        kinds = np.where(on_margin, 2, alpha > 0.0).astype(np.int8)
        sets = kinds.tobytes()
        if changed and sets in seen:  # going round in circles: guess again, closer
            return None
        seen.add(sets)
    return None


def _directions(problem: ChanceProblem, point: Point) -> tuple[Floats, Floats]:
    """Return spreads and ``v_k = Sigma_k w / s_k`` (0 where the spread is 0)."""
    spread = np.sqrt(np.maximum(point.images @ point.w, 0.0))
    safe = np.where(spread > 0.0, spread, 1.0)
    return spread, point.images / safe[:, None]


def _newton_step(
    problem: ChanceProblem,
    point: Point,
    alpha: Floats,
    on_margin: NDArray[np.bool_],
) -> tuple[Floats, float, Floats] | None:
    """One Newton step on the optimality equations: (dw, db, multipliers of M)."""
    spread, directions = _directions(problem, point)
    masses = problem.uncertainty.collect(alpha)
    cornered = spread <= _ZERO_SPREAD * float(spread.max(initial=0.0))
    if np.any(cornered & (masses > 0.0) & np.any(point.images != 0.0, axis=1)):
        return None
    curvature = norm_curvature(
        problem, masses, np.where(spread > 0.0, spread, 1.0), directions
    )
    curvature[np.diag_indices_from(curvature)] += 1.0
    members = np.flatnonzero(on_margin)
    signs, costs = problem.signs[members], problem.costs[members]
    pull = point.w - transpose_times(problem.X, alpha * problem.signs)
    pull += problem.kappa * (masses @ directions)
    jacobian = margin_rows(problem, directions, members)
    shortfall = _shortfalls(problem, point, spread)[members]
    try:
        factor = cho_factor(curvature, lower=True)
    except LinAlgError:
        return None
    solved_pull = cho_solve(factor, pull)
    change, db = _bordered(
        jacobian @ cho_solve(factor, jacobian.T),
        signs if problem.fit_intercept else None,
        shortfall - jacobian @ solved_pull,
        -float(alpha @ problem.signs),
        np.sqrt(np.clip(alpha[members] / costs * (1.0 - alpha[members] / costs), 0, 1)),
    )
    dw = -solved_pull - cho_solve(factor, jacobian.T @ change)
    return dw, db, alpha[members] + change


def _shortfalls(problem: ChanceProblem, point: Point, spread: Floats) -> Floats:
    """Return ``z_i`` of all samples at a point whose spreads are known."""
    shortfall = 1.0 - problem.signs * (point.margins + point.b)
    shortfall += problem.kappa * problem.uncertainty.expand(spread)
    return np.asarray(shortfall)


def _bordered(
    gram: Floats,
    border: Floats | None,
    right: Floats,
    imbalance: float,
    room: Floats,
) -> tuple[Floats, float]:
    """Solve ``[gram y; y' 0] [change; db] = [right; imbalance]``.

    Dependent rows (repeated samples) make the system singular but leave w and b
    unique. Of all solutions the one is taken that moves multipliers with ``room`` in
    their box most, so that none is pushed out.
    """
    count = len(right)
    if count == 0:
        return right, 0.0
    scale = np.maximum(room, 1e-3)
    scale /= np.sqrt(np.maximum(np.diag(gram), np.finfo(float).tiny))
    if border is None:
        system, target = gram * np.outer(scale, scale), right * scale
    else:
        system = np.zeros((count + 1, count + 1))
        system[:count, :count] = gram * np.outer(scale, scale)
        # y scaled to entries of order one, so that b is measured in its own unit
        unit = float(scale.max())
        system[:count, count] = system[count, :count] = border * scale / unit
        target = np.append(right * scale, imbalance / unit)
    solution = lstsq(system, target, cond=1e-13, lapack_driver="gelsd")[0]
    if border is None:
        return solution * scale, 0.0
    return solution[:count] * scale, float(solution[count] / unit)


def _correct_sets(
    problem: ChanceProblem,
    point: Point,
    alpha: Floats,
    on_margin: NDArray[np.bool_],
    members: NDArray[np.intp],
    multipliers: Floats,
) -> int:
    """Pin multipliers that left their box, free samples on the wrong side.

    Changes ``alpha`` and ``on_margin`` in place and returns how many moved.
    """
    costs = problem.costs[members]
    slackness = 1e-9 * costs
    below, above = multipliers < -slackness, multipliers > costs + slackness
    outside = below | above
    alpha[members] = np.clip(multipliers, 0.0, costs)
    on_margin[members[outside]] = False
    alpha[members[below]] = 0.0
    alpha[members[above]] = costs[above]
    spread = np.sqrt(np.maximum(point.images @ point.w, 0.0))
    shortfall = _shortfalls(problem, point, spread)
    size = 1.0 + np.abs(point.margins) + abs(point.b)
    wrong = ((alpha <= 0.0) & (shortfall > 1e-10 * size)) | (
        (alpha >= problem.costs) & (shortfall < -1e-10 * size)
    )
    wrong &= ~on_margin
    wrong[members] = False
    wrong &= problem.costs > 0.0
    on_margin |= wrong
    return int(np.count_nonzero(outside) + np.count_nonzero(wrong))
