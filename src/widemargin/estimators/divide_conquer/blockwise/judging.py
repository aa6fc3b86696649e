"""A pass over the blocks: which rows violate the margins of a model, provably.

Decision values are summed in float32, with a bound on their rounding; only rows that
the bound leaves on both sides of the margin are summed again in float64. So every pass
is a proof: what it finds is found, and the losses and slopes of all others are bounded.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from widemargin.engine.bounds import UNIT, sum_above, total_above
from widemargin.engine.gram import Gram
from widemargin.engine.kernels import Kernel
from widemargin.engine.verification import bounded_cross
from widemargin.estimators.base.multiclass import class_pairs
from widemargin.runtime.lazy import lazy_property

from .block_source import samples_of_block
from .gathered import Gathered

Vector = NDArray[np.float64]
Indices = NDArray[np.intp]


@dataclass(frozen=True, repr=False)
class Judge:
    """What a block needs to judge its rows.

    Attributes
    ----------
    kernel, classes, costs : Kernel, arrays
        The problem: labels, and the C of each.
    vectors, table, intercepts : arrays
        The model: support vectors, coefficients (a column per class pair), and the
        intercept of each pair.
    taken : array
        Numbers of the rows that are held already, ascending; they are not judged.
    goal, cushion, most : float, float, int
        A margin below `goal` is a violation; a block that has one hands out the rows
        below ``1 + cushion``, so that the next model finds few new ones: at most so
        many, the worst first.
    share, seed : float, int
        Only this share of the rows of each block is judged, drawn at random; a smaller
        share is a part of a larger one.
    threads : int
    """

    kernel: Kernel
    classes: NDArray[Any]
    costs: Vector
    vectors: Any
    table: Vector
    intercepts: Vector
    taken: Indices
    goal: float
    cushion: float
    most: int
    share: float
    seed: int
    threads: int

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what each process makes for itself: workers hand the rest on."""
        return {name: own for name, own in vars(self).items() if name != "supports"}

    @lazy_property
    def supports(self) -> list[tuple[Gram, Vector]]:
        """Support vectors and coefficients of each pair."""
        own = []
        for column in self.table.T:
            used = np.flatnonzero(column)
            if len(used) == 0:
                used = np.zeros(1, dtype=np.intp)  # a Gram matrix needs a row
            gram = Gram(
                self.vectors[used], self.kernel, cache_mb=1, threads=self.threads
            )
            own.append((gram, np.ascontiguousarray(column[used])))
        return own

    def values(self, pair: int, X: Any, dtype: Any) -> tuple[Vector, Vector]:
        """Return decision values of a pair without intercept, and their rounding."""
        gram, coefficients = self.supports[pair]
        values, errors = bounded_cross(gram, X, coefficients, dtype)
        size = np.abs(values) + abs(float(self.intercepts[pair])) + 1.0
        return values, errors + 4.0 * UNIT * size


@dataclass(frozen=True)
class Judged:
    """What a pass, or a block of it, found.

    Attributes
    ----------
    found : list of Gathered
        Rows to take in: violators, and those next to them.
    violators : int
    growth, fall, losses : arrays of shape (n_pairs,)
        Bounds on the steepest slopes (without intercept) and on the loss, times C, of
        the rows judged.
    entries : int
        Kernel entries evaluated.
    """

    found: list[Gathered]
    violators: int
    growth: Vector
    fall: Vector
    losses: Vector
    entries: int

    @classmethod
    def together(cls, parts: Sequence[Judged]) -> Judged:
        """Return what several blocks found."""
        return cls(
            [one for part in parts for one in part.found],
            sum(part.violators for part in parts),
            np.min([part.growth for part in parts], axis=0),
            np.max([part.fall for part in parts], axis=0),
            np.array(
                [
                    total_above(each)
                    for each in np.transpose([part.losses for part in parts])
                ]
            ),
            sum(part.entries for part in parts),
        )


def judge_block(X: Any, y: Any, w: Any, offset: int, judge: Judge) -> Judged:
    """Judge the rows of a block that are not held already."""
    X = samples_of_block(X)
    codes = np.searchsorted(judge.classes, np.asarray(y))
    cost = judge.costs[codes] * (1.0 if w is None else np.asarray(w, dtype=np.float64))
    judged = _drawn(len(codes), offset, judge.share, judge.seed)
    new = ~np.isin(offset + judged, judge.taken, assume_unique=True)
    judged = judged[new & (cost[judged] > 0.0)]
    n_pairs = len(judge.intercepts)
    growth, fall = np.full(n_pairs, np.inf), np.full(n_pairs, -np.inf)
    losses, entries = np.zeros(n_pairs), 0
    least = np.full(len(judged), np.inf)  # the margin, at the worse end of rounding
    for number, (positive, negative) in enumerate(class_pairs(len(judge.classes))):
        own = np.flatnonzero((codes[judged] == positive) | (codes[judged] == negative))
        if len(own) == 0:
            continue
        rows = judged[own]
        sign = np.where(codes[rows] == positive, 1.0, -1.0)
        values, errors, spent = _proved(judge, number, X[rows], sign)
        margin = sign * (values + judge.intercepts[number]) - errors
        losses[number] = sum_above(cost[rows] * np.maximum(0.0, 1.0 - margin))
        growth[number] = (values - 1.0 - errors).min(where=sign > 0, initial=np.inf)
        fall[number] = (values + 1.0 + errors).max(where=sign < 0, initial=-np.inf)
        least[own] = np.minimum(least[own], margin)
        entries += spent
    violators = int(np.count_nonzero(least < judge.goal))
    edge = 1.0 + judge.cushion if violators else -np.inf
    near = np.flatnonzero(least < edge)
    worst = near[np.argsort(least[near], kind="stable")[: judge.most]]
    taken = np.sort(judged[worst])
    found = Gathered.fresh(
        offset + taken, X[taken], codes[taken], cost[taken], len(judge.classes)
    )
    return Judged(
        [found] if len(taken) else [], violators, growth, fall, losses, entries
    )


def _drawn(length: int, offset: int, share: float, seed: int) -> Indices:
    """Return which rows of a block are judged, ascending."""
    if share >= 1.0:
        return np.arange(length)
    order = np.random.default_rng([seed, offset]).permutation(length)
    return np.sort(order[: int(np.ceil(share * length))])


def _proved(
    judge: Judge, pair: int, X: Any, sign: Vector
) -> tuple[Vector, Vector, int]:
    """Return values and bounds that tell which rows violate the margin."""
    values, errors = judge.values(pair, X, np.float32)
    count = len(judge.supports[pair][1])
    margin = sign * (values + judge.intercepts[pair])
    # On neither side for certain; a value beyond float32 is NaN, and is on none.
    unsettled = np.flatnonzero(~(np.abs(margin - judge.goal) > errors))
    if len(unsettled):
        again = judge.values(pair, X[unsettled], np.float64)
        values[unsettled], errors[unsettled] = again
    return values, errors, count * (len(sign) + len(unsettled))
