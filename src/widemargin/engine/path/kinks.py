"""Solutions of problems with kinks over split variables: paths have no kinks."""

from __future__ import annotations

import numpy as np

from widemargin.engine.bounded_values import BoundedValues
from widemargin.engine.problem import DualProblem
from widemargin.engine.solution import Solution
from widemargin.engine.split_variables import by_sides, joined, split, twice


def split_solution(solution: Solution) -> Solution:
    """Return an accurate solution over two members per sample, without kinks."""
    problem, known = solution.problem, solution.checked
    assert known is not None
    kink = problem.kink
    values, errors = twice(known.values, kink), twice(known.errors, kink)
    checked = BoundedValues(values, errors, np.ones(values.size, dtype=np.bool_))
    return Solution(
        by_sides(problem), split(solution.beta, kink), values, solution.status,
        exact=True, checked=checked, kept_intercept=solution.intercept,
    )  # fmt: skip


def joined_solution(sides: Solution, problem: DualProblem) -> Solution:
    """Return the solution of a problem from that over its two sides."""
    n, known = problem.n, sides.checked
    assert known is not None
    checked = BoundedValues(known.values[:n], known.errors[:n], known.summed[:n])
    return Solution(
        problem, joined(sides.beta), checked.values, sides.status, sides.n_iter,
        sides.seconds, exact=sides.exact, checked=checked,
    )  # fmt: skip
