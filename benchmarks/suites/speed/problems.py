"""Suites on the problems of the ratio table, and beyond: counted, drawn, growing."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from widemargin_papers.bench.problems import (
    COVTYPE,
    IJCNN1,
    covtype,
    ijcnn1,
    of_file,
    problems,
)
from widemargin_papers.harness import datasets
from widemargin_papers.harness.contestants import Settings
from widemargin_papers.harness.measuring import Problem

SWEEP_SIZE, SWEEP_MORE = 60, 20
GROWING_SIZES = (1_000, 3_162, 10_000, 31_623, 100_000)


def counted() -> dict[str, list[Problem]]:
    """Return the problems whose kernel entries are counted, in two halves.

    Constants of the engine are chosen on the first and checked on the second.
    """
    table = problems()
    covtype_30k = of_file("covtype.binary", "covtype 30000x54", (30_000, 54),
                           partial(covtype, 30_000), COVTYPE)  # fmt: skip
    chosen, checked = ("letter", "cod-rna 20000x8 in", "images 1"), (
        "synthetic", "cod-rna 20000x8 st", "ijcnn1", "a9a CSR, C=1", "covtype",
        "phoneme", "magic04", "protein", "w5a",
    )  # fmt: skip
    return {
        "chosen on": [p for p in table.values() if p.name.startswith(chosen)]
        + [covtype_30k],
        "checked on": [p for p in table.values() if p.name.startswith(checked)],
    }


def sweep(size: int = SWEEP_SIZE, more: int = SWEEP_MORE) -> list[Problem]:
    """Return random problems: n 100..20,000, d 2..500, C and gamma log-uniform.

    Problem i is the same on every machine: it is drawn with seed i. gamma is measured
    in units of 1 / (d Var(X)), the kernel's natural width. Of ``more`` problems after
    these every other one is wide, d 500..2,000, and the rest have 3 to 8 classes.
    """
    drawn = []
    for seed in range(size + more):
        rng = np.random.default_rng(seed)
        is_wide = seed >= size and seed % 2 == 0
        classes = 2 if seed < size or is_wide else int(rng.integers(3, 9))
        n = round(10 ** rng.uniform(2, np.log10(5_000 if is_wide else 20_000)))
        widths = (500, 2_000) if is_wide else (2 if classes == 2 else 8, 500)
        d = round(10 ** rng.uniform(*np.log10(widths)))
        C = 10 ** rng.uniform(-1, 3)
        width = 10 ** rng.uniform(-1.5, 1.5)
        noise = rng.uniform(0.0, 0.2)
        load = partial(
            datasets.generated, n, d, seed=seed, noise=noise, classes=classes
        )
        gamma = float(width / (d * load()[0].var()))
        words = "" if classes == 2 else f", {classes} classes"
        drawn.append(
            Problem(
                f"sweep {seed:02d}: {n}x{d}{words}",
                load,
                Settings(C=float(C), gamma=gamma),
                {"scikit-learn": 1.0},
                repeats=5 if n > 1000 else 30,  # milliseconds need many
                peers=("scikit-learn",),
            )
        )
    return drawn


def growing(sizes: tuple[int, ...] = GROWING_SIZES) -> list[Problem]:
    """Return ijcnn1 and covtype in growing sizes: fit time against n."""
    drawn = []
    for n in sizes:
        drawn += [
            of_file("ijcnn1.t", f"ijcnn1 n={n}", (n, 22), partial(ijcnn1, n), IJCNN1),
            of_file("covtype.binary", f"covtype n={n}", (n, 54), partial(covtype, n),
                     COVTYPE),
        ]  # fmt: skip
    return [replace(problem, peers=()) for problem in drawn]


def _changed(problem: Problem, words: str, settings: Settings) -> Problem:
    name = f"{problem.name}, {words}"
    return replace(problem, name=name, settings=settings, target={})


def tighter(tol: float = 1e-6) -> list[Problem]:
    """Return the medium problems at another tolerance."""
    chosen = ("synthetic", "letter", "cod-rna", "ijcnn1")
    return [
        _changed(problem, f"tol={tol:g}", replace(problem.settings, tol=tol))
        for name, problem in problems().items()
        if name.startswith(chosen)
    ]


def one_thread() -> list[Problem]:
    """Return the problems of the ratio table with one thread for all contestants."""
    return [
        _changed(problem, "one thread", replace(problem.settings, threads=1))
        for name, problem in problems().items()
        if problem.action == "fit" and "linear" not in name and "covtype" not in name
    ]
