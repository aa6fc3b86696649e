"""A kernel machine whose outputs are values of a kernel expansion, not votes.

A regressor or a one-class model: one task per output, all over the same rows.
"""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from widemargin.engine.gram import Gram
from widemargin.engine.kernels import Kernel
from widemargin.engine.problem import DualProblem, Terms
from widemargin.engine.problem_batches import joined_terms
from widemargin.runtime.deadline import Deadline

from .fitted_model import FittedExpansion, fitted_expansion
from .kernel_machine import KernelMachine
from .task import BoxTask
from .training_data import TrainingData

Vector = NDArray[np.float64]
Data = TypeVar("Data", bound=TrainingData)


class ExpansionMachine(KernelMachine[Data, BoxTask], Generic[Data]):
    """Base of regressors and one-class models."""

    n_support_: NDArray[np.int32]
    shape_fit_: tuple[int, int]
    warm_start: bool
    max_time: float | None

    @abstractmethod
    def _terms(self, data: Data) -> list[Terms]:
        """Return the terms of the dual problem of each output."""

    def _tasks(self, data: Data, gram: Gram, kernel: Kernel) -> list[BoxTask]:
        seed, deadline = self._seed(), Deadline.after(self.max_time)
        rows = np.arange(data.rows.size)
        return [
            BoxTask(gram, rows, *terms, seed=seed, deadline=deadline)
            for terms in self._terms(data)
        ]

    def _problem(self, task: BoxTask) -> DualProblem:
        return task.problem()

    def _terms_of(self, tasks: Sequence[BoxTask]) -> Terms | None:
        return joined_terms(tasks)

    def _warm_start(self, data: Data, kernel: Kernel, tasks: Sequence[BoxTask]) -> None:
        if not (self.warm_start and self.__sklearn_is_fitted__()):
            return
        same_rows = self.shape_fit_[0] == data.n_given
        same_outputs = len(self.intercept_) == len(tasks)
        if not (same_rows and same_outputs and bool(self._kernel == kernel)):
            warnings.warn(
                "warm_start: the number of rows, the outputs or the kernel changed "
                "since the last fit, so this fit starts cold. Set warm_start=False, or "
                "fit a clone, where they change.",
                UserWarning,
                stacklevel=4,
            )
            return
        for task, coefficients in zip(tasks, self._dense_dual_coef(), strict=True):
            former = np.zeros(data.n_given)
            former[self.support_] = coefficients
            task.start = former[data.rows]

    def _model(
        self,
        data: Data,
        kernel: Kernel,
        tasks: Sequence[BoxTask],
        answers: Sequence[Any],
    ) -> FittedExpansion:
        history = [record for task in tasks for record in task.history]
        return fitted_expansion(data, kernel, answers, history)
