"""Fits of many settings on many folds, over kernel values that they share.

One matrix per sheet: every task of every fold is a chain of problems over it, the
smallest box first. Of many rows it is that of the candidates for support vectors; where
it is too large, or a method is more than one dual problem per task, each fit is solved
by itself over a Gram handle that the settings of a fold share, with its kept rows.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field, replace
from functools import partial
from queue import SimpleQueue
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from widemargin.engine.candidate_chains import Mapped
from widemargin.engine.gram import Gram
from widemargin.engine.kernels import Kernel
from widemargin.engine.problem import Terms
from widemargin.engine.warm_start_chain import (
    Chain,
    ChainSolution,
    MatrixMemory,
    fits_a_chain,
    matrix_precision,
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
from widemargin.estimators.base.training_data import LabelledData
from widemargin.estimators.base.validation import cache_megabytes
from widemargin.runtime.cancellation import CancellationScope, check_cancelled
from widemargin.runtime.deadline import Deadline

from .chain_precision import ChainSolver
from .cores import Cores
from .sharing import Sheet, SheetRows, final_estimator, sheet_rows

Indices = NDArray[np.intp]
MANY_ROWS = 8000  # above which the matrix is that of candidates for support vectors
FEWEST_FITS = 8  # for which a survey of all these rows pays


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
    memories: SimpleQueue[MatrixMemory] = SimpleQueue()
    for _ in range(side_by_side):
        memories.put(MatrixMemory())
    cores = Cores(request.threads)
    with ThreadPoolExecutor(side_by_side) as pool, CancellationScope() as scope:
        waiting: set[Future[list[SharedFit]]] = {
            pool.submit(partial(scope.run, _solved_sheet), request, sheet,
                        max(1, request.threads // side_by_side), cores, memories)
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


def _solved_sheet(
    request: Request,
    sheet: Sheet,
    threads: int,
    cores: Cores,
    memories: SimpleQueue[MatrixMemory],
) -> list[SharedFit]:
    if request.deadline.passed:
        return []
    started = time.perf_counter()
    with cores:
        try:
            begun = _Begun(request, sheet, threads)
            solved = begun.by_chains and _solve_by_chains(
                request, begun, cores.mapped, memories
            )
            if begun.by_chains and not solved:
                begun = _Begun(request, sheet, threads, chained=False)
        except ValueError:  # of the data: each fit says itself what is wrong with it
            return []
        if not begun.by_chains:
            _solve_one_by_one(request, begun)
    fits = [fit for fit in begun.fits if fit.done]
    for fit in fits:
        fit.seconds = (time.perf_counter() - started) / len(fits)
    return fits


class _Begun:
    """The fits of a sheet, begun: tasks are built, nothing is solved."""

    def __init__(
        self, request: Request, sheet: Sheet, threads: int, chained: bool = True
    ) -> None:
        estimators, self.fits = request.estimators, []
        first = estimators[sheet.candidates[0]]
        self.rows = sheet_rows(first, request.X, request.y, sheet)
        machine = clone(final_estimator(first))
        samples = checked_for_kernel(machine, self.rows.samples)
        self.threads = threads
        checked = [clone(machine) for _ in sheet.folds]
        data = [
            self._fold_data(request, checked[place], place, fold)
            for place, fold in enumerate(sheet.folds)
        ]
        kernel = resolved_kernel(machine, data[0])
        n = len(samples) if not hasattr(samples, "shape") else samples.shape[0]
        self.budget = 1e6 * cache_megabytes(machine.cache_size, n)
        at_once = request.threads  # sheets, at most, with 12 bytes an entry each
        together = cache_megabytes(
            machine.cache_size, int(np.ceil(n * np.sqrt(3.0 * at_once)))
        )
        self.room = 1e6 * together / at_once
        self.gram = Gram(
            samples, kernel, cache_mb=self.budget / 1e6, threads=self.threads
        )
        plain = [
            is_one_dual_problem_a_task(final_estimator(estimators[number]))
            for number in sheet.candidates
        ]
        self.by_chains = chained and all(plain)
        self.too_large = not chained
        self.tol = min(final_estimator(estimators[k]).tol for k in sheet.candidates)
        for place, fold in enumerate(sheet.folds):
            numbers = self.rows.numbers[place][0][data[place].rows]
            gram = self._fold_gram(kernel, numbers)
            for candidate in sheet.candidates:
                own = clone(final_estimator(estimators[candidate]))
                self.fits.append(
                    SharedFit(
                        candidate, fold.number, self.rows, place,
                        begin(own, data[place], gram, checked[place]), [],
                    )
                )  # fmt: skip

    def _fold_data(self, request: Request, machine: Any, place: int, fold: Any) -> Any:
        weight = request.sample_weight
        return validated_fold(
            machine, self.rows.parts[place][0],
            None if request.y is None else request.y[fold.train],
            None if weight is None else weight[fold.train],
        )  # fmt: skip

    def _fold_gram(self, kernel: Kernel, numbers: Indices) -> Gram | MatrixRows:
        if self.by_chains:
            return MatrixRows(kernel, numbers)
        return self.gram.subset(numbers)


@dataclass
class _Steps:
    """The steps of a chain: which fit and which of its tasks each problem is."""

    members: Indices
    others: Indices
    steps: list[tuple[SharedFit, int, Terms]] = field(default_factory=list)

    def chain(self) -> Chain:
        """Return the chain, the smallest box first: it only grows."""
        self.steps.sort(key=lambda step: float((step[2].upper - step[2].lower).sum()))
        return Chain(self.members, self.others, [step[2] for step in self.steps])


def _solve_by_chains(
    request: Request,
    begun: _Begun,
    mapped: Mapped,
    memories: SimpleQueue[MatrixMemory],
) -> bool:
    """Solve all tasks as chains; False where their matrix is too large."""
    steps: dict[Any, _Steps] = {}
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
            chain = steps.setdefault(key, _Steps(rows.numbers, others))
            chain.steps.append((fit, number, problem))
        problems.append(joined)
    if not problems:
        return True
    precision = matrix_precision(begun.gram, problems, begun.tol)
    chains = [chain.chain() for chain in steps.values()]
    memory = memories.get()
    try:
        solver = ChainSolver(
            begun.gram, begun.budget, begun.room, precision, begun.tol,
            request.goes_on, mapped, memory,
        )  # fmt: skip
        found = _solved_chains(begun, chains, solver)
    finally:
        memories.put(memory)
    if found is None:
        return False
    for chain, solutions in zip(steps.values(), found, strict=True):
        for (fit, number, _), solution in zip(chain.steps, solutions, strict=False):
            if solution.converged:  # a fit by itself has more means than pair steps
                fit.answers[number] = solution
    return True


def _solved_chains(
    begun: _Begun, chains: list[Chain], solver: ChainSolver
) -> list[list[ChainSolution]] | None:
    """Solve chains over candidates where rows are many, else over the whole matrix.

    None where that matrix, or the candidates, would be too large, or fits too few.
    """
    one_task = all(len(fit.begun.tasks) == 1 for fit in begun.fits)
    if one_task and begun.gram.n > MANY_ROWS:
        few = sum(len(chain.problems) for chain in chains) < FEWEST_FITS
        return None if few else solver.over_candidates(chains)
    gram, places = _class_by_class(begun)
    return replace(solver, gram=gram).over_matrix(chains, places)


def _class_by_class(begun: _Begun) -> tuple[Gram, Indices]:
    """Return a handle on which a pair of classes is two runs of rows, and their places.

    Where no fit is of pairs, rows stay as they are.
    """
    gram, labels = begun.gram, np.zeros(begun.gram.n, dtype=np.intp)
    for fit in begun.fits:
        data = fit.begun.data
        if len(fit.begun.tasks) > 1 and isinstance(data, LabelledData):
            labels[begun.rows.numbers[fit.place][0][data.rows]] = data.labels
    if not labels.any():
        return gram, np.arange(gram.n)
    order = np.argsort(labels, kind="stable")
    return gram.subset(order), np.argsort(order)


def _solve_one_by_one(request: Request, begun: _Begun) -> None:
    """Fit each setting by itself, over rows kept from the others of its fold."""
    for fit in begun.fits:
        if not request.goes_on():
            return
        try:
            fit.answers = fit.begun.solve_alone()
        except ValueError:  # no solution, as with too small a nu: the cell says so
            continue
        if begun.too_large:  # rows kept for the next fit cost more than they save
            for task in fit.begun.tasks:
                task.gram.release()


def held_out_values(fit: SharedFit) -> Any:
    """Return the values of all outputs at the held-out rows, where a chain has them."""
    if not all(isinstance(answer, ChainSolution) for answer in fit.answers):
        return None
    columns = [answer.other_values + answer.intercept for answer in fit.answers]
    return columns[0] if len(columns) == 1 else np.stack(columns, axis=1)
