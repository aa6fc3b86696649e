"""The exact curve: cross-validation error as the step function of C that it is.

The solution is piecewise linear in C, so every held-out decision value is, and the
error changes only where one of them crosses zero (mathematics 0.4, 9.4). The path
engine follows the pieces and notes the crossings: held-out rows are members whose box
is closed.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.model_selection import check_cv
from sklearn.utils import indexable

from widemargin.engine.gram import Gram
from widemargin.engine.kernels import Precomputed
from widemargin.engine.path.crossings import follow_with_crossings
from widemargin.engine.problem import DualProblem
from widemargin.engine.solution import Solution
from widemargin.engine.status import Status
from widemargin.engine.updates import fresh
from widemargin.engine.warm_start_chain import kernel_matrix
from widemargin.estimators.base.kernel_classifier import KernelClassifier
from widemargin.estimators.base.object_samples import checked_for_kernel
from widemargin.estimators.base.shared_fit import (
    BegunFit,
    MatrixRows,
    begin,
    is_one_dual_problem_a_task,
    resolved_kernel,
    validated_fold,
)
from widemargin.estimators.base.sklearn_compat import safe_split
from widemargin.estimators.base.validation import effective_threads
from widemargin.runtime.cancellation import CancellationScope

from .sharing import row_numbers

Vector = NDArray[np.float64]
Indices = NDArray[np.intp]

STRETCH = 2.0  # decades, after which the path is checked and begun anew


@dataclass(frozen=True, eq=False)
class CPath:
    """Cross-validation error over C, exactly.

    Attributes
    ----------
    C_min, C_max : float
        Where the curve begins and ends.
    steps : ndarray of shape (n_steps,)
        The values of C at which the error changes, ascending.
    errors : ndarray of shape (n_steps + 1,)
        The error before, between and after them: the mean over folds of the share of
        held-out rows with a wrong label.
    n_breakpoints : int
        Pieces of all paths: events at which a support vector changes its kind.
    kkt_violation : float
        The largest at the ends of all stretches.
    seconds : float
        Wall time.
    """

    C_min: float
    C_max: float
    steps: Vector
    errors: Vector
    n_breakpoints: int
    kkt_violation: float
    seconds: float

    def __repr__(self) -> str:
        low, high = self.best_interval
        return (
            f"CPath(C={self.C_min:g}..{self.C_max:g}, steps={self.steps.size}, "
            f"best_error={self.best_error:.4g} at C={low:.4g}..{high:.4g}, "
            f"kkt_violation={self.kkt_violation:.2g}, seconds={self.seconds:.3g})"
        )

    def error_at(self, C: Any) -> Any:
        """Return the error at some values of C.

        Parameters
        ----------
        C : float or array
            Between ``C_min`` and ``C_max``.
        """
        return self.errors[np.searchsorted(self.steps, C, side="right")]

    @property
    def best_error(self) -> float:
        """The least error on the curve."""
        return float(self.errors.min())

    @property
    def best_interval(self) -> tuple[float, float]:
        """The widest interval of C, in decades, with the least error."""
        ends = np.concatenate([[self.C_min], self.steps, [self.C_max]])
        width = np.log(ends[1:] / ends[:-1])
        best = int(np.argmax(np.where(self.errors == self.errors.min(), width, -1.0)))
        return float(ends[best]), float(ends[best + 1])


def c_path(
    estimator: Any, X: Any, y: Any, C_min: float, C_max: float, *, cv: Any = 5
) -> CPath:
    """Return the exact cross-validation error of a classifier as a function of C.

    Parameters
    ----------
    estimator : SVC or CostSensitiveSVC
        What is fitted; its own C is not used. ``gamma="scale"`` is that of each fold.
    X, y : arrays
        Training data.
    C_min, C_max : float
        Where the curve begins and ends.
    cv : int, splitter or iterable, default=5
        Folds, as in GridSearchCV.

    Returns
    -------
    CPath
        The curve: where the error changes, and what it is.

    Notes
    -----
    Where no support vector is free all intercepts of an interval are optimal. The path
    keeps the one it has, a fit takes the middle.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from widemargin import SVC, c_path
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> curve = c_path(SVC(gamma=0.02), scale(X[:200]), y[:200], 0.5, 50, cv=3)
    >>> low, high = curve.best_interval
    >>> bool(0.5 <= low < high <= 50), bool(curve.best_error < 0.05)
    (True, True)
    """
    if not isinstance(estimator, KernelClassifier) or not is_one_dual_problem_a_task(
        estimator
    ):
        raise TypeError(
            f"c_path follows a kernel classifier that is one dual problem per pair of "
            f"classes, without limits: SVC or CostSensitiveSVC, not {estimator!r}."
        )
    numbers = all(isinstance(end, Real) for end in (C_min, C_max))
    if not (numbers and 0.0 < C_min < C_max < np.inf):
        raise ValueError(
            f"C_min={C_min!r} and C_max={C_max!r} must be positive, finite and "
            "ascending."
        )
    started = time.perf_counter()
    X, labels = indexable(X, np.asarray(y))
    splits = list(check_cv(cv, labels, classifier=True).split(X, labels))
    count = int(np.ceil(np.log10(C_max / C_min) / STRETCH))
    stretches = np.geomspace(C_min, C_max, max(count, 1) + 1)
    follow = partial(_followed_fold, estimator, X, labels, stretches)
    threads = effective_threads(estimator.n_jobs)
    with ThreadPoolExecutor(threads) as pool, CancellationScope() as scope:
        folds = list(pool.map(partial(scope.run, follow), splits))
    return _assembled(folds, C_min, C_max, time.perf_counter() - started)


@dataclass(frozen=True, eq=False)
class _Fold:
    """What one fold adds to the curve."""

    error: float  # at C_min
    changes: list[tuple[float, float]]  # C, and by how much the error changes there
    breakpoints: int
    violation: float


def _assembled(folds: list[_Fold], C_min: float, C_max: float, seconds: float) -> CPath:
    """Add the step functions of all folds."""
    changes = sorted(change for fold in folds for change in fold.changes)
    at = np.array([C for C, _ in changes])
    steps, first = np.unique(at, return_index=True)
    jumps = np.array([jump for _, jump in changes]) / len(folds)
    summed = np.add.reduceat(jumps, first) if steps.size else np.empty(0)
    errors = np.cumsum([np.mean([fold.error for fold in folds]), *summed])
    return CPath(
        C_min, C_max, steps, np.maximum(errors, 0.0),
        sum(fold.breakpoints for fold in folds),
        max(fold.violation for fold in folds), seconds,
    )  # fmt: skip


def _followed_fold(
    estimator: Any, X: Any, y: Any, stretches: Vector, split: tuple[Indices, Indices]
) -> _Fold:
    train, test = map(row_numbers, split)
    machine = clone(estimator)
    samples, labels = safe_split(machine, X, y, train)
    data = validated_fold(machine, samples, labels, None)
    kernel = resolved_kernel(machine, data)
    rows_of_both = np.concatenate([train[data.rows], test])
    samples, _ = safe_split(machine, X, None, rows_of_both)
    samples = checked_for_kernel(machine, samples)
    matrix = kernel_matrix(Gram(samples, kernel, threads=1), np.float64)
    gram = Gram(matrix, Precomputed(), threads=1)
    rows = MatrixRows(kernel, np.arange(data.rows.size))

    def begun(C: float) -> BegunFit:
        return begin(clone(estimator).set_params(C=C), data, rows, machine)

    held_out = np.arange(data.rows.size, data.rows.size + test.size)
    grids = [begun(float(C)).problems() for C in stretches]
    signs, events, pieces, worst = [], [], 0, 0.0
    for pair, problems in enumerate(zip(*grids, strict=True)):
        found = _followed_pair(gram, list(problems), held_out, stretches)
        signs.append(found.positive)
        events += [(C, pair, row) for C, row in found.crossings]
        pieces += found.breakpoints
        worst = max(worst, found.violation)
    table = np.stack(signs, axis=1)
    fit = begun(float(stretches[0]))
    wrong = fit.labels(_decisions(table)) != y[test]
    return _Fold(
        float(wrong.mean()),
        list(_changes(fit, table, sorted(events), wrong, y[test])),
        pieces,
        worst,
    )


def _decisions(positive: NDArray[np.bool_]) -> Vector:
    """Return values with these signs: labels depend on nothing else."""
    values = np.where(positive, 1.0, -1.0)
    return values[:, 0] if values.shape[1] == 1 else values


def _changes(
    fit: BegunFit,
    positive: NDArray[np.bool_],
    events: list[tuple[float, int, int]],
    wrong: NDArray[np.bool_],
    y: NDArray[Any],
) -> Iterator[tuple[float, float]]:
    """Yield where the error changes, and by how much."""
    for C, pair, row in events:
        positive[row, pair] = ~positive[row, pair]
        now = bool((fit.labels(_decisions(positive[[row]])) != y[[row]])[0])
        if now != wrong[row]:
            wrong[row] = now
            yield C, (1.0 if now else -1.0) / y.size


@dataclass(frozen=True, eq=False)
class _Pair:
    """The signs of held-out values at the beginning, and where they change."""

    positive: NDArray[np.bool_]
    crossings: list[tuple[float, int]]
    breakpoints: int
    violation: float


def _ordered(gram: Gram, rows: Indices) -> Gram:
    """Return a matrix in the order of a pair's rows: columns are read whole."""
    if np.array_equal(rows, np.arange(gram.n)):
        return gram
    return Gram(gram.samples[np.ix_(rows, rows)], Precomputed(), threads=1)


def _followed_pair(
    gram: Gram, problems: list[DualProblem], held_out: Indices, stretches: Vector
) -> _Pair:
    """Follow one pair of classes from the smallest C to the largest."""
    first: Any = problems[0].gram
    members = first.numbers
    view = _ordered(gram, np.concatenate([members, held_out]))
    size, others = members.size, np.zeros(held_out.size)

    def watched(problem: DualProblem) -> DualProblem:
        return DualProblem(
            view,
            np.concatenate([problem.linear, others]),
            np.concatenate([problem.lower, others]),
            np.concatenate([problem.upper, others]),
            problem.total,
        )

    start = problems[0]
    alone = DualProblem(
        gram.subset(members), start.linear, start.lower, start.upper, start.total
    )
    solved, _ = fresh(alone)
    beta = np.concatenate([solved.beta, others])
    solution = Solution(
        watched(start), beta, view.times(beta), Status.POLISHED, exact=True,
        kept_intercept=solved.intercept,
    )  # fmt: skip
    observed = np.arange(view.n) >= size
    positive = (solution.values + solution.intercept >= 0.0)[size:]
    crossings: list[tuple[float, int]] = []
    sign, pieces, worst = positive.copy(), 0, 0.0
    for problem, low, high in zip(
        problems[1:], stretches[:-1], stretches[1:], strict=True
    ):
        found = follow_with_crossings(solution, watched(problem), observed)
        for eta, row in zip(found.crossed_at, found.crossed, strict=True):
            crossings.append((float(low + eta * (high - low)), int(row) - size))
            sign[row - size] = ~sign[row - size]
        solution = found.solution
        now = (solution.values + solution.intercept >= 0.0)[size:]
        # Ties were broken by a perturbation: what it hid is put at the end.
        crossings += [(float(high), int(row)) for row in np.flatnonzero(now != sign)]
        sign = now
        pieces += found.breakpoints
        worst = max(worst, found.violation)
    return _Pair(positive, crossings, pieces, worst)
