"""Intercepts and certificates of many solutions at once.

The figures of :mod:`widemargin.engine.bounds`, a row of the arrays a problem: shorter
problems are filled up with members that have an empty box and no value.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .bounds import SUM, UNIT, loss_terms, square_terms, sums_above
from .certificate import Certificate
from .intercept import optimal_intercept
from .kernel_table import BatchSolution
from .kernels import CallableKernel, Precomputed
from .solution import NOT_FINITE

Vector = NDArray[np.float64]
Table = NDArray[np.float64]


def certify_batch(solved: BatchSolution) -> tuple[Vector, list[Certificate]]:
    """Return the intercept and the certificate of each solution, all verified."""
    kernel = solved.gram.kernel
    if isinstance(kernel, Precomputed | CallableKernel):  # convex or not: one by one
        alone = [solved.solution(p) for p in range(solved.batch.count)]
        return np.array([s.intercept for s in alone]), [s.certificate for s in alone]
    batch = solved.batch
    rows = _Rows(np.diff(batch.offsets))
    linear, lower, upper = map(rows, (batch.linear, batch.lower, batch.upper))
    beta, values, errors = map(rows, (solved.beta, solved.values, solved.errors))
    intercepts = _intercepts(solved)
    squares = sums_above(square_terms(beta, values, errors))
    losses = sums_above(
        loss_terms(linear, lower, upper, intercepts[:, None], values, errors)
    )
    totals = batch.totals
    offsets = np.zeros(rows.count) if totals is None else totals * intercepts
    objectives = losses + squares + offsets
    objectives += 4.0 * UNIT * (np.abs(losses) + np.abs(squares) + np.abs(offsets))
    if not np.isfinite(objectives).all():  # kernel values too large for their numbers
        raise ValueError(NOT_FINITE)
    bounds: list[float | None] = [None] * rows.count
    gaps, repaired = bounds, np.ones(rows.count, dtype=np.bool_)
    if kernel.semidefinite:
        gains = sums_above(-linear * beta)
        repairs = _repairs(solved, rows, beta, values, errors, linear, lower, upper)
        repaired = np.isfinite(repairs)
        found = -(squares + gains) - repairs * (1.0 + 4.0 * UNIT)
        found -= 4.0 * UNIT * (np.abs(squares) + np.abs(gains) + repairs)
        # no loss is negative
        nothing = (lower <= 0.0).all(axis=1) & (upper >= 0.0).all(axis=1)
        nothing &= True if totals is None else totals == 0.0
        found = np.where(nothing, np.maximum(found, 0.0), found)
        bounds = found.tolist()
        gaps = np.nextafter(np.maximum(0.0, objectives - found), np.inf).tolist()
    violations = _violations(beta, values - linear, errors, lower, upper, totals)
    seconds = solved.seconds / rows.count
    columns = (
        solved.status, objectives.tolist(), bounds, gaps, violations.tolist(),
        solved.n_iter.tolist(),
    )  # fmt: skip
    certificates = [
        Certificate(
            status=status.value,
            objective=objective,
            bound=bound,
            gap=gap,
            kkt_violation=violation,
            n_iter=n_iter,
            seconds=seconds,
            threads=solved.gram.threads,
        )
        for status, objective, bound, gap, violation, n_iter in zip(
            *columns, strict=True
        )
    ]
    for number in np.flatnonzero(~repaired).tolist():  # it takes several members
        certificates[number] = solved.solution(number).certificate
    return intercepts, certificates


class _Rows:
    """Puts the entries of each problem into a row, filled up with zeros."""

    def __init__(self, sizes: NDArray[np.int64]) -> None:
        self.count = sizes.size
        self.width = int(sizes.max(initial=0))
        self._even = bool((sizes == self.width).all())
        if not self._even:
            self._there = np.arange(self.width) < sizes[:, None]

    def __call__(self, entries: NDArray[np.float64]) -> Table:
        if self._even:
            return entries.reshape(self.count, self.width)
        rows = np.zeros((self.count, self.width))
        rows[self._there] = entries
        return rows


def _intercepts(solved: BatchSolution) -> Vector:
    """Return the midpoints of the optimal intercepts (mathematics 0.2).

    Of the members that were summed: those beyond the margin do not move it.
    """
    batch = solved.batch
    if batch.totals is None:
        return np.zeros(batch.count)
    widths = batch.upper - batch.lower
    chosen = solved.summed & (widths > 0.0)
    sizes = np.add.reduceat(chosen, batch.offsets[:-1], dtype=np.int64)
    rows = _Rows(sizes)
    breaks = rows(batch.linear[chosen] - solved.values[chosen])
    widths, upper = rows(widths[chosen]), rows(batch.upper[chosen])
    there = np.arange(rows.width) < sizes[:, None]
    breaks = np.where(there, breaks, np.inf)
    target = upper.sum(axis=1) - batch.totals
    mass = widths.sum(axis=1)
    order = np.argsort(breaks, axis=1)
    breaks = np.take_along_axis(breaks, order, axis=1)
    cumulative = np.cumsum(np.take_along_axis(widths, order, axis=1), axis=1)
    slack = 1e-12 * mass
    left = (cumulative < (target - slack)[:, None]).sum(axis=1)
    left = np.minimum(left, sizes - 1)
    numbers = np.arange(rows.count)
    meets = np.abs(cumulative[numbers, left] - target) <= slack
    right = np.where(meets & (left + 1 < sizes), left + 1, left)
    found = 0.5 * (breaks[numbers, left] + breaks[numbers, right])
    for number in np.flatnonzero((target <= 0.0) | (target >= mass) | (sizes == 0)):
        part = batch.part(int(number))
        some = solved.summed[part]
        found[number] = optimal_intercept(
            solved.values[part][some], batch.linear[part][some],
            batch.lower[part][some], batch.upper[part][some],
            float(batch.totals[number]),
        )  # fmt: skip
    return np.asarray(found)


def _repairs(
    solved: BatchSolution,
    rows: _Rows,
    beta: Table,
    values: Table,
    errors: Table,
    linear: Table,
    lower: Table,
    upper: Table,
) -> Vector:
    """Return what the duals lose at most when ``sum(beta) = total`` is made exact.

    See :func:`widemargin.engine.bounds.repair_cost`: here one member, that with most
    room on both sides, takes up all that may be missing. Infinite where none has room.
    """
    totals = solved.batch.totals
    inside = ((beta >= lower) & (beta <= upper)).all(axis=1)
    if totals is None:
        return np.where(inside, 0.0, np.inf)
    sizes = np.abs(beta).sum(axis=1) + np.abs(totals)
    needed = np.abs(beta.sum(axis=1) - totals) + SUM * sizes
    room = np.minimum(beta - lower, upper - beta)
    widest, numbers = np.argmax(room, axis=1), np.arange(rows.count)
    fits = inside & (room[numbers, widest] * (1.0 - 2.0 * UNIT) > needed)
    pull = np.abs(linear - values)[numbers, widest] + errors[numbers, widest]
    samples = solved.batch.members[solved.batch.offsets[:-1] + widest]
    lengths = np.sqrt(np.maximum(solved.gram.diagonal(samples), 0.0))
    cost = needed * pull + 0.5 * (needed * lengths) ** 2
    return np.where(fits, cost * (1.0 + 1e-9), np.inf)


def _violations(
    beta: Table,
    gradient: Table,
    errors: Table,
    lower: Table,
    upper: Table,
    totals: Vector | None,
) -> Vector:
    """Return upper bounds on the KKT violations."""
    slack = errors + 2.0 * UNIT * np.abs(gradient)
    growth = (gradient - slack).min(axis=1, where=beta < upper, initial=np.inf)
    fall = (gradient + slack).max(axis=1, where=beta > lower, initial=-np.inf)
    if totals is None:
        return np.asarray(np.maximum(0.0, np.maximum(-growth, fall)))
    spread = fall - growth
    spread = np.where(spread > 0.0, spread, 0.0)  # infinite where none can move
    return np.asarray(spread * (1.0 + 4.0 * UNIT))
