"""Regressors that learn and forget."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from widemargin.estimators.base.kernel_regressor import KernelRegressor
from widemargin.estimators.base.task import BoxTask
from widemargin.estimators.base.training_data import TargetData

from .chunk import Chunk, Given, target_chunk
from .incremental_machine import IncrementalMachine
from .live_rows import LiveRows, check_row_ids
from .refused import needs_rows
from .update_state import UpdateState


class IncrementalRegressor(IncrementalMachine[TargetData, BoxTask], KernelRegressor):
    """A kernel regressor that adds and removes rows exactly."""

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **KernelRegressor._parameter_constraints,
        **IncrementalMachine._parameter_constraints,
    }

    def fit(self, X: Any, y: Any, sample_weight: Any = None, ids: Any = None) -> Self:
        """Fit the model to training data; whatever was learnt before is gone.

        Parameters
        ----------
        X : array or CSR of shape (n_samples, n_features)
            Training samples; the (n, n) kernel matrix with ``kernel="precomputed"``.
        y : array of shape (n_samples,)
            Target values.
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
            reached, with ``fit_status_ = 1``, if every output has one.
        """
        return self._fitted(X, y, sample_weight, check_row_ids(ids, X))

    @needs_rows
    def partial_fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        ids: Any = None,
        *,
        forget_ids: Any = None,
        window: Any = None,
    ) -> Self:
        """Add rows, let others go; the model becomes that of ``fit`` on the live rows.

        One update for both, all of it or, after an error, nothing.

        Parameters
        ----------
        X : array or CSR of shape (n_samples, n_features)
            New samples.
        y : array of shape (n_samples,)
            Their target values.
        sample_weight : array of shape (n_samples,), optional
            Each row's factor on C; rows with weight <= 0 are as if absent.
        ids : array of shape (n_samples,), optional
            Unique integers or strings; given in every call or in none.
        forget_ids : int, str or array of them, optional
            Rows that leave in the same update, by their entries in ``ids_``.
        window : int, optional
            How many rows stay at most: the oldest leave in the same update, in the
            order in which they came.

        Returns
        -------
        self : object
            The estimator, with the new rows and without those that left.
        """
        leavers = {"forget_ids": forget_ids, "window": window}
        return self._added(Given(X, y, sample_weight, ids, **leavers))

    def _checked_chunk(self, given: Given, former: UpdateState | None) -> Chunk:
        return target_chunk(self, given, former)

    def _targets(self, data: TargetData) -> NDArray[Any]:
        return data.targets

    def _training(self, rows: LiveRows) -> TargetData:
        return TargetData(
            X=rows.X, rows=np.arange(rows.n), n_given=rows.n,
            n_features=self.n_features_in_, weights=rows.weights, ids=rows.ids,
            targets=rows.targets,
        )  # fmt: skip
