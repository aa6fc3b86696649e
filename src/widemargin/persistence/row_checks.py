"""Consistency of the rows that a model keeps for exact updates."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from widemargin.engine.kernels import Kernel
from widemargin.estimators.base.multiclass import (
    class_pairs,
    is_by_pair,
    pair_members,
)
from widemargin.estimators.incremental.live_rows import LiveRows
from widemargin.estimators.incremental.task_state import TaskState
from widemargin.estimators.incremental.update_state import UpdateState
from widemargin.runtime.model_file_format import StorageError


def check_live_rows(attributes: dict[str, Any], features: int) -> None:
    """Raise unless rows, targets, ids and the solutions of all tasks fit each other."""
    state = attributes.get("_updates")
    if state is None:
        return  # support vectors only
    if not isinstance(state, UpdateState) or not isinstance(state.live, LiveRows):
        raise StorageError("the rows kept are none")
    if state.gone.size:
        raise StorageError("places of rows that have left")
    live, n = state.live, state.live.n
    values = live.X.data if sparse.issparse(live.X) else live.X
    if live.X.shape != (n, features) or not _finite(values, values.shape):
        raise StorageError("the rows kept do not fit n_features_in_")
    if live.weights is not None and not (
        _finite(live.weights, (n,)) and np.all(live.weights > 0.0)
    ):
        raise StorageError("the weights of the rows kept are not all positive")
    if live.ids.shape != (n,) or np.unique(live.ids).size != n:
        raise StorageError("the ids of the rows kept are not one for each")
    if type(state.next_id) is not int or state.next_id < 0:
        raise StorageError("the next id is not a number")
    if type(state.closed_classes) is not bool:
        raise StorageError("whether classes are closed is neither true nor false")
    if not isinstance(state.kernel, Kernel):
        raise StorageError("the kernel of the rows kept is none")
    if "classes_" in attributes:
        _check_labels(state, attributes)
    elif live.targets is not None and not _finite(live.targets, (n,)):
        raise StorageError("the targets of the rows kept are not finite numbers")
    elif n:
        _check_tasks(state.tasks, n, len(attributes["intercept_"]))
        if any(task.members.size != n for task in state.tasks):
            raise StorageError("the solutions kept are not of all rows")


def _check_labels(state: UpdateState, attributes: dict[str, Any]) -> None:
    """Raise unless labels, costs and solutions fit the classes."""
    live, classes, n = state.live, len(attributes["classes_"]), state.live.n
    labels, costs = live.targets, live.answer_costs
    if labels is None or not counts(labels, n, classes):
        raise StorageError("the labels of the rows kept do not fit classes_")
    if costs is not None and not (
        _finite(costs, (n, classes)) and np.all(costs >= 0.0)
    ):
        raise StorageError("the costs of the rows kept do not fit classes_")
    if not n:
        return
    _check_tasks(state.tasks, n, len(class_pairs(classes)))
    by_pair = costs is not None or (
        classes > 2 and is_by_pair(attributes["dual_coef_"], classes)
    )
    if not by_pair:
        _check_classes(state.tasks, labels, classes)


def _check_classes(tasks: Any, labels: NDArray[Any], classes: int) -> None:
    for state, pair in zip(tasks, class_pairs(classes), strict=True):
        if not np.array_equal(state.members, pair_members(labels, pair)):
            raise StorageError("the rows of a pair of classes are not those of its two")


def _check_tasks(tasks: Any, n: int, count: int) -> None:
    if not isinstance(tasks, list) or len(tasks) != count:
        raise StorageError("the solutions kept are not one for each pair or output")
    for state in tasks:
        if not isinstance(state, TaskState):
            raise StorageError("the solution kept of a pair or output is none")
        shape = state.members.shape
        arrays = (state.beta, state.linear, state.lower, state.upper)
        known = [
            array
            for array in (state.values, state.errors, state.kink)
            if array is not None
        ]
        if (
            not counts(state.members, state.members.size, n)
            or np.any(np.diff(state.members) <= 0)
            or not all(_finite(array, shape) for array in (*arrays, *known))
            or np.any(state.lower > state.beta)
            or np.any(state.beta > state.upper)
            or not (state.total is None or np.isfinite(state.total))
            or type(state.age) is not int
        ):
            raise StorageError("the solution kept of a pair or output does not fit")


def counts(array: Any, length: int, end: int) -> bool:
    """Whether it is an array of `length` integers from 0 to `end`, exclusive."""
    return (
        array.shape == (length,)
        and array.dtype.kind == "i"
        and (length == 0 or (array.min() >= 0 and array.max() < end))
    )


def _finite(array: Any, shape: tuple[int, ...]) -> bool:
    return (
        array.shape == shape
        and array.dtype.kind == "f"
        and bool(np.all(np.isfinite(array)))
    )
