"""Safe screening: fix the samples whose optimal value is already certain.

For ``min 1/2 beta'K beta - linear'beta`` over a box, with or without
``sum(beta) = total``, any feasible ``beta`` with duality gap ``G`` confines the
optimal ``w*`` to the ball ``||w - w*|| <= sqrt(G)`` (Lemma A). A sample whose
gradient keeps its sign for every ``w`` in that ball and every intercept that could
be optimal there sits at a known bound in **every** solution; it can leave the problem.

The problem is not strongly convex in the intercept, so there is no ball around
``(w, b)``, and rules that assume one decide wrongly. What holds is monotonicity: the
optimal intercept is a weighted quantile of ``targets = linear - K beta``, so bounds on
the targets bound the intercept. Everything here is a pure function of arrays but
:func:`screen`, which also asks the Gram matrix for its diagonal and, where that is
cheap, for rows.

The kernel must be positive semi-definite; with an indefinite one there is no ball.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from widemargin.numerics.products import inner, times

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from widemargin.engine.gram import Gram
    from widemargin.engine.problem import DualProblem

    Vector = NDArray[np.float64]
    Mask = NDArray[np.bool_]
    Distances = Callable[[NDArray[np.intp]], NDArray[np.float64]]

RELATIVE_GUARD = 1e-10  # guard on every comparison, as a share of max|targets|
RELATIVE_MASS_GUARD = 1e-9  # guard on quantiles, as a share of the box widths
RANK_RULE_LIMIT = 2000  # samples: beyond, the interval rule alone (rank reads n rows)


@dataclass(frozen=True)
class Screened:
    """Which samples are decided, and the gap that decided them."""

    at_lower: Mask
    at_upper: Mask
    gap: float

    @property
    def active(self) -> Mask:
        """The samples still undecided."""
        mask: Mask = ~(self.at_lower | self.at_upper)
        return mask

    @property
    def share(self) -> float:
        """The share of samples decided."""
        return 1.0 - float(np.mean(self.active)) if self.active.size else 0.0


def inflated_gap(
    beta: Vector, residual: Vector, lower: Vector, upper: Vector, error: float | Vector
) -> float:
    """Return an upper bound of the duality gap when residuals are known to `error`.

    The stable form (mathematics 0.1), every residual at its worst within ``error``;
    with ``error = 0`` it is the gap itself. Samples at the bound their sign asks for
    contribute nothing as long as they are further than ``error`` from the margin.
    """
    above = np.maximum(residual + error, 0.0)
    below = np.maximum(error - residual, 0.0)
    return inner(upper - beta, above) + inner(beta - lower, below)


def free_masses(lower: Vector, upper: Vector, total: float) -> tuple[float, float]:
    """Return the mass that must lie below and above the intercept (0.2: W, Wtot-W)."""
    return float(upper.sum() - total), float(total - lower.sum())


def intercept_bounds(
    targets: Vector, width: Vector, below: float
) -> tuple[float, float]:
    """Return the ends of the optimal intercepts (0.2), rounded outwards.

    As :func:`widemargin.engine.intercept.intercept_interval`, but a quantile that is
    reached only up to rounding does not slip to the next target on the unsafe side.
    """
    slack = RELATIVE_MASS_GUARD * float(width.sum())
    if slack == 0.0:  # no box has any width, and no intercept is better than another
        return float(targets.min()), float(targets.max())
    most = len(targets) - 1
    if width.min() == width.max():  # equal costs: an order statistic, without sorting
        first = max(int(np.ceil((below - slack) / width[0])) - 1, 0)
        last = min(int(np.floor((below + slack) / width[0])), most)
        ordered = np.partition(targets, (min(first, most), max(last, 0)))
    else:
        order = np.argsort(targets)
        ordered = targets[order]
        mass = np.cumsum(width[order])
        first = max(int(np.searchsorted(mass, below - slack, side="left")), 0)
        last = min(int(np.searchsorted(mass, below + slack, side="right")), most)
    return float(ordered[first]), float(ordered[last])


def bounded(below: float, above: float) -> bool:
    """Whether these masses bound the intercept on both sides (0.2)."""
    return min(below, above) > RELATIVE_MASS_GUARD * (below + above)


def interval_rule(
    targets: Vector,
    radii: Vector,
    lower: Vector,
    upper: Vector,
    total: float,
) -> tuple[Mask, Mask]:
    """Decide samples from an interval for every target, in O(n log n).

    ``targets_i`` is known to lie within ``radii_i`` of its optimal value. Quantiles
    are monotone, so the optimal intercept is at least the left quantile of the lowest
    targets and at most the right quantile of the highest; a sample whose own interval
    lies outside is decided (mathematics 5.3).

    Returns
    -------
    at_lower, at_upper : masks
    """
    below, above = free_masses(lower, upper, total)
    if not bounded(below, above):
        nothing = np.zeros(targets.shape, dtype=bool)
        return nothing, nothing.copy()
    width = upper - lower
    if radii.min() == radii.max():  # a common shift moves a quantile by as much
        left, right = intercept_bounds(targets, width, below)
        left, right = left - radii[0], right + radii[0]
    else:
        left, _ = intercept_bounds(targets - radii, width, below)
        _, right = intercept_bounds(targets + radii, width, below)
    return targets + radii < left, targets - radii > right


def rank_rule(
    targets: Vector,
    candidates: NDArray[np.intp],
    reach: NDArray[np.float64],
    lower: Vector,
    upper: Vector,
    total: float,
) -> tuple[Mask, Mask]:
    """Decide `candidates` by the order of the targets, which needs distances.

    ``reach[i, j]`` bounds the change of ``targets_j - targets_candidates[i]``: the
    radius times the distance of the two samples in feature space. If the samples
    that certainly stay above ``i`` carry more mass than may lie above the intercept,
    the intercept is above ``i`` too (mathematics 5.3). Decides at least what the
    interval rule decides, apart from the guards.

    Returns
    -------
    at_lower, at_upper : masks over `candidates`
    """
    below, above = free_masses(lower, upper, total)
    if not bounded(below, above):
        nothing = np.zeros(candidates.shape, dtype=bool)
        return nothing, nothing.copy()
    width = upper - lower
    slack = RELATIVE_MASS_GUARD * float(width.sum())
    ahead = targets[None, :] - targets[candidates, None]
    at_lower = times(ahead > reach, width) > above + slack
    at_upper = times(-ahead > reach, width) > below + slack
    return at_lower, at_upper


def ball_rule(gradient: Vector, radii: Vector) -> tuple[Mask, Mask]:
    """Decide samples of a problem without intercept: the gradient keeps its sign."""
    return gradient > radii, gradient < -radii


def decide(
    targets: Vector,
    beta: Vector,
    lower: Vector,
    upper: Vector,
    total: float | None,
    diagonal: Vector,
    *,
    error: float | Vector = 0.0,
    distances: Distances | None = None,
    largest_gap: float = np.inf,
) -> Screened:
    """Decide samples of any problem from its arrays alone.

    Parameters
    ----------
    targets : array of shape (n,)
        ``linear - K beta``, off by at most `error` in any entry. In a reduced problem
        the pull of the fixed samples is part of it.
    beta : array of shape (n,)
        A feasible point: box and sum exact up to rounding.
    lower, upper, total
        The box and the sum; ``total=None`` without an intercept.
    diagonal : array of shape (n,)
        ``K_ii``.
    error : float or array of shape (n,)
        Bound of what is wrong with `targets`, beyond the rounding of float64, which the
        guards cover.
    distances : callable, optional
        Returns the feature-space distances of given samples to all; asks for the rank
        rule after the interval rule.
    largest_gap : float
        With a larger gap than this no rule is tried.

    Returns
    -------
    Screened
    """
    guard = RELATIVE_GUARD * float(np.max(np.abs(targets), initial=0.0)) + error
    left = right = 0.0
    if total is not None:
        below, _ = free_masses(lower, upper, total)
        left, right = intercept_bounds(targets, upper - lower, below)
    intercept = 0.5 * (left + right)
    gap = inflated_gap(beta, targets - intercept, lower, upper, error)
    if total is not None:
        # A sum off by rounding moves the dual value by the intercept times the error.
        gap += abs(float(beta.sum()) - total) * abs(intercept)
    if gap > largest_gap:
        return Screened(np.zeros(beta.shape, bool), np.zeros(beta.shape, bool), gap)
    radius = float(np.sqrt(gap))
    radii = radius * np.sqrt(diagonal) + guard
    if total is None:
        at_lower, at_upper = ball_rule(-targets, radii)
    else:
        at_lower, at_upper = interval_rule(targets, radii, lower, upper, total)
    if total is not None and distances is not None:
        outside = (targets < left) | (targets > right)
        unsure = np.flatnonzero(outside & ~at_lower & ~at_upper & (upper > lower))
        if unsure.size:
            every = np.broadcast_to(guard, targets.shape)
            reach = radius * distances(unsure) + every[unsure, None] + every[None, :]
            low, high = rank_rule(targets, unsure, reach, lower, upper, total)
            at_lower[unsure[low]] = True
            at_upper[unsure[high]] = True
    at_lower |= upper <= lower  # a box without width is decided from the start
    at_upper &= ~at_lower
    return Screened(at_lower, at_upper, gap)


def screen(
    problem: DualProblem,
    beta: Vector,
    values: Vector,
    *,
    rank: bool | None = None,
    error: float = 0.0,
) -> Screened:
    """Decide the samples that are at a bound in every solution of `problem`.

    Parameters
    ----------
    problem : DualProblem
        With a positive semi-definite kernel.
    beta : array of shape (n,)
        Any feasible point.
    values : array of shape (n,)
        ``K beta``, off by at most `error` in any entry.
    rank : bool, optional
        Whether to follow the interval rule by the rank rule, which reads kernel rows.
        By default where ``n`` is at most 2000.
    error : float
        See :func:`decide`.
    """
    if rank is None:
        rank = problem.n <= RANK_RULE_LIMIT
    return decide(
        problem.linear - values,
        beta,
        problem.lower,
        problem.upper,
        problem.total,
        problem.gram.diagonal(),
        error=error,
        distances=distances_within(problem.gram) if rank else None,
    )


def distances_within(
    gram: Gram, members: NDArray[np.integer[Any]] | None = None
) -> Distances:
    """Return a function from samples to their feature-space distances to all members.

    Samples are named by their place among `members` (default: all of `gram`).
    """
    whole = np.arange(gram.n) if members is None else members
    diagonal = gram.diagonal()[whole]

    def distances(places: NDArray[np.intp]) -> NDArray[np.float64]:
        products = gram.rows(whole[places], columns=members)
        squared = diagonal[places, None] + diagonal[None, :] - 2.0 * products
        return np.sqrt(np.maximum(squared, 0.0))

    return distances
