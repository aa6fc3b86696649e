"""What every kernel estimator shares: validation, class pairs, attributes, prediction.

A system overrides :meth:`KernelClassifier._solve_pair` (how two classes are told
apart) or one of the smaller steps it is made of; everything else is here once.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning

from widemargin.engine.gram import Gram
from widemargin.engine.interrupted import Interrupted
from widemargin.engine.kernels import MAX_DEGREE, Kernel, make_kernel
from widemargin.engine.problem import DualProblem, classification_problem
from widemargin.engine.screening.screener import Screener
from widemargin.engine.solution import Solution, summary
from widemargin.engine.solve import solve
from widemargin.engine.solve_options import SolveOptions
from widemargin.engine.status import Status
from widemargin.multilevel.driver import Plan, automatic_levels, solve_divided
from widemargin.multilevel.level import Limits
from widemargin.runtime.cancellation import Together
from widemargin.runtime.deadline import Deadline

from .feature_scales import warn_if_unscaled
from .multiclass import BinaryTask, class_pairs, pair_start, stack
from .prediction import PairPrediction
from .progress import ClusterProgress, Progress
from .sklearn_compat import (
    CallbackSupportMixin,
    Hidden,
    Interval,
    QuickParameters,
    StrOptions,
    validated,
)
from .task import Answer
from .training_data import Training, validate_training
from .validation import (
    cache_megabytes,
    class_weights,
    effective_threads,
    resolve_gamma,
    seed_of,
)

# Fits this small end with the polish, so that decision values are exact to about 1e-9,
# unless the margin set is so large that its factorisation would cost more than the fit.
EXACT_SIZE = 2000
EXACT_MARGIN = 600
PARALLEL_PAIRS = 4  # from this many class pairs on, pairs run side by side


class KernelClassifier(
    PairPrediction,
    QuickParameters,
    CallbackSupportMixin,
    ClassifierMixin,
    BaseEstimator,
):
    """Base of the kernel estimators; see :class:`widemargin.SVC` for the parameters."""

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "C": [Interval(Real, 0.0, None, closed="neither")],
        "kernel": [
            StrOptions({"linear", "poly", "rbf", "sigmoid", "precomputed"}),
            callable,
        ],
        "degree": [Interval(Integral, 0, MAX_DEGREE, closed="both")],
        "gamma": [
            StrOptions({"scale", "auto"}),
            Interval(Real, 0.0, None, closed="left"),
        ],
        "coef0": [Interval(Real, None, None, closed="neither")],
        "shrinking": ["boolean"],
        "probability": ["boolean", Hidden(StrOptions({"deprecated"}))],
        "tol": [Interval(Real, 0.0, None, closed="neither")],
        "cache_size": [StrOptions({"auto"}), Interval(Real, 0, None, closed="neither")],
        "class_weight": [StrOptions({"balanced"}), dict, None],
        "verbose": ["verbose"],
        "max_iter": [Interval(Integral, -1, None, closed="left")],
        "max_time": [Interval(Real, 0, None, closed="neither"), None],
        "decision_function_shape": [StrOptions({"ovo", "ovr"})],
        "break_ties": ["boolean"],
        "random_state": ["random_state"],
        "fit_intercept": ["boolean"],
        "n_jobs": [Integral, None],
        "warm_start": ["boolean"],
        "solver": [StrOptions({"auto", "direct", "divide"})],
        "screening": [StrOptions({"safe"}), None],
    }

    solver: str
    screening: str | None

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the model to training data.

        Parameters
        ----------
        X : array or CSR of shape (n_samples, n_features)
            Training samples; the (n, n) kernel matrix with ``kernel="precomputed"``.
        y : array of shape (n_samples,)
            Labels.
        sample_weight : array of shape (n_samples,), optional
            Each row's factor on C; rows with weight <= 0 are as if absent.

        Returns
        -------
        self : object
            The fitted estimator.

        Raises
        ------
        KeyboardInterrupt
            On Ctrl-C. A former model stays; an estimator without one has the point
            reached, with ``fit_status_ = 1``, if every pair of classes has one.
        """
        return self._fitted(X, y, sample_weight)

    def _fitted(self, *data: Any) -> Self:
        """Fit all or nothing; after Ctrl-C, which is raised, a former model stands.

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
        data = validate_training(self, X, y, sample_weight, ids)
        kernel = self._resolve_kernel(data)
        threads = effective_threads(self.n_jobs)
        gram = self._make_gram(data, kernel, threads)
        tasks = self._binary_tasks(data, gram, kernel)
        solutions, complete = self._solve_or_stop(tasks, threads)
        self._store(data, kernel, tasks, solutions)
        if complete:
            self._warn_unless_converged(solutions)
        return complete

    def _resolve_kernel(self, data: Training) -> Kernel:
        gamma = resolve_gamma(self.gamma, data.X, data.weights, self.kernel)
        kernel = make_kernel(
            self.kernel, gamma=gamma, degree=self.degree, coef0=self.coef0
        )
        warn_if_unscaled(data.X, kernel)
        return kernel

    def _make_gram(self, data: Training, kernel: Kernel, threads: int) -> Gram:
        megabytes = cache_megabytes(self.cache_size, data.labels.size)
        return Gram(data.X, kernel, cache_mb=megabytes, threads=threads)

    def _costs(self, data: Training) -> NDArray[np.float64]:
        """Return C times class weight times sample weight."""
        factors = class_weights(
            self.class_weight, data.classes, data.labels, data.weights
        )
        costs: NDArray[np.float64] = self.C * factors[data.labels]
        return costs if data.weights is None else costs * data.weights

    def _binary_tasks(
        self, data: Training, gram: Gram, kernel: Kernel
    ) -> list[BinaryTask]:
        costs = self._costs(data)
        warm = self._starts_warm(data, kernel)
        seed, deadline = self._seed(), Deadline.after(self.max_time)
        tasks = []
        for positive, negative in class_pairs(data.classes.size):
            members = np.flatnonzero(
                (data.labels == positive) | (data.labels == negative)
            )
            whole = members.size == data.labels.size
            task = BinaryTask(
                gram=gram if whole else gram.subset(members),
                y=np.where(data.labels[members] == positive, 1.0, -1.0),
                costs=costs[members],
                rows=members,
                positive=positive,
                negative=negative,
                seed=seed,
                deadline=deadline,
            )
            if warm:
                task.start = self._former_solution(data, task)
            tasks.append(task)
        return tasks

    def _starts_warm(self, data: Training, kernel: Kernel) -> bool:
        """Say whether the last fit is a start for this one; warn if it should be."""
        if not (self.warm_start and hasattr(self, "_fitted_on")):
            return False
        alike: bool = self._fitted_on == (data.n_given, tuple(data.classes), kernel)
        if not alike:
            warnings.warn(
                "warm_start: the number of rows, the classes or the kernel changed "
                "since the last fit, so this fit starts cold.",
                UserWarning,
                stacklevel=4,
            )
        return alike

    def _former_solution(self, data: Training, task: BinaryTask) -> NDArray[np.float64]:
        """Return the last fit's coefficients for the rows of a task."""
        labels = np.full(data.n_given, -1)
        labels[data.rows] = data.labels
        given = replace(task, rows=data.rows[task.rows])
        return pair_start(
            self._dense_dual_coef(), self.support_.astype(np.intp), labels, given
        )

    def _solve_or_stop(
        self,
        tasks: list[BinaryTask],
        threads: int,
        solve_pair: Callable[[BinaryTask], Answer] | None = None,
    ) -> tuple[list[Answer], bool]:
        """Solve all pairs; return their solutions, and False if Ctrl-C cut them short.

        It is raised where a pair has no point yet, and where a model is there already.
        """
        chosen = solve_pair or self._solve_pair
        try:
            return self._solve_pairs(tasks, threads, chosen), True
        except KeyboardInterrupt:
            if self.__sklearn_is_fitted__():
                raise
            reached = [task.solution or self._point(task) for task in tasks]
            points = [solution for solution in reached if solution is not None]
            if len(points) < len(tasks):
                raise
            return points, False

    def _point(self, task: BinaryTask) -> Answer | None:
        """Return where Ctrl-C met the solve of a pair; None if it had no point yet."""
        if task.stopped is None:
            return None
        solution = task.stopped.solution()
        task.history.append(summary(solution, "finish" if task.history else "solve"))
        return solution

    def _solve_pairs(
        self,
        tasks: list[BinaryTask],
        threads: int,
        solve_pair: Callable[[BinaryTask], Answer],
    ) -> list[Answer]:
        def solved(task: BinaryTask) -> Answer:
            try:
                task.solution = solve_pair(task)
            except Interrupted as stop:
                task.stopped = stop
                raise
            task.gram.release()  # the next pair has the memory
            return task.solution

        if len(tasks) < PARALLEL_PAIRS or threads == 1:
            return [solved(task) for task in tasks]
        for task in tasks:  # pairs side by side, each on one thread
            everybody = np.arange(task.gram.n)
            share = task.gram.cache_mb / threads
            task.gram = task.gram.subset(everybody, cache_mb=share, threads=1)
        with ThreadPoolExecutor(threads) as pool, Together() as together:
            return list(pool.map(partial(together.run, solved), tasks))

    def _solve_pair(self, task: BinaryTask) -> Answer:
        """Tell two classes apart: build the problem, solve it, record it."""
        problem = self._pair_problem(task)
        options = self._solve_options(problem.n, task)
        solution = self._solve(problem, options, task.start, task.history.append)
        task.history.append(summary(solution, "finish" if task.history else "solve"))
        return solution

    def _pair_problem(self, task: BinaryTask) -> DualProblem:
        return classification_problem(task.gram, task.y, task.costs, self.fit_intercept)

    def _solve(
        self,
        problem: DualProblem,
        options: SolveOptions,
        start: NDArray[np.float64] | Solution | None = None,
        record: Callable[[dict[str, Any]], None] | None = None,
    ) -> Solution:
        """Solve, with progress for those who asked for it; `record` earlier stages."""
        label = type(self).__name__
        with Progress(self.verbose, self.tol, label, estimator=self) as progress:
            options = replace(options, monitor=progress.monitor)
            # A solved neighbour is a better start than clusters are.
            if isinstance(start, Solution) or self.solver != "divide":
                return solve(problem, options, start=start)
            plan = Plan(automatic_levels(problem.n), seed=options.seed)
            with ClusterProgress(self.verbose, label) as clusters:
                return solve_divided(
                    problem, plan, options, Limits.of(problem.gram),
                    start=start, record=record, progress=clusters,
                )  # fmt: skip

    def _seed(self) -> int:
        """Return the seed of a fit, drawn once: class pairs run in several threads."""
        return seed_of(self.random_state)

    def _solve_options(self, n: int, task: BinaryTask) -> SolveOptions:
        """Return what is asked of every solve of `n` samples in this fit."""
        return SolveOptions(
            tol=self.tol,
            exact=n <= EXACT_SIZE,
            polish_limit=EXACT_MARGIN,
            max_iter=self.max_iter,
            deadline=task.deadline,
            shrinking=self.shrinking,
            seed=task.seed,
            screen=None if self.screening is None else Screener(),
        )

    def _store(
        self, data: Training, kernel: Kernel, tasks: list[BinaryTask], solutions: Any
    ) -> None:
        """Keep the model under scikit-learn's names."""
        stacked = stack(data.labels, data.classes.size, tasks, solutions)
        X = data.X
        self.classes_ = data.classes
        self.class_weight_ = class_weights(
            self.class_weight, data.classes, data.labels, data.weights
        )
        self.gamma_ = float(getattr(kernel, "gamma", 0.0))
        self._kernel = kernel
        self.support_ = data.rows[stacked.support].astype(np.int32)
        self.support_vectors_ = (
            np.empty((0, 0)) if self.kernel == "precomputed" else X[stacked.support]
        )
        self.n_support_ = stacked.n_support
        self.dual_coef_ = (
            sparse.csr_matrix(stacked.dual_coef)
            if sparse.issparse(X)
            else stacked.dual_coef
        )
        self.intercept_ = stacked.intercept
        self.n_iter_ = np.array([s.n_iter for s in solutions], dtype=np.int32)
        self.shape_fit_ = (data.n_given, self.n_features_in_)
        self.fit_status_ = int(not all(s.converged for s in solutions))
        certificates = [s.certificate for s in solutions]
        self.certificate_ = certificates[0] if len(tasks) == 1 else certificates
        self.history_ = [record for task in tasks for record in task.history]
        self._exact = all(s.status == Status.POLISHED for s in solutions)
        self._fitted_on = (data.n_given, tuple(data.classes), kernel)

    def _warn_unless_converged(self, solutions: Any) -> None:
        worst = max(
            (s for s in solutions if not s.converged),
            key=lambda s: s.certificate.kkt_violation or 0.0,
            default=None,
        )
        if worst is not None:
            warnings.warn(
                f"{type(self).__name__} stopped before tol={self.tol} was reached "
                f"(status {worst.certificate.status!r}, KKT violation "
                f"{worst.certificate.kkt_violation:.2e}). Increase max_iter or "
                "max_time, or scale the features with StandardScaler or MinMaxScaler.",
                ConvergenceWarning,
                stacklevel=3,
            )
