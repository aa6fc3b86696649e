"""Exact learning and forgetting for kernel classifiers.

The model of :class:`IncrementalClassifier` always equals ``fit`` with ``get_params()``
on its live rows. ``partial_fit`` adds rows, ``forget`` removes some, ``update`` changes
costs: each follows the exact path of :mod:`widemargin.engine.updates` in every class
pair. That takes all rows, not only the support vectors; a ``fit`` keeps them on
request. An update works on a shadow of the estimator
(:mod:`widemargin.estimators.base.state`): after any error, Ctrl-C included, the
estimator is what it was before.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from copy import copy
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from widemargin.engine import updates
from widemargin.engine.gram import Gram
from widemargin.engine.kernels import Kernel, Precomputed, make_kernel
from widemargin.engine.problem import DualProblem
from widemargin.engine.solution import Solution
from widemargin.engine.solve import proved
from widemargin.engine.updates import PathAccount
from widemargin.estimators.base.machine import KernelClassifier
from widemargin.estimators.base.multiclass import BinaryTask
from widemargin.estimators.base.prediction import check_fitted
from widemargin.estimators.base.sklearn_compat import validated
from widemargin.estimators.base.training_data import Training, refuse_probability
from widemargin.estimators.base.validation import effective_threads
from widemargin.runtime.deadline import Deadline

from .chunk import validate_chunk
from .live_rows import LiveRows, check_ids, find_rows, lasting, trimmed
from .pair_state import PairState
from .record import update_record
from .refused import needs_rows, without_rows

Vector = NDArray[np.float64]
Indices = NDArray[np.intp]
Mover = Callable[[Solution, DualProblem, Indices], tuple[Solution, PathAccount]]

MODEL = (
    "support_ support_vectors_ n_support_ dual_coef_ intercept_ n_iter_ shape_fit_ "
    "fit_status_ certificate_ class_weight_ _exact _fitted_on _pairs"
).split()
# What updates need beyond the model.
ROWS = "ids_ _live _pairs _next_id _named_ids _first_settings".split()


class IncrementalClassifier(KernelClassifier):
    """A kernel classifier that adds and removes rows exactly."""

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **KernelClassifier._parameter_constraints,
        "keep_rows": ["boolean"],
    }
    keep_rows: bool

    def fit(self, X: Any, y: Any, sample_weight: Any = None, ids: Any = None) -> Self:
        """Fit the model to training data; whatever was learnt before is gone.

        Parameters
        ----------
        X : array or CSR of shape (n_samples, n_features)
            Training samples; the (n, n) kernel matrix with ``kernel="precomputed"``.
        y : array of shape (n_samples,)
            Labels.
        sample_weight : array of shape (n_samples,), optional
            Each row's factor on C; rows with weight <= 0 are as if absent.
        ids : array of shape (n_samples,), optional
            Unique integers or strings by which ``forget`` will know the rows, which are
            then kept; with ``keep_rows=True`` and no ids rows are numbered 0, 1, 2, ...
            over all calls.

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
        if ids is not None:
            ids = check_ids(ids, X.shape[0] if hasattr(X, "shape") else len(X))
        return self._fitted(X, y, sample_weight, ids)

    def _store(
        self,
        data: Training,
        kernel: Kernel,
        tasks: list[BinaryTask],
        solutions: list[Solution],
    ) -> None:
        """Keep the model, and the rows it stands on if updates are meant."""
        super()._store(data, kernel, tasks, solutions)
        self._drop_rows()
        named = data.ids is not None
        if isinstance(kernel, Precomputed) or not (named or self.keep_rows):
            return
        self._begin(named)
        self._next_id = data.n_given
        self.ids_ = trimmed(data.rows if data.ids is None else data.ids)
        self._live = LiveRows(lasting(data.X), data.labels, data.weights, self.ids_)
        self._pairs = [PairState.of(solution, 0) for solution in solutions]

    def _begin(self, named: bool) -> None:
        """Note what later updates must find unchanged."""
        self._named_ids = named
        self._first_settings = (self.gamma, self.fit_intercept)

    def _drop_rows(self) -> None:
        for name in ROWS:
            self.__dict__.pop(name, None)

    def compact(self) -> Self:
        """Drop the training rows; the model predicts as before and takes no updates.

        Only the support vectors stay, as after a ``fit`` without ``keep_rows``.

        Returns
        -------
        self : object
            The estimator, in the least memory.
        """
        check_fitted(self)
        shadow = self._shadow()
        shadow._drop_rows()
        return self._replaced_by(shadow)

    @needs_rows
    def partial_fit(
        self,
        X: Any,
        y: Any,
        classes: Any = None,
        sample_weight: Any = None,
        ids: Any = None,
    ) -> Self:
        """Add rows; the model becomes that of ``fit`` on all live rows.

        Parameters
        ----------
        X : array or CSR of shape (n_samples, n_features)
            New samples.
        y : array of shape (n_samples,)
            Their labels.
        classes : array, optional
            All labels that will ever occur; needed on the first call unless ``fit``,
            with its rows kept, came before.
        sample_weight : array of shape (n_samples,), optional
            Each row's factor on C; rows with weight <= 0 are as if absent.
        ids : array of shape (n_samples,), optional
            Unique integers or strings; given in every call or in none.

        Returns
        -------
        self : object
            The estimator, with the new rows.
        """
        return self._replaced_by(
            self._shadow()._take_in(X, y, classes, sample_weight, ids)
        )

    @needs_rows
    def forget(self, ids: Any) -> Self:
        """Remove rows; the model becomes that of ``fit`` on the rows that are left.

        Parameters
        ----------
        ids : int, str or array of them
            Which rows, by their entries in ``ids_``.

        Returns
        -------
        self : object
            The estimator, without the rows and without a trace of them.
        """
        return self._replaced_by(self._shadow()._let_go(ids))

    @needs_rows
    def update(self, **params: Any) -> Self:
        """Set parameters and move the model to them exactly.

        Parameters
        ----------
        **params : dict
            As for ``set_params``: C, costs, class weights and settings without
            influence on the solution. Kernel parameters need a new ``fit``.

        Returns
        -------
        self : object
            The estimator, with the model of ``fit`` on the live rows at the new
            values.
        """
        wanted = copy(self).set_params(**params)
        wanted._replaced_by(wanted._shadow()._settle())
        self.__dict__ = wanted.__dict__  # now, or nothing of it
        return self

    # ---- the three updates, on the shadow ------------------------------------

    @validated
    def _take_in(
        self, X: Any, y: Any, classes: Any, sample_weight: Any, ids: Any
    ) -> Self:
        begun = time.perf_counter()
        if self.class_weight == "balanced":
            raise ValueError(
                'class_weight="balanced" is not supported for partial_fit: the balance '
                "of rows still to come is unknown. Give the weights as a dict."
            )
        first = "_first_settings" not in vars(self)
        fresh, n_given = validate_chunk(self, X, y, classes, sample_weight, ids, first)
        if first:
            kernel = self._resolve_kernel(self._training(fresh))
            self.gamma_ = float(getattr(kernel, "gamma", 0.0))
            self._kernel = kernel
            self._begin(ids is not None)
            self.history_: list[dict[str, Any]] = []
        before = self._rows_before()
        self._next_id = getattr(self, "_next_id", 0) + n_given

        def add(old: Solution, target: DualProblem, _: Indices) -> Any:
            return updates.add(old, target)

        self._move(before.joined(fresh), before, add, "add", fresh.n, begun)
        return self

    @validated
    def _let_go(self, ids: Any) -> Self:
        begun = time.perf_counter()
        check_fitted(self)
        before = self._rows_before()
        gone = find_rows(ids, before.ids)
        # "auto" is 1 / n_features: no row has a share in it
        if self.gamma == "scale" and self.kernel in ("rbf", "poly", "sigmoid"):
            warnings.warn(
                f"gamma='scale' was estimated as gamma_={self.gamma_:.6g} and "
                "kept: it still reflects rows that are now forgotten. Call fit, or set "
                "gamma to a number before the first fit.",
                UserWarning,
                stacklevel=4,
            )
        keep = np.setdiff1d(np.arange(before.n), gone)
        live = before.kept(keep)

        def remove(old: Solution, target: DualProblem, members: Indices) -> Any:
            stays = np.flatnonzero(np.isin(members, keep))
            return updates.remove(old, stays, target)

        self._move(live, before, remove, "forget", gone.size, begun)
        return self

    @validated
    def _settle(self) -> Self:
        begun = time.perf_counter()
        check_fitted(self)
        before = self._rows_before()

        def move(old: Solution, target: DualProblem, _: Indices) -> Any:
            return updates.move(old, target)

        self._move(before, before, move, "update", 0, begun)
        return self

    def _rows_before(self) -> LiveRows:
        """Return the live rows, having checked that their kernel stands."""
        refuse_probability(self)
        if isinstance(self._kernel, Precomputed):
            raise ValueError(without_rows(self))
        if not self._kernel_stands():
            raise ValueError(
                "kernel, gamma, degree, coef0 or fit_intercept changed since the first "
                "fit; the path moves costs and rows only. Call fit."
            )
        if "_live" in vars(self):
            return self._live
        d = self.n_features_in_
        nothing = np.empty(0, dtype=np.intp)
        return LiveRows(np.empty((0, d)), nothing, None, np.empty(0, dtype=np.int64))

    def _kernel_stands(self) -> bool:
        """Whether kernel and intercept are those of the first fit.

        An estimated gamma stands as long as the word does: chunks do not move it.
        """
        word, intercept = self._first_settings
        estimated = isinstance(self.gamma, str) and self.gamma == word
        gamma = self.gamma_ if estimated else self.gamma
        if isinstance(gamma, str):  # another word than at the first fit
            gamma = np.nan
        kernel = make_kernel(
            self.kernel, gamma=gamma, degree=self.degree, coef0=self.coef0
        )
        return bool(kernel == self._kernel and self.fit_intercept == intercept)

    # ---- the move ------------------------------------------------------------

    def _move(
        self,
        live: LiveRows,
        before: LiveRows,
        mover: Mover,
        stage: str,
        chunk: int,
        begun: float,
    ) -> None:
        """Bring every pair of classes to the live rows and the present parameters."""
        history, former = list(self.history_), getattr(self, "_pairs", None)
        for name in MODEL:
            self.__dict__.pop(name, None)
        self._live, self.ids_ = live, live.ids
        if live.n == 0:
            self.history_ = [*history, update_record(stage, chunk, 0, begun, [], [])]
            return
        data = self._training(live)
        threads = effective_threads(self.n_jobs)
        old_gram = gram = self._make_gram(data, self._kernel, threads)
        if live.n < before.n:
            former_rows = self._training(before)
            old_gram = self._make_gram(former_rows, self._kernel, threads)
        tasks = self._binary_tasks(data, gram, self._kernel)
        moved = []
        deadline = Deadline(begun + (self.max_time or np.inf))
        for number, task in enumerate(tasks):
            task.deadline = deadline
            members = np.flatnonzero(
                (before.labels == task.positive) | (before.labels == task.negative)
            )
            state = None if former is None else former[number]
            moved.append(self._move_pair(task, state, members, old_gram, mover))
        solutions = [proved(solution, self.tol) for solution, _, _ in moved]
        KernelClassifier._store(self, data, self._kernel, tasks, solutions)
        ages = [age for _, _, age in moved]
        self._pairs = list(map(PairState.of, solutions, ages))
        accounts = [account for _, account, _ in moved]
        record = update_record(stage, chunk, live.n, begun, solutions, accounts)
        self.history_ = [*history, record]
        self._warn_unless_converged(solutions)

    def _training(self, rows: LiveRows) -> Training:
        """Return rows as ``fit`` would have validated them."""
        everyone = np.arange(rows.n)
        return Training(
            rows.X, everyone, rows.labels, self.classes_, rows.weights, rows.n
        )

    def _move_pair(
        self,
        task: BinaryTask,
        state: PairState | None,
        members: Indices,
        old_gram: Gram,
        mover: Mover,
    ) -> tuple[Solution, PathAccount, int]:
        """Return the pair's new solution, what it took, and the age of its values."""
        target = self._pair_problem(task)
        if np.unique(task.y).size == 1:
            # Through the origin there is no saying yes to all: that takes an intercept.
            target = replace(target, total=0.0)
        convex = self._kernel.semidefinite  # otherwise there is no path to follow
        if state is None or not (convex and members.size and state.leads_to(target)):
            options = self._solve_options(target.n, task)
            solver = partial(self._solve, options=options)
            return *updates.fresh(target, solver, convex=convex), 0
        if state.solves(target):
            kept = replace(state.solution(target.gram), problem=target)
            return kept, PathAccount(route="unchanged"), state.age
        old = state.solution(old_gram.subset(members))
        solution, account = mover(old, target, members)
        return solution, account, 1 + (state.age if state.trusted else 0)
