"""The prices of every pair of classes, from what a user states."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from widemargin.estimators.base.multiclass import class_pairs

from .costs import PairCosts, check_costs

Vector = NDArray[np.float64]


class StatedCosts(Protocol):
    """The parameters of an estimator that price mistakes."""

    cost_positive: float
    cost_negative: float
    cost_matrix: Any
    pos_label: Any


def price_pairs(
    stated: StatedCosts, classes: NDArray[Any], *, by_row: bool
) -> list[PairCosts]:
    """Return C+ and C- of every pair of classes, in pair order.

    Parameters
    ----------
    stated : object with the parameters of :class:`StatedCosts`
        The estimator.
    classes : ndarray
        Sorted labels.
    by_row : bool
        Whether rows come with costs of their own, and nothing else may be stated.
    """
    pairs = class_pairs(classes.size)
    if by_row:
        _refuse_other_costs(stated)
        return [PairCosts(pair, 1, 1.0, 1.0) for pair in pairs]
    if stated.cost_matrix is not None:
        matrix = _checked_matrix(stated, classes.size)
        price = costs_of_pair if classes.size == 2 else margins_of_pair
        return [
            price(matrix, negative, positive, stated.cost_negative)
            for positive, negative in pairs
        ]
    check_costs(stated.cost_positive, stated.cost_negative)
    costly = _costly_class(stated, classes)
    prices = (float(stated.cost_positive), float(stated.cost_negative))
    return [
        PairCosts(
            (positive, negative),
            1 if costly in (-1, positive) else -1,
            *(prices if costly in (positive, negative) else (1.0, 1.0)),
        )
        for positive, negative in pairs
    ]


def _refuse_other_costs(stated: StatedCosts) -> None:
    neutral = stated.cost_positive == stated.cost_negative == 1.0
    if stated.cost_matrix is not None or stated.pos_label is not None or not neutral:
        raise ValueError(
            "sample_costs says what every answer costs; leave cost_matrix, "
            "cost_positive, cost_negative and pos_label at their defaults."
        )


def _checked_matrix(stated: StatedCosts, n_classes: int) -> Vector:
    if stated.cost_positive != 1.0 or stated.pos_label is not None:
        raise ValueError(
            "cost_matrix says which class is costly and by how much; leave "
            "cost_positive and pos_label at their defaults."
        )
    matrix = check_cost_matrix(stated.cost_matrix, n_classes)
    check_costs(2 * stated.cost_negative, stated.cost_negative)
    return matrix


def _costly_class(stated: StatedCosts, classes: NDArray[Any]) -> int:
    """Return the number of the class that is costly to miss; -1 for none."""
    if stated.pos_label is not None:
        found = np.flatnonzero(classes == stated.pos_label)
        if found.size != 1:  # none, or a list of them
            raise ValueError(
                f"pos_label={stated.pos_label!r} is not one of the classes "
                f"{classes.tolist()}."
            )
        return int(found[0])
    if classes.size == 2:
        return 1
    if stated.cost_positive != 1.0 or stated.cost_negative != 1.0:
        raise ValueError(
            f"cost_positive and cost_negative need to know which of the "
            f"{classes.size} classes is costly to miss: give pos_label or, for a "
            "price of every mistake, cost_matrix."
        )
    return -1


def as_numbers(name: str, costs: ArrayLike) -> Vector:
    """Return costs as an array; a ValueError names what is no table of numbers."""
    try:
        return np.asarray(costs, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"{name} must be a dense table of numbers, rows of equal length ({error}): "
            "give a NumPy array, of a sparse matrix its toarray()."
        ) from None


def check_cost_matrix(cost_matrix: ArrayLike, n_classes: int) -> Vector:
    """Return the cost matrix as an array; a ValueError names what is wrong."""
    matrix = as_numbers("cost_matrix", cost_matrix)
    if matrix.shape != (n_classes, n_classes):
        raise ValueError(
            f"cost_matrix has shape {matrix.shape}; {n_classes} classes need "
            f"({n_classes}, {n_classes}), entry [i, j] the cost of predicting class j "
            "for a sample of class i, in the order of classes_."
        )
    off_diagonal = matrix[~np.eye(n_classes, dtype=bool)]
    if not np.isfinite(matrix).all() or (off_diagonal < 0).any():
        raise ValueError(
            "cost_matrix must be finite, with no cost off the diagonal below 0."
        )
    if np.diagonal(matrix).any():
        raise ValueError(
            "cost_matrix must be 0 on the diagonal: subtract the cost of a right "
            "answer from each row."
        )
    if not (off_diagonal.any() if n_classes > 2 else off_diagonal.all()):
        raise ValueError(
            "cost_matrix has no cost off the diagonal > 0: every answer is right."
            if n_classes > 2
            else "cost_matrix of two classes must have both costs off the diagonal > 0:"
            " where one mistake is free, the other answer is always right."
        )
    return matrix


def costs_of_pair(
    matrix: Vector, negative: int, positive: int, cost_negative: float
) -> PairCosts:
    """Price a pair of classes: the one costlier to miss is positive.

    With C- given, C+ = (2 C- - 1) c_max / c_min makes the two losses differ by the
    ratio of the two costs. C is the price of their geometric mean: were it that of the
    cheap mistake, the rows of a class a hundred times as costly would be fitted so
    closely that one answer for all can be cheaper. ``negative`` and ``positive`` are
    the classes of sign -1 and +1.
    """
    miss_of_plus, miss_of_minus = matrix[positive, negative], matrix[negative, positive]
    costly, cheap = max(miss_of_plus, miss_of_minus), min(miss_of_plus, miss_of_minus)
    return PairCosts(
        pair=(positive, negative),
        positive=1 if miss_of_plus >= miss_of_minus else -1,
        cost_positive=(2 * cost_negative - 1) * float(costly / cheap),
        cost_negative=cost_negative,
        unit=float(np.sqrt(costly / cheap)),
    )


def margins_of_pair(
    matrix: Vector, negative: int, positive: int, cost_negative: float
) -> PairCosts:
    """Return which class of a pair has its margin moved, where rows carry the prices.

    That is the one cheaper to miss. C+ = 2 C- - 1 leaves the ratio of the classes to
    the weights of the rows (:mod:`widemargin.estimators.cost_sensitive.reduction`).
    """
    miss_of_plus, miss_of_minus = matrix[positive, negative], matrix[negative, positive]
    return PairCosts(
        pair=(positive, negative),
        positive=1 if miss_of_plus >= miss_of_minus else -1,
        cost_positive=2 * cost_negative - 1,
        cost_negative=cost_negative,
    )
