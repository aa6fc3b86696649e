"""The steps of a fit one by one, for fits of many settings over shared kernel values.

A search takes the dual problems of all its fits from here, solves them together, and
has each estimator store its own answers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import accumulate
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from widemargin.engine.gram import Gram
from widemargin.engine.kernels import Kernel
from widemargin.engine.problem import DualProblem, Terms

from .kernel_machine import KernelMachine
from .prediction import PairPrediction
from .task import Answer
from .training_data import LabelledData, TrainingData

Indices = NDArray[np.intp]
Vector = NDArray[np.float64]
Machine = KernelMachine[Any, Any]


@dataclass(frozen=True, eq=False)
class MatrixRows:
    """Rows of a shared matrix, in place of the Gram handle of a fit.

    Tasks and problems are built on it as on a :class:`Gram`; nothing is evaluated.
    """

    kernel: Kernel
    numbers: Indices

    @property
    def n(self) -> int:
        """Number of samples."""
        return self.numbers.size

    def subset(self, indices: Any, **_: Any) -> MatrixRows:
        """Return some of the rows."""
        return MatrixRows(self.kernel, self.numbers[indices])


@dataclass(eq=False)
class BegunFit:
    """A fit whose tasks are built and not yet solved.

    Attributes
    ----------
    machine : KernelMachine
        The estimator, without a model.
    data : TrainingData
        What it is fitted to.
    kernel : Kernel
        Its kernel.
    tasks : list of Task
        What is to be solved.
    """

    machine: Machine
    data: TrainingData
    kernel: Kernel
    tasks: list[Any]

    def problems(self) -> list[DualProblem]:
        """Return the dual problem of each task."""
        return [self.machine._problem(task) for task in self.tasks]

    def terms(self) -> Terms | None:
        """Return the concatenated terms of all of these problems.

        None where their totals differ.
        """
        return self.machine._terms_of(self.tasks)

    def parts(self, terms: Terms) -> list[Terms]:
        """Return the terms of each problem."""
        linear, lower, upper, total, kink = terms
        ends = list(accumulate((task.rows.size for task in self.tasks), initial=0))
        return [
            Terms(
                linear[part], lower[part], upper[part], total,
                None if kink is None else kink[part],
            )
            for part in map(slice, ends, ends[1:])
        ]  # fmt: skip

    def solve_alone(self) -> list[Any]:
        """Solve the tasks as the estimator itself would; kept rows stay."""
        return [self.machine._solve_task(task) for task in self.tasks]

    def stored(self, answers: Sequence[Answer]) -> Machine:
        """Return the fitted estimator; warn where it did not converge."""
        self.machine._store(self.data, self.kernel, self.tasks, answers)
        self.warn_unless_converged(answers)
        return self.machine

    def warn_unless_converged(self, answers: Sequence[Answer]) -> None:
        """Warn as the estimator itself does."""
        self.machine._warn_unless_converged(answers)

    def labels(self, decisions: Vector) -> NDArray[Any]:
        """Return the labels of a classifier for decision values of all pairs."""
        data, machine = self.data, self.machine
        assert isinstance(data, LabelledData) and isinstance(machine, PairPrediction)
        return cast(NDArray[Any], machine._labels(decisions, data.classes))


def validated_fold(machine: Machine, X: Any, y: Any, sample_weight: Any) -> Any:
    """Return training data as a fit of this estimator would check it."""
    machine._validate_params()
    return machine._validated(X, y, sample_weight, None)


def resolved_kernel(machine: Machine, data: Any) -> Kernel:
    """Return the kernel of a fit, its coefficient a number."""
    return machine._resolve_kernel(data)


def begin(
    machine: Machine, data: Any, gram: Gram | MatrixRows, checked: Machine
) -> BegunFit:
    """Build the tasks of a fit on the given rows.

    ``checked`` is the estimator that checked the data: it knows the names of columns.
    """
    machine.n_features_in_ = data.n_features
    if hasattr(checked, "feature_names_in_"):
        machine.feature_names_in_ = checked.feature_names_in_
    tasks = machine._tasks(data, cast(Gram, gram), gram.kernel)
    return BegunFit(machine, data, gram.kernel, tasks)


def is_one_dual_problem_a_task(machine: Machine) -> bool:
    """Whether a fit is nothing but its dual problems solved to their optimum."""
    own = type(machine)
    untouched = all(
        getattr(own, name) is getattr(KernelMachine, name)
        for name in ("_solve_tasks", "_solve", "_fit")
    )
    unlimited = (machine.max_iter, machine.max_time) == (-1, None)
    return untouched and unlimited and machine._only_dual_problems()


class _KnownValues:
    """A fitted estimator that knows its values at some samples."""

    _known: list[tuple[Any, Vector]]

    def _values(self, X: Any) -> Vector:
        for samples, values in self._known:
            if _same(X, samples):
                return values.copy()
        return cast(Vector, super()._values(X))  # type: ignore[misc]


def knowing(machine: Machine, known: list[tuple[Any, Vector]]) -> Machine:
    """Return the estimator with values it need not evaluate at these samples."""
    model = object.__new__(_with_known_values(type(machine)))
    model.__dict__.update(machine.__dict__)
    model._known = known
    return cast(Machine, model)


@cache
def _with_known_values(own: type) -> Any:
    named = {"__module__": own.__module__, "__qualname__": own.__qualname__}
    return type(own.__name__, (_KnownValues, own), named)


def _same(X: Any, samples: Any) -> bool:
    if X is samples:
        return True
    if (
        type(X) is not type(samples)
        or not hasattr(X, "shape")
        or X.shape != samples.shape
    ):
        return False
    if sparse.issparse(X):
        return bool(abs(X - samples).nnz == 0)
    if hasattr(X, "columns"):
        return bool(X.equals(samples))
    return bool(np.array_equal(X, samples))
