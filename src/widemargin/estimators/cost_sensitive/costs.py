r"""Costs of mistakes, as boxes of the one dual problem, and as a score.

The cost-sensitive hinge loss (Masnadi-Shirazi and Vasconcelos 2010; Gu et al. 2018,
eq. 2) with prices :math:`C_+` and :math:`C_-` minimises

.. math:: \tfrac12\|w\|^2 + C\Big[C_+\sum_{+}(1-F)_+
          + (2C_--1)\sum_{-}\big(\tfrac{1}{2C_--1}+F\big)_+\Big].

Its dual is the common problem with other numbers (mathematics 0): a positive
sample has linear term 1 and box :math:`[0, C C_+]`, a negative one linear term
:math:`-1/(2C_--1)` and box :math:`[-C(2C_--1), 0]`. At :math:`C_+ = C_- = 1` that is
the plain SVM, at :math:`C_- = 1` the SVM with two costs.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.metrics import make_scorer

from widemargin.engine.gram import Gram
from widemargin.engine.problem import DualProblem

Vector = NDArray[np.float64]


@dataclass(frozen=True)
class PairCosts:
    """Prices of one pair of classes.

    Attributes
    ----------
    pair : tuple of int
        Class numbers of the signs +1 and -1.
    positive : int
        +1 or -1: which of the two signs is the class that is costly to miss.
    cost_positive, cost_negative : float
        C+ and C- of the loss.
    """

    pair: tuple[int, int]
    positive: int
    cost_positive: float
    cost_negative: float


def check_costs(cost_positive: float, cost_negative: float) -> None:
    """Refuse prices without a meaning, warn about those outside the paper's regime."""
    if not cost_negative > 0.5:
        raise ValueError(
            f"cost_negative={cost_negative} gives negative samples the weight "
            "2 * cost_negative - 1 <= 0; choose cost_negative > 0.5 (1 is neutral)."
        )
    if not cost_positive > 0:
        raise ValueError(
            f"cost_positive={cost_positive} would make mistakes on the positive class "
            "free or rewarded; choose cost_positive > 0 (1 is neutral)."
        )
    weight = 2 * cost_negative - 1
    if cost_negative < 1:
        warnings.warn(
            f"cost_negative={cost_negative} < 1 is outside the regime of the "
            "cost-sensitive hinge loss: it moves the negative margin out to "
            f"{1 / weight:.6g} instead of in. The problem is still convex and solved "
            "exactly; cost_negative >= 1 is the intended range.",
            UserWarning,
            stacklevel=3,
        )
    if cost_positive < weight:
        warnings.warn(
            f"cost_positive={cost_positive} < 2 * cost_negative - 1 = {weight:.6g} "
            "prices mistakes on the negative class higher than misses of the positive "
            "one: the roles are reversed. The problem is still solved exactly; if the "
            "negative class is the costly one, swap the roles with pos_label.",
            UserWarning,
            stacklevel=3,
        )


def cost_problem(
    gram: Gram,
    signs: ArrayLike,
    costs: ArrayLike,
    prices: PairCosts,
    fit_intercept: bool = True,
) -> DualProblem:
    """Build the dual of the cost-sensitive hinge loss (paper, eqs. 3 to 5).

    Parameters
    ----------
    gram : Gram
        Samples and kernel.
    signs : array of +1 and -1
        Signed labels; ``prices.positive`` says which sign is costly to miss.
    costs : array
        C times the weight of each sample.
    prices : PairCosts
        C+ and C-.
    fit_intercept : bool
        False drops the equality constraint.
    """
    signs = np.asarray(signs, dtype=np.float64)
    costly = signs == prices.positive
    weight = 2 * prices.cost_negative - 1
    ends = signs * np.asarray(costs) * np.where(costly, prices.cost_positive, weight)
    return DualProblem(
        gram,
        signs * np.where(costly, 1.0, 1.0 / weight),
        np.minimum(ends, 0.0),
        np.maximum(ends, 0.0),
        0.0 if fit_intercept else None,
    )


def check_cost_matrix(cost_matrix: ArrayLike, n_classes: int) -> Vector:
    """Return the cost matrix as an array, or say what is wrong with it."""
    matrix = np.asarray(cost_matrix, dtype=np.float64)
    if matrix.shape != (n_classes, n_classes):
        raise ValueError(
            f"cost_matrix has shape {matrix.shape}; {n_classes} classes need "
            f"({n_classes}, {n_classes}), entry [i, j] the cost of predicting class j "
            "for a sample of class i, in the order of classes_."
        )
    off_diagonal = matrix[~np.eye(n_classes, dtype=bool)]
    if not np.isfinite(matrix).all() or (off_diagonal <= 0).any():
        raise ValueError(
            "cost_matrix must be finite, with every cost off the diagonal > 0."
        )
    if np.diagonal(matrix).any():
        raise ValueError(
            "cost_matrix must be 0 on the diagonal: subtract the cost of a right "
            "answer from each row."
        )
    return matrix


def costs_of_pair(
    matrix: Vector, negative: int, positive: int, cost_negative: float
) -> PairCosts:
    """Price a pair of classes: the one costlier to miss is positive.

    With C- given, C+ = (2 C- - 1) c_max / c_min makes the two losses differ by the
    ratio of the two costs. ``negative`` and ``positive`` are the classes of sign -1
    and +1.
    """
    miss_of_plus, miss_of_minus = matrix[positive, negative], matrix[negative, positive]
    costly, cheap = max(miss_of_plus, miss_of_minus), min(miss_of_plus, miss_of_minus)
    return PairCosts(
        pair=(positive, negative),
        positive=1 if miss_of_plus >= miss_of_minus else -1,
        cost_positive=(2 * cost_negative - 1) * float(costly / cheap),
        cost_negative=cost_negative,
    )


def total_cost(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    *,
    miss: float = 5.0,
    false_alarm: float = 1.0,
    pos_label: Any = None,
    cost_matrix: ArrayLike | None = None,
    labels: ArrayLike | None = None,
    sample_weight: Any = None,
) -> float:
    """Return the mean cost of predictions; see :func:`total_cost_scorer`."""
    truth, found = np.asarray(y_true), np.asarray(y_pred)
    seen = np.unique(np.concatenate([truth, found]))
    classes = seen if labels is None else np.asarray(labels)
    if not np.isin(seen, classes).all():
        raise ValueError(
            f"labels={classes.tolist()} lacks some of the classes {seen.tolist()}."
        )
    costs = _cost_table(classes, miss, false_alarm, pos_label, cost_matrix)
    order = np.argsort(classes)
    rows = order[np.searchsorted(classes, truth, sorter=order)]
    columns = order[np.searchsorted(classes, found, sorter=order)]
    return float(np.average(costs[rows, columns], weights=sample_weight))


def _cost_table(
    classes: NDArray[Any],
    miss: float,
    false_alarm: float,
    pos_label: Any,
    cost_matrix: ArrayLike | None,
) -> Vector:
    if cost_matrix is not None:
        return check_cost_matrix(cost_matrix, classes.size)
    if classes.size > 2:
        raise ValueError(
            f"miss and false_alarm price two classes, y has {classes.size}; give "
            "total_cost_scorer(cost_matrix=...) instead."
        )
    positive = np.sort(classes)[-1] if pos_label is None else pos_label
    if classes.size == 2 and positive not in classes:
        raise ValueError(f"pos_label={positive!r} is not one of {list(classes)}.")
    price = np.where(classes == positive, miss, false_alarm)
    return np.asarray(price[:, None] * ~np.eye(classes.size, dtype=bool))


def total_cost_scorer(
    miss: float = 5.0,
    false_alarm: float = 1.0,
    *,
    pos_label: Any = None,
    cost_matrix: ArrayLike | None = None,
    labels: ArrayLike | None = None,
) -> Any:
    """Make a scorer that charges each mistake its price in business terms.

    The score is minus the mean cost of a prediction, so that higher is better, as
    ``GridSearchCV`` and ``TunedThresholdClassifierCV`` expect.

    Parameters
    ----------
    miss : float
        Cost of predicting the negative class for a positive sample.
    false_alarm : float
        Cost of predicting the positive class for a negative sample.
    pos_label : label, default=None
        The class that is costly to miss; None takes ``classes_[1]``.
    cost_matrix : array of shape (n_classes, n_classes), default=None
        ``[i, j]``: cost of predicting class j for a sample of class i; replaces the
        three parameters above, for any number of classes.
    labels : array of shape (n_classes,), default=None
        The classes in the order of ``cost_matrix``; needed where a fold may lack one.

    Returns
    -------
    scorer : callable
        ``scorer(estimator, X, y)``, for ``GridSearchCV(scoring=...)``.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from widemargin import SVC, total_cost_scorer
    >>> X, y = make_classification(weights=[0.9], random_state=0)
    >>> scorer = total_cost_scorer(miss=5, false_alarm=1)
    >>> scorer(SVC().fit(X, y), X, y) <= 0
    True
    """
    if not (miss > 0 and false_alarm > 0):
        raise ValueError(
            f"miss={miss} and false_alarm={false_alarm} must both be > 0: a mistake "
            "that costs nothing is no mistake."
        )
    if cost_matrix is not None:
        if np.ndim(cost_matrix) != 2:
            raise ValueError(
                f"cost_matrix must have two axes, not {np.ndim(cost_matrix)}."
            )
        cost_matrix = check_cost_matrix(cost_matrix, np.shape(cost_matrix)[0])
    return make_scorer(
        total_cost,
        greater_is_better=False,
        miss=float(miss),
        false_alarm=float(false_alarm),
        pos_label=pos_label,
        cost_matrix=cost_matrix,
        labels=labels,
    )
