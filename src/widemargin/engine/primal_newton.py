"""A start for linear problems with many samples and few features: primal Newton.

With a linear kernel the primal has only d + 1 unknowns,

    minimise_{w, b}  1/2 ||w||^2 + sum_i max(lower_i u_i, upper_i u_i) + total * b,
    u_i = linear_i - <w, x_i> - b.

Each kink is replaced by a parabola on |u_i| <= width, and the smooth problem solved by
Newton steps of O(n d + m d^2), m the samples on a parabola. Its slopes

    beta_i = clip((lower_i + upper_i) / 2 + (upper_i - lower_i) u_i / (2 width))

are the dual variables: they violate the optimality conditions by at most 2 width, so
a width of a little under tol / 2 ends the solve. Wide parabolas are dealt with on parts
of the samples, each five times as large as the one before: whole passes are left for
narrow ones. (The chance-constrained system smooths in the same way; mathematics 2.4.)
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.extmath import row_norms

from widemargin.numerics.cholesky import solve_definite
from widemargin.numerics.products import (
    add_sparse_squares,
    add_squares,
    inner,
    times,
    transposed_times,
)
from widemargin.runtime.cancellation import check_cancelled
from widemargin.runtime.deadline import NEVER, Deadline

from .interrupted import Interrupted
from .problem import DualProblem

Vector = NDArray[np.float64]

LEAST_SAMPLES = 4000  # with fewer samples pair steps are as fast
MOST_FEATURES = 1500  # features: the Hessian is dense
SHRINK = 0.2  # factor on the width from stage to stage
PASSING = 1e-7  # predicted relative decrease at which a stage ends
PART = 5  # a part has this many times fewer samples than the next
PART_WIDTH = 0.02  # final width in a part, as a share of the first
# Samples this many widths from their kink are left out, first and second time.
REACHES = np.array([8.0, 64.0, np.inf])
STEPS = 60  # Newton steps per stage, at most
SEARCHES = 20  # evaluations of the derivative per line search, at most
BLOCK_ENTRIES = 1 << 19  # entries copied at a time for the sum of outer products
FINAL_SHARE = 0.4  # final width as a share of tol
SHARING = 4  # samples per feature, on a parabola, over which a sum is spread
STILL_SHARE = 0.05  # share of tol by which the last gradient may move a sample


def newton_pays(X: Any) -> bool:
    """Whether Newton in the primal is the faster way to start."""
    n, d = X.shape
    return bool(n >= LEAST_SAMPLES and d <= MOST_FEATURES and n >= 10 * d)


def newton_start(
    problem: DualProblem,
    X: Any,
    tol: float,
    near: Vector | None = None,
    deadline: Deadline = NEVER,
) -> Vector:
    """Return dual variables that violate optimality by about ``tol`` or less.

    They lie in the box, and their sum is ``total`` but for rounding. ``near`` holds
    weights and intercept of a similar problem, if one has been solved. After the
    ``deadline`` no step is begun; Ctrl-C is raised
    with dual variables of the last width at which they are known.
    """
    begun = time.perf_counter()
    whole = replace(_Primal.of(problem, X), deadline=deadline)
    try:
        residual, width = _minimised(whole, problem, tol, near)
    except KeyboardInterrupt as stop:
        if not whole.reached:
            raise
        beta = _led_to(whole, *whole.reached[-1])
        seconds = time.perf_counter() - begun
        raise Interrupted(problem, beta, seconds=seconds) from stop
    return _dual_point(whole, problem, residual, width)


def _minimised(
    whole: _Primal, problem: DualProblem, tol: float, near: Vector | None
) -> tuple[Vector, float]:
    """Return the residuals at the optimum of narrow parabolas, and their width."""
    X = whole.X
    # All samples begin on the quadratic piece: with none, b has no curvature.
    first = max(2.0 * float(np.abs(problem.linear).max(initial=0.0)), 10 * tol)
    narrow, final = max(PART_WIDTH * first, 10 * tol), FINAL_SHARE * tol
    if near is None:
        near, width = np.zeros(X.shape[1] + 1), first
        order = np.random.default_rng(0).permutation(X.shape[0])
        for size in _part_sizes(*X.shape):
            part = whole.part(np.sort(order[:size]))
            near, *_ = part.descend(near, width, narrow)
            width = narrow / SHRINK
    else:
        width = narrow / SHRINK
    still = STILL_SHARE * tol / _longest(X)
    _, residual, width = whole.descend(near, width, final, still)
    return residual, width


def _dual_point(
    whole: _Primal, problem: DualProblem, residual: Vector, width: float
) -> Vector:
    """Return the slopes of the smoothed losses, within their boxes."""
    beta = whole.slopes(residual, width)
    np.clip(beta, problem.lower, problem.upper, out=beta)
    return _settle_sum(problem, beta, np.abs(residual) < width)


def _led_to(whole: _Primal, point: Vector, width: float) -> Vector:
    """Return dual variables that lead to the weights reached for some width.

    The slopes alone do not: a stage is left when the objective is near its least, and
    the sum over many samples may still be far off. What it is off by is spread over
    samples on a parabola, as a Newton step would.
    """
    residual = whole.linear - whole.fitted(point)
    slopes = whole.slopes(residual, width)
    band = np.flatnonzero(np.abs(residual) < width)
    some = band[:: 1 + band.size * point.size // (SHARING * BLOCK_ENTRIES)]
    rows = whole.X[some]
    block = np.ones((some.size, point.size))
    block[:, :-1] = rows.toarray() if sparse.issparse(rows) else rows
    half, threads = whole.half[some], whole.threads
    hessian = np.zeros((point.size, point.size))
    add_squares(hessian, block * np.sqrt(half)[:, None], threads)
    hessian[np.diag_indices_from(hessian)] += 1e-10 * (1.0 + hessian.diagonal().max())
    missing = solve_definite(hessian, whole.gradient(point, slopes), threads)
    if missing is not None:
        slopes[some] += half * times(block, missing, threads)
    return slopes


def _longest(X: Any) -> float:
    """Return the length of the longest sample, the intercept counted in."""
    return float(np.sqrt(1.0 + np.max(row_norms(X, squared=True), initial=0.0)))


def _part_sizes(n: int, d: int) -> list[int]:
    """Return the sizes of the parts solved before the whole, smallest first."""
    least = max(LEAST_SAMPLES // 2, 10 * d)
    sizes = [n // PART**power for power in (3, 2, 1)]
    return [size for size in sizes if size >= least]


def _settle_sum(problem: DualProblem, beta: Vector, band: NDArray[np.bool_]) -> Vector:
    """Spread the error of the sum over the samples on a parabola; the others stay."""
    if problem.total is not None and band.any():
        room = np.minimum(beta - problem.lower, problem.upper - beta)[band]
        missing = problem.total - float(beta.sum())
        if room.sum() > abs(missing):
            beta[band] += missing * room / room.sum()
    return beta


@dataclass(frozen=True)
class _Primal:
    """The smoothed primal problem.

    Attributes
    ----------
    X : array or CSR
        The samples.
    middle, half : ndarray
        Middle and half width of each sample's box.
    pull : ndarray
        Linear term in weights and intercept.
    free : bool
        Whether there is an intercept.
    threads : int
        Threads of its products.
    deadline : Deadline
        When to stop with the point reached.
    reached : list of pairs of point and width
        Optima that determine dual variables, in the order they were reached.
    """

    X: Any
    linear: Vector
    middle: Vector
    half: Vector
    pull: Vector
    free: bool
    threads: int
    deadline: Deadline = NEVER
    reached: list[tuple[Vector, float]] = field(default_factory=list)

    @classmethod
    def of(cls, problem: DualProblem, X: Any) -> _Primal:
        middle = 0.5 * (problem.lower + problem.upper)
        half = 0.5 * (problem.upper - problem.lower)
        free = problem.total is not None
        pull = np.append(np.zeros(X.shape[1]), problem.total or 0.0)
        threads = problem.gram.threads
        return cls(X, problem.linear, middle, half, pull, free, threads)

    def part(self, rows: NDArray[np.intp]) -> _Primal:
        """Return the problem of some samples, their losses raised to stand for all."""
        raised = self.linear.size / rows.size
        X, linear = self.X[rows], self.linear[rows]
        middle, half = raised * self.middle[rows], raised * self.half[rows]
        part = replace(self, X=X, linear=linear, middle=middle, half=half)
        return replace(part, reached=[])  # too far off to be points of the whole

    def near(self, residual: Vector, reach: float) -> _Primal:
        """Return the problem of the samples within reach of their kink.

        The loss of the others is a line, and goes into the linear term.
        """
        inside = np.abs(residual) < reach
        rows = np.flatnonzero(inside)
        if 2 * rows.size > residual.size:
            return self
        beta = self.slopes(residual, reach)
        beta[inside] = 0.0
        pull = self.pull - self.image(beta)
        X, linear = self.X[rows], self.linear[rows]
        middle, half = self.middle[rows], self.half[rows]
        return replace(self, X=X, linear=linear, middle=middle, half=half, pull=pull)

    @property
    def late(self) -> bool:
        return self.deadline.passed

    def descend(
        self, point: Vector, width: float, final: float, still: float = np.inf
    ) -> tuple[Vector, Vector, float]:
        """Go to the optimum of ever narrower parabolas.

        Return point, residuals and width, the ``final`` one if there was time for it.
        The last gradient is no longer than ``still``. Few samples come near their kink
        on the way from one width to the next: the others are looked at when it is done.
        """
        residual = self.linear - self.fitted(point)
        while True:
            least = PASSING * max(1.0, abs(self.value(point, residual, width)))
            longest = still if width <= final else np.inf
            for reach in width * REACHES:
                near = self.near(residual, reach)
                moved = near.minimised(point, width, least, longest)
                after = self.linear - self.fitted(moved)
                if near is self:  # no sample was left out
                    break
                far = np.abs(residual) >= reach
                if (after * np.sign(residual))[far].min(initial=np.inf) >= width:
                    break  # no sample left out has reached its kink
            point, residual = moved, after
            if np.count_nonzero(np.abs(residual) < width) >= SHARING * point.size:
                self.reached.append((point, width))
            if width <= final or self.late:
                return point, residual, width
            width = max(final, SHRINK * width)

    def minimised(
        self, point: Vector, width: float, least: float, longest: float
    ) -> Vector:
        """Take Newton steps until one promises a decrease of less than ``least``.

        And until the gradient is no longer than ``longest``.
        """
        residual = self.linear - self.fitted(point)
        for _ in range(STEPS):
            if self.late:
                break
            gradient = self.gradient(point, self.slopes(residual, width))
            step = self.newton_step(gradient, np.abs(residual) < width, width)
            still = inner(gradient, gradient) <= longest * longest
            if still and inner(gradient, step) > -least:
                break
            change = self.fitted(step)
            length = self.line_search(point, step, residual, change, width)
            point = point + length * step
            residual -= length * change
        return point

    def fitted(self, point: Vector) -> Vector:
        """Return the decision value of each sample."""
        values = times(self.X, point[:-1], self.threads)
        values += point[-1]
        return values

    def image(self, beta: Vector) -> Vector:
        """Return the weighted sum of the samples, and of the weights."""
        return np.append(transposed_times(self.X, beta, self.threads), beta.sum())

    def slopes(self, residual: Vector, width: float) -> Vector:
        """Return the derivative of the smoothed loss."""
        beta = np.clip(residual / width, -1.0, 1.0)
        beta *= self.half
        beta += self.middle
        return np.asarray(beta)

    def value(self, point: Vector, residual: Vector, width: float) -> float:
        """Return the smoothed primal objective."""
        distance = np.abs(residual)
        kink = np.maximum(distance, width)
        np.minimum(distance, width, out=distance)
        kink += distance * distance / (2.0 * width) - 0.5 * width
        loss = inner(self.middle, residual) + inner(self.half, kink)
        square = inner(point[:-1], point[:-1])
        return 0.5 * square + loss + inner(self.pull, point)

    def gradient(self, point: Vector, beta: Vector) -> Vector:
        out = self.pull - self.image(beta)
        out[:-1] += point[:-1]
        if not self.free:
            out[-1] = 0.0
        return out

    def newton_step(
        self, gradient: Vector, band: NDArray[np.bool_], width: float
    ) -> Vector:
        """Solve the Newton system; only samples on a parabola bend the objective."""
        d = gradient.size - 1
        hessian = np.zeros((d + 1, d + 1))
        members = np.flatnonzero(band)
        share = max(1, BLOCK_ENTRIES // (d + 1))
        for first in range(0, members.size, share):
            check_cancelled()
            self.add_squares(hessian, members[first : first + share], width)
        if not self.free:
            hessian[d] = 0.0
        hessian[np.arange(d), np.arange(d)] += 1.0
        # No sample on a parabola: the intercept is undetermined, so damp it.
        hessian[d, d] += 1e-10 * (1.0 + hessian[d, d])
        step = solve_definite(hessian, -gradient, self.threads)
        if step is None:
            hessian[np.diag_indices(d + 1)] += 1e-8 * hessian.diagonal().max()
            step = solve_definite(hessian, -gradient, self.threads)
        return np.zeros(d + 1) if step is None else step

    def add_squares(
        self, hessian: Vector, members: NDArray[np.intp], width: float
    ) -> None:
        """Add the curvature of some samples on their parabolas."""
        curvature = self.half[members] / width
        if sparse.issparse(self.X):
            add_sparse_squares(hessian, self.X, members, curvature)
            return
        block = np.ones((members.size, hessian.shape[0]))
        block[:, :-1] = self.X[members]
        block *= np.sqrt(curvature)[:, None]
        add_squares(hessian, block, self.threads)

    def line_search(
        self,
        point: Vector,
        step: Vector,
        residual: Vector,
        change: Vector,
        width: float,
    ) -> float:
        """Return the length at which the objective is least along the step.

        Its derivative rises, piecewise linearly: bracketed by doubling, then found by
        regula falsi (Illinois). Halving a full step instead takes half as many Newton
        steps again (a9a: 82 instead of 53).
        """
        constant = inner(point[:-1], step[:-1]) + inner(self.pull, step)
        constant -= inner(self.middle, change)
        square = inner(step[:-1], step[:-1])
        pull, start, rate = self.half * change, residual / width, change / width

        def derivative(length: float) -> float:
            shares = start - length * rate
            np.clip(shares, -1.0, 1.0, out=shares)
            return constant + length * square - inner(pull, shares)

        left, right = 0.0, 1.0
        at_left, at_right = derivative(0.0), derivative(1.0)
        first = at_left
        while at_right < 0.0 and right < 1e6:
            left, at_left, right = right, at_right, 2.0 * right
            at_right = derivative(right)
        for _ in range(SEARCHES):
            middle = (left * at_right - right * at_left) / (at_right - at_left)
            slope = derivative(middle)
            if abs(slope) <= 0.02 * abs(first):
                return middle
            if slope < 0.0:
                left, at_left, at_right = middle, slope, 0.5 * at_right
            else:
                right, at_right, at_left = middle, slope, 0.5 * at_left
        return left
