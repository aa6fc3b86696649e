"""Classes that a chunk brings along: their pairs are new, those of the others stay."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from widemargin.estimators.base.multiclass import class_pairs

from .task_state import TaskState
from .update_state import UpdateState

Indices = NDArray[np.intp]


@dataclass(frozen=True)
class Classes:
    """The classes of a model with a new chunk.

    Attributes
    ----------
    labels : ndarray
        All of them, in ascending order.
    closed : bool
        Whether the user listed them: then there are no others.
    renumbered : ndarray or None
        New number of each class of the former model; None where no class is new.
    """

    labels: NDArray[Any]
    closed: bool
    renumbered: Indices | None = None


def first_classes(given: Any, found: NDArray[Any]) -> Classes:
    """Return the classes of a first chunk: those `given`, or those `found` in it."""
    if given is not None:
        return Classes(_listed(given), closed=True)
    if found.size < 2:
        raise ValueError(
            f"y of the first chunk has one class only, {found.tolist()}: pass classes, "
            "all labels that will occur, or a first chunk with two of them."
        )
    return Classes(found, closed=False)


def later_classes(
    given: Any, found: NDArray[Any], former: NDArray[Any], *, closed: bool
) -> Classes:
    """Return the classes of a later chunk: the former ones and, unless closed, new."""
    if given is None:
        if closed or not missing(found, former):
            return Classes(former, closed)
        if _words(found) != _words(former):
            raise ValueError(
                f"y contains {found[:5].tolist()}, which cannot be ordered with the "
                f"classes {former.tolist()}: give labels of one type."
            )
        return _widened(former, np.union1d(former, found), closed=False)
    listed = _listed(given)
    if closed and not np.array_equal(listed, former):
        raise ValueError(
            f"classes={listed.tolist()} is not the same as on the first call, "
            f"{former.tolist()}; leave it out or call fit."
        )
    lost = missing(former, listed)
    if lost:
        raise ValueError(
            f"classes={listed.tolist()} lacks {lost[:5]}, of which the model "
            "has had rows; list them too, leave it out, or call fit."
        )
    return _widened(former, listed, closed=True)


def missing(labels: NDArray[Any], known: NDArray[Any]) -> list[Any]:
    """Return the labels that are not known; NumPy takes longer for so few."""
    among = set(known.tolist())
    return [label for label in labels.tolist() if label not in among]


def _listed(classes: Any) -> NDArray[Any]:
    listed = np.unique(np.asarray(classes))
    if listed.size < 2:
        raise ValueError(
            f"The number of classes has to be greater than one; got {listed.size} class"
        )
    return listed


def _widened(former: NDArray[Any], labels: NDArray[Any], *, closed: bool) -> Classes:
    same = labels.size == former.size
    return Classes(labels, closed, None if same else np.searchsorted(labels, former))


def _words(labels: NDArray[Any]) -> bool:
    return labels.dtype.kind in "OSU"


def with_classes(state: UpdateState, classes: Classes) -> UpdateState:
    """Return the former state under the class numbers of now.

    Pairs of former classes keep their solutions; a pair with a new class has none yet
    and is trained on its live rows by the move that follows. There is a move in any
    case: the state has no prices to be compared with.
    """
    if classes.renumbered is None:
        same = classes.closed == state.closed_classes
        return state if same else state.changed(closed_classes=classes.closed)
    numbers, live = classes.renumbered, state.live
    tasks = []
    if state.tasks:
        former = class_pairs(numbers.size)
        known = {
            (int(numbers[first]), int(numbers[second])): task
            for (first, second), task in zip(former, state.tasks, strict=True)
        }
        tasks = [_of_pair(pair, known) for pair in class_pairs(classes.labels.size)]
    return replace(
        state,
        live=replace(live, targets=numbers[live.targets]),
        tasks=tasks,
        closed_classes=classes.closed,
    )


def _of_pair(
    pair: tuple[int, int], known: dict[tuple[int, int], TaskState]
) -> TaskState:
    """Return what is known of a pair; of two classes alone the second is positive."""
    first, second = pair
    if pair in known:
        return known[pair]
    if (second, first) in known:
        return known[second, first].flipped()
    return TaskState.unsolved()
