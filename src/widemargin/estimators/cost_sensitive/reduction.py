r"""Costs of several classes, as pairs of classes: cost-sensitive one-versus-one.

Lin (2014), *Reduction from cost-sensitive multiclass classification to one-versus-one
binary classification*. Let :math:`c_{nk}` be the cost of answering class k for sample
n. The pair (i, j) is trained on all samples whose two costs differ: sample n speaks for
the cheaper answer, with weight :math:`|c_{ni} - c_{nj}|`; the pairs vote. The cost of
the vote is at most twice the sum of the weighted errors of the pairs. A sample of a
third class thus says which of two wrong answers is the lesser evil, which weights made
of the classes of the pair alone cannot: they ignore every matrix that is symmetric.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from widemargin.estimators.base.multiclass import PairSamples

from .prices import as_numbers

Vector = NDArray[np.float64]
Indices = NDArray[np.intp]


def cost_samples(cost_of_first: Vector, cost_of_second: Vector) -> PairSamples:
    """Return what a pair of classes is trained on.

    Where no sample's costs differ, all of them take part with weight 0: the pair then
    answers its first class, as a tie does.

    Parameters
    ----------
    cost_of_first, cost_of_second : ndarray of shape (n_samples,)
        What it costs to answer the class of the sign +1, and that of -1.
    """
    gain = cost_of_second - cost_of_first
    rows = np.flatnonzero(gain)
    if rows.size == 0:
        return PairSamples(np.arange(gain.size), np.ones(gain.size), gain)
    return PairSamples(rows, np.sign(gain[rows]), np.abs(gain[rows]))


def in_units_of_the_least(matrix: Vector) -> Vector:
    """Return a cost matrix in units of its least cost that is not 0.

    No mistake is then priced below what C alone asks for it, and a matrix of zeros and
    ones is :class:`SVC`. The unit depends on no sample, so that rows come and go
    without it.
    """
    return np.asarray(matrix / matrix[matrix > 0].min())


def check_sample_costs(
    sample_costs: ArrayLike,
    n_given: int,
    rows: Indices,
    labels: Indices,
    classes: NDArray[Any],
) -> Vector:
    """Return checked costs of every answer, a row for each sample.

    Parameters
    ----------
    sample_costs : array of shape (n_given, n_classes)
        What was given.
    n_given : int
        Rows of X.
    rows, labels : ndarray
        The rows that have weight, and their class numbers.
    classes : ndarray
        Sorted labels.
    """
    costs = as_numbers("sample_costs", sample_costs)
    if costs.shape != (n_given, classes.size):
        raise ValueError(
            f"sample_costs has shape {costs.shape}; {n_given} rows and the classes "
            f"{classes.tolist()} need ({n_given}, {classes.size}), entry [n, k] the "
            "cost of predicting class k for row n."
        )
    costs = costs[rows]
    if not (np.isfinite(costs).all() and (costs >= 0).all()):
        raise ValueError(
            "sample_costs must be finite and >= 0; only differences within a row "
            "count, so add a constant to a row with gains."
        )
    own = costs[np.arange(labels.size), labels]
    wrong = np.flatnonzero(own > costs.min(axis=1))
    if wrong.size:
        raise ValueError(
            f"sample_costs of {wrong.size} rows, the first of them {rows[wrong[0]]}, "
            "price the row's own label above another: are the columns in the order of "
            "the sorted labels? If the costs are meant, the label is the cheapest "
            "answer: y = labels[sample_costs.argmin(axis=1)]."
        )
    return costs
