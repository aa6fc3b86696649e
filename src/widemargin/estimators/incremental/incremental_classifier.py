"""Classifiers that learn and forget."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from widemargin.engine.problem import DualProblem
from widemargin.estimators.base.kernel_classifier import KernelClassifier
from widemargin.estimators.base.multiclass import BinaryTask
from widemargin.estimators.base.training_data import LabelledData, refuse_probability

from .chunk import Chunk, Given, labelled_chunk
from .incremental_machine import IncrementalMachine
from .live_rows import LiveRows, check_row_ids
from .refused import needs_rows
from .update_state import UpdateState


class IncrementalClassifier(
    IncrementalMachine[LabelledData, BinaryTask], KernelClassifier
):
    """A kernel classifier that adds and removes rows exactly."""

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **KernelClassifier._parameter_constraints,
        **IncrementalMachine._parameter_constraints,
    }

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
        return self._fitted(X, y, sample_weight, check_row_ids(ids, X))

    @needs_rows
    def partial_fit(
        self,
        X: Any,
        y: Any,
        classes: Any = None,
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
            Their labels.
        classes : array, optional
            All labels that will ever occur. Where it is not given a label that is new
            adds a class, whose pairs are trained on the live rows; the first chunk has
            to hold two classes then.
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
        given = Given(X, y, sample_weight, ids, classes, forget_ids, window)
        return self._added(given)

    def _checked_chunk(self, given: Given, former: UpdateState | None) -> Chunk:
        if self.class_weight == "balanced":
            raise ValueError(
                'class_weight="balanced" is not supported for partial_fit: the balance '
                "of rows still to come is unknown. Give the weights as a dict."
            )
        chunk = labelled_chunk(self, given, former)
        assert chunk.classes is not None
        self.classes_ = chunk.classes.labels
        return chunk

    def _checked_state(self, state: UpdateState) -> UpdateState:
        refuse_probability(self)
        return super()._checked_state(state)

    def _targets(self, data: LabelledData) -> NDArray[Any]:
        return data.labels

    def _every_row_counts(self) -> bool:
        return isinstance(self.class_weight, str)  # "balanced"

    def _answer_costs(self, data: LabelledData) -> NDArray[np.float64] | None:
        return data.answer_costs

    def _training(self, rows: LiveRows) -> LabelledData:
        n = rows.n
        return LabelledData(
            X=rows.X, rows=np.arange(n), n_given=n,
            n_features=self.n_features_in_, weights=rows.weights, ids=rows.ids,
            labels=rows.targets, classes=self.classes_, answer_costs=rows.answer_costs,
        )  # fmt: skip

    def _moved_problem(self, task: BinaryTask) -> DualProblem:
        target = self._problem(task)
        if np.unique(task.y).size == 1:
            # Through the origin there is no saying yes to all: that takes an intercept.
            return replace(target, total=0.0)
        return target
