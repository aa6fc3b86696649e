"""Times and counts of the four contestants of Figure 2 on a solver by pair steps.

The settings are those of `widemargin.reproduction.ramp_timing` with fewer samples, so
that the kernel matrix fits in memory: all four are given the same one, and evaluating
it is in nobody's time. Beside them stands this package's own fit, which evaluates the
rows it needs.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable
from functools import partial
from itertools import product

import numpy as np

from widemargin import RampSVC
from widemargin.gram import Gram
from widemargin.kernels import Gaussian, Kernel, Linear, Precomputed
from widemargin.ramp.concave_convex import RampProblem
from widemargin.reproduction import ramp_timing
from widemargin.reproduction.measuring import say
from widemargin.reproduction.ramp_pairs import LIBSVM_PIECE, Tally, fit, scaled_piece
from widemargin.reproduction.ramp_report import rst_table
from widemargin.reproduction.ramp_timing import Setting
from widemargin.reproduction.results import Record, ResultStore

SIZE = 3000
MOST_ENTRIES = 1_500_000_000  # gradient entries a fit may move before it is stopped
LONG = 0.5  # processor seconds from which a fit is not repeated
KEPT = 1.5  # of the matrix: room for its rows in a cache, in the order of the samples
RIVALS = ("safe", "shrink", "safe+shrink")  # each against "none"
OFTEN = ""  # samples are taken out as often as by LIBSVM with the paper's samples
SELDOM = ", seldom"  # or after LIBSVM's number of steps, though samples are fewer
FITS = ("none", *(name + pace for pace in (OFTEN, SELDOM) for name in RIVALS))


def measure(setting: Setting, *, repeats: int = 2) -> Record:
    """Fit the four contestants and the engine in turn, and keep each one's best run."""
    X, y = ramp_timing.load(setting.dataset, setting.size)
    kernel: Kernel = Linear() if setting.kappa is None else Gaussian(setting.kappa)
    matrix = Gram(X, kernel).rows(np.arange(len(y)))

    def contestant(name: str) -> Record:
        choice, seldom, _ = name.partition(SELDOM)
        piece = min(LIBSVM_PIECE, len(y)) if seldom else scaled_piece(len(y))
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

    def engine() -> Record:
        model = RampSVC(init="svm", **setting.parameters(threads=1))
        before = time.process_time()
        model.fit(X, y)
        processor = time.process_time() - before
        return {"processor": processor, "objective": model.objective_}

    runs: dict[str, Callable[[], Record]] = {"engine": engine}
    runs |= {name: partial(contestant, name) for name in FITS}
    figures: dict[str, Record] = {}
    for _, (name, run) in product(range(repeats), runs.items()):
        known = figures.get(name)
        if known is None or known["processor"] < LONG:
            new = run()
            figures[name] = min(known or new, new, key=lambda one: one["processor"])
    check([figures[name] for name in FITS], setting.tol)
    return {"setting": setting.key, "n": len(y), "contestants": figures}


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
            record = store.add(setting.key, measure(setting, repeats=1 if quick else 2))
            figures = record["contestants"].items()
            times = ", ".join(f"{name} {run['processor']:.2f}" for name, run in figures)
            say(f"{setting.key}: {times}")


def tables(store: ResultStore) -> str:
    """Return how many times faster than none the others are, by kernel and over all."""
    every = {key: record["contestants"] for key, record in store.records.items()}
    ended = {key: runs for key, runs in every.items() if _ended(runs, *FITS)}
    stopped = [runs for key, runs in every.items() if key not in ended]
    sizes = sorted({record["n"] for record in store.records.values()})
    header = ["kernel", "settings"]
    header += [f"{rival}, {what}" for what in ("time", "entries") for rival in RIVALS]
    kernels = sorted({key.partition(" ")[2].partition(" C ")[0] for key in ended})
    choices = [(kernel, OFTEN) for kernel in (*kernels, "")] + [("", SELDOM)]
    rows = []
    for kernel, pace in choices:
        chosen = [runs for key, runs in ended.items() if kernel in key]
        row = [(kernel or "all") + pace, str(len(chosen))]
        for what, rival in product(("processor", "entries"), RIVALS):
            gains = [runs["none"][what] / runs[rival + pace][what] for runs in chosen]
            row.append(f"{np.median(gains):.2f}")
        rows.append(row)
    best = [
        min(runs[name]["processor"] for name in FITS) / runs["engine"]["processor"]
        for runs in ended.values()
    ]
    pieces = " or ".join(str(scaled_piece(n)) for n in sizes)
    return "\n".join(
        [
            "How many times faster than none, in processor time and in gradient "
            "entries moved (over the pair steps, the sum of the samples in play): "
            f"medians over settings, {' or '.join(f'{n:,}' for n in sizes)} samples, "
            f"tolerance 1e-6, samples taken out every {pieces} steps at first; in the "
            f"last row (seldom) every {LIBSVM_PIECE}. "
            f"{len(stopped)} of {len(every)} settings are left out, since a fit was "
            f"stopped there after {MOST_ENTRIES / 1e9:g} billion entries (none ended "
            f"in {sum(_ended(runs, 'none') for runs in stopped)} of them, safe+shrink "
            f"in {sum(_ended(runs, 'safe+shrink') for runs in stopped)}).\n",
            rst_table(header, rows),
            "The fastest of them takes, on the median setting, "
            f"{np.median(best):.2g} times as long as the fit of this package from the "
            "same start, although the kernel matrix was given to them, and to that "
            "fit it was not.\n",
        ]
    )


def _ended(runs: dict[str, Record], *names: str) -> bool:
    return all(runs[name]["status"] == "converged" for name in names)
