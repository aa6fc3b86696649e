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
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import NotFittedError

from widemargin.engine import updates
from widemargin.engine.gram import Gram, release_kept_memory
from widemargin.engine.kernels import Kernel, Precomputed
from widemargin.engine.problem import DualProblem
from widemargin.engine.solution import Solution
from widemargin.engine.solve import proved
from widemargin.engine.updates import PathAccount
from widemargin.estimators.base.classifier import KernelClassifier
from widemargin.estimators.base.fitted import remove_model
from widemargin.estimators.base.multiclass import BinaryTask
from widemargin.estimators.base.sklearn_compat import validated
from widemargin.estimators.base.training_data import LabelledData, refuse_probability
from widemargin.runtime.deadline import Deadline

from .chunk import validate_chunk
from .live_rows import LiveRows, check_ids, find_rows, lasting, trimmed
from .pair_state import PairState
from .record import update_record
from .refused import needs_rows, without_rows
from .update_state import UpdateState, no_rows

Vector = NDArray[np.float64]
Indices = NDArray[np.intp]
Mover = Callable[[Solution, DualProblem, Indices], tuple[Solution, PathAccount]]


class IncrementalClassifier(KernelClassifier):
    """A kernel classifier that adds and removes rows exactly."""

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **KernelClassifier._parameter_constraints,
        "keep_rows": ["boolean"],
    }
    keep_rows: bool
    _updates: UpdateState  # where rows are kept

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
        data: LabelledData,
        kernel: Kernel,
        tasks: Sequence[BinaryTask],
        answers: Sequence[Any],
    ) -> None:
        """Keep the model, and the rows it stands on if updates are meant."""
        super()._store(data, kernel, tasks, answers)
        self._drop_rows()
        named = data.ids is not None
        if isinstance(kernel, Precomputed) or not (named or self.keep_rows):
            return
        ids = trimmed(data.rows if data.ids is None else data.ids)
        live = LiveRows(
            lasting(data.X), data.labels, data.weights, ids, data.answer_costs
        )
        pairs = [
            PairState.of(answer, task.rows, 0)
            for task, answer in zip(tasks, answers, strict=True)
        ]
        self._keep_rows(
            UpdateState(
                live, pairs, data.n_given, named, kernel, self.gamma, self.fit_intercept
            )
        )

    def _keep_rows(self, state: UpdateState) -> None:
        self._updates = state
        self.ids_ = state.live.ids

    def _drop_rows(self) -> None:
        if hasattr(self, "_updates"):
            del self._updates, self.ids_

    def _check_fitted(self) -> None:
        """Raise NotFittedError before a fit, and where every row was forgotten."""
        if hasattr(self, "_updates") and self._updates.live.n == 0:
            raise NotFittedError(
                f"This {type(self).__name__} instance is not fitted any more: all rows "
                "were forgotten; call partial_fit or fit."
            )
        super()._check_fitted()

    def compact(self) -> Self:
        """Drop the training rows; the model predicts as before and takes no updates.

        Only the support vectors stay, as after a ``fit`` without ``keep_rows``.

        Returns
        -------
        self : object
            The estimator, in the least memory.
        """
        self._check_fitted()
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
        without = self._replaced_by(self._shadow()._let_go(ids))
        release_kept_memory()  # it may hold kernel rows of the forgotten
        return without

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
        former = self._updates if hasattr(self, "_updates") else None
        fresh, n_given, listed = self._checked_chunk(
            X, y, classes, sample_weight, ids, former
        )
        if former is None:
            self.classes_ = listed
            self.history_: list[dict[str, Any]] = []
            kernel = self._resolve_kernel(self._training(fresh))
            former = UpdateState(
                no_rows(self.n_features_in_), [], 0, ids is not None,
                kernel, self.gamma, self.fit_intercept,
            )  # fmt: skip
        state = self._checked_state(former)
        before = state.live
        state = replace(state, next_id=state.next_id + n_given)

        def add(old: Solution, target: DualProblem, _: Indices) -> Any:
            return updates.add(old, target)

        live = before.joined(fresh)
        self._move(state, live, np.arange(before.n), add, "add", fresh.n, begun)
        return self

    def _checked_chunk(
        self,
        X: Any,
        y: Any,
        classes: Any,
        sample_weight: Any,
        ids: Any,
        former: UpdateState | None,
    ) -> tuple[LiveRows, int, NDArray[Any]]:
        """Return new rows, how many were given, and the classes."""
        return validate_chunk(self, X, y, classes, sample_weight, ids, former)

    @validated
    def _let_go(self, ids: Any) -> Self:
        begun = time.perf_counter()
        self._check_fitted()
        state = self._checked_state(self._updates)
        before = state.live
        gone = find_rows(ids, before.ids)
        with_gamma = ("rbf", "laplacian", "poly", "sigmoid")  # "auto": 1 / n_features
        if self.gamma == "scale" and self.kernel in with_gamma:
            warnings.warn(
                f"gamma='scale' was estimated as gamma_={self.gamma_:.6g} and "
                "kept: it still reflects rows that are now forgotten. Call fit, or set "
                "gamma to a number before the first fit.",
                UserWarning,
                stacklevel=4,
            )
        keep = np.setdiff1d(np.arange(before.n), gone)
        live = before.kept(keep)
        places = np.full(before.n, -1)
        places[keep] = np.arange(keep.size)

        def remove(old: Solution, target: DualProblem, stays: Indices) -> Any:
            return updates.remove(old, stays, target)

        self._move(state, live, places, remove, "forget", gone.size, begun)
        return self

    @validated
    def _settle(self) -> Self:
        begun = time.perf_counter()
        self._check_fitted()
        state = self._checked_state(self._updates)

        def move(old: Solution, target: DualProblem, _: Indices) -> Any:
            return updates.move(old, target)

        places = np.arange(state.live.n)
        self._move(state, state.live, places, move, "update", 0, begun)
        return self

    def _checked_state(self, state: UpdateState) -> UpdateState:
        """Return what updates start from, having checked that its kernel stands."""
        refuse_probability(self)
        if isinstance(state.kernel, Precomputed):
            raise ValueError(without_rows(self))
        if not state.has_kernel_of(self):
            raise ValueError(
                "kernel, gamma, degree, coef0 or fit_intercept changed since the first "
                "fit; the path moves costs and rows only. Call fit."
            )
        return state

    # ---- the move ------------------------------------------------------------

    def _move(
        self,
        state: UpdateState,
        live: LiveRows,
        places: Indices,
        mover: Mover,
        stage: str,
        chunk: int,
        begun: float,
    ) -> None:
        """Bring every pair of classes to the live rows and the present parameters.

        `places` says where the former live rows are among these, -1 for gone.
        """
        history, before, kernel = list(self.history_), state.live, state.kernel
        if live.n == 0:
            if self.__sklearn_is_fitted__():
                remove_model(self)
            self._keep_rows(replace(state, live=live, pairs=[]))
            self.history_ = [*history, update_record(stage, chunk, 0, begun, [], [])]
            return
        data = self._training(live)
        old_gram = gram = self._make_gram(data, kernel)
        if live.n < before.n:
            old_gram = self._make_gram(self._training(before), kernel)
        tasks = self._tasks(data, gram, kernel)
        moved = []
        deadline = Deadline(begun + (self.max_time or np.inf))
        for number, task in enumerate(tasks):
            task.deadline = deadline
            former = state.pairs[number] if state.pairs else None
            moved.append(self._move_pair(task, former, places, old_gram, mover))
        solutions = [proved(solution, self.tol) for solution, _, _ in moved]
        accounts = [account for _, account, _ in moved]
        record = update_record(stage, chunk, live.n, begun, solutions, accounts)
        model = self._model(data, kernel, tasks, solutions)
        replace(model, history=[*history, record]).store(self)
        ages = [age for _, _, age in moved]
        pairs = list(map(PairState.of, solutions, [t.rows for t in tasks], ages))
        self._keep_rows(replace(state, live=live, pairs=pairs))
        self._warn_unless_converged(solutions)

    def _training(self, rows: LiveRows) -> LabelledData:
        """Return rows as ``fit`` would have validated them."""
        return LabelledData(
            X=rows.X, rows=np.arange(rows.n), n_given=rows.n,
            n_features=self.n_features_in_, weights=rows.weights,
            labels=rows.labels, classes=self.classes_, answer_costs=rows.answer_costs,
        )  # fmt: skip

    def _move_pair(
        self,
        task: BinaryTask,
        state: PairState | None,
        places: Indices,
        old_gram: Gram,
        mover: Mover,
    ) -> tuple[Solution, PathAccount, int]:
        """Return the pair's new solution, what it took, and the age of its values."""
        target = self._problem(task)
        if np.unique(task.y).size == 1:
            # Through the origin there is no saying yes to all: that takes an intercept.
            target = replace(target, total=0.0)
        convex = target.gram.kernel.semidefinite  # otherwise there is no path to follow
        stays = None if state is None else state.staying(task.rows, places)
        if state is None or stays is None or not (convex and state.leads_to(target)):
            options = self._solve_options(target.n, task)
            solver = partial(self._solve, options=options)
            return *updates.fresh(target, solver, convex=convex), 0
        if state.solves(target):
            kept = replace(state.solution(target.gram), problem=target)
            return kept, PathAccount(route="unchanged"), state.age
        old = state.solution(old_gram.subset(state.rows))
        solution, account = mover(old, target, stays)
        return solution, account, 1 + (state.age if state.trusted else 0)
