"""Chains of dual problems over one kernel matrix: each starts from the one before.

Cross-validation over a grid is many problems with the same kernel values. With the
matrix in memory a solve is working sets and sums of whole rows; the held-out rows are
further columns of these rows, so their values ``K beta`` come with it. Nothing is
certified here: these are fits to be compared, not models to be kept.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from widemargin import _core

from .certificate import Certificate, kkt_violation, primal_objective
from .gram import HALF_DIGIT, Gram
from .problem import Terms
from .solve_options import Monitor
from .status import Status

Vector = NDArray[np.float64]
Matrix = NDArray[Any]
Indices = NDArray[np.intp]

SINGLE_TOLERANCE = 1e-4  # tolerance below which the matrix is float64
# Entries this small change nothing, but arithmetic on what float32 has no normal number
# for takes a hundred times as long.
SINGLE_SHARE = 10.0


@dataclass(frozen=True, eq=False)
class Chain:
    """Problems over the same members, in the order in which they are solved.

    Attributes
    ----------
    members, others : ndarray
        The samples of the problems; those whose values are wanted besides.
    problems : list of Terms
        Their terms.
    """

    members: Indices
    others: Indices
    problems: list[Terms]


@dataclass(frozen=True, eq=False)
class ChainSolution:
    """The solution of one problem of a chain.

    Attributes
    ----------
    problem : Terms
        The terms of the problem.
    beta : ndarray
        Coefficients of the members.
    values, other_values : ndarray
        ``K beta`` at the members and at the held-out rows.
    intercept : float
        Midpoint of the optimal intercepts.
    n_iter : int
        Pair steps from the solution before.
    status : Status
        "converged", or "stalled" where pair steps no longer lead to the tolerance.
    """

    problem: Terms
    beta: Vector
    values: Vector
    other_values: Vector
    intercept: float
    n_iter: int
    status: Status

    @property
    def converged(self) -> bool:
        """Whether the tolerance was reached."""
        return self.status.solved

    @property
    def violation(self) -> float:
        """The KKT violation that the entries show."""
        terms = self.problem
        return kkt_violation(
            self.beta, self.values - terms.linear, terms.lower, terms.upper,
            terms.total is not None, terms.kink,
        )  # fmt: skip

    @property
    def certificate(self) -> Certificate:
        """A record without claims: objective and violation as the entries show them."""
        terms = self.problem
        objective = primal_objective(
            self.beta, self.values, self.intercept, terms.linear, terms.lower,
            terms.upper, terms.total, terms.kink,
        )  # fmt: skip
        return Certificate(
            status=str(self.status), objective=objective, bound=None, gap=None,
            kkt_violation=self.violation, n_iter=self.n_iter, seconds=0.0, threads=1,
        )  # fmt: skip


def fits_a_chain(problem: Terms) -> bool:
    """Whether a chain can start a problem (or several) at the origin."""
    lower, upper = problem.lower, problem.upper
    within = lower.max(initial=0.0) <= 0.0 <= upper.min(initial=0.0)
    finite = math.isfinite(lower.sum() + upper.sum() + problem.linear.sum())
    return problem.total in (None, 0.0) and within and finite


class MatrixMemory:
    """Memory that matrices take one after the other: the system clears new pages.

    It comes from what the process keeps between fits, and goes back there.
    """

    def __init__(self) -> None:
        self._bytes = np.empty(0, dtype=np.uint8)

    def reserve(self, size: int) -> None:
        """Take this many bytes, for matrices that grow: pages not touched cost nothing.

        Parameters
        ----------
        size : int
            Bytes of the largest matrix to come.
        """
        if size > self._bytes.size:
            self._bytes = np.empty(0, dtype=np.uint8)  # gives the former back
            self._bytes = _core.slab(size)

    def matrix(self, n: int, dtype: Any) -> Matrix:
        """Return a matrix with arbitrary entries, which replaces the one before."""
        needed = n * n * np.dtype(dtype).itemsize
        self.reserve(needed)
        matrix: Matrix = self._bytes[:needed].view(dtype).reshape(n, n)
        return matrix


def kernel_matrix(gram: Gram, dtype: Any, memory: MatrixMemory | None = None) -> Matrix:
    """Return all kernel values between the samples of a handle."""
    matrix = (memory or MatrixMemory()).matrix(gram.n, dtype)
    samples = np.arange(gram.n, dtype=np.int32)
    for part in gram._pieces(gram.n, gram.n):
        gram._core.rows(samples[part], samples, matrix[part])
    return matrix


def several_times(gram: Gram, weights: Matrix, indices: Indices, dtype: Any) -> Matrix:
    """Return entries of K @ w for each row w of ``weights``, in float64.

    Entries are evaluated once for all, in the precision ``dtype``.
    """
    support = np.flatnonzero(weights.any(axis=0)).astype(np.int32)
    columns, chosen = (
        indices.astype(np.int32),
        np.ascontiguousarray(weights[:, support]),
    )
    core = gram._core
    single = np.dtype(dtype) == np.float32
    method = core.several_times32 if single else core.several_times64
    parts = [np.empty((len(chosen), 0))]
    for part in gram._pieces(columns.size, support.size):
        parts.append(np.empty((len(chosen), columns[part].size)))
        method(support, chosen, columns[part], parts[-1])
    return np.concatenate(parts, axis=1)


def matrix_precision(
    gram: Gram, problems: Iterable[Terms], tol: float
) -> type[np.float32] | type[np.float64]:
    """Return the precision of entries that solves to ``tol`` need.

    Rounding of single entries adds up to about half a digit of the largest coefficients
    that the boxes allow, as a root of squares.
    """
    if tol < SINGLE_TOLERANCE or not gram.single_precision_suffices or gram.overflows:
        return np.float64
    largest = max(
        (float(np.maximum(p.upper, -p.lower).max(initial=0.0)) for p in problems),
        default=0.0,
    )
    scale = float(np.abs(gram.diagonal()).max(initial=0.0))
    single = HALF_DIGIT * scale * largest * np.sqrt(gram.n) <= SINGLE_SHARE * tol
    return np.float32 if single else np.float64


def solve_chain(
    matrix: Matrix,
    members: Indices,
    others: Indices,
    problems: Sequence[Terms],
    tol: float,
    monitor: Monitor | None = None,
    starts: tuple[Matrix, Matrix] | None = None,
    similar: tuple[Matrix, Matrix] | None = None,
) -> list[ChainSolution]:
    """Solve problems over the same members in the given order.

    Best with boxes that grow: a member at a bound stays there, the others keep their
    value, and once no member is at a moving bound the solution of all further
    problems is known without a step (mathematics 9.4).

    Parameters
    ----------
    matrix : ndarray of shape (n, n), float32 or float64
        Kernel values of all samples.
    members, others : ndarray
        The samples of the problems; those whose values are wanted besides.
    problems : sequence of Terms
        Each with the origin feasible (:func:`fits_a_chain`) and with, or all without,
        an intercept.
    tol : float
        Largest KKT violation, as float32 or float64 entries show it.
    monitor : callable, optional
        As that of a solve.
    starts : (ndarray, ndarray), optional
        A feasible point of each problem, and ``K beta`` of it at the members and the
        others; by default a problem starts from the one before.
    similar : (ndarray, ndarray), optional
        The solutions of similar problems at the members and the others, as of the same
        costs on other rows, and K times them. A problem then starts from the solution
        before, moved as theirs did: only rows of what moves otherwise are summed.

    Returns
    -------
    list of ChainSolution
        One per problem; fewer where the monitor returned False.
    """
    count, size = len(problems), members.size
    linear, lower, upper = (
        np.ascontiguousarray([getattr(problem, name) for problem in problems])
        for name in ("linear", "lower", "upper")
    )
    kink = None
    if any(problem.kink is not None for problem in problems):
        none = np.zeros(size)
        kink = np.array([none if p.kink is None else p.kink for p in problems])
    started = starts is not None
    if starts is None:
        starts = np.zeros((count, size)), np.zeros((count, size + others.size))
    betas, values = (np.array(part, dtype=np.float64, order="C") for part in starts)
    moves = (None, None) if similar is None else map(np.ascontiguousarray, similar)
    intercepts, steps = np.zeros(count), np.zeros(count, dtype=np.int64)
    outcome, raised = _core.solve_chain(
        matrix, members.astype(np.int32), others.astype(np.int32),
        linear, lower, upper, kink, problems[0].total is not None, betas, values,
        intercepts, steps, _core.SolverOptions(tolerance=tol), monitor, started,
        *moves,
    )  # fmt: skip
    if raised is not None:
        raise raised
    found = [
        ChainSolution(
            problem=problem,
            beta=betas[k],
            values=values[k, :size],
            other_values=values[k, size:],
            intercept=float(intercepts[k]),
            n_iter=int(steps[k]),
            status=Status.CONVERGED,
        )
        for k, problem in enumerate(problems)
        if steps[k] >= 0
    ]  # fmt: skip
    if outcome.status != Status.STALLED:
        return found
    return [
        one if one.violation <= tol else replace(one, status=Status.STALLED)
        for one in found
    ]
