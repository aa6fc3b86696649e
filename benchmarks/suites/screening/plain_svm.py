"""Does safe screening pay in a plain SVM? Small caches, and a fine path in C.

Each solve with and without the interval rule, counted in kernel entries and timed. The
path solves twenty values of C over a factor of ten, each from the last solution.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from widemargin.engine.gram import Gram
from widemargin.engine.problem import classification_problem
from widemargin.engine.screening.screener import Screener
from widemargin.engine.solution import Solution
from widemargin.engine.solve import solve
from widemargin.engine.solve_options import SolveOptions
from widemargin_papers.harness.missing_runs import Measurement
from widemargin_papers.harness.results import Record, ResultStore
from widemargin_papers.harness.text_tables import rst_table
from widemargin_papers.harness.timing import fastest_in_turn, processor_seconds
from widemargin_papers.ramp import printed
from widemargin_papers.ramp.printed import DATASETS, Setting

SIZE = 10_000
CACHES = (2.0, 20.0, 200.0)  # megabytes of kernel rows
PATH = 10.0 ** np.linspace(-1.0, 0.0, 20)  # of C
RULES = {"none": False, "safe": True}


def measure(setting: Setting, cache_mb: float, shares: tuple[float, ...]) -> Record:
    """Solve at each share of C in turn, with and without screening."""
    X, y = printed.load(setting.dataset, setting.size)

    def run(screening: bool) -> Record:
        gram = Gram(X, setting.kernel, cache_mb=cache_mb)

        def solved() -> None:
            last: Solution | None = None
            for share in shares:
                problem = classification_problem(gram, y, np.full(len(y), share))
                options = SolveOptions(screen=Screener() if screening else None)
                start = None if last is None else last.beta
                last = solve(problem, options, start=start)

        seconds, _ = processor_seconds(solved)
        return {"processor": seconds, "evaluated": gram.evaluated}

    runs = {name: partial(run, screening) for name, screening in RULES.items()}
    return {"n": len(y), "rules": fastest_in_turn(runs, 3)}


def work() -> Iterator[Measurement]:
    """Yield one solve for each cache, and the path, of every data set."""
    for dataset in DATASETS:
        setting = Setting(dataset, 0.5, 1.0, size=SIZE)
        for cache in CACHES:
            key = f"{dataset}, cache {cache:g} MB"
            yield key, partial(measure, setting, cache, (10.0,))
        path = tuple(10.0 * PATH)
        yield f"{dataset}, path in C", partial(measure, setting, CACHES[-1], path)


def table(store: ResultStore) -> str:
    """Return kernel entries and seconds of both, and the ratios."""
    rows = []
    for key, record in sorted(store.records.items()):
        none, safe = (record["rules"][name] for name in RULES)
        entries = none["evaluated"] / safe["evaluated"]
        row = [key, f"{none['evaluated'] / 1e6:.0f}", f"{safe['evaluated'] / 1e6:.0f}"]
        row += [f"{1e3 * none['processor']:.0f}", f"{1e3 * safe['processor']:.0f}"]
        rows.append(
            [*row, f"{entries:.2f}", f"{none['processor'] / safe['processor']:.2f}"]
        )
    header = ["setting", "none, M entries", "safe, M entries", "none, ms", "safe, ms"]
    header += ["none / safe, entries", "none / safe, time"]
    return "\n".join(
        [
            f"A plain SVM on {SIZE:,} samples, kappa 0.5, C = 10 (path: twenty values "
            "from 1 to 10, warm starts): millions of kernel entries evaluated and "
            "processor milliseconds:\n",
            rst_table(header, rows),
        ]
    )
