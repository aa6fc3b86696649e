"""Many small problems with a second sum over one kernel matrix, in one compiled call.

The batch of :mod:`widemargin.engine.kernel_table` with a second sum: pair steps within
a sign, the multiplier where the levels of both signs meet (mathematics 9.3).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from widemargin.engine.bounded_values import CURRENT, BoundedValues, Evidence
from widemargin.engine.certificate import Certificate
from widemargin.engine.kernel_table import BatchSolution, ProblemBatch
from widemargin.engine.kernels import CallableKernel, Precomputed
from widemargin.engine.problem import SecondSum
from widemargin.engine.solution import NOT_FINITE, Solution
from widemargin.engine.solve import proved
from widemargin.engine.status import Status

from .nu_problem import NuProblem
from .nu_solution import NuSolution

Vector = NDArray[np.float64]

LEAST_MARGIN = 1e-6  # of the largest there is: below, the search says whether any is
NEARLY_BOUND = 1.0 - 1e-12  # of a bound: a member there is at it
FEW = 10.0  # tolerances: a tube this narrow may be none


@dataclass(frozen=True, eq=False)
class NuAnswer:
    """A model that was solved for with others; see :class:`NuSolution`."""

    beta: Vector
    intercept: float
    n_iter: int
    status: Status
    certificate: Certificate
    multiplier: float
    converged: bool = True  # others are left open


def nu_batch(
    rows: Sequence[NDArray[np.intp]], origins: Sequence[NuProblem]
) -> tuple[ProblemBatch, Vector] | None:
    """Return problems of a kind over rows of one matrix as a batch, and its start.

    The start is on both sums, which the solver keeps. None where a regression has no
    such point on which every row is on one side.
    """
    linear, lower, upper = (
        np.concatenate([getattr(origin, name) for origin in origins])
        for name in ("linear", "lower", "upper")
    )
    offsets = np.concatenate([[0], np.cumsum([own.size for own in rows])])
    budgets = np.array([origin.budget for origin in origins])
    has_margin = origins[0].has_margin
    if has_margin:
        start = _centres(lower, upper, offsets, budgets)
    else:
        starts = [_vertex(one) for one in origins]
        feasible = [start for start in starts if start is not None]
        if len(feasible) < len(starts):
            return None
        start = np.concatenate(feasible)
    batch = ProblemBatch(
        offsets, np.concatenate(rows).astype(np.int32), linear, lower, upper,
        np.zeros(len(rows)), second_sum=SecondSum(has_margin),
        budgets=budgets,
    )  # fmt: skip
    return batch, start


def nu_answers(
    solved: BatchSolution, origins: Sequence[NuProblem], tol: float
) -> list[NuAnswer | NuSolution | None]:
    """Return the answers of a batch; None where one is left open.

    Open are problems that float32 entries, or 100 steps per row, did not solve,
    and what has next to no margin, no tube, or more than one.
    """
    largest = float(solved.gram.diagonal().max())
    return [
        _answer(solved, number, origin, tol, largest)
        for number, origin in enumerate(origins)
    ]


def _centres(
    lower: Vector, upper: Vector, offsets: NDArray[np.int64], budgets: Vector
) -> Vector:
    """Return the points on both sums that have the same share of every box."""
    up, down = (np.add.reduceat(ends, offsets[:-1]) for ends in (upper, -lower))
    shares = [np.minimum(0.5 * budgets / side, 1.0) for side in (up, down)]
    upward, downward = (np.repeat(share, np.diff(offsets)) for share in shares)
    point: Vector = upward * upper + downward * lower
    return point


def _vertex(origin: NuProblem) -> Vector | None:
    """Return the rows with the largest and the least targets, all at their bounds.

    None where these sets meet, so that no point is on both sums.
    """
    order, share = np.argsort(origin.linear, kind="stable"), 0.5 * origin.budget
    least, most = np.zeros(order.size), np.zeros(order.size)
    for point, rows, room in (
        (most, order[::-1], origin.upper), (least, order, -origin.lower),
    ):  # fmt: skip
        held = np.cumsum(room[rows])
        point[rows] = np.clip(share - held + room[rows], 0.0, room[rows])
    return None if most[least > 0.0].any() else most - least


def _answer(
    solved: BatchSolution, number: int, origin: NuProblem, tol: float, largest: float
) -> NuAnswer | NuSolution | None:
    multiplier, status = float(solved.multipliers[number]), solved.status[number]
    # At a multiplier of zero many points with this sum are optimal, and the one reached
    # is arbitrary: the multiplier must be above zero by more than the tolerance allows.
    least = FEW * tol if status != Status.POLISHED else 0.0
    if origin.has_margin:
        least = LEAST_MARGIN * origin.budget * largest
    if not (status.solved and multiplier > least):
        return None
    beta = solved.beta[solved.batch.part(number)]
    if not (origin.has_margin or _has_one_tube(origin, beta)):
        return None
    kernel = origin.gram.kernel
    given = isinstance(kernel, Precomputed | CallableKernel)  # convex or not
    if given or (kernel.semidefinite and not solved.repaired[number]):
        return _whole_solution(solved, number, origin, tol)
    intercept, objective, bound, gap, violation = solved.figures[number].tolist()
    if not objective < float("inf"):  # kernel values overflow
        raise ValueError(NOT_FINITE)
    if violation > tol:
        return None
    if not kernel.semidefinite:
        bound = gap = None
    n_iter = int(solved.n_iter[number])
    certificate = Certificate(
        status.value, objective, bound, gap, violation, n_iter,
        solved.seconds / solved.batch.count, solved.gram.threads,
    )  # fmt: skip
    return NuAnswer(beta, intercept, n_iter, status, certificate, multiplier)


def _has_one_tube(origin: NuProblem, beta: Vector) -> bool:
    """Whether a free member on either side fixes both edges of the tube.

    Else tubes of several widths are as good, and the search takes the middle one.
    """
    least, most = NEARLY_BOUND * origin.lower, NEARLY_BOUND * origin.upper
    # What misses a bound by rounding is at it.
    free = beta[(beta > least) & (beta < most)]
    return bool(free.min(initial=0.0) < 0.0 < free.max(initial=0.0))


def _whole_solution(
    solved: BatchSolution, number: int, origin: NuProblem, tol: float
) -> NuSolution | None:
    """Return a solution that computes its own certificate."""
    part, multiplier = solved.batch.part(number), float(solved.multipliers[number])
    values, errors, summed = (
        solved.values[part],
        solved.errors[part],
        solved.summed[part],
    )
    current = np.full(values.size, CURRENT, dtype=np.int32)
    solution = Solution(
        origin.at(multiplier), solved.beta[part], values, solved.status[number],
        int(solved.n_iter[number]), solved.seconds / solved.batch.count,
        exact=bool(summed.all()), evidence=Evidence(errors, current, []),
        checked=BoundedValues(values, errors, summed),
    )  # fmt: skip
    found = NuSolution(origin, multiplier, proved(solution, tol))
    return found if found.converged else None
