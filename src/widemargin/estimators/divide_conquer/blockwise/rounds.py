"""Exact in rounds: solve on a few rows, judge the others in blocks, take in violators.

The first rounds judge a growing share of the rows, so that the model is nearly that of
all rows when it meets all of them. A solve starts from the former solution. When no
row violates a margin, the solution is that of all rows, although most were never held.
Only a solve that more rows enter than have coefficients starts from nothing: the former
point says little of its own, and in stages it takes a half to a sixth of the steps.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from widemargin.engine.bounds import (
    gap_between,
    half_square_above,
    slope_bounds,
    total_above,
    violation_of,
)
from widemargin.engine.certificate import Certificate
from widemargin.engine.gram import Gram
from widemargin.engine.kernels import CallableKernel, Kernel
from widemargin.engine.solution import stage_record
from widemargin.engine.solve_options import SolveOptions
from widemargin.engine.status import Status
from widemargin.runtime.deadline import NEVER

from .block_source import RowBlocks
from .gathered import Gathered, PairSolver, SolvedPair, with_solutions
from .judging import Judge, Judged, judge_block
from .survey import Survey

Vector = NDArray[np.float64]

# Shares of the tolerance: rows inside are solved to the first, rows outside miss the
# margin by at most the second, on either side, so that the whole is within tol.
INNER, OUTSIDE = 0.5, 0.25
ROUGH = 1e-2  # tolerance of the rounds that judge a share of the rows
GROWTH = 4  # from share to share
CUSHION = 0.05  # rows so far beyond the margin come in beside violators
MOST = 8  # rows taken in at most, in support vectors: where most rows lie at the margin
SPARE = 1.01  # for bounds that are themselves rounded


@dataclass(frozen=True)
class Reached:
    """Where an exact fit stands after a solve: its rows and what was found on them."""

    gathered: Gathered
    solved: list[SolvedPair]
    step: int


@dataclass
class Rounds:
    """An exact fit on blocks of rows.

    Attributes
    ----------
    blocks, seen : RowBlocks, Survey
        The rows, and what a first pass over them found.
    kernel, costs, solver, options : Kernel, array, PairSolver, SolveOptions
        The problem: the kernel and the C of each class; how its pairs are solved.
    save : callable or None
        Called with what was reached after each solve: a checkpoint.
    progress : callable or None
        Called with (what, blocks done, of).
    """

    blocks: RowBlocks
    seen: Survey
    kernel: Kernel
    costs: Vector
    solver: PairSolver
    options: SolveOptions
    save: Callable[[Reached, list[dict[str, Any]]], None] | None = None
    progress: Callable[[str, int, int], None] | None = None
    history: list[dict[str, Any]] = field(default_factory=list)
    reached: Reached | None = None
    steps: Vector = field(default_factory=lambda: np.zeros(1))  # of each pair

    def first_rows(self) -> Gathered:
        """Return the rows of the survey's sample."""
        seen = self.seen
        costs = self.costs[seen.codes] * seen.weights
        n_classes = len(seen.classes)
        return Gathered.fresh(seen.rows, seen.sample, seen.codes, costs, n_classes)

    def run(self, gathered: Gathered, step: int = 0) -> list[Certificate]:
        """Solve and judge until no row violates a margin, or the time is up.

        `step` is the number of the share to begin with. Ctrl-C is raised; what was
        reached by then is `reached`.
        """
        shares = self.shares(len(self.seen.rows))
        while True:
            clock, share = time.perf_counter(), shares[min(step, len(shares) - 1)]
            whole = step >= len(shares) - 1
            tol = INNER * self.options.tol
            options = replace(
                self.options, tol=tol if whole else max(tol, ROUGH), certify=whole
            )
            solved, entries = self.solver.solve(gathered, options)
            gathered = with_solutions(gathered, solved)
            self.steps = self.steps + [pair.solution.n_iter for pair in solved]
            self.reached = Reached(gathered, solved, step)
            solve_seconds = time.perf_counter() - clock
            if self.save is not None:
                self.save(self.reached, self.history)
            stopped = any(pair.solution.status.stopped for pair in solved)
            parts = None if stopped else self._pass(gathered, solved, share)
            judged = None if parts is None else _together(parts)
            self._record(solved, judged, share, clock, solve_seconds, entries)
            late = judged is None or any(part is None for part in parts or [])
            if late or (whole and judged is not None and judged.violators == 0):
                return self.certificates(parts if whole else None, late=late)
            assert judged is not None
            support = gathered.support()
            if not whole:  # what has no coefficient is judged again
                gathered = gathered.only(support)
            gathered = gathered.joined(judged.found)
            if judged.violators > len(support):
                gathered = gathered.without_start()
            step += 1

    def shares(self, first: int) -> list[float]:
        """Return the share of the rows that each round judges; the last is all."""
        shares, share = [], GROWTH * first / self.seen.n
        while share < 0.5:
            shares.append(share)
            share *= GROWTH
        return [*shares, 1.0]

    def certificates(
        self, parts: Sequence[Judged | None] | None, *, late: bool
    ) -> list[Certificate]:
        """Return the certificate of each pair over all rows, for the point reached.

        Rows of blocks that were not judged enter by a bound on their decision values;
        where there is none (a kernel that is not semidefinite), they are judged now.
        """
        assert self.reached is not None
        solved = self.reached.solved
        radius = [self._largest_value(pair) for pair in solved]
        if parts is None:
            parts = [None] * len(self.blocks.lengths)
        if None in parts and None in radius:
            parts = self._pass(self.reached.gathered, solved, 1.0, finish=True)
        judged = _together(parts)
        unseen = [number for number, part in enumerate(parts) if part is None]
        left = self.seen.masses[unseen].sum(axis=0) * self.costs * SPARE
        whole = []
        for number, pair in enumerate(solved):
            loss, slopes = 0.0, (np.inf, -np.inf)
            if judged is not None:
                loss = float(judged.losses[number])
                slopes = float(judged.growth[number]), float(judged.fall[number])
            own = radius[number]
            if unseen and own is not None:
                cost = float(left[pair.positive] + left[pair.negative])
                loss += cost * (1.0 + abs(pair.solution.intercept) + own)
                slopes = min(slopes[0], -own - 1.0), max(slopes[1], own + 1.0)
            certificate = _over_all_rows(pair, loss, slopes, self.options.tol)
            if late and not Status(certificate.status).stopped:
                certificate = replace(certificate, status=Status.MAX_TIME.value)
            whole.append(replace(certificate, n_iter=int(self.steps[number])))
        return whole

    def _largest_value(self, pair: SolvedPair) -> float | None:
        """Return ``||w|| max_i ||phi(x_i)||``: no decision value is larger."""
        if isinstance(self.kernel, CallableKernel) or not self.kernel.semidefinite:
            return None
        checked = pair.solution.verified().checked
        assert checked is not None
        square = 2.0 * half_square_above(
            pair.solution.beta, checked.values, checked.errors
        )
        widest = Gram(self.seen.widest, self.kernel, cache_mb=1).diagonal()
        return SPARE * float(np.sqrt(max(square, 0.0) * widest[0]))

    def _pass(
        self,
        gathered: Gathered,
        solved: Sequence[SolvedPair],
        share: float,
        *,
        finish: bool = False,
    ) -> list[Judged | None]:
        """Judge a share of the rows of every block; `finish` whatever the time."""
        support = gathered.support()
        judge = Judge(
            self.kernel,
            self.seen.classes,
            self.costs,
            gathered.X[support] if len(support) else gathered.X[:1],
            gathered.betas.T[support] if len(support) else gathered.betas.T[:1],
            np.array([pair.solution.intercept for pair in solved]),
            gathered.rows,
            1.0 - OUTSIDE * self.options.tol,
            CUSHION if share >= 1.0 else 0.0,
            max(100, -(-2 * (MOST * len(support) + 1000) // len(self.blocks.lengths))),
            share,
            self.options.seed,
            self.blocks.threads or self.solver.threads,
        )
        what = f"judges {share:.1%} of the rows"

        def shown(done: int, of: int) -> None:
            if self.progress is not None:
                self.progress(what, done, of)

        deadline = NEVER if finish else self.options.deadline
        return self.blocks.each(judge_block, judge, deadline, shown)

    def _record(
        self,
        solved: Sequence[SolvedPair],
        judged: Judged | None,
        share: float,
        clock: float,
        solve_seconds: float,
        entries: int,
    ) -> None:
        assert self.reached is not None
        gathered = self.reached.gathered
        self.history.append(
            stage_record(
                f"round {len(self.history) + 1}",
                len(gathered.rows),
                time.perf_counter() - clock,
                [pair.solution.figures for pair in solved],
                n_support=len(gathered.support()),
                solve_seconds=solve_seconds,
                solve_entries=entries,
                share=share,
                violators=None if judged is None else judged.violators,
                found=0 if judged is None else sum(len(f.rows) for f in judged.found),
                judged_entries=0 if judged is None else judged.entries,
            )
        )


def _together(parts: Sequence[Judged | None]) -> Judged | None:
    known = [part for part in parts if part is not None]
    return Judged.together(known) if known else None


def _over_all_rows(
    pair: SolvedPair, loss: float, slopes: tuple[float, float], tol: float
) -> Certificate:
    """Certificate of the problem over all rows; those outside have no coefficient.

    So the dual value, a lower bound of the optimum, is that of the rows inside.
    """
    solution = pair.solution.verified()
    inner, problem, checked = solution.certificate, solution.problem, solution.checked
    assert checked is not None
    growth, fall = slope_bounds(problem, solution.beta, checked.values, checked.errors)
    violation = violation_of(
        min(growth, slopes[0]),
        max(fall, slopes[1]),
        has_equality=problem.total is not None,
    )
    objective = total_above([inner.objective, loss])
    status = Status(inner.status)
    if violation <= tol and not status.stopped:
        status = Status.CONVERGED
    elif status.solved:
        status = Status.STALLED
    return replace(
        inner,
        status=status.value,
        objective=objective,
        gap=gap_between(objective, inner.bound),
        kkt_violation=violation,
    )
