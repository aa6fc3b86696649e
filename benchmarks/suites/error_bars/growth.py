"""How the chance-constrained solvers grow: with rows, with features, beyond memory.

Generated data, two normal classes whose means differ along one direction. Exponents are
slopes of least squares in the logarithms, over all sizes of the table and over the last
three, where what is paid once no longer counts. Each method runs once untimed first.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from suites.sampling import sampled
from widemargin.estimators.chance_constrained import ChanceConstrainedSVC
from widemargin_papers.chance.methods import (
    METHODS,
    class_problem,
    dense_data,
    partition,
    timed,
)
from widemargin_papers.chance.printed import SEDUMI
from widemargin_papers.harness.cells import Cell, Figure, Task, row_cells
from widemargin_papers.harness.timing import processor_seconds
from widemargin_papers.harness.worker import status_megabytes

from ..record_tables import exponent

Floats = NDArray[np.float64]

ROWS = (1_000, 10_000, 100_000, 1_000_000)
FEATURES = (10, 30, 100, 300, 1_000, 2_000)
ROWS_FOR_FEATURES = 4_000
STREAMED = 10_000_000
BUDGET_MB = 256.0
PIECE = 200_000  # rows of a file that are made at a time


def tasks() -> list[Task]:
    """Return the asked ratios, the growth tables and the stream from disk."""
    return [
        Task("asked ratios", ratios, ("magic04",), 4),
        Task("growth with rows", with_rows, (), len(ROWS) * 2),
        Task("growth with features", with_features, (), len(FEATURES) * 2),
        Task("stream from disk", stream, (), 4),
    ]


def two_clouds(n: int, d: int, seed: int = 0) -> tuple[Floats, Floats]:
    """Return two normal classes a little more than a deviation apart."""
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(n) < 0.5, 1.0, -1.0)
    direction = rng.normal(size=d) / np.sqrt(d)
    return rng.normal(size=(n, d)) + 1.2 * y[:, None] * direction, y


def _warm_up(name: str) -> None:
    """Run a method once on a small problem: imports and first calls are not growth."""
    METHODS[name](class_problem(*two_clouds(200, 5)), 0)


def _grown(
    name: str, row: str, symbol: str, shapes: dict[int, tuple[int, int]]
) -> Iterable[Cell]:
    """Time a method on problems of growing shapes and fit the exponents."""
    _warm_up(name)
    sizes, seconds = list(shapes), []
    for size, shape in shapes.items():
        spent, solution = timed(name, class_problem(*two_clouds(*shape)), 0)
        seconds.append(spent)
        note, relative = "", solution.proof.relative
        if relative is not None:
            note = f"relative gap {relative:.1e}, {solution.n_iter} steps"
        yield Cell("Growth", row, f"seconds, {symbol} = {size}", spent, note=note)
    slopes = {
        f"exponent in {symbol}": exponent(sizes, seconds),
        f"exponent in {symbol}, last three sizes": exponent(sizes[-3:], seconds[-3:]),
    }
    yield from row_cells("Growth", row, slopes)


def with_rows(rows: tuple[int, ...] = ROWS) -> Iterable[Cell]:
    """Time against the number of rows, ten features."""
    for name in ("newton", "SSGD 10m"):
        yield from _grown(name, f"{name}, d = 10", "m", {n: (n, 10) for n in rows})


def with_features(features: tuple[int, ...] = FEATURES) -> Iterable[Cell]:
    """Time against the number of features, some thousands of rows."""
    shapes = {d: (ROWS_FOR_FEATURES, d) for d in features}
    for name in ("newton", "SSGD 2m"):
        yield from _grown(name, f"{name}, m = {ROWS_FOR_FEATURES}", "d", shapes)


def stream(rows: int = STREAMED) -> Iterable[Cell]:
    """Train on a file of ``rows`` rows, ten features, within a memory budget."""
    row = f"refined SSGD, {rows} rows from disk"
    with tempfile.TemporaryDirectory(prefix="widemargin-") as folder:
        path = Path(folder) / "means.dat"
        labels = write_clouds(path, rows)
        X = np.memmap(path, dtype=np.float32, mode="r", shape=(rows, 10))
        model = ChanceConstrainedSVC(
            C=10.0 / rows, solver="ssgd", epochs=2, memory_mb=BUDGET_MB, random_state=0
        )
        with sampled(partial(status_megabytes, "RssAnon"), 0.02) as memory:
            with threadpool_limits(1):
                spent, _ = processor_seconds(lambda: model.fit(X, labels))
        size = X.nbytes / 1e6
    known = [megabytes for megabytes in memory if megabytes is not None]  # on Linux
    note = f"budget {BUDGET_MB:g}; anonymous pages, largest of samples"
    figures: dict[str, Figure] = {
        "file, MB": size,
        "seconds, two epochs": spent,
        "memory added, MB": (max(known) - known[0] if known else None, note),
        "share of slack below one": float(model.bounded_share_),
    }
    yield from row_cells("Growth", row, figures)


def noisy_clouds(rows: int, seed: int) -> tuple[NDArray[np.float32], Floats]:
    """Return up to `PIECE` rows of two overlapping clouds, as a file holds them."""
    X, y = two_clouds(PIECE, 10, seed=0)  # its direction depends on the size
    noise = np.random.default_rng(seed).normal(size=(rows, 10))
    return (X[:rows] + 0.5 * noise).astype(np.float32), y[:rows]


def write_clouds(path: Path, rows: int) -> NDArray[np.int8]:
    """Write the file piece by piece and return the labels."""
    labels = np.empty(rows, dtype=np.int8)
    with path.open("wb") as file:
        for start in range(0, rows, PIECE):
            count = min(PIECE, rows - start)
            X, y = noisy_clouds(count, seed=start + 1)
            X.tofile(file)
            labels[start : start + count] = y
    return labels


def ratios() -> Iterable[Cell]:
    """What was asked of the Newton solver on MAGIC, 80 % training, in one run."""
    row = "magic04, 80% training"
    X, y = dense_data("magic04")
    train, _ = partition(len(y), 0.8, 0)
    problem = class_problem(X[train], y[train])
    seconds, gap = {}, 0.0
    for name in ("newton", "SSGD 50m", SEDUMI):
        repeats = 1 if name == SEDUMI else 5
        runs = [timed(name, problem, seed) for seed in range(repeats)]
        seconds[name] = float(np.median([spent for spent, _ in runs]))
        gap = runs[-1][1].proof.relative if name == "newton" else gap
    cones, ssgd = (seconds[name] / seconds["newton"] for name in (SEDUMI, "SSGD 50m"))
    figures: dict[str, Figure] = {
        **{f"seconds, {name}": spent for name, spent in seconds.items()},
        "relative gap of newton": (gap, "asked: <= 1e-6"),
        "m cones over newton": (cones, "asked: at least 20"),
        "newton over SSGD 50m": (1 / ssgd, "asked: at most 5"),
    }
    yield from row_cells("Asked", row, figures)
