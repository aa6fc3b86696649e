"""Figure 2 of the robust SVM paper on the kind of solver the paper used: pair steps.

The engine of this package makes hundreds of pair steps between two looks at all
samples. The paper's solver moves the gradient of every active sample at every pair
step, so that a sample taken out saves time at once. Here the concave-convex procedure
runs on such a solver, the compiled pair solver driven in pieces; after a piece samples
are taken out by the safe rules of `widemargin.engine.screening.rules`, by LIBSVM's
shrinking, or by both. The kernel matrix is computed beforehand and given to all: what
is compared is pair steps times active samples, which is counted as well as timed.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from widemargin.engine.certificate import duality_gap, violation
from widemargin.engine.gram import Gram
from widemargin.engine.problem import DualProblem
from widemargin.engine.refinement import Descent
from widemargin.engine.screening.rules import screen
from widemargin.engine.solution import Solution
from widemargin.engine.solve_options import SolveOptions
from widemargin.engine.status import Status
from widemargin.estimators.ramp.concave_convex import Outcome, RampProblem, descend
from widemargin_papers.ramp.printed import CONTESTANTS

Vector = NDArray[np.float64]
Mask = NDArray[np.bool_]

LIBSVM_PIECE = 1000  # steps between two shrinkings of LIBSVM, at any number of samples
PAPERS_SIZE = 20_000  # samples of the paper's data sets: for fewer, in proportion
HALVED = 0.5  # of the gap at the last look of the safe rules: then they look again
WORTHWHILE = 0.1  # of the active samples: taking out fewer does not pay for its copy
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
        Gradient entries moved: over the pair steps, the sum of the active samples.
    decided : float
        Largest share of the samples taken out by the safe rules at a time.
    """

    most: int
    steps: int = 0
    entries: int = 0
    decided: float = 0.0

    def steps_left(self, in_play: int) -> int:
        """Return how many steps the limit allows with that many active samples."""
        return max(0, (self.most - self.entries) // in_play)

    def note(self, steps: int, in_play: int) -> None:
        """Add that many steps with that many active samples."""
        self.steps += steps
        self.entries += steps * in_play


@dataclass(frozen=True, eq=False)
class Level:
    """Samples that left play together, at the bounds they were at.

    Attributes
    ----------
    members : array of int
        The active samples before.
    gram : Gram
        Their view of the kernel matrix, with the rows gathered so far.
    gone : array of int
        The samples that left.
    beta : array of shape (n,)
        The point at that moment: the last at which the values of these were known.
    safely : bool
        Whether they are certain to be at those bounds in every solution.
    """

    members: NDArray[np.intp]
    gram: Gram
    gone: NDArray[np.intp]
    beta: Vector
    safely: bool


class Run:
    """A convex problem on its way.

    Attributes
    ----------
    problem : DualProblem
        Over all samples.
    beta, values : array of shape (n,)
        The point and the kernel matrix times it; the values of samples out of play are
        of the moment they left.
    members : array of int
        The active samples.
    gram : Gram
        The kernel matrix among them.
    levels : list of Level
        The samples out of play, those that left last at the end.
    """

    def __init__(self, start: Solution) -> None:
        self.problem = start.problem
        self.beta, self.values = start.beta.copy(), start.values.copy()
        self.members, self.gram = np.arange(self.problem.n), self.problem.gram
        self.levels: list[Level] = []

    @property
    def point(self) -> Solution:
        """The point of the problem over the active samples, the others fixed.

        What the others add to the values stays in them, and so in no linear term: the
        gradient is the same, and pair steps, violation, gap and safe rules are
        functions of the gradient. The sum is what it is to the last bit, so that no
        sample leaves a bound by rounding.
        """
        whole, chosen = self.problem, self.members
        beta = self.beta[chosen]
        box = whole.lower[chosen], whole.upper[chosen]
        part = DualProblem(self.gram, whole.linear[chosen], *box, float(beta.sum()))
        return Solution(part, beta, self.values[chosen], Status.START, exact=True)

    def within(self, tol: float) -> bool:
        """Whether no active sample violates the optimality conditions by more."""
        point = self.point
        return violation(point.problem, point.beta, point.values) <= ROUNDING * tol

    def take_out(self, gone: Mask, *, safely: bool) -> None:
        """Remove these samples, all at a bound, from the active ones if that pays."""
        if not WORTHWHILE * gone.size <= np.count_nonzero(gone) < gone.size:
            return
        left, before = self.members[gone], self.beta.copy()
        self.levels.append(Level(self.members, self.gram, left, before, safely))
        self.members = self.members[~gone]
        self.gram = self.problem.gram.subset(self.members)

    def bring_back(self, *, decided: bool = False) -> None:
        """Bring back all that was set aside, and what is decided only if asked to."""
        while self.levels and (decided or not self.levels[-1].safely):
            level = self.levels.pop()
            moved = self.beta - level.beta
            self.values[level.gone] += self.problem.gram.times(moved, level.gone)
            self.members, self.gram = level.members, level.gram

    def piece(self, steps: int, tol: float) -> tuple[Status, int]:
        """Make that many pair steps, or fewer if they are enough for `tol`.

        Returns how it ended and how many were made. Rows are float64, so that nothing
        has to be computed again.
        """
        start = self.point
        options = SolveOptions(
            tol=tol, max_iter=steps, shrinking=False, selection="second_order"
        )
        descent = Descent(start.problem, start, options)
        descent.run(tol)
        self.beta[self.members] = descent.beta
        self.values[self.members] = descent.gradient + start.problem.linear
        return descent.status, descent.spent.steps

    def gap(self) -> float:
        """Return the duality gap of the problem over the active samples."""
        point = self.point
        residual = point.problem.linear - point.values - point.intercept
        box = point.problem.lower, point.problem.upper
        return duality_gap(point.beta, residual, *box)

    def screened(self) -> tuple[Mask, float]:
        """Return samples decided by the safe rules and at that bound, and the gap."""
        point = self.point
        found = screen(point.problem, point.beta, point.values, rank=False)
        low = found.at_lower & (point.beta == point.problem.lower)
        high = found.at_upper & (point.beta == point.problem.upper)
        return low | high, found.gap

    def shrunk(self) -> Mask:
        """Return samples at a bound that no violating pair would take them from."""
        point = self.point
        gradient = point.values - point.problem.linear
        box = point.problem.lower, point.problem.upper
        return out_of_reach(gradient, point.beta, *box)


def out_of_reach(gradient: Vector, beta: Vector, lower: Vector, upper: Vector) -> Mask:
    """Return samples at a bound that no violating pair would take: shrinking."""
    least = gradient[beta < upper].min(initial=np.inf)
    most = gradient[beta > lower].max(initial=-np.inf)
    mask: Mask = ((beta <= lower) & (gradient > most)) | (
        (beta >= upper) & (gradient < least)
    )
    return mask


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
    before they look, all that was set aside is brought back. At the end all samples
    are brought back and checked, and the solve goes on if one violates its conditions.
    A piece has `piece` steps; where no sample is ever taken out, all steps are one.
    """
    if start is None:
        nothing = np.zeros(problem.n)
        start = Solution(problem, nothing, nothing, Status.START, exact=True)
    run = Run(start)
    due = np.inf
    while True:
        if safe and run.gap() <= due:
            run.bring_back()
            gone, gap = run.screened()
            due = HALVED * gap
            run.take_out(gone, safely=True)
            tally.decided = max(tally.decided, 1.0 - run.members.size / problem.n)
        if shrink:
            run.take_out(run.shrunk(), safely=False)
        in_play = run.members.size
        steps = tally.steps_left(in_play)
        status, made = run.piece(min(steps, piece) if safe or shrink else steps, tol)
        tally.note(made, in_play)
        stopped = tally.steps_left(in_play) == 0
        if status == Status.MAX_ITER and not stopped:
            continue
        run.bring_back()
        if run.within(tol) or stopped:
            run.bring_back(decided=True)
            safe = False  # a decided sample is violated: decide no more
        if run.within(tol) or stopped:
            status = Status.CONVERGED if run.within(tol) else Status.MAX_ITER
            return Solution(problem, run.beta, run.values, status, exact=True)


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
