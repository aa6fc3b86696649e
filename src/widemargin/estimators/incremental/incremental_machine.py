"""Exact learning and forgetting for kernel estimators.

The model of an :class:`IncrementalMachine` always equals ``fit`` with ``get_params()``
on its live rows. ``partial_fit`` adds rows and lets others go with them (a sliding
window), ``forget`` removes some, ``update`` changes costs: each follows the exact path
of :mod:`widemargin.engine.updates` in every task. That takes all rows, not only the
support vectors; a ``fit`` keeps them on request. An update works on a shadow of the
estimator (:mod:`widemargin.estimators.base.atomic_attributes`): after any error, Ctrl-C
included, the estimator is what it was before.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Sequence
from copy import deepcopy
from typing import Any, ClassVar, Generic, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import NotFittedError

from widemargin.engine.gram import release_kept_memory
from widemargin.engine.kernels import WITH_GAMMA, Kernel, Precomputed
from widemargin.engine.update_routes import worth_testing
from widemargin.estimators.base.kernel_machine import KernelMachine
from widemargin.estimators.base.sklearn_compat import StrOptions, validated

from .chunk import Given
from .known_parameters import same_objects, same_prices
from .live_rows import LiveRows, lasting, trimmed
from .new_classes import with_classes
from .record import Update
from .refused import needs_rows, without_rows
from .reserve_vectors import enter_quietly, erase, leave_quietly, note
from .task_state import TaskState
from .task_updates import AnyTask, Data, TaskUpdatingMachine
from .update_state import UpdateState, no_rows
from .window import leaving

Vector = NDArray[np.float64]
Indices = NDArray[np.intp]


class IncrementalMachine(TaskUpdatingMachine[Data, AnyTask], Generic[Data, AnyTask]):
    """A kernel estimator that adds and removes rows exactly.

    What a kind of estimator adds: ``fit`` and ``partial_fit`` with their own arguments,
    and what :class:`TaskUpdatingMachine` asks for.
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **KernelMachine._parameter_constraints,
        "keep_rows": ["boolean"],
        "exact_updates": ["boolean", StrOptions({"auto"})],
    }

    def _validate_params(self) -> None:
        """Check the parameters, unless they are those of the last fit or update."""
        state = vars(self).get("_updates")
        if state is None or not same_objects(self, state.parameters):
            super()._validate_params()

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

    def _drop_rows(self) -> None:
        self.__dict__.pop("_updates", None)

    @property
    def ids_(self) -> NDArray[Any]:
        """Ids of the live rows, where rows are kept."""
        state = self._at_once()._updates
        return state.ids

    def __getstate__(self) -> dict[str, Any]:
        """Pickle no empty places."""
        state: dict[str, Any] = super().__getstate__()
        if hasattr(self, "_updates"):
            state = state | {"_updates": self._updates.closed_up()}
        return state

    def __copy__(self) -> Self:
        """Return a copy with rows of its own: forgetting overwrites them."""
        twin = self._twin()
        if hasattr(self, "_updates"):
            twin._updates = deepcopy(self._updates)
        return twin

    def _twin(self) -> Self:
        twin = object.__new__(type(self))
        twin.__dict__.update(self.__dict__)
        return twin

    def _check_fitted(self) -> None:
        """Raise NotFittedError before a fit, and where every row was forgotten."""
        if not hasattr(self, "_updates"):
            super()._check_fitted()
        elif self._updates.n == 0:
            raise NotFittedError(
                f"This {type(self).__name__} instance is not fitted any more: all rows "
                "were forgotten; call partial_fit or fit."
            )

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
        """Add rows, let others go with them, or change nothing."""
        shadow = self._shadow()
        gone = shadow._take_in(given)
        return self._replaced_by(shadow) if gone is None else self._rid(shadow, gone)

    def _rid(self, shadow: Self, gone: Indices) -> Self:
        """Replace this estimator by its shadow, then overwrite the rows that have left.

        That is not before it is certain that the rows have left: the former model,
        which Ctrl-C may leave in its place, shares its rows with the shadow.
        """
        try:
            return self._replaced_by(shadow)
        finally:
            if self.__dict__ is shadow.__dict__:
                if gone.size:
                    erase(self._updates, gone)
                release_kept_memory()  # it may hold kernel rows of the forgotten

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
        shadow = self._shadow()
        return self._rid(shadow, shadow._let_go(ids))

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
        wanted = self._twin().set_params(**params)
        wanted._replaced_by(wanted._shadow()._settle())
        self.__dict__ = wanted.__dict__  # in one assignment
        return self

    @validated
    def _take_in(self, given: Given) -> Indices | None:
        """Let rows in and out; as :meth:`_let_go`, None where none leaves."""
        begun = time.perf_counter()
        former = self._updates if hasattr(self, "_updates") else None
        chunk = self._checked_chunk(given, former)
        if former is None:
            self.history_ = []
            kernel = self._resolve_kernel(self._training(chunk.rows))
            nothing = no_rows(chunk.rows)
            former = self._begun(nothing, [], 0, given.ids is not None, kernel)
        state = self._checked_state(former)
        if chunk.classes is not None:
            state = with_classes(state, chunk.classes)
        entering = chunk.rows.n
        gone = leaving(state, given, entering)
        if gone.size:
            self._warn_of_gamma()
        state = state.changed(next_id=state.next_id + chunk.n_given)
        update = Update("add", entering, gone.size, begun)
        left = self._exchange(state, chunk.rows, gone, update)
        return left if gone.size else None

    @validated
    def _let_go(self, ids: Any) -> Indices:
        """Forget; return the places of rows that are still to be erased."""
        begun = time.perf_counter()
        self._check_fitted()
        state = self._checked_state(self._updates)
        gone = state.find(ids)
        self._warn_of_gamma()
        update = Update("forget", gone.size, gone.size, begun)
        return self._exchange(state, no_rows(state.live), gone, update)

    def _exchange(
        self, state: UpdateState, fresh: LiveRows, gone: Indices, update: Update
    ) -> Indices:
        """Let rows in and out at once; return the places still to be erased."""
        support, n, entering = state.support, state.n, fresh.n
        anew = self._seconds_anew(state, n + entering - gone.size)
        share = min(1.0, support / max(1, n))  # of new rows too, if these are alike
        moving = round(share * (entering + gone.size))
        tested = worth_testing(anew, entering + gone.size, share)
        settled: UpdateState | None = state if tested else None
        if settled is not None and update.stage == "add":
            settled = enter_quietly(self, state, fresh)
            if settled is not None:
                state, fresh = settled, no_rows(fresh)
        if settled is not None and (gone.size or update.stage == "forget"):
            settled = leave_quietly(self, settled, gone)
        if settled is not None:
            note(self, settled, update)
            self._keep_rows(settled)
            return gone if settled.gone.size else gone[:0]
        keep = None
        if gone.size:
            stays = np.ones(state.live.n, dtype=np.bool_)
            stays[gone] = False
            if state.gone.size:
                stays = np.delete(stays, state.gone)
            keep = stays.nonzero()[0]
        self._move(state.closed_up(), keep, fresh, update, anew, moving)
        return gone[:0]

    @validated
    def _settle(self) -> Self:
        begun = time.perf_counter()
        self._check_fitted()
        state = self._checked_state(self._updates).closed_up()
        update = Update("update", 0, 0, begun)
        same = same_prices(self, state.parameters)
        refit = self._seconds_anew(state, state.n)
        anew = np.inf if same else refit
        self._move(state, None, no_rows(state.live), update, anew)
        return self

    def _checked_state(self, state: UpdateState) -> UpdateState:
        """Return the state that updates start from; its kernel must be unchanged."""
        if isinstance(state.kernel, Precomputed):
            raise ValueError(without_rows(self))
        if not state.has_kernel_of(self):
            raise ValueError(
                "kernel, gamma, degree, coef0 or fit_intercept changed since the first "
                "fit; the path moves costs and rows only. Call fit."
            )
        return state

    def _warn_of_gamma(self) -> None:
        if self.gamma == "scale" and self.kernel in WITH_GAMMA:
            warnings.warn(
                f"gamma='scale' was estimated as gamma_={self.gamma_:.6g} and "
                "kept: it still reflects rows that are now forgotten. Call fit, or set "
                "gamma to a number before the first fit.",
                UserWarning,
                stacklevel=_callers_level(),
            )


def _callers_level() -> int:
    """Return the stacklevel, where a warning is made, of the call from outside."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and _ours(frame.f_globals.get("__name__", "")):
        level, frame = level + 1, frame.f_back
    return level


def _ours(module: str) -> bool:
    return module.split(".")[0] in ("widemargin", "sklearn", "contextlib")
