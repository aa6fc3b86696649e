"""What every kernel estimator shares: a fit is one task or several on one Gram matrix.

A kernel machine builds tasks from validated data (pairs of classes, for a classifier),
solves each as a dual problem of the engine, and stores the fitted model. It knows
nothing of labels: a regressor or a one-class model is another kind of task.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar, Generic, Self, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning

from widemargin.engine.gram import Gram
from widemargin.engine.interrupted import Interrupted
from widemargin.engine.kernel_table import BatchOptions, ProblemBatch
from widemargin.engine.kernels import MAX_DEGREE, NAMES, Kernel, make_kernel
from widemargin.engine.problem import DualProblem, Terms
from widemargin.engine.problem_batches import batch_of, is_small, joined_terms
from widemargin.engine.solution import Solution, summary
from widemargin.engine.solve import solve
from widemargin.engine.solve_options import POLISH_LIMIT, SolveOptions
from widemargin.multilevel.driver import Plan, automatic_levels, solve_divided
from widemargin.multilevel.level import Limits
from widemargin.runtime.cancellation import (
    CancellationScope,
    check_cancelled,
    is_cancellable,
)
from widemargin.runtime.deadline import Deadline

from .feature_scales import warn_if_unscaled
from .fitted_model import FittedModel
from .notebook import CertificateInNotebooks
from .portable import PortableModel
from .progress import ClusterProgress, Progress
from .sklearn_compat import (
    CallbackSupportMixin,
    Interval,
    QuickParameters,
    StrOptions,
    has_callbacks,
    validated,
)
from .small_fit import answers_together
from .task import Answer, Task, memory_shares, not_converged
from .training_data import TrainingData
from .validation import cache_megabytes, effective_threads, resolve_gamma, seed_of

# Fits this small end with the polish, so that decision values are exact to about 1e-9,
# unless the margin set is so large that its factorisation would cost more than the fit.
EXACT_SIZE = 2000
EXACT_MARGIN = 600
POLISH_RULES = {"auto": "auto", True: "always", False: "never"}
PARALLEL_TASKS = 4  # from this many tasks on, they run side by side
MOST_VIEWS = 4  # of the same rows, each with its share of the memory

Data = TypeVar("Data", bound=TrainingData)
AnyTask = TypeVar("AnyTask", bound=Task)


class KernelMachine(
    CertificateInNotebooks,
    PortableModel,
    QuickParameters,
    CallbackSupportMixin,
    BaseEstimator,
    ABC,
    Generic[Data, AnyTask],
):
    """Base of the kernel estimators.

    What a kind of estimator adds: :meth:`_validated`, :meth:`_tasks`,
    :meth:`_warm_start`, :meth:`_problem` and :meth:`_model`. A system overrides
    :meth:`_solve_task`, or one of the smaller steps it is made of.
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "C": [Interval(Real, 0.0, None, closed="neither")],
        "kernel": [StrOptions({*NAMES}), callable],
        "degree": [Interval(Integral, 0, MAX_DEGREE, closed="both")],
        "gamma": [
            StrOptions({"scale", "auto"}),
            Interval(Real, 0.0, None, closed="left"),
        ],
        "coef0": [Interval(Real, None, None, closed="neither")],
        "shrinking": ["boolean"],
        "tol": [Interval(Real, 0.0, None, closed="neither")],
        "cache_size": [StrOptions({"auto"}), Interval(Real, 0, None, closed="neither")],
        "verbose": ["verbose"],
        "max_iter": [Interval(Integral, -1, None, closed="left")],
        "max_time": [Interval(Real, 0, None, closed="neither"), None],
        "random_state": ["random_state"],
        "fit_intercept": ["boolean"],
        "n_jobs": [Integral, None],
        "warm_start": ["boolean"],
        "solver": [StrOptions({"auto", "direct", "divide"})],
        "polish": [StrOptions({"auto"}), "boolean"],
    }

    solver: str
    polish: bool | str

    def _fitted(self, *data: Any) -> Self:
        """Fit all or nothing; Ctrl-C is raised and leaves a former model in place.

        An estimator without one gets the point that was reached, if there is one.
        """
        shadow, stored = self._shadow(), True
        try:
            complete = shadow._fit(*data)
        except Interrupted:  # goes on below as plain Ctrl-C, without its point
            complete = stored = False
        if complete or (stored and not self.__sklearn_is_fitted__()):
            self._replaced_by(shadow)
        if not complete:
            raise KeyboardInterrupt
        return self

    @validated
    def _fit(self, X: Any, y: Any, sample_weight: Any, ids: Any = None) -> bool:
        """Fit; return False where Ctrl-C ended it and the point reached is stored."""
        data, gram, tasks = self._begin(X, y, sample_weight, ids)
        answers, complete = self._solve_all(data, gram, tasks)
        self._store(data, gram.kernel, tasks, answers)
        if complete:
            self._warn_unless_converged(answers)
        else:
            self.fit_status_ = 1  # also where all solves had ended
        return complete

    # ---- what a kind of estimator adds ---------------------------------------

    @abstractmethod
    def _validated(self, X: Any, y: Any, sample_weight: Any, ids: Any) -> Data:
        """Return the training data, checked as scikit-learn would."""

    @abstractmethod
    def _tasks(self, data: Data, gram: Gram, kernel: Kernel) -> list[AnyTask]:
        """Return the tasks of a fit, all over one Gram matrix."""

    @abstractmethod
    def _warm_start(self, data: Data, kernel: Kernel, tasks: Sequence[AnyTask]) -> None:
        """Start the tasks from the last fit's solution where ``warm_start`` asks."""

    @abstractmethod
    def _problem(self, task: AnyTask) -> DualProblem:
        """Return the dual problem of a task."""

    @abstractmethod
    def _model(
        self,
        data: Data,
        kernel: Kernel,
        tasks: Sequence[AnyTask],
        answers: Sequence[Any],
    ) -> FittedModel:
        """Assemble the model from the answers of all tasks."""

    def _store(
        self,
        data: Data,
        kernel: Kernel,
        tasks: Sequence[AnyTask],
        answers: Sequence[Any],
    ) -> None:
        """Store the fitted model."""
        self._model(data, kernel, tasks, answers).store(self)

    # ---- the steps of a fit --------------------------------------------------

    def _begin(
        self, X: Any, y: Any, sample_weight: Any, ids: Any
    ) -> tuple[Data, Gram, list[AnyTask]]:
        """Return the validated data, its Gram matrix, and the tasks of the fit."""
        data = self._validated(X, y, sample_weight, ids)
        self.n_features_in_ = data.n_features
        kernel = self._resolve_kernel(data)
        gram = self._make_gram(data, kernel)
        tasks = self._tasks(data, gram, kernel)
        self._warm_start(data, kernel, tasks)
        return data, gram, tasks

    def _resolve_kernel(self, data: TrainingData) -> Kernel:
        gamma = resolve_gamma(self.gamma, data.X, data.weights, self.kernel)
        kernel = make_kernel(
            self.kernel, gamma=gamma, degree=self.degree, coef0=self.coef0
        )
        warn_if_unscaled(data.X, kernel)
        return kernel

    def _make_gram(self, data: TrainingData, kernel: Kernel) -> Gram:
        n = data.rows.size
        megabytes = cache_megabytes(self.cache_size, n)
        threads = effective_threads(self.n_jobs, work=n * n * data.n_features)
        return Gram(data.X, kernel, cache_mb=megabytes, threads=threads)

    def _solve_all(
        self, data: Data, gram: Gram, tasks: Sequence[AnyTask]
    ) -> tuple[list[Any], bool]:
        """Solve the tasks of a fit, all together where rows are few."""
        batch = self._small_batch(gram, tasks)
        if batch is None:
            return self._solve_or_stop(tasks)
        return self._solve_batch(data, gram, tasks, batch)

    def _solve_batch(
        self, data: Data, gram: Gram, tasks: Sequence[AnyTask], batch: ProblemBatch
    ) -> tuple[list[Any], bool]:
        """Solve tasks in one compiled call, and those it leaves unsolved one by one."""
        options = self._batch_options(tasks[0].deadline, gram.threads)
        keep = self._keeps_rows(data)
        answers = answers_together(gram, batch, tasks, options, keep=keep)
        return self._solve_open(tasks, answers)

    def _solve_open(
        self, tasks: Sequence[AnyTask], answers: list[Any]
    ) -> tuple[list[Any], bool]:
        """Solve the tasks without an answer one by one."""
        left = [number for number, answer in enumerate(answers) if answer is None]
        if not left:
            return answers, True
        others, complete = self._solve_or_stop([tasks[number] for number in left])
        for number, answer in zip(left, others, strict=True):
            answers[number] = answer
        return answers, complete

    def _batch_options(
        self, deadline: Deadline, threads: int, *, from_vertex: bool = False
    ) -> BatchOptions:
        return BatchOptions(
            tol=self.tol, polish=POLISH_RULES[self.polish], deadline=deadline,
            threads=threads, monitor=check_cancelled if is_cancellable() else None,
            from_vertex=from_vertex,
        )  # fmt: skip

    def _may_solve_together(self) -> bool:
        """Whether one compiled call for all tasks supports what is requested."""
        watched = self.verbose or has_callbacks(self)
        return not (watched or self.solver == "divide" or self.max_iter >= 0)

    def _small_batch(self, gram: Gram, tasks: Sequence[AnyTask]) -> ProblemBatch | None:
        """Return the problems of a fit to be solved together; None to solve each."""
        if self._own_way() or not self._may_solve_together():
            return None
        if not is_small(gram, tasks, self.tol):
            return None
        terms = self._terms_of(tasks)
        return None if terms is None else batch_of(tasks, terms)

    def _own_way(self) -> bool:
        """Whether the system overrides how its tasks are solved."""
        return type(self)._solve_task is not KernelMachine._solve_task

    def _terms_of(self, tasks: Sequence[AnyTask]) -> Terms | None:
        """Return the terms of all tasks (``problem_batches.joined_terms``), or None."""
        return joined_terms([self._problem(task) for task in tasks])

    def _is_its_tasks(self) -> bool:
        """Whether a fit is just its tasks, solved and stored: a search can share it."""
        return type(self)._fit is KernelMachine._fit

    def _keeps_rows(self, data: Data) -> bool:
        """Whether exact updates will start from this fit."""
        return False

    def _solve_or_stop(
        self,
        tasks: Sequence[AnyTask],
        solve_task: Callable[[AnyTask], Answer] | None = None,
    ) -> tuple[list[Answer], bool]:
        """Solve all tasks; return the answers, and False if Ctrl-C cut them short.

        It is raised where a task has no point yet, and where a model is there already.
        """
        try:
            return self._solve_tasks(tasks, solve_task or self._solve_task), True
        except KeyboardInterrupt:
            if self.__sklearn_is_fitted__():
                raise
            reached = [task.solution or self._point(task) for task in tasks]
            points = [point for point in reached if point is not None]
            if len(points) < len(tasks):
                raise
            return points, False

    def _point(self, task: AnyTask) -> Answer | None:
        """Return the point at which Ctrl-C stopped a task; None if it had none yet."""
        if task.stopped is None:
            return None
        solution = task.stopped.solution()
        task.history.append(summary(solution, "finish" if task.history else "solve"))
        return solution

    def _solve_tasks(
        self, tasks: Sequence[AnyTask], solve_task: Callable[[AnyTask], Answer]
    ) -> list[Answer]:
        def solved(task: AnyTask) -> Answer:
            try:
                task.solution = solve_task(task)
            except Interrupted as stop:
                task.stopped = stop
                raise
            task.gram.release()  # frees the memory for the next task
            return task.solution

        if len(tasks) > 1 and all(task.gram is tasks[0].gram for task in tasks):
            return self._side_by_side(tasks, solved, views=min(len(tasks), MOST_VIEWS))
        return self._side_by_side(tasks, solved)

    def _side_by_side(
        self, tasks: Sequence[AnyTask], run: Callable[[AnyTask], Any], views: int = 0
    ) -> list[Any]:
        """Run many tasks side by side, and few one after another.

        Those over the same rows are side by side in any case: pair steps leave all
        threads but one idle. Shares of memory do not depend on threads: no result does.
        """
        threads = effective_threads(self.n_jobs)
        if not views and (len(tasks) < PARALLEL_TASKS or threads == 1):
            return [run(task) for task in tasks]
        shares = views or memory_shares(tasks)
        own, at_once = max(1, threads // shares), min(threads, shares)
        for task in tasks:
            rows, share = np.arange(task.gram.n), task.gram.cache_mb / shares
            task.gram = task.gram.subset(rows, cache_mb=share, threads=own)
        with ThreadPoolExecutor(at_once) as pool, CancellationScope() as scope:
            return list(pool.map(partial(scope.run, run), tasks))

    def _solve_task(self, task: AnyTask) -> Answer:
        """Build the problem of a task, solve it, record it."""
        problem = self._problem(task)
        options = self._solve_options(problem.n, task)
        solution = self._solve(problem, options, task.begin, task.history.append)
        task.history.append(summary(solution, "finish" if task.history else "solve"))
        return solution

    def _only_dual_problems(self) -> bool:
        """Whether a fit is nothing but the dual problems of its tasks, solved."""
        return type(self)._solve_task is KernelMachine._solve_task

    def _solve(
        self,
        problem: DualProblem,
        options: SolveOptions,
        start: NDArray[np.float64] | Solution | None = None,
        record: Callable[[dict[str, Any]], None] | None = None,
    ) -> Solution:
        """Solve, with progress if requested; `record` receives earlier stages."""
        label = type(self).__name__
        with Progress(self.verbose, self.tol, label, estimator=self) as progress:
            options = replace(options, monitor=progress.monitor)
            # The solution of a similar problem is a better start than clusters are.
            if isinstance(start, Solution) or self.solver != "divide":
                return solve(problem, options, start=start)
            plan = Plan(automatic_levels(problem.n), seed=options.seed)
            with ClusterProgress(self.verbose, label) as clusters:
                return solve_divided(
                    problem, plan, options, Limits.of(problem.gram),
                    start=start, record=record, progress=clusters,
                )  # fmt: skip

    def _seed(self) -> int:
        """Return the seed of a fit, drawn once: tasks run in several threads."""
        return seed_of(self.random_state)

    def _solve_options(self, n: int, task: Task) -> SolveOptions:
        """Return the options of every solve of `n` samples in this fit."""
        rule = POLISH_RULES[self.polish]  # True is numpy's, too
        return SolveOptions(
            tol=self.tol,
            exact=rule == "always" or (rule == "auto" and n <= EXACT_SIZE),
            polish_limit=POLISH_LIMIT if rule == "always" else EXACT_MARGIN,
            max_iter=self.max_iter,
            deadline=task.deadline,
            shrinking=self.shrinking,
            seed=task.seed,
        )

    def _warn_unless_converged(self, answers: Sequence[Answer]) -> None:
        words = not_converged(type(self).__name__, self.tol, answers)
        if words is not None:
            warnings.warn(words, ConvergenceWarning, stacklevel=3)
