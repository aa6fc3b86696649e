"""What predictions cost: the mean, and a scorer of it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.metrics import make_scorer

from .prices import check_cost_matrix
from .reduction import check_sample_costs

Vector = NDArray[np.float64]


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
    sample_costs: ArrayLike | None = None,
) -> float:
    """Return the mean cost of predictions; see :func:`total_cost_scorer`."""
    truth, found = np.asarray(y_true), np.asarray(y_pred)
    seen = np.unique(np.concatenate([truth, found]))
    classes = seen if labels is None else np.asarray(labels)
    if not np.isin(seen, classes).all():
        raise ValueError(
            f"labels={classes.tolist()} lacks some of the classes {seen.tolist()}."
        )
    order = np.argsort(classes)
    rows = order[np.searchsorted(classes, truth, sorter=order)]
    columns = order[np.searchsorted(classes, found, sorter=order)]
    if sample_costs is not None:
        every = np.arange(truth.size)
        costs = check_sample_costs(sample_costs, truth.size, every, rows, classes)
        return float(np.average(costs[every, columns], weights=sample_weight))
    costs = _cost_table(classes, miss, false_alarm, pos_label, cost_matrix)
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

    Notes
    -----
    Costs that differ from row to row, as :class:`widemargin.CostSensitiveSVC` takes
    them in ``fit``, come as metadata: ``total_cost_scorer(labels=...)
    .set_score_request(sample_costs=True)``; they replace all parameters but ``labels``.

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
