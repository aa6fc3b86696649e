"""A path on which every point counts: where values of observed rows cross zero."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from widemargin.engine.bounded_values import BoundedValues
from widemargin.engine.certificate import violation
from widemargin.engine.problem import DualProblem
from widemargin.engine.solution import Solution
from widemargin.engine.status import Status

from .end import repair
from .follow import Start, follow

Vector = NDArray[np.float64]
ACCEPTED = 1e-9  # violation at the end of a path that needs no repair


@dataclass(frozen=True, eq=False)
class Followed:
    """A path and what was seen on it.

    Attributes
    ----------
    solution : Solution
        At its end.
    crossed_at, crossed : ndarray
        Where on the way, from 0 to 1, and which observed row.
    breakpoints : int
        Pieces of the path.
    violation : float
        KKT violation at the end.
    """

    solution: Solution
    crossed_at: Vector
    crossed: NDArray[np.int64]
    breakpoints: int
    violation: float


def follow_with_crossings(
    solution: Solution, target: DualProblem, observed: NDArray[np.bool_]
) -> Followed:
    """Follow the solution to another problem, every point on the way a solution.

    Parameters
    ----------
    solution : Solution
        Exact, of a problem over the same samples.
    target : DualProblem
        Other bounds: all move together, linearly.
    observed : ndarray of bool
        Rows whose decision values are watched for a change of sign.
    """
    all_rows = np.arange(target.n)
    diagonal = target.gram.diagonal()
    start = Start.of(replace(solution, checked=_unbounded(solution)))
    beta, counts, _ = follow(start, target, diagonal, all_rows, 0, observed=observed)
    reached = Solution(
        target, beta, target.gram.times(beta), Status.POLISHED, exact=True
    )
    left = violation(target, beta, reached.values)
    if left > ACCEPTED or counts["status"] != "complete":
        repaired, _, _ = repair(reached)
        if repaired is None:
            raise ValueError(
                f"the path stopped with a KKT violation of {left:.1e}: the kernel may "
                "not be positive semidefinite."
            )
        reached, left = repaired, violation(target, repaired.beta, repaired.values)
    return Followed(
        reached, counts["crossed_at"], counts["crossed"],
        int(counts["breakpoints"].size), left,
    )  # fmt: skip


def _unbounded(solution: Solution) -> BoundedValues:
    """Return the values of an exact solution; a path needs no bounds on rounding."""
    values = solution.values
    everywhere = np.ones(values.size, dtype=np.bool_)
    return BoundedValues(values, np.full(values.size, np.inf), everywhere)
