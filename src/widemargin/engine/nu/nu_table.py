"""Many small nu-SVC problems over one kernel matrix, in one compiled call.

The batch of :mod:`widemargin.engine.kernel_table` with a second sum: pair steps within
a class, the margin where the levels of both classes meet (mathematics 9.3).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from widemargin.engine.bounds import UNIT
from widemargin.engine.kernel_table import BatchSolution, ProblemBatch
from widemargin.engine.problem import SecondSum
from widemargin.engine.solution import Solution
from widemargin.engine.solve import proved
from widemargin.engine.verification import CURRENT, BoundedValues, Evidence

from .nu_problem import NuProblem
from .nu_solution import NuSolution

Vector = NDArray[np.float64]

LEAST_MARGIN = 1e-6  # of the largest there is: below, the search says whether any is


def nu_batch(
    rows: Sequence[NDArray[np.intp]], origins: Sequence[NuProblem]
) -> tuple[ProblemBatch, Vector]:
    """Return nu-SVC problems over rows of one matrix as a batch, and its start.

    The start has the same share of every box, which the solver takes for its sums.
    """
    sizes = [own.size for own in rows]
    lower, upper = (
        np.concatenate([getattr(origin, name) for origin in origins])
        for name in ("lower", "upper")
    )
    batch = ProblemBatch(
        np.concatenate([[0], np.cumsum(sizes)]), np.concatenate(rows).astype(np.int32),
        np.zeros(lower.size), lower, upper, np.zeros(len(rows)),
        second_sum=SecondSum(has_margin=True),
    )  # fmt: skip
    return batch, np.concatenate([_centre(origin) for origin in origins])


def nu_answers(
    solved: BatchSolution, origins: Sequence[NuProblem], tol: float
) -> list[NuSolution | None]:
    """Return the solutions of a batch; None where one is left open.

    Open is what float32 entries, or a hundred steps a row, did not bring to its end,
    and what has next to no margin.
    """
    return [
        _answer(solved, number, origin, tol) for number, origin in enumerate(origins)
    ]


def _centre(origin: NuProblem) -> Vector:
    """Return the point on both sums that has the same share of every box."""
    share = 0.5 * origin.budget
    up, down = float(origin.upper.sum()), -float(origin.lower.sum())
    shares = min(share / up, 1.0), min(share / down, 1.0)
    point: Vector = shares[0] * origin.upper + shares[1] * origin.lower
    return point


def _answer(
    solved: BatchSolution, number: int, origin: NuProblem, tol: float
) -> NuSolution | None:
    part = solved.batch.part(number)
    margin = float(solved.multipliers[number])
    diagonal = origin.gram.diagonal()
    natural = origin.budget * float(diagonal.max())
    if not (solved.status[number].solved and margin > LEAST_MARGIN * natural):
        return None
    problem, a = origin.at(margin), solved.beta[part]
    beta = np.clip(a / margin, problem.lower, problem.upper)
    beta = np.where(a == origin.lower, problem.lower, beta)
    beta = np.where(a == origin.upper, problem.upper, beta)
    values = solved.values[part] / margin
    # The division rounds every coefficient, and every value.
    lengths = np.sqrt(np.maximum(diagonal, 0.0))
    reach = float((np.abs(beta) * lengths).sum())
    errors = solved.errors[part] / margin + 4.0 * UNIT * (
        np.abs(values) + reach * lengths
    )
    summed = solved.summed[part]
    current = np.full(a.size, CURRENT, dtype=np.int32)
    solution = Solution(
        problem, beta, values, solved.status[number], int(solved.n_iter[number]),
        solved.seconds / solved.batch.count, exact=bool(summed.all()),
        evidence=Evidence(errors, current, []),
        checked=BoundedValues(values, errors, summed),
    )  # fmt: skip
    found = NuSolution(origin, margin, proved(solution, tol))
    return found if found.converged else None
