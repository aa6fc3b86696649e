"""What a model keeps to be updated: its rows, and the solutions they lead to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from widemargin.engine.kernels import Kernel, make_kernel, numeric_gamma

from .live_rows import LiveRows
from .task_state import TaskState


@dataclass(frozen=True, eq=False)
class UpdateState:
    """Rows, solutions of all tasks, and what must not change meanwhile.

    Attributes
    ----------
    live : LiveRows
        The rows the model stands on.
    tasks : list of TaskState
        One a pair of classes or output; none before the first chunk and without rows.
    next_id : int
        Number of the next row that is given no id.
    named_ids : bool
        Whether rows are given ids.
    kernel : Kernel
        Of the first fit; an estimated gamma is kept.
    gamma : float or str
        The parameter at the first fit.
    fit_intercept : bool
        The parameter at the first fit.
    """

    live: LiveRows
    tasks: list[TaskState]
    next_id: int
    named_ids: bool
    kernel: Kernel
    gamma: float | str
    fit_intercept: bool

    def has_kernel_of(self, estimator: Any) -> bool:
        """Whether kernel and intercept of an estimator are those of the first fit.

        An estimated gamma stands as long as the word does: chunks do not move it.
        """
        estimated = isinstance(estimator.gamma, str)
        if estimated and estimator.gamma != self.gamma:
            return False
        gamma = numeric_gamma(self.kernel) if estimated else estimator.gamma
        kernel = make_kernel(
            estimator.kernel,
            gamma=gamma,
            degree=estimator.degree,
            coef0=estimator.coef0,
        )
        same = estimator.fit_intercept == self.fit_intercept
        return bool(kernel == self.kernel and same)


def no_rows(like: LiveRows) -> LiveRows:
    """Return the rows of a model that has none yet, in the form of those to come."""
    return like.kept(np.empty(0, dtype=np.intp))
