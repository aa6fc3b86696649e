"""Move a solved problem exactly: new bounds, linear term, total, or members.

A sample is added as a box that opens from a point, removed as one that closes,
re-priced as one that changes width: each is a path of :mod:`widemargin.engine.path`.
Where a solve is less work (:mod:`widemargin.engine.update_routes`), or the path gives
up, that is taken.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from widemargin.engine import path
from widemargin.engine.bounded_values import BoundedValues
from widemargin.engine.gram import Gram
from widemargin.engine.kernels import Linear
from widemargin.engine.path import (
    Limits,
    PathAccount,
    Start,
    independent,
    joined_solution,
    moving,
    rank_bound,
    split_solution,
)
from widemargin.engine.primal_newton import newton_pays
from widemargin.engine.problem import DualProblem
from widemargin.engine.solution import Solution
from widemargin.engine.solve import solve
from widemargin.engine.solve_options import SolveOptions
from widemargin.engine.split_variables import by_sides
from widemargin.engine.status import Status
from widemargin.engine.update_options import EXACTLY, UpdateOptions
from widemargin.engine.update_routes import (
    Prices,
    Route,
    cheapest,
    influence,
    prices,
    stored_features,
)

__all__ = [
    "EXACTLY",
    "NEW",
    "PathAccount",
    "UpdateOptions",
    "add",
    "change",
    "exact",
    "fresh",
    "move",
    "remove",
]

Vector = NDArray[np.float64]
Indices = NDArray[np.intp]

NEW = -1  # origin of a variable that is new


def move(
    solution: Solution, target: DualProblem, options: UpdateOptions = EXACTLY
) -> tuple[Solution, PathAccount]:
    """Return the solution of ``target`` from that of a problem on the same samples.

    Parameters
    ----------
    solution : Solution
        Solution of a problem over ``target.gram``; the better it is, the shorter the
        repair at the end, but any feasible point will do.
    target : DualProblem
        Other bounds, linear term or total.
    options : UpdateOptions
        Routes and limits; exact by default.
    """
    return change(solution, np.arange(target.n), target, options=options)


def add(
    solution: Solution, target: DualProblem, options: UpdateOptions = EXACTLY
) -> tuple[Solution, PathAccount]:
    """Return the solution of ``target``, whose first rows are those of ``solution``.

    The further rows enter together: their boxes open from the point 0 (3.2).
    """
    origin = np.full(target.n, NEW)
    origin[: solution.problem.n] = np.arange(solution.problem.n)
    return change(solution, origin, target, options=options)


def remove(
    solution: Solution,
    keep: Indices,
    target: DualProblem,
    options: UpdateOptions = EXACTLY,
) -> tuple[Solution, PathAccount]:
    """Return the solution of ``target``, which is on the rows ``keep`` of ``solution``.

    The other rows leave together, each straight to 0 whatever its gradient (3.2).
    """

    def with_leavers(leavers: Indices) -> Gram:
        return solution.problem.gram.subset(np.concatenate([keep, leavers]))

    return change(solution, keep, target, with_leavers, options)


def change(
    solution: Solution,
    origin: Indices,
    target: DualProblem,
    with_leavers: Callable[[Indices], Gram] | None = None,
    options: UpdateOptions = EXACTLY,
) -> tuple[Solution, PathAccount]:
    """Return the solution of ``target``: rows enter, leave and are re-priced at once.

    Parameters
    ----------
    solution : Solution
        The former solution.
    origin : ndarray of int
        For every variable of ``target`` its place in ``solution``; ``NEW`` for one that
        enters, whose box opens from the point 0 (3.2). The other
        variables of ``solution`` leave, each straight to 0 whatever its gradient.
    target : DualProblem
        Over the rows that stay and those that enter.
    with_leavers : callable
        Returns the kernel handle over the variables of ``target`` followed by the given
        variables of ``solution``. Not needed where none leaves.
    options : UpdateOptions
        What to reach, and by which routes.
    """
    if options.columns is not None:
        options.columns.begin(origin)
    only = path.only_solution(target)
    if only is not None:
        return only, PathAccount(route="direct")
    leavers = _leavers(solution, origin)
    known = solution.checked is not None and bool(solution.checked.summed.all())
    limits, costs = Limits(deadline=options.deadline), None
    if not known or target.kink is not None:
        sizes = _rough_sizes(solution, origin, leavers, target)
        route, limits, costs = _chosen(sizes, target, options, summed=known)
        if route != Route.PATH:
            return _solved_anew(solution, origin, target, options, route)
    accurate = path.accurate(solution)
    if target.kink is not None:
        moved, account = _along_sides(
            accurate, origin, target, with_leavers, options, limits
        )
    else:
        start, wide = _begin(accurate, origin, target, with_leavers, options)
        if known and not path.at_its_end(start, wide):
            held = _held(start, wide)
            sizes = _sizes(start, wide)
            route, limits, costs = _chosen(sizes, target, options, held=held)
            if route != Route.PATH:
                return _solved_anew(solution, origin, target, options, route)
        moved, _, account = path.reach(start, wide, seed=options.seed, limits=limits)
    spent = 0.0 if costs is None else costs.refits(account)
    if moved is None:
        solved, account = _solved(target, None, options, Route.REFIT)
        return solved, replace(account, refits=1.0 + spent)
    moved = _restricted(moved, target) if moved.problem.n > target.n else moved
    return moved, replace(account, refits=spent)


def _leavers(solution: Solution, origin: Indices) -> Indices:
    """Return the variables that leave; one at 0 has left already."""
    leaves = solution.beta != 0.0
    leaves[origin[origin != NEW]] = False
    return np.flatnonzero(leaves)


def _begin(
    solution: Solution,
    origin: Indices,
    target: DualProblem,
    with_leavers: Callable[[Indices], Gram] | None,
    options: UpdateOptions,
) -> tuple[Start, DualProblem]:
    """Return where a path starts, and the problem it leads to: leavers are part of it.

    Their boxes close.
    """
    solution = independent(solution, seed=options.seed)
    leavers, wide = _leavers(solution, origin), target
    if leavers.size:
        assert with_leavers is not None
        closed = np.zeros(leavers.size)
        wide = DualProblem(
            with_leavers(leavers),
            np.concatenate([target.linear, solution.problem.linear[leavers]]),
            np.concatenate([target.lower, closed]),
            np.concatenate([target.upper, closed]),
            target.total,
        )
    if options.columns is not None:
        options.columns.join(leavers)
    start = _start(solution, np.concatenate([origin, leavers]), wide)
    return replace(start, columns=options.columns), wide


def _along_sides(
    solution: Solution,
    origin: Indices,
    target: DualProblem,
    with_leavers: Callable[[Indices], Gram] | None,
    options: UpdateOptions,
    limits: Limits,
) -> tuple[Solution | None, PathAccount]:
    """Follow the path of a problem with kinks over the two sides of its members."""
    n, old = target.n, solution.problem.n
    sides = by_sides(target)
    twofold = np.concatenate([origin, np.where(origin == NEW, NEW, origin + old)])

    def with_sides(leavers: Indices) -> Gram:
        assert with_leavers is not None
        rows = np.unique(leavers % old)
        wide = with_leavers(rows)
        last = n + np.searchsorted(rows, leavers % old)
        return wide.subset(np.concatenate([np.tile(np.arange(n), 2), last]))

    split = split_solution(solution)
    start, wide = _begin(
        split, twofold, sides, with_sides, replace(options, columns=None)
    )
    moved, _, account = path.reach(start, wide, seed=options.seed, limits=limits)
    if moved is None:
        return None, account
    return joined_solution(_restricted(moved, sides), target), account


def _solved_anew(
    solution: Solution,
    origin: Indices,
    target: DualProblem,
    options: UpdateOptions,
    route: Route,
) -> tuple[Solution, PathAccount]:
    """Solve, from the former point where that is the route and no row has left."""
    if route == Route.WARM and not _leavers(solution, origin).size:
        start = _start(solution, origin, target)
        return _solved(target, _point(start, target), options, route)
    return _solved(target, None, options, Route.REFIT)


def _chosen(
    sizes: tuple[int, int, int],
    target: DualProblem,
    options: UpdateOptions,
    *,
    summed: bool = True,
    held: int = 0,
) -> tuple[Route, Limits, Prices | None]:
    """Return the route, the limits of a path, and the costs of both."""
    limits = Limits(deadline=options.deadline)
    if options.route == "path":
        return Route.PATH, limits, None
    support, dragged, margin = sizes
    numbers = target.n, support, dragged, min(margin, rank_bound(target))
    exact = options.exact or options.polishes
    costs = prices(
        *numbers, exact=exact, summed=summed, compiled=options.compiled,
        features=stored_features(target.gram.samples),
        primal=_primal_features(target), held=held,
    )  # fmt: skip
    route, events = cheapest(
        *numbers, costs, exact=exact, warm=options.warm and summed,
        influence=influence(target), compiled=options.compiled, credit=options.credit,
        to_come=0.0 if options.columns is None else options.to_come,
    )  # fmt: skip
    return route, replace(limits, steps=events, repair=costs.events_of_repair), costs


def _primal_features(target: DualProblem) -> int:
    """Return the features of samples that a fit is done in the primal for; else 0."""
    gram = target.gram
    linear = isinstance(gram.kernel, Linear) and target.kink is None
    return int(gram.samples.shape[1]) if linear and newton_pays(gram.samples) else 0


def _held(start: Start, wide: DualProblem) -> int:
    """Return how many columns of the margin set are held."""
    if start.columns is None:
        return 0
    inside = np.flatnonzero(wide.free(start.beta))
    return int(np.count_nonzero(start.columns.held(inside)))


def _sizes(start: Start, wide: DualProblem) -> tuple[int, int, int]:
    """Return support vectors, rows that move, and rows inside their boxes."""
    dragged, margin = moving(start, wide)
    return int(np.count_nonzero(start.beta)) + dragged, dragged, margin


def _rough_sizes(
    solution: Solution, origin: Indices, leavers: Indices, target: DualProblem
) -> tuple[int, int, int]:
    """Return the same where ``K beta`` is not known.

    All that leave move, all whose bound does, and as many of those that enter as there
    are support vectors among the others, half as many again.
    """
    old, stays = solution.problem, origin[origin != NEW]
    places = np.flatnonzero(origin != NEW)
    priced = (old.lower[stays] != target.lower[places]) & (solution.beta[stays] < 0.0)
    priced |= (old.upper[stays] != target.upper[places]) & (solution.beta[stays] > 0.0)
    share = min(1.0, 1.5 * solution.support.size / max(old.n, 1))
    entering = int(np.ceil(share * (target.n - places.size)))
    dragged = entering + leavers.size + int(np.count_nonzero(priced))
    margin = int(np.count_nonzero(old.free(solution.beta)))
    return solution.support.size + dragged, dragged, margin


def _point(start: Start, target: DualProblem) -> Solution:
    """Return a start as a point of the target problem, if not a feasible one."""
    return Solution(target, start.beta, start.values, Status.START, exact=True)


def _solved(
    target: DualProblem, start: Solution | None, options: UpdateOptions, route: Route
) -> tuple[Solution, PathAccount]:
    """Solve as a fit does, and carry the result on to the exact solution if asked."""
    solved, account = options.solver(target, start), PathAccount(route=route.value)
    if options.exact and solved.status == Status.CONVERGED:
        solved, repair = exact(solved, options)
        account = replace(repair, route=account.route)
    return solved, account


def _start(solution: Solution, origin: Indices, wide: DualProblem) -> Start:
    """Return a solution over other variables; those that enter begin at 0."""
    enters = origin == NEW
    newcomers = np.flatnonzero(enters)
    stays = np.where(enters, 0, origin)

    def brought(array: Vector) -> Vector:
        return np.where(enters, 0.0, array[stays])

    old = solution.problem
    known = solution.checked
    if old.n == 0 or known is None:
        zeros = np.zeros(wide.n)
        nothing = BoundedValues(zeros, zeros, np.ones(wide.n, dtype=np.bool_))
        return Start(zeros, nothing, zeros, zeros, wide.linear, solution.intercept)
    beta, values, errors = map(brought, (solution.beta, known.values, known.errors))
    if newcomers.size:
        sums = wide.gram.bounded_times(beta, newcomers)
        values[newcomers], errors[newcomers] = sums
    checked = BoundedValues(values, errors, np.ones(wide.n, dtype=np.bool_))
    linear = np.where(enters, wide.linear, old.linear[stays])
    box = brought(old.lower), brought(old.upper)
    return Start(beta, checked, *box, linear, solution.intercept)


def _restricted(moved: Solution, target: DualProblem) -> Solution:
    """Return the solution without the variables at its end, which are 0 now."""
    n, known = target.n, moved.checked
    assert known is not None
    checked = BoundedValues(known.values[:n], known.errors[:n], known.summed[:n])
    return Solution(
        target, moved.beta[:n], checked.values, moved.status, moved.n_iter,
        moved.seconds, exact=moved.exact, checked=checked,
    )  # fmt: skip


def exact(
    solution: Solution, options: UpdateOptions = EXACTLY
) -> tuple[Solution, PathAccount]:
    """Return the exact solution near an approximate one (the repair of 3.2, case 5)."""
    limits = Limits(deadline=options.deadline)
    reached, beta, account = path.repair(solution, seed=options.seed, limits=limits)
    if reached is not None:
        return reached, account
    solving = SolveOptions(exact=True, deadline=options.deadline)
    solved = solve(solution.problem, solving, start=beta)
    return solved, replace(account, route=Route.WARM.value)


def fresh(
    problem: DualProblem, options: UpdateOptions = EXACTLY, *, convex: bool = True
) -> tuple[Solution, PathAccount]:
    """Return the solution of a problem that has no former one.

    Without ``convex`` (a kernel that is not positive definite) there is no path, and
    what the solver found stands.
    """
    only = path.only_solution(problem)
    if only is not None:
        return only, PathAccount(route="direct")
    return _solved(
        problem, None, replace(options, exact=options.exact and convex), Route.REFIT
    )
