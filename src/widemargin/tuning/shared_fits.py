"""Fits of many settings on many folds, over kernel values that they share.

One matrix per sheet: every task of every fold is a chain of problems over it, the
smallest box first. Where the matrix does not fit in memory, or a method is more than
one dual problem per task, the fits share a Gram handle and its kept rows instead.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from widemargin.engine.gram import Gram
from widemargin.engine.kernels import Kernel
from widemargin.engine.problem import Terms
from widemargin.engine.warm_start_chain import (
    ChainSolution,
    fits_a_chain,
    kernel_matrix,
    matrix_precision,
    solve_chain,
)
from widemargin.estimators.base.object_samples import checked_for_kernel
from widemargin.estimators.base.shared_fit import (
    BegunFit,
    MatrixRows,
    begin,
    is_one_dual_problem_a_task,
    resolved_kernel,
    validated_fold,
)
from widemargin.estimators.base.validation import cache_megabytes
from widemargin.runtime.cancellation import CancellationScope, check_cancelled
from widemargin.runtime.deadline import Deadline

from .sharing import Sheet, SheetRows, final_estimator, sheet_rows

Indices = NDArray[np.intp]


@dataclass(eq=False)
class SharedFit:
    """One setting on one fold of a sheet.

    Attributes
    ----------
    candidate, fold : int
        Which setting, and which split.
    rows : SheetRows
        The rows of the sheet.
    place : int
        Which fold of the sheet.
    begun : BegunFit
        The fit.
    answers : list
        One answer per task; empty where the fit is to be done plainly.
    seconds : float
        Its share of the time.
    """

    candidate: int
    fold: int
    rows: SheetRows
    place: int
    begun: BegunFit
    answers: list[Any]
    seconds: float = 0.0

    @property
    def done(self) -> bool:
        """Whether every task has its answer."""
        return len(self.answers) == len(self.begun.tasks) and None not in self.answers


@dataclass(frozen=True)
class Request:
    """What is to be fitted.

    Attributes
    ----------
    estimators : sequence
        One unfitted estimator per setting.
    X, y : arrays
        All rows and targets.
    sample_weight : ndarray or None
        Weights of all rows.
    threads : int
        Threads of all fits together.
    deadline : Deadline
        When to stop: fits not done by then are left out.
    """

    estimators: Sequence[Any]
    X: Any
    y: Any
    sample_weight: Any
    threads: int
    deadline: Deadline = field(default_factory=Deadline)

    def goes_on(self, *_: Any) -> bool:
        """Monitor of all solves: Ctrl-C raises, the deadline ends."""
        return check_cancelled() and not self.deadline.passed


def shared_fits(request: Request, sheets: Sequence[Sheet]) -> Iterator[list[SharedFit]]:
    """Yield the fits of each sheet once it is solved; those left out are not in it."""
    if not sheets:
        return
    side_by_side = min(len(sheets), _matrices(request))
    with ThreadPoolExecutor(side_by_side) as pool, CancellationScope() as scope:
        waiting: set[Future[list[SharedFit]]] = {
            pool.submit(partial(scope.run, _solved_sheet), request, sheet,
                        max(1, request.threads // side_by_side))
            for sheet in sheets
        }  # fmt: skip
        try:
            for future in as_completed(waiting):
                waiting.remove(future)  # it has the fits, which are not needed again
                yield future.result()
        finally:
            for future in waiting:
                future.cancel()


def _matrices(request: Request) -> int:
    """Return how many kernel matrices are held: one per thread, within memory."""
    X, threads = request.X, request.threads
    n = X.shape[0] if hasattr(X, "shape") else len(X)
    cache_size = final_estimator(request.estimators[0]).cache_size
    most = 1e6 * cache_megabytes(cache_size, int(np.ceil(n * np.sqrt(threads))))
    return int(np.clip(most // (4.0 * n * n), 1, threads))


def _solved_sheet(request: Request, sheet: Sheet, threads: int) -> list[SharedFit]:
    if request.deadline.passed:
        return []
    started = time.perf_counter()
    try:
        begun = _Begun(request, sheet, threads)
    except ValueError:  # of the data: each fit says itself what is wrong with it
        return []
    if begun.by_chains:
        _solve_by_chains(request, begun, threads)
    else:
        _solve_one_by_one(request, begun)
    fits = [fit for fit in begun.fits if fit.done]
    for fit in fits:
        fit.seconds = (time.perf_counter() - started) / len(fits)
    return fits


class _Begun:
    """The fits of a sheet, begun: tasks are built, nothing is solved."""

    def __init__(self, request: Request, sheet: Sheet, threads: int) -> None:
        estimators, self.fits = request.estimators, []
        first = estimators[sheet.candidates[0]]
        self.rows = sheet_rows(first, request.X, request.y, sheet)
        machine = clone(final_estimator(first))
        samples = checked_for_kernel(machine, self.rows.samples)
        self.threads = threads
        data = [
            self._fold_data(request, machine, place, fold)
            for place, fold in enumerate(sheet.folds)
        ]
        kernel = resolved_kernel(machine, data[0])
        n = len(samples) if not hasattr(samples, "shape") else samples.shape[0]
        self.budget = 1e6 * cache_megabytes(machine.cache_size, n)
        self.gram = Gram(
            samples, kernel, cache_mb=self.budget / 1e6, threads=self.threads
        )
        plain = [
            is_one_dual_problem_a_task(final_estimator(estimators[number]))
            for number in sheet.candidates
        ]
        self.by_chains = all(plain) and 4.0 * n * n <= self.budget
        self.tol = min(final_estimator(estimators[k]).tol for k in sheet.candidates)
        self.warm = all(plain)
        for place, fold in enumerate(sheet.folds):
            numbers = self.rows.numbers[place][0][data[place].rows]
            gram = self._fold_gram(kernel, numbers)
            for candidate in sheet.candidates:
                own = clone(final_estimator(estimators[candidate]))
                own._validate_params()
                self.fits.append(
                    SharedFit(
                        candidate, fold.number, self.rows, place,
                        begin(own, data[place], gram), [],
                    )
                )  # fmt: skip

    def _fold_data(self, request: Request, machine: Any, place: int, fold: Any) -> Any:
        weight = request.sample_weight
        return validated_fold(
            clone(machine), self.rows.parts[place][0],
            None if request.y is None else request.y[fold.train],
            None if weight is None else weight[fold.train],
        )  # fmt: skip

    def _fold_gram(self, kernel: Kernel, numbers: Indices) -> Gram | MatrixRows:
        if self.by_chains:
            return MatrixRows(kernel, numbers)
        return self.gram.subset(numbers)


@dataclass
class _Chain:
    """Problems over the same members, of several settings."""

    members: Indices
    others: Indices
    steps: list[tuple[SharedFit, int, Terms]] = field(default_factory=list)


def _solve_by_chains(request: Request, begun: _Begun, threads: int) -> None:
    chains: dict[Any, _Chain] = {}
    problems: list[Terms] = []
    for fit in begun.fits:
        joined = fit.begun.terms()
        if joined is None or not fits_a_chain(joined):
            continue
        fit.answers = [None] * len(fit.begun.tasks)
        for number, problem in enumerate(fit.begun.parts(joined)):
            rows = fit.begun.tasks[number].gram
            key = (fit.place, number, problem.total is None, rows.numbers.tobytes())
            others = begun.rows.numbers[fit.place][1]
            chain = chains.setdefault(key, _Chain(rows.numbers, others))
            chain.steps.append((fit, number, problem))
        problems.append(joined)
    if not problems:
        return
    single = matrix_precision(begun.gram, problems, begun.tol) is np.float32
    matrix = kernel_matrix(begun.gram, np.float32 if single else np.float64)

    @cache
    def exact() -> NDArray[np.float64]:
        return kernel_matrix(begun.gram, np.float64)

    def solved(chain: _Chain) -> None:
        # The smallest box first: a chain only grows.
        chain.steps.sort(key=lambda step: float((step[2].upper - step[2].lower).sum()))
        terms = [step[2] for step in chain.steps]
        given = chain.members, chain.others, terms, begun.tol, request.goes_on
        found = solve_chain(matrix, *given)
        if single and not all(solution.converged for solution in found):
            found = solve_chain(exact(), *given)  # single precision leaves too much
        for (fit, number, _), solution in zip(chain.steps, found, strict=False):
            if solution.converged:  # a fit by itself has more means than pair steps
                fit.answers[number] = solution

    if threads == 1:
        for chain in chains.values():
            solved(chain)
    else:
        with ThreadPoolExecutor(threads) as pool, CancellationScope() as scope:
            list(pool.map(partial(scope.run, solved), chains.values()))


def _solve_one_by_one(request: Request, begun: _Begun) -> None:
    """Fit each setting by itself, over rows kept from the others of its fold."""

    def width(fit: SharedFit) -> float:
        price = fit.begun.machine.C  # of a QuantileSVR it may be a word
        known = begun.warm and not isinstance(price, str)
        return float(np.mean(price)) if known else 0.0

    former: dict[int, list[Any]] = {}
    for fit in sorted(begun.fits, key=lambda fit: (fit.place, width(fit))):
        if not request.goes_on():
            return
        if begun.warm and fit.place in former:
            for task, answer in zip(fit.begun.tasks, former[fit.place], strict=True):
                task.start = answer.beta
        fit.answers = fit.begun.solve_alone()
        former[fit.place] = fit.answers


def held_out_values(fit: SharedFit) -> Any:
    """Return the values of all outputs at the held-out rows, where a chain has them."""
    if not all(isinstance(answer, ChainSolution) for answer in fit.answers):
        return None
    columns = [answer.other_values + answer.intercept for answer in fit.answers]
    return columns[0] if len(columns) == 1 else np.stack(columns, axis=1)
