"""Where the procedure starts: the samples that models of other samples get wrong.

A flexible model bends around a mislabelled sample that it is fitted to, so that the
margin of the sample tells nothing; its margin under a model of other samples does. The
concave-convex procedure starts with all those clipped that cross-validation gets wrong,
at ``C`` or a part of it, whichever gets the fewest wrong, and releases the ones that
the model without them does not put below ``s``
(mathematics 5.5).
"""

from __future__ import annotations

from math import fsum
from typing import TYPE_CHECKING

import numpy as np

from widemargin.engine.kernels import CallableKernel, Precomputed
from widemargin.estimators.base.row_folds import held_out

from .continuation import CONTINUATION, FEW, priced, sample

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .concave_convex import RampProblem
    from .continuation import Plan

    Vector = NDArray[np.float64]
    Mask = NDArray[np.bool_]


def out_of_fold(ramp: RampProblem, plan: Plan) -> Mask | None:
    """Return the samples to clip at the start; None where a solve was stopped.

    A large ``C`` bends the models of the other folds round their own wrong labels, so
    that they misjudge right ones: the costs are divided by ten as long as fewer are
    judged wrong. A class of which most would be clipped keeps all its samples: models
    without them have not found that class.
    """
    part = sample(ramp, plan.seed)
    best = held_out_margins(part, plan)
    if best is None:
        return None
    share = 1.0
    for smaller in reversed(CONTINUATION):
        margins = held_out_margins(priced(part, smaller), plan)
        if margins is None:
            return None
        if balanced_error(part, margins) >= balanced_error(part, best):
            break
        best, share = margins, smaller
    if part is not ramp:
        best = held_out_margins(priced(ramp, share), plan)
        if best is None:
            return None
    doubtful: Mask = best < 0.0
    while (lost := ramp.lost_side(doubtful)) != 0.0:
        doubtful &= ramp.y != lost
    return doubtful


def balanced_error(ramp: RampProblem, margins: Vector) -> float:
    """Return the share that is on the wrong side, by cost: the sum of both classes."""
    wrong = np.where(margins < 0.0, ramp.costs, 0.0)
    sides = (ramp.y > 0.0, ramp.y < 0.0)
    return fsum(fsum(wrong[own]) / fsum(ramp.costs[own]) for own in sides if own.any())


def held_out_margins(ramp: RampProblem, plan: Plan) -> Vector | None:
    """Return the margin of each sample under an SVM of the other folds.

    Infinite where the other folds have one class only. The folds depend on the samples
    alone, so that a row given twice counts as one of weight two; the solves are exact
    where rows are few, as loose ones differ with the order of the rows.
    """
    solver = plan.solver if ramp.gram.n <= FEW else plan.rough
    numbers = not isinstance(ramp.gram.kernel, CallableKernel | Precomputed)
    margins = np.full(ramp.gram.n, np.inf)
    samples = ramp.gram.samples if numbers else None
    for fitted, held in held_out(samples, ramp.y, enough=np.inf):
        part = ramp.subset(fitted)
        if abs(part.y.sum()) == part.y.size:
            continue
        solution = solver(part.convex(np.zeros(part.gram.n, bool)), None)
        figures = {
            "stage": "fold",
            "objective": part.objective(solution),
            "clipped": part.clips(solution),
        }
        plan.record(figures, solution)
        if solution.status.stopped:
            return None
        beta = np.zeros(ramp.gram.n)
        beta[fitted] = solution.beta
        values = ramp.gram.times(beta, held)
        margins[held] = ramp.y[held] * (values + solution.intercept)
    return margins
