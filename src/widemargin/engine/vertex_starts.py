"""Starts for problems of which nearly every sample is a support vector at a bound.

So it is with the pinball loss: a sample above the function is at its upper bound, one
below at its lower bound. A solve that begins at zero moves each sample to its bound by
pair steps and evaluates its kernel row on the way. Here a fit to a few rows says on
which side each sample lies, and all begin there:

1. The problems are solved roughly over a random choice of the rows.
2. One sweep evaluates these functions at all rows. Each sample is put at the bound of
   its side; where the sum is prescribed, an intercept is found that meets it.
3. ``K`` times all these vertices is summed in float64, each entry evaluated once, with
   bounds on the rounding. A certificate then needs only what has changed since.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from widemargin.runtime.cancellation import check_cancelled
from widemargin.runtime.deadline import Deadline

from .feasible import lowest_vertex
from .gram import Gram
from .kernels import CallableKernel, Linear, Precomputed
from .problem import DualProblem, Terms
from .solution import Solution
from .status import Status
from .verification import verify_several
from .warm_start_chain import (
    ChainSolution,
    fits_a_chain,
    kernel_matrix,
    several_times,
    solve_chain,
)

Vector = NDArray[np.float64]
Indices = NDArray[np.intp]

FIRST = 2000  # rows of the rough fits
MANY = 3 * FIRST  # rows from which the rough fits are worth their time
ROUGH = 0.1  # tolerance of the rough fits, in typical distances of linear terms
LONG = 0.25  # share of the time left that the products may take


def vertex_starts(
    problems: Sequence[DualProblem], seed: int, deadline: Deadline
) -> list[Solution] | None:
    """Return a start for each of some problems over one matrix.

    Parameters
    ----------
    problems : sequence of DualProblem
        On the same ``gram`` and with the same linear term; zero is within their boxes.
    seed : int
        Seed of the choice of rows.
    deadline : Deadline
        When the solves must end.

    Returns
    -------
    list of Solution or None
        Vertices with their verified products; None where plain solves are better: with
        few rows, little time, or a kernel that float32 entries do not suffice for.
    """
    gram, begun = problems[0].gram, time.perf_counter()
    if not products_pay(gram):
        return None
    rows = np.sort(np.random.default_rng(seed).permutation(gram.n)[:FIRST])
    found = _rough_fits(problems, rows, deadline)
    if found is None:
        return None
    coefficients = np.zeros((len(problems), gram.n))
    coefficients[:, rows] = [one.beta for one in found]
    values = several_times(gram, coefficients, np.arange(gram.n), np.float32)
    # n / 2 entries a row are to come, of twice the size
    products = (time.perf_counter() - begun) * gram.n / rows.size
    if products > LONG * deadline.seconds_left:
        return None
    betas = [_at_bounds(p, own) for p, own in zip(problems, values, strict=True)]
    return known_starts(problems, betas)


def products_pay(gram: Gram) -> bool:
    """Whether the products of a start are worth a pass over the kernel matrix."""
    unsuited = isinstance(gram.kernel, Linear | Precomputed | CallableKernel)
    if unsuited or gram.n < MANY or gram.overflows:
        return False
    return gram.kernel.semidefinite and gram.single_precision_suffices


def known_starts(
    problems: Sequence[DualProblem], betas: Sequence[Vector]
) -> list[Solution]:
    """Return feasible points of problems over one matrix with their products."""
    known = verify_several(problems[0].gram, np.array(betas))
    return [
        Solution(problem, beta, own.values, Status.START, exact=True, checked=own)
        for problem, beta, own in zip(problems, betas, known, strict=True)
    ]


def _rough_fits(
    problems: Sequence[DualProblem], rows: Indices, deadline: Deadline
) -> list[ChainSolution] | None:
    """Solve the problems over some of their rows; None where that is not possible."""
    gram, linear = problems[0].gram, problems[0].linear
    terms = [
        Terms(p.linear[rows], p.lower[rows], p.upper[rows], p.total) for p in problems
    ]
    if not all(map(fits_a_chain, terms)):
        return None
    distance = float(np.abs(linear - linear.mean()).mean())

    def in_time(*_: object) -> bool:
        check_cancelled()
        return not deadline.passed

    matrix = kernel_matrix(gram.subset(rows), np.float32)
    every, nothing = np.arange(rows.size), np.arange(0)
    found = solve_chain(matrix, every, nothing, terms, ROUGH * distance, in_time)
    solved = len(found) == len(problems) and all(one.converged for one in found)
    return found if solved else None


def _at_bounds(problem: DualProblem, values: Vector) -> Vector:
    """Return the vertex at which each sample is on its side of a function."""
    gradient = values - problem.linear
    if problem.total is None:
        return np.where(gradient < 0.0, problem.upper, problem.lower)
    return lowest_vertex(problem, gradient)
