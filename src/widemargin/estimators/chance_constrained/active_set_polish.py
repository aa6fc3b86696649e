"""Active-set polish: from nearly optimal to optimal to the last digits.

Once it is known which samples lie exactly on their robust margin (``z_i = 0``, the set
M), which violate it (``alpha_i = c_i``), which are clear of it, and which covariances
are at the corner of their norm (``L_k'w = 0``, the set Z), the optimum is the solution
of smooth equations,

    w - sum_i alpha_i y_i mu_i + kappa sum_k A_k Sigma_k w / s_k + Q nu = 0,
    sum_i y_i alpha_i = 0,    z_M = 0,    Q'w = 0,

(A_k the sum of alpha over covariance k; the sum runs over k outside Z, and Q is a basis
of the factors in Z, see :mod:`.norm_corners`) and Newton's method on them converges
quadratically. Sets are corrected as the multipliers and margins demand; in the end the
covariances in Z must be able to exert the force ``Q nu``. Two fits of one problem,
written with weights or with repeated rows, then agree to rounding.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lstsq
from scipy.linalg.lapack import dpotrf, dsycon, dsytrf, dsytrs, dtrtrs

from widemargin.numerics.products import inner, squares
from widemargin.numerics.row_blocks import dense_rows, times, transpose_times

from .chance_problem import ChanceProblem, shortfalls_at
from .norm_corners import Corner, balancing_directions, corner_of, origin_multipliers
from .smoothing import Point, Smoothed, margin_rows, norm_curvature, point_at

Floats = NDArray[np.float64]

_ROUNDS = 15
_REGULAR = 1e-11  # reciprocal condition below which a system is taken for singular
_FINE = 1e-5  # rounding of the norm below which any guess is tried
_CORNERS = (10.0, 1000.0)  # spreads below this many roundings are taken for 0


@dataclass(frozen=True)
class DualPoint:
    """A primal point with the multipliers and directions that certify it."""

    w: Floats
    b: float
    alpha: Floats
    directions: Floats  # v_k = Sigma_k p_k
    preimages: Floats  # p_k


@dataclass
class _Sets:
    """The guess: M, the multipliers, and the corner Z with its force nu."""

    on_margin: NDArray[np.bool_]
    alpha: Floats
    corner: Corner
    force: Floats

    @property
    def members(self) -> NDArray[np.intp]:
        return np.flatnonzero(self.on_margin)

    def key(self) -> bytes:
        return np.where(self.on_margin, 2, self.alpha > 0.0).astype(np.int8).tobytes()


def polish(
    problem: ChanceProblem, point: Point, state: Smoothed, rounding: float
) -> DualPoint | None:
    """Solve the optimality equations from the end of a smoothing stage.

    The samples in the band of ``state`` are the first guess of M; spreads of the order
    of ``rounding``, the delta of the norm, are taken for zero. None when the sets did
    not settle: the guess was too far off.
    """
    # d + 1 different equations are as many as there can be, but for degeneracy
    most = _most_rows(problem) if rounding <= _FINE else problem.shape[1] + 6
    different = _distinct(problem, state)
    if different > most:
        return None  # too early to tell
    spread = np.sqrt(np.maximum(np.square(state.spread) - rounding * rounding, 0.0))
    # a certain sample has no norm, hence no corner
    active = (state.masses > 0.0) & (problem.uncertainty.table.traces() > 0.0)
    active &= problem.kappa > 0.0
    tried: NDArray[np.bool_] | None = None
    for factor in _CORNERS:
        at_corner = active & (spread < factor * rounding)
        if tried is None or not np.array_equal(at_corner, tried):
            sets = _first_guess(problem, point, state, at_corner)
            if sets is not None and different + len(sets.force) <= most:
                found = _settle(problem, point, sets, most)
                if found is not None:
                    return found
        tried = at_corner
    return None


def _distinct(problem: ChanceProblem, state: Smoothed) -> int:
    """Return how many different samples are in the band, counting only a few."""
    members = np.flatnonzero(state.band)
    if len(members) > _most_rows(problem):
        return len(members)
    signed = dense_rows(problem.X, members) * problem.signs[members, None]
    return len({row.tobytes() for row in signed})


def _settle(
    problem: ChanceProblem, point: Point, sets: _Sets, most: int
) -> DualPoint | None:
    """Alternate Newton steps and corrections of the sets until neither moves."""
    seen: set[bytes] = set()
    for _ in range(_ROUNDS):
        if np.count_nonzero(sets.on_margin) > _most_rows(problem):
            return None
        step = _newton_step(problem, point, sets)
        if step is None:
            return None
        dw, db, multipliers = step
        w, b = point.w + dw, point.b + db
        size = float(np.abs(dw).max(initial=0.0) + abs(db))
        reach = float(np.abs(w).max(initial=0.0) + abs(b))
        if not np.isfinite(size) or size > 1e3 * (reach + 1.0):
            return None
        point = point_at(problem, w, b)
        changed = _correct_sets(problem, point, sets, multipliers)
        if not changed and size <= 1e-13 * reach:
            return _certified(problem, point, sets)
        key = sets.key()
        if changed > most or (changed and key in seen):
            return None  # far off, or going round in circles: guess again, closer
        seen.add(key)
    return None


def _first_guess(
    problem: ChanceProblem, point: Point, state: Smoothed, at_corner: NDArray[np.bool_]
) -> _Sets | None:
    table = problem.uncertainty.table
    corner = corner_of(table, np.flatnonzero(at_corner), point.w)
    if corner is None or corner.basis.shape[1] == problem.shape[1]:
        return None  # too many, or w = 0, which polish_origin is for
    masses, directions = state.masses[at_corner], state.directions[at_corner]
    return _Sets(
        state.band & (problem.costs > 0.0),
        state.alpha.copy(),
        corner,
        problem.kappa * (masses @ directions) @ corner.basis,
    )


def _most_rows(problem: ChanceProblem) -> int:
    """Return how many equations beside those of w are worth a try.

    d + 1 are enough but for dependent ones, such as repeated samples.
    """
    return 3 * problem.shape[1] + 50


def _directions(point: Point, sets: _Sets) -> tuple[Floats, Floats]:
    """Return spreads and ``v_k = Sigma_k w / s_k``, both 0 at the corners."""
    spread = np.sqrt(np.maximum(times(point.images, point.w), 0.0))
    spread[sets.corner.members] = 0.0
    directions = point.images / np.where(spread > 0.0, spread, 1.0)[:, None]
    directions[spread == 0.0] = 0.0
    return spread, directions


def _newton_step(
    problem: ChanceProblem, point: Point, sets: _Sets
) -> tuple[Floats, float, Floats] | None:
    """One Newton step on the optimality equations: (dw, db, new multipliers of M).

    The force of the corner is updated in place.
    """
    spread, directions = _directions(point, sets)
    alpha, members = sets.alpha, sets.members
    masses = problem.uncertainty.collect(alpha)
    curved = np.where(spread > 0.0, masses, 0.0)
    curvature = norm_curvature(
        problem, curved, np.where(spread > 0.0, spread, 1.0), directions
    )
    curvature[np.diag_indices_from(curvature)] += 1.0
    pull = point.w - transpose_times(problem.X, alpha * problem.signs)
    pull += problem.kappa * transpose_times(directions, masses)
    basis = sets.corner.basis
    pull += basis @ sets.force
    jacobian = np.vstack([margin_rows(problem, directions, members), basis.T])
    shortfall = shortfalls_at(problem, point.margins + point.b, spread)[members]
    residual = np.concatenate([shortfall, basis.T @ point.w])
    factor, failed = dpotrf(curvature)
    if failed:
        return None
    # half of the inverse on each side: J H^-1 J' is a product of a matrix with itself
    halves, _ = dtrtrs(factor, np.column_stack((pull, jacobian.T)), trans=1)
    half_pull, half_rows = halves[:, 0], halves[:, 1:]
    share = alpha[members] / problem.costs[members]
    room = np.ones(len(residual))
    room[: len(members)] = np.sqrt(np.clip(share * (1.0 - share), 0.0, 1.0))
    border = np.zeros(len(residual))
    border[: len(members)] = problem.signs[members]
    solved = _bordered(
        squares(half_rows),
        border if problem.fit_intercept and len(members) else None,
        residual - transpose_times(half_rows, half_pull),
        -inner(alpha, problem.signs),
        room,
    )
    if solved is None:
        return None
    change, db = solved
    sets.force = sets.force + change[len(members) :]
    dw, _ = dtrtrs(factor, -half_pull - times(half_rows, change))
    return dw, db, alpha[members] + change[: len(members)]


def _bordered(
    gram: Floats,
    border: Floats | None,
    right: Floats,
    imbalance: float,
    room: Floats,
) -> tuple[Floats, float] | None:
    """Solve ``[gram y; y' 0] [change; db] = [right; imbalance]``.

    Dependent rows (repeated samples) make the system singular but leave w and b
    unique. The solution taken moves the multipliers with most ``room`` in their boxes
    most, so that none is pushed out. None on overflow.
    """
    count = len(right)
    if count == 0:
        return right, 0.0
    scale = np.maximum(room, 1e-3)
    size = np.sqrt(np.maximum(np.diag(gram), 0.0))
    scale /= np.where(size > 1e-150, size, 1.0)
    if border is None:
        system, target = gram * np.outer(scale, scale), right * scale
    else:
        system = np.zeros((count + 1, count + 1))
        system[:count, :count] = gram * np.outer(scale, scale)
        # y scaled to entries of order one, so that b is measured in its own unit
        unit = float(scale.max())
        system[:count, count] = system[count, :count] = border * scale / unit
        target = np.append(right * scale, imbalance / unit)
    if not np.all(np.isfinite(system)) or not np.all(np.isfinite(target)):
        return None
    solution = _solved(system, target)
    if border is None:
        return solution * scale, 0.0
    return solution[:count] * scale, float(solution[count] / unit)


def _solved(system: Floats, target: Floats) -> Floats:
    """Solve a symmetric system; the shortest solution where it is singular."""
    size = np.abs(system).sum(axis=0).max()
    factor, pivots, failed = dsytrf(system)
    if not failed:
        condition, _ = dsycon(factor, pivots, size)
        if condition > _REGULAR:
            return np.asarray(dsytrs(factor, pivots, target)[0]).ravel()
    return np.asarray(lstsq(system, target, cond=1e-13, lapack_driver="gelsd")[0])


def _correct_sets(
    problem: ChanceProblem, point: Point, sets: _Sets, multipliers: Floats
) -> int:
    """Pin multipliers that left their box, free samples on the wrong side.

    Changes ``sets`` in place and returns how many samples moved.
    """
    members, alpha = sets.members, sets.alpha
    costs = problem.costs[members]
    slackness = 1e-9 * costs
    below, above = multipliers < -slackness, multipliers > costs + slackness
    outside = below | above
    alpha[members] = np.clip(multipliers, 0.0, costs)
    sets.on_margin[members[outside]] = False
    alpha[members[below]] = 0.0
    alpha[members[above]] = costs[above]
    spread, _ = _directions(point, sets)
    shortfall = shortfalls_at(problem, point.margins + point.b, spread)
    size = 1.0 + np.abs(point.margins) + abs(point.b)
    wrong = ((alpha <= 0.0) & (shortfall > 1e-10 * size)) | (
        (alpha >= problem.costs) & (shortfall < -1e-10 * size)
    )
    wrong &= ~sets.on_margin & (problem.costs > 0.0)
    wrong[members] = False
    sets.on_margin |= wrong
    return int(np.count_nonzero(outside) + np.count_nonzero(wrong))


def _certified(problem: ChanceProblem, point: Point, sets: _Sets) -> DualPoint:
    """Return the polished point; the corner's force is shared by its members."""
    spread, directions = _directions(point, sets)
    preimages = point.w / np.where(spread > 0.0, spread, np.inf)[:, None]
    members, basis = sets.corner.members, sets.corner.basis
    if len(members):
        directions[members], preimages[members] = balancing_directions(
            problem.uncertainty.table.take(members),
            problem.kappa * problem.uncertainty.collect(sets.alpha)[members],
            basis @ sets.force,
            basis,
        )
    return DualPoint(point.w, point.b, sets.alpha, directions, preimages)


def polish_origin(problem: ChanceProblem, state: Smoothed) -> DualPoint:
    """Return w = 0, an optimum when the covariances are large, with its multipliers.

    All covariances are at their corner, and must hold w there against the samples.
    """
    b, alpha = origin_multipliers(problem, state.alpha)
    directions, preimages = balancing_directions(
        problem.uncertainty.table,
        problem.kappa * problem.uncertainty.collect(alpha),
        transpose_times(problem.X, alpha * problem.signs),
        np.eye(problem.shape[1]),
    )
    return DualPoint(np.zeros(problem.shape[1]), b, alpha, directions, preimages)
