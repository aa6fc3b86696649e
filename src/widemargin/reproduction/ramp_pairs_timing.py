"""Times and counts of the four contestants of Figure 2 on a solver by pair steps.

The settings are those of `widemargin.reproduction.ramp_timing` with fewer samples, so
that the kernel matrix fits in memory: all four are given the same one, and evaluating
it is in nobody's time. Beside them stands this package's own fit, which evaluates the
rows it needs.

With so few samples LIBSVM's 1,000 steps between two shrinkings are a good part of many
solves. So the contestants also run with pieces in proportion to the samples; these runs
are counted, not timed, since what a short piece costs in Python is no part of the idea.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable
from functools import partial
from itertools import product

import numpy as np
from numpy.typing import NDArray

from widemargin import RampSVC
from widemargin.gram import Gram
from widemargin.kernels import Gaussian, Kernel, Linear, Precomputed
from widemargin.ramp.concave_convex import RampProblem
from widemargin.reproduction import ramp_timing
from widemargin.reproduction.measuring import say
from widemargin.reproduction.ramp_pairs import LIBSVM_PIECE, Tally, fit, scaled_piece
from widemargin.reproduction.ramp_report import rst_table
from widemargin.reproduction.ramp_timing import CONTESTANTS, Setting
from widemargin.reproduction.results import Record, ResultStore

Vector = NDArray[np.float64]

SIZE = 3000
MOST_ENTRIES = 1_500_000_000  # gradient entries a fit may move before it is stopped
LONG = 1.0  # processor seconds from which a fit is not repeated
KEPT = 1.5  # of the matrix: room for its rows in a cache, in the order of the samples
RIVALS = ("safe", "shrink", "safe+shrink")  # each against "none"
OFTEN = ", often"  # with pieces in proportion to the samples
FITS = (*CONTESTANTS, *(name + OFTEN for name in RIVALS))


def measure(setting: Setting, *, repeats: int = 3) -> Record:
    """Fit the four contestants and the engine in turn, and keep each one's best run."""
    X, y = ramp_timing.load(setting.dataset, setting.size)
    kernel: Kernel = Linear() if setting.kappa is None else Gaussian(setting.kappa)
    matrix = Gram(X, kernel).rows(np.arange(len(y)))

    def engine() -> Record:
        model = RampSVC(init="svm", **setting.parameters(threads=1))
        before = time.process_time()
        model.fit(X, y)
        processor = time.process_time() - before
        return {"processor": processor, "objective": model.objective_}

    runs: dict[str, Callable[[], Record]] = {"engine": engine}
    runs |= {name: partial(run, setting, matrix, y, name) for name in CONTESTANTS}
    figures: dict[str, Record] = {}
    for _, (name, repeated) in product(range(repeats), runs.items()):
        known = figures.get(name)
        if known is None or known["processor"] < LONG:
            new = repeated()
            figures[name] = min(known or new, new, key=lambda one: one["processor"])
    if _ended(figures, *CONTESTANTS):
        counted = FITS[len(CONTESTANTS) :]
        figures |= {name: run(setting, matrix, y, name) for name in counted}
    check([figures[name] for name in FITS if name in figures], setting.tol)
    return {"setting": setting.key, "n": len(y), "contestants": figures}


def run(setting: Setting, matrix: Vector, y: Vector, name: str) -> Record:
    """Fit one contestant and return what it took and where it ended."""
    choice, often, _ = name.partition(OFTEN)
    piece = scaled_piece(len(y)) if often else min(LIBSVM_PIECE, len(y))
    gram = Gram(matrix, Precomputed(), cache_mb=KEPT * matrix.nbytes / 1e6)
    ramp = RampProblem(gram, y, np.full(len(y), setting.C), 0.0)
    tally = Tally(MOST_ENTRIES)
    before = time.process_time()
    end = fit(ramp, choice, setting.tol, tally, piece)
    processor = time.process_time() - before
    certificate = end.solution.recomputed().certificate
    return {
        "processor": processor,
        "steps": tally.steps,
        "entries": tally.entries,
        "decided": tally.decided,
        "status": certificate.status,
        "objective": certificate.objective,
        "gap": certificate.gap,
        "kkt_violation": certificate.kkt_violation,
        "clipped": hashlib.sha256(end.clipped.tobytes()).hexdigest()[:12],
    }


def check(runs: list[Record], tol: float) -> None:
    """Raise unless all runs that ended are certified, and agree where they clip alike.

    Two solutions of a convex problem have objectives within the larger of their gaps.
    """
    ended = [run for run in runs if run["status"] == "converged"]
    for run in ended:
        if run["kkt_violation"] > 1.01 * tol:
            raise RuntimeError(f"the conditions are violated by {run['kkt_violation']}")
    for one, other in product(ended, ended):
        if one["clipped"] == other["clipped"]:
            apart = abs(one["objective"] - other["objective"])
            if apart > max(one["gap"], other["gap"]) + 1e-9 * one["objective"]:
                raise RuntimeError(f"two objectives are {apart} apart")


def campaign(store: ResultStore, *, quick: bool = False) -> None:
    """Measure every setting that `store` does not hold."""
    for setting in ramp_timing.settings(size=600 if quick else SIZE):
        if not store.has(setting.key, any_commit=True):
            record = store.add(setting.key, measure(setting, repeats=1 if quick else 3))
            figures = record["contestants"].items()
            times = ", ".join(f"{name} {run['processor']:.2f}" for name, run in figures)
            say(f"{setting.key}: {times}")


def tables(store: ResultStore) -> str:
    """Return how many times faster than none the others are, by kernel and over all."""
    every = {key: record["contestants"] for key, record in store.records.items()}
    ended = {key: runs for key, runs in every.items() if _ended(runs, *FITS)}
    stopped = [runs for key, runs in every.items() if key not in ended]
    sizes = sorted({record["n"] for record in store.records.values()})
    figures = [("processor", ""), ("entries", ""), ("entries", OFTEN)]
    kernels = sorted({key.partition(" ")[2].partition(" C ")[0] for key in ended})
    rows = []
    for kernel in (*kernels, ""):
        chosen = [runs for key, runs in ended.items() if kernel in key]
        row = [kernel or "all", str(len(chosen))]
        for (what, pace), rival in product(figures, RIVALS):
            gains = [runs["none"][what] / runs[rival + pace][what] for runs in chosen]
            row.append(f"{np.median(gains):.2f}")
        rows.append(row)
    header = ["kernel", "settings"]
    for label in ("time", "entries", "entries often"):
        header += [f"{label}: {RIVALS[0]}", *RIVALS[1:]]
    best = [
        min(runs[name]["processor"] for name in CONTESTANTS)
        / runs["engine"]["processor"]
        for runs in ended.values()
    ]
    total = len(list(ramp_timing.settings()))
    return "\n".join(
        [
            "How many times less than none: processor time; gradient entries moved, "
            "which is over the pair steps the sum of the samples in play; and entries "
            "when samples are taken out more often. Medians over settings, "
            f"{' or '.join(f'{n:,}' for n in sizes)} samples, tolerance 1e-6, a piece "
            f"of {LIBSVM_PIECE} steps, or often "
            f"{' or '.join(str(scaled_piece(n)) for n in sizes)}. "
            f"{len(every)} of the {total} settings were measured; left out are "
            f"{len(stopped)} in which a fit was stopped after "
            f"{MOST_ENTRIES / 1e9:g} billion entries (none ended in "
            f"{sum(_ended(runs, 'none') for runs in stopped)} of these, safe+shrink in "
            f"{sum(_ended(runs, 'safe+shrink') for runs in stopped)}).\n",
            rst_table(header, rows),
            "Twice as fast as none on the median setting (the paper: almost 50% less "
            f"time) is safe+shrink by {_verdicts(rows[-1])}.\n",
            "The fastest of the four takes, on the median setting, "
            f"{np.median(best):.2g} times as long as the fit of this package from the "
            "same start, although the kernel matrix was given to the four, and to that "
            "fit it was not.\n",
        ]
    )


def _verdicts(row: list[str]) -> str:
    """Say by which of the figures safe+shrink is twice as fast, from the last row."""
    names = ("time", "entries", "entries when taken out often")
    gains = [float(gain) for gain in row[4::3]]
    yes = [name for name, gain in zip(names, gains, strict=True) if gain >= 2.0]
    no = [name for name in names if name not in yes]
    return f"{', '.join(yes) or 'none of them'}; not by {', '.join(no) or 'none'}"


def _ended(runs: dict[str, Record], *names: str) -> bool:
    found = [runs[name]["status"] for name in names if name in runs]
    return len(found) == len(names) and set(found) == {"converged"}
