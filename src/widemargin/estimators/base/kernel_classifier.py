"""A kernel machine whose tasks are pairs of classes (one-vs-one)."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin

from widemargin.engine.gram import Gram
from widemargin.engine.kernels import Kernel
from widemargin.engine.problem import DualProblem, classification_problem
from widemargin.exchange.libsvm_form import SvmType
from widemargin.runtime.deadline import Deadline

from .fitted_model import FittedClassifier, fitted_classifier
from .kernel_machine import KernelMachine
from .multiclass import (
    BinaryTask,
    PairSamples,
    class_pairs,
    pair_start,
)
from .prediction import PairPrediction
from .sklearn_compat import Hidden, StrOptions
from .training_data import LabelledData, validate_labelled
from .validation import class_weights, plain_labels

Vector = NDArray[np.float64]


class KernelClassifier(
    PairPrediction, ClassifierMixin, KernelMachine[LabelledData, BinaryTask]
):
    """Base of the kernel classifiers; see :class:`widemargin.SVC` for the parameters.

    A system overrides :meth:`_problem` (what is minimised for two classes) or
    :meth:`_solve_task` (how).
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **KernelMachine._parameter_constraints,
        "probability": ["boolean", Hidden(StrOptions({"deprecated"}))],
        "class_weight": [StrOptions({"balanced"}), dict, None],
        "decision_function_shape": [StrOptions({"ovo", "ovr"})],
        "break_ties": ["boolean"],
    }
    _svm_type = SvmType.C_SVC

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

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the share of rows whose label is predicted.

        Parameters
        ----------
        X : array or CSR of shape (n_samples, n_features)
            Samples.
        y : array of shape (n_samples,)
            Their labels.
        sample_weight : array of shape (n_samples,), optional
            How much each row counts.

        Returns
        -------
        float
            The accuracy, as :func:`sklearn.metrics.accuracy_score` has it.
        """
        predicted = self.predict(X)
        # Such labels pass scikit-learn's checks, which take as long as a small fit.
        checked = plain_labels(y) and plain_labels(predicted)
        if checked and sample_weight is None and y.size == predicted.size:
            return float(np.count_nonzero(y == predicted) / y.size)
        from sklearn.metrics import accuracy_score  # imports much

        return float(accuracy_score(y, predicted, sample_weight=sample_weight))

    def _validated(self, X: Any, y: Any, sample_weight: Any, ids: Any) -> LabelledData:
        return validate_labelled(self, X, y, sample_weight, ids)

    def _class_weights(self, data: LabelledData) -> Vector:
        return class_weights(self.class_weight, data.classes, data.labels, data.weights)

    def _costs(self, data: LabelledData) -> Vector:
        """Return C times class weight times sample weight."""
        if self.class_weight is None:
            costs = np.full(data.labels.size, float(self.C))
        else:
            costs = self.C * self._class_weights(data)[data.labels]
        return costs if data.weights is None else costs * data.weights

    def _tasks(
        self, data: LabelledData, gram: Gram, kernel: Kernel
    ) -> list[BinaryTask]:
        costs, pairs = self._costs(data), class_pairs(data.classes.size)
        seed, deadline = self._seed(), Deadline.after(self.max_time)
        tasks = []
        found = self._pair_samples(data, pairs)
        for pair, samples in zip(pairs, found, strict=True):
            rows, weights = samples.rows, samples.weights
            whole = rows.size == data.labels.size
            own = costs if whole else costs[rows]
            tasks.append(
                BinaryTask(
                    gram if whole else gram.subset(rows, known=True),
                    rows,
                    samples.y,
                    own if weights is None else own * weights,
                    *pair,
                    seed=seed,
                    deadline=deadline,
                )
            )
        return tasks

    def _pair_samples(
        self, data: LabelledData, pairs: Sequence[tuple[int, int]]
    ) -> list[PairSamples]:
        """Return what each pair is trained on: by default the rows of its classes."""
        return data.pair_samples

    def _by_pair(self, data: LabelledData) -> bool:
        """Whether pairs contain third classes, which takes a row of coefficients each.

        See :func:`widemargin.estimators.base.multiclass.stack`.
        """
        return False

    def _warm_start(
        self, data: LabelledData, kernel: Kernel, tasks: Sequence[BinaryTask]
    ) -> None:
        if self._starts_warm(data, kernel):
            for task in tasks:
                task.start = self._former_solution(data, task)

    def _starts_warm(self, data: LabelledData, kernel: Kernel) -> bool:
        """Whether the last fit is a start for this one; warn if it should be."""
        if not (self.warm_start and self.__sklearn_is_fitted__()):
            return False
        same_rows = self.shape_fit_[0] == data.n_given
        same_classes = np.array_equal(self.classes_, data.classes)
        alike = same_rows and same_classes and bool(self._kernel == kernel)
        if not alike:
            warnings.warn(
                "warm_start: the number of rows, the classes or the kernel changed "
                "since the last fit, so this fit starts cold. Set warm_start=False, or "
                "fit a clone, where they change.",
                UserWarning,
                stacklevel=4,
            )
        return alike

    def _former_solution(self, data: LabelledData, task: BinaryTask) -> Vector:
        """Return the last fit's coefficients for the rows of a task."""
        labels = np.full(data.n_given, -1)
        labels[data.rows] = data.labels
        given = replace(task, rows=data.rows[task.rows])
        support = self.support_.astype(np.intp)
        return pair_start(
            self._dense_dual_coef(), support, labels, data.classes.size, given
        )

    def _problem(self, task: BinaryTask) -> DualProblem:
        return classification_problem(task.gram, task.y, task.costs, self.fit_intercept)

    def _model(
        self,
        data: LabelledData,
        kernel: Kernel,
        tasks: Sequence[BinaryTask],
        answers: Sequence[Any],
    ) -> FittedClassifier:
        """Assemble the model from the answers of all pairs."""
        history = [record for task in tasks for record in task.history]
        weights = self._class_weights(data)
        return fitted_classifier(
            data, kernel, weights, tasks, answers, history, by_pair=self._by_pair(data)
        )
