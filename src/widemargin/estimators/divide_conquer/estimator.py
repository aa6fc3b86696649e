"""Divide and conquer as an estimator: SVC in levels, with early prediction."""

from __future__ import annotations

import warnings
from dataclasses import replace
from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from widemargin.engine.kernels import Kernel, Precomputed
from widemargin.engine.solution import Solution, summary
from widemargin.engine.status import Status
from widemargin.estimators.base.fitted_model import FittedClassifier
from widemargin.estimators.base.kernel_classifier import KernelClassifier
from widemargin.estimators.base.multiclass import BinaryTask
from widemargin.estimators.base.progress import ClusterProgress, Progress
from widemargin.estimators.base.sklearn_compat import Interval, StrOptions, validated
from widemargin.estimators.base.task import Answer
from widemargin.estimators.base.training_data import LabelledData
from widemargin.estimators.base.validation import effective_threads
from widemargin.multilevel.driver import Plan, conquer, levels_pay
from widemargin.multilevel.level import Division, Limits
from widemargin.runtime.dask_collections import is_dask

from . import checkpoint as checkpoints
from .cluster_models import division_of
from .early import EarlyModel, early_model
from .evidence_rows import Rows, RowsInMemory
from .level_choice import check_levels, exact_levels, skipped_stage
from .level_evidence import Chosen, levels_by_evidence
from .level_run import LevelRun, early_solutions, finish_stopped
from .sources import fit_elsewhere

_LEVEL = [StrOptions({"auto"}), Interval(Integral, 0, None, closed="left")]


class DivideConquerSVC(KernelClassifier):
    """Kernel SVM for many rows: exact through levels, or early by a model a cluster.

    Minimises ``1/2 ||w||^2 + C sum_i max(0, 1 - y_i (<w, phi(x_i)> + b))`` like
    :class:`widemargin.SVC`, by divide and conquer (Hsieh, Si and Dhillon 2014): the
    rows are clustered, an SVM is solved in each cluster, and

    - ``prediction="early"`` stops there: a point is judged by the model of its own
      cluster. For local kernels within 0.1 points in 5 to 39 % of the time of ``SVC``
      and 1/57 to 1/360 of scikit-learn's, in little memory. How many clusters a kernel
      allows is measured, and a warning says where they lose;
    - ``prediction="exact"`` goes on through levels of fewer and larger clusters to the
      whole problem, with the tolerance and certificate of ``SVC``. "auto" skips levels
      where they were measured not to save time, and ``history_`` says so.

    Parameters
    ----------
    C, kernel, degree, gamma, coef0, shrinking, probability, tol, cache_size, \
class_weight, verbose, max_iter, decision_function_shape, break_ties, fit_intercept, \
n_jobs, polish
        As in :class:`widemargin.SVC`. ``fit_intercept=True`` nests the clusters of the
        levels; ``False`` is the paper's problem, which clusters each level anew on the
        support vectors of the level below. ``n_jobs`` clusters are solved at a time, to
        the same model (joblib); ``polish`` is of exact fits of rows in memory.
    n_levels : int or "auto", default="auto"
        Finest level; level l has up to ``n_branches**l`` clusters. A number forces that
        many levels; 0 is ``SVC``. "auto" takes one where that pays, and with
        `checkpoint`.
    n_branches : int, default=4
        Factor between the numbers of clusters of two levels, at least 2.
    sample_size : int or None, default=None
        Rows that are clustered (the others go to the nearest centre); None takes 5000
        in input space and 1000 in feature space, and at least 16 per cluster.
    clustering : {"auto", "input", "kernel", "random"}, default="auto"
        k-means in input space, two-step kernel k-means, or a random partition. "auto"
        is "input" for the linear and RBF kernels and "kernel" for all others.
    prediction : {"exact", "early"}, default="exact"
        Whether to go on to the exact solution.
    early_level : int or "auto", default="auto"
        Level at which "early" stops; 3 means up to 64 clusters. "auto": all rows where
        that costs little more; else the finest with 700 rows per cluster that loses at
        most `early_tolerance` on held-out rows, or it warns. At most `n_levels`.
    early_tolerance : float, default=0.005
        What "auto" may lose, in balanced accuracy and area under the ROC curve.
    random_state : int, RandomState instance or None, default=None
        Seed of the clustering; early models depend on it, exact ones do not. None is a
        fixed seed: two fits give the same model.
    max_time : float, optional
        Limit in seconds. When it ends the exact finish, the last level is kept as an
        early model, with a ``ConvergenceWarning``; without a level, as in ``SVC`` and
        in rounds over blocks, the point reached. So it is after Ctrl-C, which is
        raised, if there was no model before.
    warm_start : bool, default=False
        Start an exact fit without levels from the last solution.
    checkpoint : path, optional
        File of the last level, or round over blocks, from which a killed fit on the
        same data goes on.

    Attributes
    ----------
    early_ : EarlyModel or None
        Clusters and local models; None when the model is the exact one.
    certificate_ : Certificate, or list of them in pair order
        Proof for the whole problem. An early model has that of the problem whose kernel
        is cut to the clusters, status "early" ("interrupted" after Ctrl-C).
    history_ : list of dict
        One entry a level: clusters, their sizes, seconds for clustering and training,
        objective and gap (of the cut kernel), support vectors and, after an exact fit,
        the precision and recall of those against the final ones.
    classes_, support_, support_vectors_, n_support_, dual_coef_, intercept_, coef_, \
n_iter_, fit_status_, shape_fit_, class_weight_, gamma_, n_features_in_, \
feature_names_in_
        As in ``SVC``. In an early model, which is ``early_``, ``dual_coef_`` holds the
        local coefficients side by side.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from widemargin import DivideConquerSVC
    >>> X, y = make_moons(5000, noise=0.2, random_state=0)
    >>> early = DivideConquerSVC(prediction="early", early_level=2, random_state=0)
    >>> early.fit(X, y).early_.n_clusters
    16
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **KernelClassifier._parameter_constraints,
        "n_levels": _LEVEL,
        "n_branches": [Interval(Integral, 2, None, closed="left")],
        "sample_size": [Interval(Integral, 1, None, closed="left"), None],
        "clustering": [StrOptions({"auto", "input", "kernel", "random"})],
        "prediction": [StrOptions({"exact", "early"})],
        "early_level": _LEVEL,
        "early_tolerance": [Interval(Real, 0, None, closed="left")],
        "checkpoint": "no_validation",
    }

    solver = "direct"

    def __init__(
        self,
        *,
        C: float = 1.0,
        kernel: Any = "rbf",
        degree: int = 3,
        gamma: float | str = "scale",
        coef0: float = 0.0,
        shrinking: bool = True,
        probability: Any = False,
        tol: float = 1e-3,
        cache_size: float | str = "auto",
        class_weight: Any = None,
        verbose: bool = False,
        max_iter: int = -1,
        decision_function_shape: str = "ovr",
        break_ties: bool = False,
        random_state: Any = None,
        fit_intercept: bool = True,
        n_jobs: int | None = None,
        max_time: float | None = None,
        warm_start: bool = False,
        polish: bool | str = "auto",
        n_levels: int | str = "auto",
        n_branches: int = 4,
        sample_size: int | None = None,
        clustering: str = "auto",
        prediction: str = "exact",
        early_level: int | str = "auto",
        early_tolerance: float = 0.005,
        checkpoint: Any = None,
    ) -> None:
        self.C = C
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.shrinking = shrinking
        self.probability = probability
        self.tol = tol
        self.cache_size = cache_size
        self.class_weight = class_weight
        self.verbose = verbose
        self.max_iter = max_iter
        self.decision_function_shape = decision_function_shape
        self.break_ties = break_ties
        self.random_state = random_state
        self.fit_intercept = fit_intercept
        self.n_jobs = n_jobs
        self.max_time = max_time
        self.warm_start = warm_start
        self.polish = polish
        self.n_levels = n_levels
        self.n_branches = n_branches
        self.sample_size = sample_size
        self.clustering = clustering
        self.prediction = prediction
        self.early_level = early_level
        self.early_tolerance = early_tolerance
        self.checkpoint = checkpoint

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the model to training data.

        Parameters
        ----------
        X : array, CSR, dask array or dask dataframe of shape (n_samples, n_features)
            Training samples; the (n, n) kernel matrix with ``kernel="precomputed"``. A
            ``numpy.memmap`` of 20,000 rows or more, and the path of a Parquet file or a
            folder of them, are read in blocks by exact fits, and never held.
        y, sample_weight : array or dask collection, or str: a column of the file
            Labels; each row's factor on C (rows with weight <= 0 are as if absent).

        Returns
        -------
        self : object
            The fitted estimator.
        """
        return super().fit(X, y, sample_weight)

    @validated
    def _fit(self, X: Any, y: Any, sample_weight: Any, ids: Any = None) -> bool:
        checkpoints.check(self.checkpoint)
        complete = fit_elsewhere(self, X, y, sample_weight)
        if complete is not None:
            return complete
        data, gram, tasks = self._begin(X, y, sample_weight, ids)
        kernel = gram.kernel
        division = division_of(self, data, kernel, tasks)
        run = self._levels(data, division, Limits.of(gram), tasks[0])
        with ClusterProgress(self.verbose, type(self).__name__) as progress:
            run.solve(progress)
        answers = self._finished(run, tasks)
        if answers is None:
            self._store_early(data, kernel, tasks, run)
        else:
            model = self._model(data, kernel, tasks, answers)
            self._store_exact(model, run, answers)
        if self.checkpoint is not None and self.fit_status_ == 0:
            checkpoints.remove(self.checkpoint)
        return not run.interrupted

    def _levels(
        self, data: LabelledData, division: Division, limits: Limits, task: BinaryTask
    ) -> LevelRun:
        n, seed, kernel = division.samples.shape[0], task.seed, division.kernel
        check_levels(self.n_levels, self.early_level)
        if self.prediction == "early":
            rows = Rows(np.arange(n), data.X, data.labels, self._costs(data) / self.C)
            source = RowsInMemory(self, rows, kernel, seed)
            chosen = levels_by_evidence(self, source, kernel, seed, task.deadline)
        else:
            forced = self.n_levels != "auto" or self.checkpoint is not None
            wanted = forced or levels_pay(division.samples, kernel, seed)
            levels = exact_levels(n, self.n_levels, self.n_branches, wanted)
            chosen = Chosen(*levels, [])
        options = self._solve_options(division.problems[0].n, task)
        plan = Plan(
            chosen.finest, self.n_branches, self.clustering, self.sample_size,
            seed=seed, partition=chosen.partition,
        )  # fmt: skip
        return LevelRun(
            division, plan, chosen.end, options, limits, self.checkpoint,
            evidence=chosen.stages,
        )  # fmt: skip

    def _finished(self, run: LevelRun, tasks: list[BinaryTask]) -> list[Answer] | None:
        """Solve the whole problem from the last level; None to keep that level."""
        if self.prediction == "early":
            return None
        level = run.level
        for pair, task in enumerate(tasks):
            if level is not None:
                task.start = level.betas[pair]
        late = level is not None and run.options.deadline.passed
        if run.interrupted or late:
            return None
        finish = partial(self._conquer, run=run)
        if level is None:
            solutions, complete = self._solve_or_stop(tasks, finish)
            run.interrupted = not complete
            return solutions
        try:
            solutions = self._solve_tasks(tasks, finish)
        except KeyboardInterrupt:
            run.interrupted = True
            return None
        cut = any(s.status in (Status.MAX_TIME, Status.INTERRUPTED) for s in solutions)
        return None if cut else solutions

    def _conquer(self, task: BinaryTask, run: LevelRun) -> Solution:
        problem = self._problem(task)
        options = self._solve_options(problem.n, task)
        with Progress(self.verbose, self.tol, type(self).__name__) as progress:
            solution = conquer(
                problem,
                task.start,
                replace(options, monitor=progress.monitor),
                refine=run.level is not None and run.stop_at == 1,
                record=task.history.append,
            )
        task.history.append(summary(solution, "finish" if run.level else "solve"))
        return solution

    def _store_exact(
        self, model: FittedClassifier, run: LevelRun, answers: list[Answer]
    ) -> None:
        run.record_support_recovery([np.flatnonzero(answer.beta) for answer in answers])
        if run.plan.n_levels == 0 and self.n_levels == "auto":
            run.stages.append(skipped_stage(run.division.samples.shape[0]))
        self._keep(replace(model, history=run.stages + model.history))
        if not run.interrupted:
            self._warn_unless_converged(answers)

    def _store_early(
        self,
        data: LabelledData,
        kernel: Kernel,
        tasks: list[BinaryTask],
        run: LevelRun,
    ) -> None:
        level = run.level
        if level is None:
            raise ValueError(
                f"max_time={self.max_time} ended the fit before its first level was "
                "complete: raise max_time or early_level."
            )
        loans = [] if run.interrupted else run.borrowed()
        answers = early_solutions(run, effective_threads(self.n_jobs), loans)
        model = self._model(data, kernel, tasks, answers)
        history = run.evidence + run.stages + model.history
        cut = self.prediction == "exact" and not run.interrupted
        model = replace(model, converged=model.converged and not cut, history=history)
        early = early_model(level, data.X, kernel, run.division.rows, loans)
        missing = isinstance(kernel, Precomputed) and data.rows.size < data.n_given
        self._keep(model, early, columns=data.rows if missing else None)
        if cut:
            words = finish_stopped(level.number, early.n_clusters)
            warnings.warn(words, ConvergenceWarning, stacklevel=3)
        elif not run.interrupted:  # then fit raises
            self._warn_unless_converged(answers)

    def _keep(
        self,
        model: FittedClassifier,
        early: EarlyModel | None = None,
        columns: NDArray[np.intp] | None = None,
    ) -> None:
        """Store a model, which answers by `early`; `columns` of a kernel matrix."""
        model.store(self)
        self.early_ = early
        self._columns = columns

    def _values(self, X: Any) -> NDArray[np.float64]:
        check_is_fitted(self)
        if self.early_ is None:
            return super()._values(X)
        X = self._checked(X)
        own = X if self._columns is None else X[:, self._columns]
        decisions = self.early_.decision(own, effective_threads(self.n_jobs))
        return decisions[:, 0] if decisions.shape[1] == 1 else decisions

    def decision_function(self, X: Any) -> Any:
        """Return signed distances to the boundary, in units of the margin.

        An early model answers with the value of the point's own cluster. Within a
        cluster the values are those of an SVM; between clusters each has its own margin
        and intercept, and they jump at the borders.

        Parameters and shapes are those of :meth:`widemargin.SVC.decision_function`;
        a dask array or dataframe is answered by a dask array, lazily.
        """
        if is_dask(X):
            from .dask.fitting import lazy_decisions

            return lazy_decisions(self._at_once(), X)
        return super().decision_function(X)

    def predict(self, X: Any) -> Any:
        """Return the predicted labels; for a dask array or dataframe lazily."""
        if is_dask(X):
            from .dask.fitting import lazy_labels

            return lazy_labels(self._at_once(), X)
        return super().predict(X)

    def _check_portable(self) -> None:
        if self.early_ is not None:
            raise ValueError(
                "An early model has an expansion in each cluster, LIBSVM's form has "
                "one. Fit with prediction='exact', or keep it by widemargin.save."
            )

    @property
    def coef_(self) -> Any:
        """Weights of the features, for an exact model with ``kernel="linear"`` only."""
        if self.__sklearn_is_fitted__() and self.early_ is not None:
            raise AttributeError("an early model has weights in each cluster")
        return KernelClassifier.coef_.fget(self)  # type: ignore[attr-defined]
