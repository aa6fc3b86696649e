"""The leave-one-out error of a two-class model, by exact removals."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import Any

import numpy as np


class Outdated(Exception):
    """The points have changed: the answer is not wanted any more."""


def leave_one_out_error(
    model: Any, X: Any, labels: Any, outdated: Callable[[], bool]
) -> float:
    """Return the share of samples that a model fitted without them gets wrong.

    Only support vectors that are right have to be removed and asked again: without a
    sample that is no support vector the model stays as it is, and a sample that is
    wrong stays wrong, since its loss cannot fall when it is left out.

    Parameters
    ----------
    model : IncrementalClassifier
        Of the classes -1 and 1, with its rows kept; it is not changed.
    X, labels : ndarray
        Those rows, in its order, and their classes.
    outdated : callable
        Whether to give up: `Outdated` is raised.
    """
    right = model.predict(X) == labels
    wrong = int(np.count_nonzero(~right))
    for row in np.intersect1d(model.support_, np.flatnonzero(right)):
        if outdated():
            raise Outdated
        without = copy(model).forget([model.ids_[row]])
        wrong += int(without.predict(X[[row]])[0] != labels[row])
    return wrong / len(labels)
