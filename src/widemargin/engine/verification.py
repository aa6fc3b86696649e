"""K beta with a bound on the rounding of each value: what a certificate rests on.

The model is ``beta`` taken as exact numbers and the kernel in exact arithmetic
(mathematics 8). Values that enter the objective or decide the KKT violation are
summed anew in float64 from the final ``beta``, together with a bound on their rounding.
Most members at zero need no such sum: it is enough that they are certain to lie beyond
the margin. For these the solver leaves a value of an earlier point, with its own bound,
and by Cauchy-Schwarz it has moved by at most ``||w - w_then|| sqrt(K_ii)`` since.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from widemargin.numerics.compensated import column_sums
from widemargin.numerics.products import times, transposed_times

from .bounded_values import UNKNOWN, BoundedValues, Evidence, KnownPoint
from .bounds import BLOCK
from .gram import Gram
from .held_columns import HeldColumns
from .intercept import optimal_intercept
from .kernels import CallableKernel, Linear, Precomputed
from .problem import DualProblem
from .split_variables import growth_slopes

Vector = NDArray[np.float64]
Indices = NDArray[np.intp]

UNIT = 2.0**-53
SPARE = 1.01  # for bounds that are themselves rounded
AT_ONCE = 200_000  # kernel entries up to which all values are simply summed in float64
UNDERFLOW = 2.0**-1000  # more than what is lost where products fall below all numbers
EXTENDED = 100_000  # entries of X up to which linear products take extended precision
FLOAT32_FIRST = 64  # members from which float32 sums are tried before float64 ones
FLOAT32_PROBES = 16  # of them, on which it is seen whether float32 settles anything
LATE_ENTRIES = 20_000_000  # entries evaluated at most once the time is up


def verify(
    problem: DualProblem,
    beta: Vector,
    values: Vector,
    evidence: Evidence | None = None,
    *,
    near: KnownPoint | None = None,
    late: bool = False,
) -> BoundedValues:
    """Return ``K beta`` with bounds on its rounding.

    Parameters
    ----------
    problem : DualProblem
        Decides which values matter.
    beta : ndarray of shape (n,)
        The point.
    values : ndarray of shape (n,)
        What is known of ``K beta``.
    evidence : Evidence, optional
        How much of that can be trusted; nothing by default.
    near : KnownPoint, optional
        A point to start from where few coefficients have changed since.
    late : bool
        The time is up: members that would take long to evaluate keep a wide bound.
    """
    gram = problem.gram
    support = np.flatnonzero(beta != 0.0)
    if support.size == 0:
        return _everywhere(np.zeros(problem.n), np.zeros(problem.n))
    if isinstance(gram.kernel, Linear):
        return _linear(gram, beta, support)
    given = isinstance(gram.kernel, Precomputed | CallableKernel)
    if given or support.size * problem.n <= AT_ONCE:
        return _everywhere(*gram.bounded_times(beta, np.arange(problem.n)))
    if near is not None:
        changed = np.count_nonzero(beta != near.beta)
        if changed * problem.n < 0.5 * support.size**2:  # entries, these by symmetry
            return verify_change(problem, near.known, near.beta, beta)
    known = _from_anchors(gram, beta, support, values, evidence)
    _Open(problem, beta, known, late).settle()
    return known


def verify_closely(problem: DualProblem, beta: Vector) -> BoundedValues | None:
    """Return ``K beta`` of a linear kernel from a compensated sum, or None for others.

    The plain sum of ``w = X' beta`` is wrong by up to ``m u sum_j |beta_j| |x_j|``:
    features in the thousands leave that above any useful tolerance, however small w is.
    """
    gram = problem.gram
    if not isinstance(gram.kernel, Linear):
        return None
    weights = column_sums(gram.samples, beta)
    values = times(gram.samples, weights.value, gram.threads)
    size, own = (float(np.sqrt((v * v).sum())) for v in (weights.value, weights.error))
    error = SPARE * (own + (gram.samples.shape[1] + 8) * UNIT * size)
    norms = np.sqrt(gram.diagonal() + UNDERFLOW)
    errors = error * norms + 2 * UNIT * np.abs(values)
    return _everywhere(values, errors + UNDERFLOW * (1.0 + np.abs(beta).sum()))


def verify_all(problem: DualProblem, beta: Vector) -> BoundedValues:
    """Return ``K beta`` in float64 for every member, with bounds on its rounding."""
    support = np.flatnonzero(beta != 0.0)
    if support.size and isinstance(problem.gram.kernel, Linear):
        return _linear(problem.gram, beta, support)
    return _everywhere(*problem.gram.bounded_times(beta, np.arange(problem.n)))


def verify_several(gram: Gram, betas: Vector) -> list[BoundedValues]:
    """Return ``K beta`` of every member for each row ``beta`` of a table.

    Each entry is evaluated once for all of them, by symmetry, in float64.
    """
    if len(betas) == 1:  # signs apart: no second sum for the sizes of the terms
        own, rounding, _ = gram.bounded_products(np.arange(gram.n), betas)
        return [_everywhere(own, rounding)]
    values, errors = np.empty_like(betas), np.empty_like(betas)
    gram._core.sums(np.arange(gram.n, dtype=np.int32), betas, values, errors)
    return [_everywhere(*pair) for pair in zip(values, errors, strict=True)]


def simply_summed(problem: DualProblem, beta: Vector) -> bool:
    """Whether all values are summed anew, with no use of what was known before."""
    small = np.count_nonzero(beta) * problem.n <= AT_ONCE  # no accumulated rounding
    return bool(small) or isinstance(problem.gram.kernel, Linear)


def verify_change(
    problem: DualProblem,
    known: BoundedValues,
    before: Vector,
    beta: Vector,
    columns: HeldColumns | None = None,
) -> BoundedValues:
    """Return ``K beta`` from that of an earlier point, with bounds on its rounding.

    Rounded are the difference of the two points, its product, and the sum: by
    Cauchy-Schwarz a difference that is off by half a digit moves member i by that share
    of ``sqrt(K_ii) sum_j |change_j| sqrt(K_jj)`` at most. Kernel columns that are held
    need not be evaluated.
    """
    change = beta - before
    if simply_summed(problem, beta):
        return verify_all(problem, beta)
    if columns is None:
        moved, rounding = problem.gram.bounded_times(change, np.arange(problem.n))
    else:
        moved, rounding = columns.bounded_times(problem.gram, change)
    lengths = np.sqrt(np.maximum(problem.gram.diagonal(), 0.0))
    return _moved(known, change, moved, rounding, lengths)


def verify_changes(
    gram: Gram, points: Sequence[KnownPoint], betas: Vector
) -> list[BoundedValues]:
    """Return the same for each row of a table, its known point being one of several.

    Each entry is evaluated once for all of them, by symmetry.
    """
    changes = betas - [point.beta for point in points]
    lengths = np.sqrt(np.maximum(gram.diagonal(), 0.0))
    every = zip(points, changes, verify_several(gram, changes), strict=True)
    return [
        _moved(point.known, change, moved.values, moved.errors, lengths)
        for point, change, moved in every
    ]


def _moved(
    known: BoundedValues,
    change: Vector,
    moved: Vector,
    rounding: Vector,
    lengths: Vector,
) -> BoundedValues:
    """Add the product of a rounded change to known values."""
    values = known.values + moved
    reach = UNIT * float((np.abs(change) * lengths).sum())
    errors = known.errors + rounding + UNIT * np.abs(values) + reach * lengths
    return _everywhere(values, SPARE * errors)


def bounded_cross(
    gram: Gram, Z: Any, weights: Vector, dtype: type[np.floating[Any]] = np.float64
) -> tuple[Vector, Vector]:
    """Return sum_j weights_j K(z, x_j) for other samples, with bounds on rounding."""
    if not isinstance(gram.kernel, Linear):
        return gram.bounded_cross(Z, weights, dtype)
    n, d = gram.samples.shape
    w = transposed_times(gram.samples, weights, gram.threads)
    squares = Z.multiply(Z) if sparse.issparse(Z) else np.square(Z, dtype=np.float64)
    norms = SPARE * np.sqrt(np.asarray(squares.sum(axis=1)).ravel())
    reach = float((np.abs(weights) * np.sqrt(gram.diagonal())).sum())
    return times(Z, w, gram.threads), _thin_error(n, d, reach, w) * norms


def _thin_error(m: int, d: int, reach: float, w: NDArray[Any]) -> float:
    """Rounding of w = X' beta, then X w, in units of the precision and of a norm."""
    size = float(np.sqrt((w * w).sum()))
    return SPARE * UNIT * ((m + 8) * reach + (d + 8) * size)


def _everywhere(values: Vector, errors: Vector) -> BoundedValues:
    return BoundedValues(values, errors, np.ones(values.size, dtype=np.bool_))


def _linear(gram: Gram, beta: Vector, support: Indices) -> BoundedValues:
    """Two thin products: w = X' beta, then X w; dot products of m and d terms.

    Small ones in extended precision, where the platform has it.
    """
    samples, unit = gram.samples, UNIT
    weights: NDArray[Any]
    if samples.shape[0] * samples.shape[1] <= EXTENDED:
        dense = samples.toarray() if sparse.issparse(samples) else samples
        extended = dense.astype(np.longdouble)
        unit = 0.5 * float(np.finfo(np.longdouble).eps)
        weights = (extended * beta[:, None]).sum(axis=0)
        values = np.asarray((extended * weights).sum(axis=1), dtype=np.float64)
    else:
        weights = transposed_times(samples, beta, gram.threads)
        values = times(samples, weights, gram.threads)
    norms = np.sqrt(gram.diagonal() + UNDERFLOW)
    sizes = np.abs(beta[support])
    error = _thin_error(
        support.size, samples.shape[1], float((sizes * norms[support]).sum()), weights
    )
    errors = unit / UNIT * error * norms + 2 * UNIT * np.abs(values)
    return _everywhere(values, errors + UNDERFLOW * (1.0 + float(sizes.sum())))


def _from_anchors(
    gram: Gram,
    beta: Vector,
    support: Indices,
    values: Vector,
    evidence: Evidence | None,
) -> BoundedValues:
    """Support vectors in float64; the others by what the solve has left."""
    points = [] if evidence is None else evidence.points
    differences = [beta - point for point in points]
    changed = [k for k, difference in enumerate(differences) if difference.any()]
    changes = [differences[k] for k in changed]
    involved = np.logical_or.reduce([beta != 0.0, *(c != 0.0 for c in changes)])
    chosen = np.flatnonzero(involved) if changes else support
    vectors = np.array([beta[chosen], *(change[chosen] for change in changes)])
    own, rounding, squares = gram.bounded_products(chosen, vectors)
    semidefinite = gram.kernel.semidefinite
    lengths = np.sqrt(np.maximum(squares, 0.0))
    # How far a value may have moved: by anchor, that is since the point of that number,
    # UNKNOWN from the origin, whose value is 0, and CURRENT not at all.
    moved = np.zeros(len(points) + 2)
    moved[changed], moved[UNKNOWN] = lengths[1:], lengths[0]
    if evidence is None:
        evidence = Evidence.none(beta.size)
    values, errors = values.copy(), gram.diagonal()  # one array: n may be large
    np.sqrt(np.maximum(errors, 0.0, out=errors), out=errors)
    errors *= SPARE * moved[evidence.anchors]
    unknown = (evidence.anchors == UNKNOWN) | np.isinf(evidence.errors)
    np.add(errors, evidence.errors, out=errors, where=~unknown)
    values[unknown] = 0.0
    members = np.flatnonzero(unknown)
    norms = np.sqrt(np.maximum(gram.diagonal(members), 0.0))
    errors[members] = SPARE * lengths[0] * norms if semidefinite else np.inf
    values[chosen], errors[chosen] = own, rounding
    summed = np.zeros(beta.size, dtype=np.bool_)
    summed[chosen] = True
    return BoundedValues(values, errors, summed)


class _Open:
    """Members at zero of which it is not known yet whether they lie beyond the margin.

    A member that can only grow is settled where its gradient is certain to be at least
    ``-b`` (no loss) and at least that of another member that can grow (it does not
    decide the violation); one that can only fall, the other way round. One with a kink
    can do both, each at its own slope.
    """

    def __init__(
        self, problem: DualProblem, beta: Vector, known: BoundedValues, late: bool
    ) -> None:
        self.problem, self.beta, self.known, self.late = problem, beta, known, late
        lowest, highest, level = _thresholds(problem, beta, known)
        self.above, self.below = max(lowest, level), min(highest, level)

    def settle(self) -> None:
        """Sum the values of members that the bounds leave undecided."""
        p = self.problem
        members = self.among(np.flatnonzero((self.beta == 0.0) & (p.lower < p.upper)))
        if self.float32_settles(members):
            members = self.summed(members, np.float32)
        self.summed(members, np.float64)

    def float32_settles(self, members: Indices) -> bool:
        """Whether float32 sums settle most members, judged by a few: they cost half."""
        if members.size < FLOAT32_FIRST:
            return False
        probes = members[:: members.size // FLOAT32_PROBES]
        return self.summed(probes, np.float32).size <= probes.size // 2

    def summed(self, members: Indices, dtype: type[np.floating[Any]]) -> Indices:
        """Sum the values of some members; return those still open."""
        known = self.known
        if self.late and members.size * np.count_nonzero(self.beta) > LATE_ENTRIES:
            finite = np.isfinite(known.errors[members])
            members = members[~finite]  # of these nothing is known at all
        for first in range(0, members.size, BLOCK):
            part = members[first : first + BLOCK]
            sums, errors = self.problem.gram.bounded_times(self.beta, part, dtype)
            known.values[part], known.errors[part] = sums, errors
        known.summed[members] = True
        return self.among(members)

    def among(self, members: Indices) -> Indices:
        """Return those of some members that are not decided yet."""
        problem, known = self.problem, self.known
        found = []
        for first in range(0, members.size, BLOCK):  # on big data every array counts
            part = members[first : first + BLOCK]
            error = known.errors[part]
            gradient = known.values[part] - problem.linear[part]
            kink = 0.0 if problem.kink is None else problem.kink[part]
            settled = gradient + kink - error >= self.above
            settled |= problem.upper[part] <= 0.0
            below = gradient - kink + error <= self.below
            settled &= below | (problem.lower[part] >= 0.0)
            found.append(part[~settled])
        return np.concatenate(found) if found else members


def _thresholds(
    problem: DualProblem, beta: Vector, known: BoundedValues
) -> tuple[float, float, float]:
    """Lowest gradient that can grow, highest that can fall, and -b, of the support."""
    if problem.total is None:
        return 0.0, 0.0, 0.0
    support = np.flatnonzero(beta != 0.0)
    values, errors = known.values[support], known.errors[support]
    linear, own = problem.linear[support], beta[support]
    lower, upper = problem.lower[support], problem.upper[support]
    kink = None if problem.kink is None else problem.kink[support]
    slopes = growth_slopes(own, values - linear, kink)  # not at 0: also of falling
    lowest = (slopes - errors).min(where=own < upper, initial=np.inf)
    highest = (slopes + errors).max(where=own > lower, initial=-np.inf)
    level = -optimal_intercept(values, linear, lower, upper, problem.total, kink)
    return float(lowest), float(highest), level
