"""Move a solved problem exactly: new bounds, linear term, total, or members.

    minimise    1/2 beta' K beta - linear' beta
    subject to  lower <= beta <= upper,   and, with an intercept, sum(beta) = total

When bounds, linear term and total move together, linearly in eta from a solved problem
to a wanted one, the solution moves piecewise linearly (mathematics 0.4). The compiled
engine follows the pieces; this module decides which rows it has to watch, certifies the
end on *all* rows, and repairs what was not watched. A sample is added as a box that
opens from a point, removed as one that closes, re-priced as one that changes width.

Memory is rows x margin set for the watched rows, plus vectors: never rows x rows.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from . import _core
from .certificate import kkt_violation, optimal_intercept
from .gram import Gram
from .problem import DualProblem
from .solution import Solution
from .solve import solve

Vector = NDArray[np.float64]
Indices = NDArray[np.intp]

LOWER, UPPER, MARGIN, PINNED = 0, 1, 2, 3  # core/path.hpp: Side

WATCH_ALL_BELOW = 1500  # fewer rows than this are all watched
WATCH_SHARE = 3  # otherwise this many rows for each mover and margin member
REPAIRS = 6  # rounds before the path gives up and a solve takes over
EXACT = 1e-10  # KKT violation, per unit of the linear term, called exact
ROUNDING = 1e-12  # gradients this small, per unit of the linear term, are zero


@dataclass(frozen=True)
class PathAccount:
    """What a move took.

    Attributes
    ----------
    route : str
        "path", "solve" (a warm-started solve and polish was cheaper, or the path gave
        up), or "direct" (the box leaves only one point).
    steps : int
        Events on the path, of every kind.
    exchanges, shifts, perturbations, refactorisations : int
        Corner cases met (mathematics 3.2): dependent margin rows, moves of the
        intercept alone, broken ties, fresh factors.
    margin : int
        Largest size of the margin set on the way.
    rounds : int
        1, plus the repairs that rows outside the watched set asked for.
    """

    route: str
    steps: int = 0
    exchanges: int = 0
    shifts: int = 0
    perturbations: int = 0
    refactorisations: int = 0
    margin: int = 0
    rounds: int = 0

    def plus(self, counts: dict[str, int | str]) -> PathAccount:
        """Return the account with the counts of one more run added."""
        summed = ("steps", "exchanges", "shifts", "perturbations", "refactorisations")
        changes = {name: getattr(self, name) + int(counts[name]) for name in summed}
        margin = max(self.margin, int(counts["margin"]))
        return replace(self, **changes, margin=margin, rounds=self.rounds + 1)


@dataclass(frozen=True)
class _Start:
    """A point that solves the problem (lower, upper, linear) with ``sum(beta)``."""

    beta: Vector
    values: Vector  # K beta
    lower: Vector
    upper: Vector
    linear: Vector
    intercept: float


def move(
    solution: Solution, target: DualProblem, *, seed: int = 0
) -> tuple[Solution, PathAccount]:
    """Return the solution of ``target`` from that of a problem on the same samples.

    Parameters
    ----------
    solution : Solution
        Solution of a problem over ``target.gram``; the better it is, the shorter the
        repair at the end, but any feasible point will do.
    target : DualProblem
        Other bounds, linear term or total.
    seed : int
        For the random perturbation that breaks ties.
    """
    solution = _accurate(solution)
    origin = solution.problem
    start = _Start(
        beta=solution.beta,
        values=solution.values,
        lower=origin.lower,
        upper=origin.upper,
        linear=origin.linear,
        intercept=solution.intercept,
    )
    return _reach(start, target, seed)


def add(
    solution: Solution, target: DualProblem, *, seed: int = 0
) -> tuple[Solution, PathAccount]:
    """Return the solution of ``target``, whose first rows are those of ``solution``.

    The further rows enter together: their boxes open from the point 0 (3.2).
    """
    solution = _accurate(solution)
    origin, old = solution.problem, solution.problem.n
    fresh = target.n - old
    newcomers = np.arange(old, target.n)
    beta = np.concatenate([solution.beta, np.zeros(fresh)])
    joined = target.gram.times(beta, indices=newcomers) if fresh else np.zeros(0)
    start = _Start(
        beta=beta,
        values=np.concatenate([solution.values, joined]),
        lower=np.concatenate([origin.lower, np.zeros(fresh)]),
        upper=np.concatenate([origin.upper, np.zeros(fresh)]),
        linear=np.concatenate([origin.linear, target.linear[old:]]),
        intercept=solution.intercept,
    )
    return _reach(start, target, seed)


def remove(
    solution: Solution, keep: Indices, target: DualProblem, *, seed: int = 0
) -> tuple[Solution, PathAccount]:
    """Return the solution of ``target``, which is on the rows ``keep`` of ``solution``.

    The other rows leave together, each straight to 0 whatever its gradient (3.2).
    """
    begun = time.perf_counter()
    solution = _accurate(solution)
    origin = solution.problem
    leaving = np.ones(origin.n, dtype=bool)
    leaving[keep] = False
    leavers = np.flatnonzero(leaving)
    if not solution.beta[leavers].any():
        values = solution.values[keep]
        start = _Start(
            beta=solution.beta[keep],
            values=values,
            lower=origin.lower[keep],
            upper=origin.upper[keep],
            linear=origin.linear[keep],
            intercept=solution.intercept,
        )
        return _reach(start, target, seed)
    only = _only_point(target)
    if only is not None:
        return _direct(only, target, begun)
    lower, upper = np.zeros(origin.n), np.zeros(origin.n)
    linear = origin.linear.copy()
    lower[keep], upper[keep], linear[keep] = target.lower, target.upper, target.linear
    wide = DualProblem(origin.gram, linear, lower, upper, target.total)
    start = _Start(
        beta=solution.beta,
        values=solution.values,
        lower=origin.lower,
        upper=origin.upper,
        linear=origin.linear,
        intercept=solution.intercept,
    )
    moved, account = _reach(start, wide, seed)
    return (
        _certified(target, moved.beta[keep], moved.values[keep], account, begun),
        account,
    )


def exact(solution: Solution, *, seed: int = 0) -> tuple[Solution, PathAccount]:
    """Return the exact solution near an approximate one (the repair of 3.2, case 5)."""
    return move(solution, solution.problem, seed=seed)


def _accurate(solution: Solution) -> Solution:
    """Recompute K beta in float64 unless it is: a solve to ``tol`` may use float32."""
    return solution if solution.status == "polished" else solution.recomputed()


def _intercept(values: Vector, problem: DualProblem) -> float:
    return optimal_intercept(
        values, problem.linear, problem.lower, problem.upper, problem.total
    )


def _violation(beta: Vector, values: Vector, problem: DualProblem) -> float:
    """KKT violation and infeasibility of the sum, per unit of the linear term."""
    worst = kkt_violation(
        beta,
        values - problem.linear,
        problem.lower,
        problem.upper,
        problem.total is not None,
    )
    return worst / max(float(np.abs(problem.linear).max(initial=0.0)), 1e-300)


def _only_point(problem: DualProblem) -> Vector | None:
    """The one feasible point where the box allows no other (3.2, case 6)."""
    if problem.n == 0:
        return np.zeros(0)
    if problem.total is None:
        return None
    scale = 1e-14 * float(np.abs(problem.upper).sum() + np.abs(problem.lower).sum())
    if float(problem.upper.sum()) - problem.total <= scale:
        return problem.upper.copy()
    if problem.total - float(problem.lower.sum()) <= scale:
        return problem.lower.copy()
    return None


def _direct(
    beta: Vector, target: DualProblem, begun: float
) -> tuple[Solution, PathAccount]:
    account = PathAccount(route="direct")
    values = target.gram.times(beta) if beta.any() else np.zeros(target.n)
    return _certified(target, beta, values, account, begun), account


def _certified(
    target: DualProblem,
    beta: Vector,
    values: Vector,
    account: PathAccount,
    begun: float,
) -> Solution:
    return Solution(
        problem=target,
        beta=beta,
        values=values,
        status="polished",
        n_iter=account.steps,
        seconds=time.perf_counter() - begun,
    )


def _reach(
    start: _Start, target: DualProblem, seed: int
) -> tuple[Solution, PathAccount]:
    """Follow the path, certify its end on all rows, repair, and fall back on solve."""
    begun = time.perf_counter()
    only = _only_point(target)
    if only is not None:
        return _direct(only, target, begun)
    account = PathAccount(route="path")
    diagonal = target.gram.diagonal()
    watched: Indices = np.empty(0, dtype=np.intp)
    for _ in range(REPAIRS):
        beta, counts, watched = _follow(start, target, diagonal, watched, seed)
        account = account.plus(counts)
        if counts["status"] != "complete":
            break
        values = start.values + target.gram.times(beta - start.beta)
        if _violation(beta, values, target) <= EXACT:
            return _certified(target, beta, values, account, begun), account
        start = _Start(
            beta=beta,
            values=values,
            lower=target.lower,
            upper=target.upper,
            linear=target.linear,
            intercept=_intercept(values, target),
        )
    solved = solve(target, accuracy="exact", start=start.beta)
    return solved, replace(account, route="solve")


def _follow(
    start: _Start,
    target: DualProblem,
    diagonal: Vector,
    watched: Indices,
    seed: int,
) -> tuple[Vector, dict[str, int | str], Indices]:
    """Run the compiled engine once, over the rows worth watching."""
    gradient = start.values + start.intercept - start.linear
    side = _sides(start, gradient, target)
    # The start solves the problem whose linear term is shifted by what it misses: the
    # path from there to the true linear term is the repair (3.2, case 5).
    missed = np.where(
        side == LOWER,
        np.minimum(gradient, 0.0),
        np.where(side == UPPER, np.maximum(gradient, 0.0), gradient),
    )
    pinned = side == PINNED
    missed[pinned] = 0.0
    gradient = gradient - missed
    scale = max(float(np.abs(target.linear).max()), 1e-300)
    missed[np.abs(missed) <= ROUNDING * scale] = 0.0
    linear_rate = target.linear - start.linear - missed
    lower = np.where(pinned, start.beta, start.lower)
    upper = np.where(pinned, start.beta, start.upper)
    rate = np.where(side == UPPER, target.upper - upper, target.lower - lower)
    rate[side == MARGIN] = 0.0
    concerned = (side == MARGIN) | (rate != 0.0) | (linear_rate != 0.0)
    watched = _watch(gradient, concerned, watched)
    everything = watched.size == target.n
    rows = slice(None) if everything else watched
    total = 0.0 if target.total is None else target.total - float(start.beta.sum())
    drive = (
        target.gram.times(rate, indices=None if everything else watched)
        if rate.any()
        else np.zeros(watched.size)
    )
    beta, _, _, counts = _core.follow_path(
        start.beta[rows],
        gradient[rows],
        diagonal[rows],
        lower[rows],
        upper[rows],
        target.lower[rows],
        target.upper[rows],
        linear_rate[rows],
        drive,
        side[rows],
        target.total is not None,
        total,
        scale,
        _columns(target.gram, watched, np.flatnonzero(side[rows] == MARGIN)),
        200 + 20 * int(watched.size),
        seed,
    )
    moved = start.beta.copy()
    moved[rows] = beta
    return moved, counts, watched


def _sides(start: _Start, gradient: Vector, target: DualProblem) -> NDArray[np.int8]:
    """Which bound, or the margin set, each row belongs to at the start."""
    side = np.full(start.beta.size, MARGIN, dtype=np.int8)
    side[start.beta <= start.lower] = LOWER
    side[start.beta >= start.upper] = UPPER
    # A box opening from a point: the row follows the bound its gradient asks for, and
    # stays where it is on a tie (3.2: "also when g = 0").
    point = start.lower == start.upper
    stays_low = (gradient > 0) | ((gradient == 0) & (target.lower == start.lower))
    side[point] = np.where(stays_low[point], LOWER, UPPER)
    # A box closing to a point is followed wherever the gradient points (3.2, case 7).
    side[target.lower == target.upper] = PINNED
    return side


def _watch(gradient: Vector, concerned: NDArray[np.bool_], watched: Indices) -> Indices:
    """Rows that may meet an event: those that move, and the nearest to the margin.

    The choice decides time, never the result: the end is certified on all rows.
    """
    n = gradient.size
    wanted = max(WATCH_ALL_BELOW, WATCH_SHARE * int(concerned.sum()))
    if wanted >= n or watched.size == n:
        return np.arange(n)
    chosen = concerned.copy()
    chosen[watched] = True
    nearest = np.argpartition(np.abs(gradient), wanted)[:wanted]
    chosen[nearest] = True
    return np.flatnonzero(chosen)


def _columns(gram: Gram, watched: Indices, margin: Indices) -> Callable[[int], Vector]:
    """Kernel columns over the watched rows; those of the first margin set in one go."""
    columns = None if watched.size == gram.n else watched
    ready: dict[int, Vector] = {}
    if margin.size:
        block = gram.rows(watched[margin], columns=columns)
        ready = dict(zip(margin.tolist(), block, strict=True))

    def column(row: int) -> Vector:
        found = ready.pop(row, None)
        if found is not None:
            return found
        single: Vector = gram.rows(watched[row : row + 1], columns=columns)[0]
        return single

    return column
