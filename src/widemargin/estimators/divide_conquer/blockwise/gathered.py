"""The rows that an exact fit holds, and the class pairs solved on them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from widemargin.engine.gram import Gram
from widemargin.engine.kernels import Kernel
from widemargin.engine.problem import classification_problem
from widemargin.engine.solution import Solution
from widemargin.engine.solve import solve
from widemargin.engine.solve_options import SolveOptions
from widemargin.estimators.base.multiclass import class_pairs, samples_of_classes

from .block_source import stacked

Vector = NDArray[np.float64]
Indices = NDArray[np.intp]


@dataclass(frozen=True)
class Gathered:
    """Rows that are held here, ascending by number, with their coefficients.

    Attributes
    ----------
    rows, X, codes, costs : arrays
        Row numbers, samples, class numbers, and the C of each.
    betas : array of shape (n_pairs, n_rows)
        Coefficients of each class pair: a feasible point, where the solve begins.
    """

    rows: Indices
    X: Any
    codes: Indices
    costs: Vector
    betas: Vector

    @classmethod
    def fresh(
        cls, rows: Indices, X: Any, codes: Indices, costs: Vector, n_classes: int
    ) -> Gathered:
        """Return rows that nothing is known of yet."""
        betas = np.zeros((n_classes * (n_classes - 1) // 2, len(rows)))
        order = np.argsort(rows, kind="stable")
        return cls(rows, X, codes, costs, betas).only(order)

    def only(self, chosen: Indices) -> Gathered:
        """Return some of the rows."""
        return Gathered(
            self.rows[chosen],
            self.X[chosen],
            self.codes[chosen],
            self.costs[chosen],
            self.betas[:, chosen],
        )

    def support(self) -> Indices:
        """Return which rows have a coefficient in any pair."""
        return np.flatnonzero(self.betas.any(axis=0))

    def without_start(self) -> Gathered:
        """Return the same rows as if nothing was known of them."""
        return replace(self, betas=np.zeros(self.betas.shape))

    def joined(self, others: Sequence[Gathered]) -> Gathered:
        """Return these rows and others, which have no coefficient."""
        every = [self, *others]
        whole = Gathered(
            np.concatenate([one.rows for one in every]),
            stacked([one.X for one in every]),
            np.concatenate([one.codes for one in every]),
            np.concatenate([one.costs for one in every]),
            np.concatenate([one.betas for one in every], axis=1),
        )
        return whole.only(np.argsort(whole.rows, kind="stable"))


@dataclass(frozen=True)
class SolvedPair:
    """A pair of classes, which of the gathered rows it has, and its solution."""

    positive: int
    negative: int
    rows: Indices
    solution: Solution


@dataclass(frozen=True)
class PairSolver:
    """Solve the class pairs of gathered rows from the point they come with.

    Attributes
    ----------
    kernel, n_classes, fit_intercept : Kernel, int, bool
        The problem.
    cache_mb : callable
        Megabytes of kernel cache for a number of rows.
    threads : int
    """

    kernel: Kernel
    n_classes: int
    fit_intercept: bool
    cache_mb: Callable[[int], float]
    threads: int

    def solve(
        self, gathered: Gathered, options: SolveOptions
    ) -> tuple[list[SolvedPair], int]:
        """Return the solved pairs and the kernel entries that they took."""
        gram = Gram(
            gathered.X,
            self.kernel,
            cache_mb=self.cache_mb(len(gathered.rows)),
            threads=self.threads,
        )
        solved, entries, pairs = [], 0, class_pairs(self.n_classes)
        for number, members in enumerate(samples_of_classes(gathered.codes, pairs)):
            whole = len(members.rows) == len(gathered.rows)
            own = gram if whole else gram.subset(members.rows)
            problem = classification_problem(
                own, members.y, gathered.costs[members.rows], self.fit_intercept
            )
            start = gathered.betas[number, members.rows]
            solution = solve(problem, options, start=start if start.any() else None)
            entries += own.evaluated
            own.release()
            solved.append(SolvedPair(*pairs[number], members.rows, solution))
        return solved, entries


def with_solutions(gathered: Gathered, solved: Sequence[SolvedPair]) -> Gathered:
    """Return the rows with the coefficients that were found."""
    betas = np.zeros(gathered.betas.shape)
    for number, pair in enumerate(solved):
        betas[number, pair.rows] = pair.solution.beta
    return replace(gathered, betas=betas)
