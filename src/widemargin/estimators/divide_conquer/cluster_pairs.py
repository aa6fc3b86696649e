"""Class pairs inside one cluster."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from widemargin.estimators.base.multiclass import class_pairs
from widemargin.multilevel.level import Part

Vector = NDArray[np.float64]


def pair_parts(
    codes: NDArray[np.integer], costs: Vector, n_classes: int, fit_intercept: bool
) -> tuple[list[int], list[Part]]:
    """One-vs-one problems of a cluster: C-SVC of every pair with a sample in it.

    Parameters
    ----------
    codes : array of shape (n,)
        Class of each sample, 0 to ``n_classes - 1``.
    costs : array of shape (n,)
        C of each sample.
    n_classes, fit_intercept : int, bool
        Of the whole model.

    Returns
    -------
    numbers : list of int
        Which pairs of :func:`widemargin.estimators.base.multiclass.class_pairs` are
        there.
    parts : list of Part
        Their problems.
    """
    numbers, parts = [], []
    for number, (positive, negative) in enumerate(class_pairs(n_classes)):
        rows = np.flatnonzero((codes == positive) | (codes == negative))
        if len(rows) == 0:
            continue
        signs = np.where(codes[rows] == positive, 1.0, -1.0)
        ends = signs * costs[rows]
        numbers.append(number)
        parts.append(
            Part(
                None if len(rows) == len(codes) else rows,
                signs,
                np.minimum(ends, 0.0),
                np.maximum(ends, 0.0),
                0.0 if fit_intercept else None,
            )
        )
    return numbers, parts
