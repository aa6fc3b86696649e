"""Class pairs inside one cluster."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from widemargin.engine.problem import hinge_terms
from widemargin.estimators.base.multiclass import class_pairs, pair_members
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
        Settings of the whole model.

    Returns
    -------
    numbers : list of int
        Which pairs of :func:`widemargin.estimators.base.multiclass.class_pairs` are
        there.
    parts : list of Part
        Their problems.
    """
    numbers, parts = [], []
    for number, pair in enumerate(class_pairs(n_classes)):
        rows = pair_members(codes, pair)
        if len(rows) == 0:
            continue
        signs = np.where(codes[rows] == pair[0], 1.0, -1.0)
        numbers.append(number)
        parts.append(Part(rows, *hinge_terms(signs, costs[rows], fit_intercept)))
    return numbers, parts
