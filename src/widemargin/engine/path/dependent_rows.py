"""Move dependent rows of the margin set to their bounds before a path begins.

A linear kernel has at most d + 1 independent rows, but a solver may leave thousands
inside their boxes: where the optimum is w = 0, every row of a class lies on the margin.
Along the null direction of a dependent row the decision function stands still
(mathematics 3.2, case 2), so all but an independent set can be exchanged away at once.
What is left is small: a polish of it ends in milliseconds where a path would have to
take every tied row through an event of its own.
"""

from __future__ import annotations

from math import comb

import numpy as np

from widemargin.engine.bounded_values import BoundedValues
from widemargin.engine.kernels import Linear, Polynomial
from widemargin.engine.problem import DualProblem
from widemargin.engine.solution import Solution
from widemargin.engine.verification import verify_all

from .follow import Start, follow

BLOCK = 256  # rows exchanged together: the work is rows x (margin set + block)


def rank_bound(problem: DualProblem) -> int:
    """Return how many rows of K + gamma 11' can be independent."""
    kernel, n = problem.gram.kernel, problem.n
    if not isinstance(kernel, Linear | Polynomial):
        return n
    d = problem.gram.samples.shape[1]
    rank = d if isinstance(kernel, Linear) else comb(d + kernel.degree, kernel.degree)
    return min(n, rank + (problem.total is not None))


def independent(solution: Solution, *, seed: int = 0) -> Solution:
    """Return an equally good solution whose inner rows are independent.

    The solution itself where they may be already. Its decision values are the same.
    """
    problem, rows = solution.problem, solution.margin
    if rows.size <= rank_bound(problem):
        return solution
    beta = solution.beta.copy()
    basis = rows[:0]
    for first in range(0, rows.size, BLOCK):
        members = np.concatenate([basis, rows[first : first + BLOCK]])
        gram = problem.gram.subset(members)
        total = None if problem.total is None else float(beta[members].sum())
        ones = np.ones(members.size)  # values and linear term alike: gradient 0
        still = DualProblem(
            gram, ones, problem.lower[members], problem.upper[members], total
        )
        exact = BoundedValues(ones, 0.0 * ones, ones > 0.0)
        start = Start(beta[members], exact, still.lower, still.upper, ones, 0.0)
        moved, _, _ = follow(
            start, still, gram.diagonal(), np.arange(members.size), seed
        )
        beta[members] = moved
        basis = members[still.free(moved)]
    checked = verify_all(problem, beta)
    return Solution(
        problem, beta, checked.values, solution.status, exact=True, checked=checked
    )
