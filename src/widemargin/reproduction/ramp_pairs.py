"""Figure 2 of the robust SVM paper on the kind of solver the paper used: pair steps.

The engine of this package makes hundreds of pair steps between two looks at all
samples. The paper's solver moves the gradient of every sample in play at every pair
step, so that a sample taken out saves time at once. Here the concave-convex procedure
runs on such a solver, the compiled pair solver driven in pieces; after a piece samples
are taken out by the safe rules of `widemargin.screening`, by LIBSVM's shrinking, or by
both. The kernel matrix is computed beforehand and given to all: what is compared is
pair steps times samples in play, which is counted as well as timed.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from widemargin.problem import DualProblem
from widemargin.ramp.concave_convex import Outcome, RampProblem, descend
from widemargin.reproduction.ramp import out_of_reach
from widemargin.reproduction.ramp_timing import CONTESTANTS
from widemargin.screening import screen
from widemargin.solution import Solution
from widemargin.solve import solve

Vector = NDArray[np.float64]
Mask = NDArray[np.bool_]

LIBSVM_PIECE = 1000  # steps between two shrinkings of LIBSVM, at any number of samples
PAPERS_SIZE = 20_000  # samples of the paper's data sets: for fewer, in proportion
HALVED = 0.5  # of the gap at the last look of the safe rules: then they look again
WORTHWHILE = 0.1  # of the samples in play: taking out fewer does not pay for its copy
ROUNDING = 1.001  # of the tolerance: sums made up for differ in the last digits


@dataclass
class Tally:
    """What a fit has done so far, over all its convex problems.

    Attributes
    ----------
    most : int
        Gradient entries it may move before it is stopped.
    steps : int
        Pair steps.
    entries : int
        Gradient entries moved: over the pair steps, the sum of the samples in play.
    decided : float
        Largest share of the samples taken out by the safe rules at a time.
    """

    most: int
    steps: int = 0
    entries: int = 0
    decided: float = 0.0

    def steps_left(self, in_play: int) -> int:
        """Return how many steps the limit allows with that many samples in play."""
        return max(0, (self.most - self.entries) // in_play)

    def note(self, piece: Solution) -> None:
        """Add a piece of a solve."""
        self.steps += piece.n_iter
        self.entries += piece.n_iter * piece.problem.n


@dataclass(frozen=True, eq=False)
class Level:
    """A problem from which samples were taken out at the bounds they were at.

    Attributes
    ----------
    point : Solution
        The point at that moment: the last at which all these gradients were known.
    members : array of int
        Who stayed in play.
    safely : bool
        Whether the others are certain to be at those bounds in every solution.
    """

    point: Solution
    members: NDArray[np.intp]
    safely: bool

    def rest(self) -> Solution:
        """Return the point of the problem over the members."""
        whole = self.point.problem
        beta = self.point.beta[self.members]
        problem = whole.reduced(self.members, self.point.beta)
        # The sum stays what it is to the last bit: nobody leaves a bound by rounding.
        problem = replace(problem, total=float(beta.sum()))
        values = self.point.values[self.members] - self._pull(problem)
        return Solution(problem, beta, values, "max_iter", exact=True)

    def put_back(self, inner: Solution) -> Solution:
        """Return the point over everybody, the gradients of the others made up for."""
        problem = self.point.problem
        beta, values = self.point.beta.copy(), self.point.values.copy()
        beta[self.members] = inner.beta
        values[self.members] = inner.values + self._pull(inner.problem)
        others = np.delete(np.arange(problem.n), self.members)
        values[others] += problem.gram.times(beta - self.point.beta, others)
        return Solution(problem, beta, values, inner.status, exact=True)

    def _pull(self, inner: DualProblem) -> Vector:
        """Return what those taken out add to the values of the members."""
        pull: Vector = self.point.problem.linear[self.members]
        return pull - inner.linear


@dataclass
class Run:
    """A convex problem on its way: the samples in play, and below them those out."""

    point: Solution
    levels: list[Level] = field(default_factory=list)

    @property
    def in_play(self) -> int:
        """The number of samples in play."""
        return self.point.problem.n

    def within(self, tol: float) -> bool:
        """Say whether nobody in play violates the optimality conditions by more."""
        violation = self.point.certificate.kkt_violation
        return violation is not None and violation <= ROUNDING * tol

    def take_out(self, gone: Mask, *, safely: bool) -> None:
        """Go on without these samples, if that is worth it; they are at a bound."""
        if WORTHWHILE * gone.size <= np.count_nonzero(gone) < gone.size:
            self.levels.append(Level(self.point, np.flatnonzero(~gone), safely))
            self.point = self.levels[-1].rest()

    def bring_back(self, *, decided: bool = False) -> None:
        """Bring back all that was set aside, and what is decided only if asked to."""
        while self.levels and (decided or not self.levels[-1].safely):
            self.point = self.levels.pop().put_back(self.point)

    def piece(self, steps: int, tol: float) -> None:
        """Make that many pair steps, or fewer if they are enough for `tol`."""
        made = solve(
            self.point.problem,
            tol=tol,
            start=self.point,
            max_iter=steps,
            selection="second_order",
        )
        self.point = replace(made, exact=True)  # this solver's rows are float64

    def screened(self) -> tuple[Mask, float]:
        """Return whom the safe rules decide and who is at that bound, and the gap."""
        problem, beta = self.point.problem, self.point.beta
        found = screen(problem, beta, self.point.values, rank=False)
        low = found.at_lower & (beta == problem.lower)
        high = found.at_upper & (beta == problem.upper)
        return low | high, found.gap

    def shrunk(self) -> Mask:
        """Return who is at a bound that no violating pair would take it from."""
        problem, beta = self.point.problem, self.point.beta
        gradient = self.point.values - problem.linear
        everybody = np.ones(problem.n, bool)
        return out_of_reach(gradient, beta, problem.lower, problem.upper, everybody)


def solve_in_pieces(
    problem: DualProblem,
    start: Solution | None,
    *,
    safe: bool,
    shrink: bool,
    tol: float,
    tally: Tally,
    piece: int,
) -> Solution:
    """Solve a convex problem by pair steps, taking samples out between the pieces.

    Safe rules look whenever the gap has halved, and first at the start, which is how
    decisions propagate from one convex problem to the next (mathematics 5.3 and 5.4);
    before they look, all that was set aside is brought back. At the end everybody is
    brought back and checked, and the solve goes on if somebody objects. A piece has
    `piece` steps; more, in proportion, when fewer samples are in play, since each piece
    has a price of its own.
    """
    if start is None:
        nothing = np.zeros(problem.n)
        start = Solution(problem, nothing, nothing, "start", exact=True)
    run = Run(start)
    due = np.inf
    while True:
        if safe and (run.point.certificate.gap or 0.0) <= due:
            run.bring_back()
            gone, gap = run.screened()
            due = HALVED * gap
            run.take_out(gone, safely=True)
            tally.decided = max(tally.decided, 1.0 - run.in_play / problem.n)
        if shrink:
            run.take_out(run.shrunk(), safely=False)
        steps = tally.steps_left(run.in_play)
        if safe or shrink:
            steps = min(steps, piece * problem.n // run.in_play)
        run.piece(steps, tol)
        tally.note(run.point)
        stopped = tally.steps_left(run.in_play) == 0
        if run.point.status == "max_iter" and not stopped:
            continue
        run.bring_back()
        if run.within(tol) or stopped:
            run.bring_back(decided=True)
            safe = False  # who objects now had been decided: nobody is, until the end
        if run.within(tol) or stopped or run.point.status == "stalled":
            missed = "max_iter" if stopped else "stalled"
            status = "converged" if run.within(tol) else missed
            return replace(run.point, status=status)


def scaled_piece(n: int) -> int:
    """Return the piece that is to `n` samples what LIBSVM's is to the paper's."""
    return max(1, n * LIBSVM_PIECE // PAPERS_SIZE)


def fit(ramp: RampProblem, name: str, tol: float, tally: Tally, piece: int) -> Outcome:
    """Run the concave-convex procedure from the plain SVM as one of the contestants."""
    choice = CONTESTANTS[name]
    solver = partial(
        solve_in_pieces,
        safe=choice["screening"] == "safe",
        shrink=choice["shrinking"],
        tol=tol,
        tally=tally,
        piece=piece,
    )
    return descend(ramp, solver)
