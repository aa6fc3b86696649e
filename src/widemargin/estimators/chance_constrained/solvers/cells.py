"""Projections of very many samples, gathered in cells.

Scale and intercept depend on a sample only through its sign, ``w'mu`` and ``||L'w||``.
When the projections of all samples fit the memory budget they are kept as they are;
else samples of one sign with nearly equal values share a cell that carries their cost
and their mean, which changes the objective by second order in the cell's width.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .refit import Scores

Floats = NDArray[np.float64]

ALONG, ACROSS = 4096, 8  # cells at most for w'mu, and cells for ||L'w||
_BYTES_PER_SCORE = 320  # four numbers kept, and the solver's work on them (285 seen)


def gather_scores(
    run: Callable[[Callable[[Any], Any]], Iterator[Any]],
    project: Callable[[Any], list[Scores]],
    memory_mb: float,
) -> list[Scores]:
    """Collect the projections of all blocks, one result for each binary problem.

    Parameters
    ----------
    run : callable
        Applies a function to every block.
    project : callable
        Returns the scores of one block, one for each binary problem.
    memory_mb : float
        Budget; above it projections are gathered in cells.
    """
    ranges = list(run(lambda block: _ranges(project(block))))
    rows = sum(int(part[0][4]) for part in ranges)
    count = len(ranges[0])
    if rows * count * _BYTES_PER_SCORE <= memory_mb * 1e6:
        parts = list(run(project))
        return [_joined([part[k] for part in parts]) for k in range(count)]
    stacked = np.array(ranges)
    low, high = stacked[:, :, :2].min(axis=0), stacked[:, :, 2:4].max(axis=0)
    along = _cells_along(count, memory_mb)
    sums = np.zeros((count, 3, 2 * along * ACROSS))
    for part in run(lambda block: _summed(project(block), low, high, along)):
        sums += part
    return [_cells(sums[k]) for k in range(count)]


def _cells_along(count: int, memory_mb: float) -> int:
    """Return how many cells for w'mu fit a quarter of the budget, at least 512."""
    affordable = memory_mb * 2.5e5 / (count * 2 * ACROSS * _BYTES_PER_SCORE)
    return int(min(max(affordable, 512.0), ALONG))


def _ranges(scores: list[Scores]) -> list[tuple[float, ...]]:
    return [
        (
            float(s.along.min(initial=np.inf)),
            float(s.spread.min(initial=np.inf)),
            float(s.along.max(initial=-np.inf)),
            float(s.spread.max(initial=-np.inf)),
            float(len(s.along)),
        )
        for s in scores
    ]


def _joined(parts: list[Scores]) -> Scores:
    names = ("along", "spread", "signs", "costs")
    return Scores(*(np.concatenate([getattr(p, n) for p in parts]) for n in names))


def _summed(scores: list[Scores], low: Floats, high: Floats, cells: int) -> Floats:
    """Return cost, cost times projection and cost times spread of every cell."""
    out = np.zeros((len(scores), 3, 2 * cells * ACROSS))
    for k, s in enumerate(scores):
        width = np.maximum(high[k] - low[k], np.finfo(float).tiny)
        along = np.minimum((s.along - low[k, 0]) / width[0] * cells, cells - 1)
        across = np.minimum((s.spread - low[k, 1]) / width[1] * ACROSS, ACROSS - 1)
        cell = (s.signs > 0.0) * cells * ACROSS
        cell = cell + along.astype(np.intp) * ACROSS + across.astype(np.intp)
        for j, values in enumerate((s.costs, s.costs * s.along, s.costs * s.spread)):
            out[k, j] = np.bincount(cell, values, minlength=out.shape[2])
    return out


def _cells(sums: Floats) -> Scores:
    """Return the occupied cells as samples."""
    used = np.flatnonzero(sums[0] > 0.0)
    costs = sums[0, used]
    signs = np.where(used >= sums.shape[1] // 2, 1.0, -1.0)
    return Scores(sums[1, used] / costs, sums[2, used] / costs, signs, costs)
