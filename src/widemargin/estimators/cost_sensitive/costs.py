r"""Costs of mistakes, as boxes of the one dual problem.

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

import numpy as np
from numpy.typing import ArrayLike, NDArray

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
    unit : float
        What C is divided by: a cost matrix of two classes has a unit of its own.
    """

    pair: tuple[int, int]
    positive: int
    cost_positive: float
    cost_negative: float
    unit: float = 1.0


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
    own = np.where(costly, prices.cost_positive, weight) / prices.unit
    ends = signs * np.asarray(costs) * own
    return DualProblem(
        gram,
        signs * np.where(costly, 1.0, 1.0 / weight),
        np.minimum(ends, 0.0),
        np.maximum(ends, 0.0),
        0.0 if fit_intercept else None,
    )
