"""Objective and gap of regressors and one-class models, recomputed in float64.

Problem::

    minimise 1/2 beta' K beta - linear' beta + kink |beta|_1
    subject to lower <= beta <= upper [, sum(beta) = total]

Like :mod:`widemargin_papers.harness.objective` it shares no code with the package: what
every contestant's answer, ours included, is judged by.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from widemargin_papers.harness.contestants import Settings
from widemargin_papers.harness.objective import Judgement, KernelChoice, kernel_times

Vector = NDArray[np.float64]


@dataclass(frozen=True)
class Terms:
    """The dual problem of one output; bounds are the same for every sample."""

    linear: Vector
    lower: float
    upper: float
    total: float
    kink: float = 0.0


def terms_of(settings: Settings, y: Vector) -> list[Terms]:
    """Return the problems that an estimator's settings stand for, one per output."""
    C, n = settings.C, len(y)
    if settings.estimator == "SVR":
        return [Terms(y, -C, C, 0.0, settings.epsilon)]
    if settings.estimator == "OneClassSVM":
        return [Terms(np.zeros(n), 0.0, 1.0, settings.nu * n)]
    if settings.estimator == "QuantileSVR":
        return [Terms(y, C * (q - 1.0), C * q, 0.0) for q in settings.levels]
    return []


def judge_expansion(
    choice: KernelChoice, X: Any, terms: Terms, beta: Vector
) -> Judgement:
    """Judge one output: primal value at the best intercept, dual value, gap."""
    inside = feasible(beta, terms)
    values = kernel_times(choice, X, inside)
    quadratic = 0.5 * float(inside @ values)
    residual = terms.linear - values
    b = best_intercept(residual, terms)
    objective = quadratic + loss(residual - b, terms) + terms.total * b
    bound = float(terms.linear @ inside - terms.kink * np.abs(inside).sum()) - quadratic
    moved = float(np.abs(inside - beta).max(initial=0.0))
    return Judgement(objective, bound, objective - bound, moved)


def loss(residual: Vector, terms: Terms) -> float:
    """Return the sum of losses beyond the tube."""
    above = terms.upper * (residual - terms.kink)
    below = terms.lower * (residual + terms.kink)
    return float(np.maximum(np.maximum(above, below), 0.0).sum())


def best_intercept(residual: Vector, terms: Terms) -> float:
    """Return the least b at which the slope of the loss in b is no longer negative.

    Every sample bends it at ``residual - kink`` by upper and at ``residual + kink`` by
    minus lower; at -infinity the slope is total minus the sum of the upper bounds.
    """
    bends = np.concatenate([residual - terms.kink, residual + terms.kink])
    masses = np.repeat([terms.upper, -terms.lower], len(residual))
    order = np.argsort(bends, kind="stable")
    slope = terms.total - terms.upper * len(residual) + np.cumsum(masses[order])
    at = int(np.searchsorted(slope, -1e-12 * masses.sum()))
    return float(bends[order[min(at, len(order) - 1)]])


def feasible(beta: Vector, terms: Terms) -> Vector:
    """Put an answer inside its box, and its sum right by members that have room."""
    inside: Vector = np.clip(beta, terms.lower, terms.upper)
    missing = terms.total - inside.sum()
    end = terms.upper if missing > 0 else terms.lower
    room = np.where(inside != 0.0, np.abs(end - inside), 0.0)
    if room.sum() > 0:
        inside = inside + missing * room / room.sum()
    return inside
