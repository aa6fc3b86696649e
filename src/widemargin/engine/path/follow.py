"""One run of the compiled path engine, over the rows worth watching."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from widemargin import _core
from widemargin.engine.bounded_values import BoundedValues
from widemargin.engine.gram import Gram
from widemargin.engine.held_columns import HeldColumns
from widemargin.engine.kernels import Precomputed
from widemargin.engine.problem import DualProblem
from widemargin.engine.solution import Solution
from widemargin.runtime.cancellation import check_cancelled
from widemargin.runtime.deadline import NEVER, Deadline

Vector = NDArray[np.float64]
Indices = NDArray[np.intp]

LOWER, UPPER, MARGIN, PINNED = 0, 1, 2, 3  # core/path/path.hpp: Side

WATCH_ALL_BELOW = 600  # fewer rows than this are all watched
WATCH_SHARE = 2  # otherwise this many rows for each mover and margin member
BATCH = 32  # kernel columns evaluated together: one costs nearly as much
LOOK = 16  # columns handed out between two checks of the deadline
HELD = 64_000_000  # bytes of columns fetched in advance
ROUNDING = 1e-12  # margin gradients below it, per unit of the linear term, are zero
TIE = 1e-11  # violation of a bound row that counts as rounding
CANCELLED = 1e-3  # sums below this share of their terms are measured by that share
SUM = 1e-14  # share of sum(|beta|) by which the total may be missed: rounding


@dataclass(frozen=True)
class PathAccount:
    """What a move took.

    Attributes
    ----------
    route : str
        "path", "warm" (a solve from the former point was cheaper), "refit" (one from
        nothing was, or the path gave up), or "direct" (the box leaves one point).
    steps : int
        Pieces of the path: events of every kind, and the last stretch of each run if
        a row still moves on it. The iterations of the paper's Algorithm 1.
    exchanges, shifts, perturbations, refactorisations : int
        Corner cases met (mathematics 3.2): dependent margin rows, moves of the
        intercept alone, broken ties, fresh factors.
    margin : int
        Largest size of the margin set on the way.
    rounds : int
        1, plus the repairs that rows outside the watched set asked for.
    refits : float
        What it cost by these counts (:mod:`widemargin.engine.update_routes`).
    """

    route: str
    steps: int = 0
    exchanges: int = 0
    shifts: int = 0
    perturbations: int = 0
    refactorisations: int = 0
    margin: int = 0
    rounds: int = 0
    refits: float = 1.0

    def plus(self, counts: dict[str, Any]) -> PathAccount:
        """Return the account with the counts of one more run added."""
        summed = ("steps", "exchanges", "shifts", "perturbations", "refactorisations")
        changes = {name: getattr(self, name) + int(counts[name]) for name in summed}
        margin = max(self.margin, int(counts["margin"]))
        return replace(self, **changes, margin=margin, rounds=self.rounds + 1)


@dataclass(frozen=True)
class Start:
    """A point that solves the problem (lower, upper, linear) with ``sum(beta)``."""

    beta: Vector
    checked: BoundedValues  # K beta
    lower: Vector
    upper: Vector
    linear: Vector
    intercept: float
    columns: HeldColumns | None = None  # of the margin set, from former paths

    @property
    def values(self) -> Vector:
        """``K beta``."""
        return self.checked.values

    @classmethod
    def of(cls, solution: Solution) -> Start:
        """Start at an :func:`accurate` solution of its own problem."""
        box = solution.problem
        assert solution.checked is not None
        return cls(
            solution.beta, solution.checked, box.lower, box.upper, box.linear,
            solution.intercept,
        )  # fmt: skip


@dataclass(frozen=True)
class Limits:
    """What a path may take before it is given up.

    Attributes
    ----------
    steps : int
        Pieces; a path that needs more ends with the status "limit".
    repair : int
        Pieces that a repair costs besides its own.
    deadline : Deadline
        Past it :class:`~widemargin.runtime.deadline.DeadlinePassedError` is raised.
    """

    steps: int = 1 << 30
    repair: int = 0
    deadline: Deadline = NEVER


UNLIMITED = Limits()


def moving(start: Start, target: DualProblem) -> tuple[int, int]:
    """Return how many rows are carried by a moving bound, and how many are free."""
    gradient = start.values + start.intercept - start.linear
    side = _sides(start, gradient, target)
    upper_moves = (side == UPPER) & (target.upper != start.upper)
    lower_moves = (side == LOWER) & (target.lower != start.lower)
    leaves = (side == PINNED) & (target.lower != start.beta)
    dragged = np.count_nonzero(upper_moves | lower_moves | leaves)
    return int(dragged), int(np.count_nonzero(side == MARGIN))


def follow(
    start: Start,
    target: DualProblem,
    diagonal: Vector,
    watched: Indices,
    seed: int,
    limits: Limits = UNLIMITED,
    observed: NDArray[np.bool_] | None = None,
) -> tuple[Vector, dict[str, Any], Indices]:
    """Run the compiled engine once, over the rows worth watching.

    With ``observed`` rows every point on the way is a solution (bounds that bind
    nothing move like the others), and the counts have where their gradients change
    sign; all rows must then be watched.
    """
    scale = gradient_unit(target, start.beta, start.values)
    motion = _Motion.between(start, target, scale)
    watched = _watch(motion.gradient, motion.concerned, watched)
    everything = watched.size == target.n
    rows = slice(None) if everything else watched
    drive = np.zeros(watched.size)
    if motion.rate.any():
        drive = target.gram.times(motion.rate, indices=None if everything else watched)
    columns = _Columns(
        target.gram, watched, np.flatnonzero(motion.concerned[rows]),
        motion.gradient[rows], limits.deadline, start.columns,
    )  # fmt: skip
    beta, _, _, counts = _core.follow_path(
        start.beta[rows],
        motion.gradient[rows],
        diagonal[rows],
        motion.lower[rows],
        motion.upper[rows],
        target.lower[rows],
        target.upper[rows],
        motion.linear_rate[rows],
        drive,
        motion.side[rows],
        target.total is not None,
        _sum_change(start, target),
        scale,
        columns,
        min(limits.steps, 200 + 20 * int(watched.size)),
        seed,
        None if observed is None else observed.astype(np.int8),
    )
    moved = start.beta.copy()
    moved[rows] = beta
    return moved, counts, watched


@dataclass(frozen=True)
class _Motion:
    """Where each row is at the start of a path, and how fast its terms change.

    Attributes
    ----------
    side : ndarray of int8
        Bound or margin set that a row belongs to.
    gradient, lower, upper : ndarray
        Gradient and box at the start.
    rate, linear_rate : ndarray
        Change of beta (of rows that a bound drags along) and of the linear term.
    """

    side: NDArray[np.int8]
    gradient: Vector
    lower: Vector
    upper: Vector
    rate: Vector
    linear_rate: Vector

    @property
    def concerned(self) -> NDArray[np.bool_]:
        """Mask of rows in the margin set and of rows whose terms change."""
        changes = (self.rate != 0.0) | (self.linear_rate != 0.0)
        concerned: NDArray[np.bool_] = (self.side == MARGIN) | changes
        return concerned

    @classmethod
    def between(cls, start: Start, target: DualProblem, scale: float) -> _Motion:
        """Return the motion from the start to the target.

        The start solves the problem whose linear term is shifted by what it misses: the
        path from there to the true linear term is the repair (3.2, case 5).
        """
        gradient = start.values + start.intercept - start.linear
        side = _sides(start, gradient, target)
        missed = np.where(
            side == LOWER,
            np.minimum(gradient, 0.0),
            np.where(side == UPPER, np.maximum(gradient, 0.0), gradient),
        )
        pinned = side == PINNED
        missed[pinned] = 0.0
        gradient = gradient - missed
        small = np.where(side == MARGIN, ROUNDING, TIE) * scale
        missed[np.abs(missed) <= small] = 0.0
        lower = np.where(pinned, start.beta, start.lower)
        upper = np.where(pinned, start.beta, start.upper)
        rate = np.where(side == UPPER, target.upper - upper, target.lower - lower)
        rate[side == MARGIN] = 0.0
        linear_rate = target.linear - start.linear - missed
        return cls(side, gradient, lower, upper, rate, linear_rate)


def _sides(start: Start, gradient: Vector, target: DualProblem) -> NDArray[np.int8]:
    """Which bound, or the margin set, each row belongs to at the start."""
    side = np.full(start.beta.size, MARGIN, dtype=np.int8)
    side[start.beta <= start.lower] = LOWER
    side[start.beta >= start.upper] = UPPER
    # A box opening from a point: the row follows the bound its gradient asks for, and
    # stays where it is on a tie (3.2: "also when g = 0").
    # A tie is one up to rounding: where w = 0 all rows of a class tie, and a row that
    # rounding sent on its way would come back by an event of its own.
    point = start.lower == start.upper
    tied = np.abs(gradient) <= TIE * gradient_unit(target, start.beta, start.values)
    stays_low = np.where(tied, target.lower == start.lower, gradient > 0)
    side[point] = np.where(stays_low[point], LOWER, UPPER)
    # A box closing to a point is followed wherever the gradient points (3.2, case 7).
    side[target.lower == target.upper] = PINNED
    return side


def _sum_change(start: Start, target: DualProblem) -> float:
    """Return by how much sum(beta) has to change.

    A change within rounding is none: it would add a last piece of the path on which no
    row moves, once for a chunk but fifty times for its fifty rows one by one.
    """
    if target.total is None:
        return 0.0
    change = target.total - float(start.beta.sum())
    return change if abs(change) > SUM * float(np.abs(start.beta).sum()) else 0.0


def gradient_unit(problem: DualProblem, beta: Vector, values: Vector) -> float:
    """Return the unit of gradients: the size of the linear term.

    Where there is none, as in a one-class problem, that of the kernel sums; these may
    cancel to rounding (w = 0), so a share of what they are sums of is the least.
    """
    size = float(np.abs(problem.linear).max(initial=0.0))
    if size > 0.0:
        return size
    largest = float(np.abs(problem.gram.diagonal()).max(initial=0.0))
    summed = CANCELLED * largest * float(np.abs(beta).sum())
    return max(float(np.abs(values).max(initial=0.0)), summed, 1e-300)


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


def _given_matrix(gram: Gram) -> Vector | None:
    """Return the matrix of a precomputed kernel; None where the handle is a view."""
    if not isinstance(gram.kernel, Precomputed) or gram._rows is not None:
        return None
    matrix: Vector = gram._X
    return matrix if matrix.dtype == np.float64 else None


class _Columns:
    """Kernel columns over the watched rows, fetched in batches.

    One column costs nearly as much as thirty, so a request also fetches the rows
    nearest to the margin: they are the likeliest to be requested next.
    """

    def __init__(
        self,
        gram: Gram,
        watched: Indices,
        concerned: Indices,
        gradient: Vector,
        deadline: Deadline,
        held: HeldColumns | None,
    ) -> None:
        self.gram = gram
        self.deadline = deadline
        self.watched = watched
        self.columns = None if watched.size == gram.n else watched
        self.limit = max(BATCH, HELD // (8 * max(watched.size, 1)))
        self.calls = 0
        self.matrix = _given_matrix(gram) if self.columns is None else None
        self.ready: dict[int, Vector] = {}
        self.waiting: list[int] = []
        if isinstance(gram.kernel, Precomputed):  # read, one at a time
            return
        self.waiting = np.argsort(np.abs(gradient), kind="stable").tolist()[::-1]
        if held is not None:
            concerned = self._given(held, concerned)
        self._fetch(concerned[: self.limit].tolist())

    def __call__(self, row: int) -> Vector:
        """Return column ``row`` of the watched rows."""
        self.calls += 1
        there = self.matrix is not None or row in self.ready
        if not there or self.calls % LOOK == 0:
            check_cancelled()
            self.deadline.check()
        if self.matrix is not None:
            return np.asarray(self.matrix[row])
        if not there:
            if len(self.ready) >= self.limit:
                self.ready.clear()
            self._fetch([row, *self._neighbours()])
        return self.ready[row]

    def _given(self, held: HeldColumns, wanted: Indices) -> Indices:
        """Take the columns that are held; return the rows that are left."""
        known = held.held(self.watched[wanted])
        given = wanted[known][: self.limit]
        block = held.block(self.watched[given], self.watched)
        self.ready.update(zip(given.tolist(), block, strict=True))
        return wanted[~known]

    def _neighbours(self) -> list[int]:
        chosen: list[int] = []
        while self.waiting and len(chosen) < BATCH - 1:
            candidate = self.waiting.pop()
            if candidate not in self.ready:
                chosen.append(candidate)
        return chosen

    def _fetch(self, rows: list[int]) -> None:
        if rows:
            block = self.gram.rows(self.watched[rows], columns=self.columns)
            self.ready.update(zip(rows, block, strict=True))
