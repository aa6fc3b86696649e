"""The run through the levels of one fit: resumable and interruptible.

Keeps what outlives an interruption, the last complete level, and what the records need
at the end, the support vectors of each level.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from widemargin.engine.bounds import gap_between, total_above, total_below
from widemargin.engine.certificate import Certificate
from widemargin.engine.solution import stage_record
from widemargin.engine.solve_options import SolveOptions
from widemargin.engine.status import Status
from widemargin.multilevel.driver import Plan, precision_recall, run_levels
from widemargin.multilevel.level import (
    ClusterMonitor,
    Division,
    Level,
    Limits,
    PartSolution,
)

from . import checkpoint
from .certified_point import CertifiedPoint
from .single_class_clusters import Loan, borrow

Vector = NDArray[np.float64]
Indices = NDArray[np.intp]


@dataclass
class LevelRun:
    """The levels of one fit, their records and their checkpoints.

    Parameters
    ----------
    division, plan : Division, Plan
        What is divided, and how.
    stop_at : int
        Last level to solve.
    options, limits : SolveOptions, Limits
        Options and limits of every solve.
    path : path-like or None
        Where checkpoints go.
    """

    division: Division
    plan: Plan
    stop_at: int
    options: SolveOptions
    limits: Limits
    path: Any = None
    level: Level | None = None
    stages: list[dict[str, Any]] = field(default_factory=list)
    evidence: list[dict[str, Any]] = field(default_factory=list)
    interrupted: bool = False
    _supports: list[list[Indices]] = field(default_factory=list)

    def solve(self, progress: ClusterMonitor | None = None) -> Level | None:
        """Solve the levels; after Ctrl-C or the deadline the last complete one is kept.

        Ctrl-C before the first complete level is raised.
        """
        origin = None if self.path is None else self._origin()
        self._resume(origin)

        def completed(level: Level) -> None:
            self.level = level
            self._remember(level)
            if origin is not None:
                checkpoint.write(self.path, level, self.stages, origin)

        try:
            run_levels(
                self.division,
                self.plan,
                self.options,
                self.limits,
                stop_at=self.stop_at,
                resume=self.level,
                record=self.stages.append,
                progress=progress,
                completed=completed,
            )
        except KeyboardInterrupt:
            if self.level is None:
                raise
            self.interrupted = True
        return self.level

    def borrowed(self) -> list[Loan]:
        """Solve clusters of the last level that lack a class, with borrowed rows."""
        assert self.level is not None
        if self.options.deadline.passed:
            return []
        begun = time.perf_counter()
        loans = borrow(self.level, self.division, self.options, self.limits)
        seconds = time.perf_counter() - begun
        if loans:
            parts = [loan.solution for loan in loans]
            size = sum(len(loan.rows) for loan in loans)
            lent = [loan.record() for loan in loans]
            self.stages.append(
                stage_record("borrowing", size, seconds, parts, loans=lent)
            )
        return loans

    def record_support_recovery(self, finals: Sequence[Indices]) -> None:
        """Add to each stage the precision and recall of its support vectors."""
        for stage, supports in zip(self.stages, self._supports, strict=False):
            if not supports:  # solved before a resumption
                continue
            offset, found, final = 0, [], []
            for own, support, last in zip(
                self.division.rows, supports, finals, strict=True
            ):
                found.append(support + offset)
                final.append(last + offset)
                offset += len(own)
            stage.update(precision_recall(np.concatenate(found), np.concatenate(final)))

    def _remember(self, level: Level) -> None:
        self._supports.append([np.flatnonzero(beta) for beta in level.betas])

    def _resume(self, origin: checkpoint.Origin | None) -> None:
        if origin is None:
            return
        levels = range(self.stop_at, self.plan.n_levels + 1)
        stored = checkpoint.read(self.path, self.division, origin, levels)
        if stored is not None:
            self.level, self.stages = stored
            self.stages[-1]["resumed"] = True
            self._supports = [[] for _ in self.stages[:-1]]
            self._remember(self.level)

    def _origin(self) -> checkpoint.Origin:
        division = self.division
        vectors = [
            array
            for problem in division.problems
            for array in (problem.linear, problem.lower, problem.upper)
        ]
        settings = {
            "plan": asdict(replace(self.plan, partition=None)),  # it follows
            "stop_at": self.stop_at,
            "tol": self.options.tol,
            "equality": [problem.total for problem in division.problems],
        }
        return checkpoint.Origin(
            checkpoint.data_digest(division.samples, *vectors, *division.rows),
            checkpoint.settings_digest(division.kernel, settings),
            checkpoint.probe_values(division.kernel, division.samples),
        )


def early_solutions(
    run: LevelRun, threads: int, loans: Sequence[Loan] = ()
) -> list[CertifiedPoint]:
    """One entry per class pair of the last level, for the attributes of an exact fit.

    The problems of clusters that borrowed rows count beside those without them, which
    have no loss.
    """
    level = run.level
    assert level is not None
    sizes = level.partition.sizes
    seconds = sum(stage["seconds"] for stage in run.stages)
    solutions = []
    for pair, (beta, parts) in enumerate(zip(level.betas, level.parts, strict=True)):
        own = level.present[:, pair]
        average = float(np.average(level.intercepts[own, pair], weights=sizes[own]))
        lent = [loan.solution for loan in loans if loan.pair == pair]
        certificate = block_certificate([*parts, *lent], seconds, threads)
        if run.interrupted:
            certificate = replace(certificate, status=Status.INTERRUPTED.value)
        solutions.append(CertifiedPoint(beta, average, certificate))
    return solutions


def finish_stopped(level: int, clusters: int) -> str:
    """Return the words of the warning where the time was up in the exact finish."""
    return (
        "The exact finish was stopped (max_time); the model is the early one of level "
        f"{level} ({clusters} clusters). Fit again, with checkpoint= to go on from "
        "this level."
    )


def block_certificate(
    parts: Sequence[PartSolution], seconds: float, threads: int
) -> Certificate:
    """Certificate of the block-kernel problem: sums over the clusters."""
    objective = total_above(part.objective for part in parts)
    bound = total_below(part.bound for part in parts)
    unsolved = [part.status for part in parts if not part.status.solved]
    return Certificate(
        status=(unsolved[0] if unsolved else Status.EARLY).value,
        objective=objective,
        bound=bound,
        gap=gap_between(objective, bound),
        kkt_violation=max(part.kkt_violation for part in parts),
        n_iter=sum(part.n_iter for part in parts),
        seconds=seconds,
        threads=threads,
    )
