"""Exact learning and forgetting for kernel estimators.

The model of an :class:`IncrementalMachine` always equals ``fit`` with ``get_params()``
on its live rows. ``partial_fit`` adds rows, ``forget`` removes some, ``update`` changes
costs: each follows the exact path of :mod:`widemargin.engine.updates` in every task.
That takes all rows, not only the support vectors; a ``fit`` keeps them on request. An
update works on a shadow of the estimator (:mod:`widemargin.estimators.base.state`):
after any error, Ctrl-C included, the estimator is what it was before.
"""

from __future__ import annotations

import time
import warnings
from abc import abstractmethod
from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, Generic, Self, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import NotFittedError

from widemargin.engine import updates
from widemargin.engine.gram import release_kept_memory
from widemargin.engine.kernels import Kernel, Precomputed
from widemargin.engine.problem import DualProblem
from widemargin.engine.solution import Solution
from widemargin.engine.solve import proved
from widemargin.engine.updates import PathAccount
from widemargin.estimators.base.fitted import remove_model
from widemargin.estimators.base.machine import KernelMachine
from widemargin.estimators.base.sklearn_compat import validated
from widemargin.estimators.base.task import Task
from widemargin.estimators.base.training_data import TrainingData
from widemargin.runtime.deadline import Deadline

from .chunk import Chunk, Given
from .live_rows import LiveRows, find_rows, lasting, trimmed
from .record import update_record
from .refused import needs_rows, without_rows
from .row_change import RowChange
from .task_state import TaskState
from .update_state import UpdateState, no_rows

Vector = NDArray[np.float64]
Indices = NDArray[np.intp]

Data = TypeVar("Data", bound=TrainingData)
AnyTask = TypeVar("AnyTask", bound=Task)


class IncrementalMachine(KernelMachine[Data, AnyTask], Generic[Data, AnyTask]):
    """A kernel estimator that adds and removes rows exactly.

    What a kind of estimator adds: ``fit`` and ``partial_fit`` with their own arguments,
    :meth:`_checked_chunk`, :meth:`_targets` and :meth:`_training`.
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **KernelMachine._parameter_constraints,
        "keep_rows": ["boolean"],
    }
    keep_rows: bool
    gamma: float | str
    fit_intercept: bool
    tol: float
    max_time: float | None
    history_: list[dict[str, Any]]
    _updates: UpdateState  # where rows are kept

    # ---- what a kind of estimator adds ---------------------------------------

    @abstractmethod
    def _checked_chunk(self, given: Given, former: UpdateState | None) -> Chunk:
        """Return new rows, checked as ``fit`` would; None as `former` for the first."""

    @abstractmethod
    def _targets(self, data: Data) -> NDArray[Any] | None:
        """Return what is kept beside the samples: labels, numbers, nothing."""

    @abstractmethod
    def _training(self, rows: LiveRows) -> Data:
        """Return rows as ``fit`` would have validated them."""

    def _answer_costs(self, data: Data) -> NDArray[np.float64] | None:
        """Return the costs of every answer, where rows come with costs of their own."""
        return None

    # ---- rows that are kept --------------------------------------------------

    def _keeps_rows(self, data: Data) -> bool:
        return data.ids is not None or self.keep_rows

    def _store(
        self,
        data: Data,
        kernel: Kernel,
        tasks: Sequence[AnyTask],
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
            lasting(data.X), self._targets(data), data.weights, ids,
            self._answer_costs(data),
        )  # fmt: skip
        solved = [
            TaskState.of(answer, task.rows, 0)
            for task, answer in zip(tasks, answers, strict=True)
        ]
        self._keep_rows(self._begun(live, solved, data.n_given, named, kernel))

    def _begun(
        self,
        live: LiveRows,
        tasks: list[TaskState],
        next_id: int,
        named_ids: bool,
        kernel: Kernel,
    ) -> UpdateState:
        """Return the state of a model at its first rows."""
        return UpdateState(
            live, tasks, next_id, named_ids, kernel, self.gamma, self.fit_intercept
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

    # ---- the updates ---------------------------------------------------------

    def _added(self, given: Given) -> Self:
        """Add rows, or change nothing."""
        return self._replaced_by(self._shadow()._take_in(given))

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
            As for ``set_params``: C, costs, weights, nu, epsilon, quantiles, and
            settings without influence on the solution. Kernel parameters need a new
            ``fit``.

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

    @validated
    def _take_in(self, given: Given) -> Self:
        begun = time.perf_counter()
        former = self._updates if hasattr(self, "_updates") else None
        chunk = self._checked_chunk(given, former)
        if former is None:
            self.history_ = []
            kernel = self._resolve_kernel(self._training(chunk.rows))
            nothing = no_rows(chunk.rows)
            former = self._begun(nothing, [], 0, given.ids is not None, kernel)
        state = self._checked_state(former)
        state = replace(state, next_id=state.next_id + chunk.n_given)
        everything = np.arange(state.live.n)
        self._move(state, everything, chunk.rows, "add", chunk.rows.n, begun)
        return self

    @validated
    def _let_go(self, ids: Any) -> Self:
        begun = time.perf_counter()
        self._check_fitted()
        state = self._checked_state(self._updates)
        gone = find_rows(ids, state.live.ids)
        self._warn_of_gamma()
        keep = np.setdiff1d(np.arange(state.live.n), gone)
        self._move(state, keep, no_rows(state.live), "forget", gone.size, begun)
        return self

    @validated
    def _settle(self) -> Self:
        begun = time.perf_counter()
        self._check_fitted()
        state = self._checked_state(self._updates)
        everything = np.arange(state.live.n)
        self._move(state, everything, no_rows(state.live), "update", 0, begun)
        return self

    def _checked_state(self, state: UpdateState) -> UpdateState:
        """Return what updates start from, having checked that its kernel stands."""
        if isinstance(state.kernel, Precomputed):
            raise ValueError(without_rows(self))
        if not state.has_kernel_of(self):
            raise ValueError(
                "kernel, gamma, degree, coef0 or fit_intercept changed since the first "
                "fit; the path moves costs and rows only. Call fit."
            )
        return state

    def _warn_of_gamma(self) -> None:
        with_gamma = ("rbf", "laplacian", "poly", "sigmoid")  # "auto": 1 / n_features
        if self.gamma == "scale" and self.kernel in with_gamma:
            warnings.warn(
                f"gamma='scale' was estimated as gamma_={self.gamma_:.6g} and "
                "kept: it still reflects rows that are now forgotten. Call fit, or set "
                "gamma to a number before the first fit.",
                UserWarning,
                stacklevel=5,
            )

    # ---- the move ------------------------------------------------------------

    def _move(
        self,
        state: UpdateState,
        keep: Indices,
        fresh: LiveRows,
        stage: str,
        chunk: int,
        begun: float,
    ) -> None:
        """Bring every task to the rows that stay and enter, at the present parameters.

        Parameters
        ----------
        state : UpdateState
            The former model.
        keep : ndarray
            Which of its live rows stay, in ascending order.
        fresh : LiveRows
            Rows that enter, behind them.
        stage, chunk, begun
            For ``history_``: what was asked for, of how many rows, and when.
        """
        history, before, kernel = list(self.history_), state.live, state.kernel
        joined = before.joined(fresh) if fresh.n else before
        staying = np.concatenate([keep, np.arange(before.n, joined.n)])
        live = joined if staying.size == joined.n else joined.kept(staying)
        if live.n == 0:
            if self.__sklearn_is_fitted__():
                remove_model(self)
            self._keep_rows(replace(state, live=live, tasks=[]))
            self.history_ = [*history, update_record(stage, chunk, 0, begun, [], [])]
            return
        data = self._training(live)
        all_rows = gram = self._make_gram(data, kernel)
        if live is not joined:
            all_rows = self._make_gram(self._training(joined), kernel)
        change = RowChange(all_rows, before.n, staying)
        tasks = self._tasks(data, gram, kernel)
        moved = []
        deadline = Deadline(begun + (self.max_time or np.inf))
        for number, task in enumerate(tasks):
            task.deadline = deadline
            former = state.tasks[number] if len(state.tasks) == len(tasks) else None
            moved.append(self._move_task(task, former, change))
        solutions = [proved(solution, self.tol) for solution, _, _ in moved]
        accounts = [account for _, account, _ in moved]
        record = update_record(stage, chunk, live.n, begun, solutions, accounts)
        model = self._model(data, kernel, tasks, solutions)
        replace(model, history=[*history, record]).store(self)
        ages = [age for _, _, age in moved]
        solved = list(map(TaskState.of, solutions, [t.rows for t in tasks], ages))
        self._keep_rows(replace(state, live=live, tasks=solved))
        self._warn_unless_converged(solutions)

    def _moved_problem(self, task: AnyTask) -> DualProblem:
        """Return the problem of a task whose rows come and go."""
        return self._problem(task)

    def _move_task(
        self, task: AnyTask, state: TaskState | None, change: RowChange
    ) -> tuple[Solution, PathAccount, int]:
        """Return the task's new solution, what it took, and the age of its values."""
        target = self._moved_problem(task)
        convex = target.gram.kernel.semidefinite  # otherwise there is no path to follow
        known = state is not None and state.beta.size > 0
        if state is None or not (known and convex and state.leads_to(target)):
            options = self._solve_options(target.n, task)
            solver = partial(self._solve, options=options)
            return *updates.fresh(target, solver, convex=convex), 0
        origin = state.origin(task.rows, change.places)
        if state.solves(target, origin):
            kept = replace(state.solution(target.gram), problem=target)
            return kept, PathAccount(route="unchanged"), state.age
        old = state.solution(change.gram.subset(state.members))
        solution, account = updates.change(
            old, origin, target, partial(change.with_leavers, task.rows, state.members)
        )
        return solution, account, 1 + (state.age if state.trusted else 0)
