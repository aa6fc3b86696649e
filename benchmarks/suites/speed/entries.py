"""Kernel entries of a fit against what is needed, and its time against the limit.

Every support vector's row must be evaluated once: n x n_SV entries are needed, and at
the rate of the kernel tile ("tile": with the instructions of ``WIDEMARGIN_TARGET``),
measured in the same run, they take the time of the limit.
One thread, processor time: shares are then of the whole fit.
"""

from __future__ import annotations

import resource
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from widemargin.engine.gram import Gram
from widemargin.engine.kernels import Gaussian
from widemargin.engine.problem import classification_problem
from widemargin.engine.solve import solve
from widemargin.engine.solve_options import SolveOptions
from widemargin.estimators.base.validation import cache_megabytes
from widemargin_papers.harness.measuring import Problem
from widemargin_papers.harness.text_tables import layout

RATE_ROWS = 256  # evaluated to measure the rate of the tile
PURPOSES = (
    "active_rows", "blocks", "tables", "stages", "inactive", "last_check", "products",
    "certificate",
)  # fmt: skip
ACTIVITIES = ("entries", "pair_steps", "row_sums", "arranging")
HEADER = [
    "problem", "n x n_SV", "entries /", *PURPOSES,
    "seconds", *ACTIVITIES, "system", "certificate time", "x limit", "tile",
]  # fmt: skip


@dataclass(frozen=True)
class Count:
    """What one fit evaluated, and where its processor time went.

    Attributes
    ----------
    needed : int
        Samples times support vectors.
    entries : dict
        Kernel entries by purpose.
    seconds, system, certificate : float
        Processor time of the fit; of it the system's (new pages), and of one proof.
    activities : dict
        Processor time by activity.
    limit : float
        Seconds that the needed entries take at the rate of the tile.
    """

    needed: int
    entries: dict[str, int]
    seconds: float
    system: float
    certificate: float
    activities: dict[str, float]
    limit: float


def count(problem: Problem) -> Count:
    """Fit a problem on one thread and count; its kernel must be Gaussian."""
    X, y = problem.load()
    settings = problem.settings
    gram = Gram(
        X,
        Gaussian(float(settings.gamma)),
        cache_mb=cache_megabytes("auto", X.shape[0]),
        threads=1,
    )
    dual = classification_problem(gram, np.where(y > 0, 1.0, -1.0), settings.C)
    begun, system = time.process_time(), _system_seconds()
    solution = solve(dual, SolveOptions(tol=settings.tol))
    solved, system = time.process_time(), _system_seconds() - system
    support, entries, seconds = solution.support.size, gram.entries, gram.seconds
    replace(solution, checked=None).verified()  # once more: the share of one proof
    proved = time.process_time()
    needed = X.shape[0] * support
    return Count(
        needed,
        entries,
        solved - begun,
        system,
        proved - solved,
        seconds,
        needed / _rate(X),
    )


def _system_seconds() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_stime


def _rate(X: object) -> float:
    """Return float32 entries evaluated in a second, by one thread.

    The kernel is a wide one: of a narrow one, entries are left out.
    """
    gram = Gram(X, Gaussian(1e-6), cache_mb=1, threads=1)
    weights = np.zeros(len(gram))
    weights[: min(RATE_ROWS, len(gram))] = 1.0
    gram.roughly_times(weights)  # packs the samples
    before = gram.evaluated, gram.seconds["entries"]
    gram.roughly_times(weights)
    return (gram.evaluated - before[0]) / (gram.seconds["entries"] - before[1])


def entries_table(halves: Mapping[str, Iterable[Problem]]) -> str:
    """Return the table of both halves: constants are chosen on the first."""
    rows: list[list[str]] = []
    for half, problems in halves.items():
        rows.append([half] + [""] * (len(HEADER) - 1))
        rows += [_row(problem.name, count(problem)) for problem in problems]
    return layout(HEADER, rows)


def _row(name: str, found: Count) -> list[str]:
    total = sum(found.entries.values())
    return [
        name,
        f"{found.needed / 1e6:.1f}M",
        f"{total / found.needed:.2f}",
        *(f"{found.entries[purpose] / found.needed:.2f}" for purpose in PURPOSES),
        f"{found.seconds:.3f}",
        *(f"{found.activities[name] / found.seconds:.0%}" for name in ACTIVITIES),
        f"{found.system / found.seconds:.0%}",
        f"{found.certificate / found.seconds:.0%}",
        f"{found.seconds / found.limit:.1f}",
        f"{found.needed / found.limit / 1e6:.0f}M/s",
    ]
