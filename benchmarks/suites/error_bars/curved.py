"""A curved boundary under error bars: ``kernel="rbf"`` beside the linear model and SVC.

Every value of a sample has a stated standard deviation, drawn for it from 0.2 to 1.8
times the mean one. Accuracy is that of test samples that are measured again within
their error bars (normal). "Certain" is the share with an error bound of at most 10 %;
"above" counts the test samples, of 200, for which the rate of answers other than the
one for the stated mean was above ``error_probability_bound``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import make_moons

from widemargin import SVC, ChanceConstrainedSVC
from widemargin_papers.chance.methods import dense_data
from widemargin_papers.harness.cells import Cell, Figure, Task, by_row, row_cells
from widemargin_papers.harness.datasets import standardise
from widemargin_papers.harness.text_tables import rst_table

Floats = NDArray[np.float64]

CURVED = "Curved boundary"
MOONS, MAGIC = "two moons", "magic04"
DEVIATIONS = {MOONS: (0.1, 0.2), MAGIC: (0.1, 0.3)}
TRAINING, TESTS, JUDGED = 1000, 3000, 200  # rows; of the tests, those drawn many times
SEEDS, AGAIN, DRAWS = 3, 5, 1000
CERTAIN = 0.1  # error bound
C, RISK, COMPONENTS, MEMORY_MB = 10.0, 0.3, 50, 1024.0
COLUMNS = ("SVC", "linear", "rbf", "certain", "above")


def tasks() -> list[Task]:
    """Return one task for each data set and size of the error bars."""
    return [
        Task(f"curved, {name}, {deviation:g}", partial(run, name, deviation),
             () if name == MOONS else (name,), len(COLUMNS))
        for name, deviations in DEVIATIONS.items()
        for deviation in deviations
    ]  # fmt: skip


def run(name: str, deviation: float) -> Iterable[Cell]:
    """Yield means over some splits, and the most samples above their bound."""
    runs = [measured(*samples(name, seed), deviation, seed) for seed in range(SEEDS)]
    figures: dict[str, Figure] = {
        column: float(np.mean([found[column] for found in runs]))
        for column in COLUMNS[:-1]
    }
    figures["above"] = float(max(found["above"] for found in runs))
    note = f"{SEEDS} splits"
    yield from row_cells(CURVED, f"{name}, {deviation:g}", figures, note)


def samples(name: str, seed: int) -> tuple[Floats, Floats]:
    """Return samples and labels of one data set, in random order."""
    if name == MOONS:
        X, y = make_moons(TRAINING + TESTS, noise=0.1, random_state=seed)
        return X, np.where(y == 1, 1.0, -1.0)
    X, y = dense_data(name)
    chosen = np.random.default_rng(seed).permutation(len(y))[: TRAINING + TESTS]
    return standardise(X)[chosen], y[chosen]


def measured(X: Floats, y: Floats, deviation: float, seed: int) -> dict[str, float]:
    """Return the figures of all models on one split."""
    rng = np.random.default_rng(seed)
    deviations = deviation * rng.uniform(0.2, 1.8, size=X.shape)
    variances = np.square(deviations)
    old, new = slice(0, TRAINING), slice(TRAINING, None)
    again = [rng.normal(X[new], deviations[new]) for _ in range(AGAIN)]

    def accuracy(model: Any) -> float:
        return 100.0 * float(np.mean([model.score(Z, y[new]) for Z in again]))

    models = {
        kernel: ChanceConstrainedSVC(
            kernel=kernel,
            C=C,
            risk=RISK,
            n_components=COMPONENTS,
            memory_mb=MEMORY_MB,
            random_state=seed,
        ).fit(X[old], y[old], covariance=variances[old])
        for kernel in ("linear", "rbf")
    }
    figures = {"SVC": accuracy(SVC(C=C).fit(X[old], y[old]))}
    figures |= {kernel: accuracy(model) for kernel, model in models.items()}
    bounds = models["rbf"].error_probability_bound(X[new], variances[new])
    few = slice(TRAINING, TRAINING + JUDGED)
    answers, other = models["rbf"].predict(X[few]), np.zeros(len(X[few]))
    for _ in range(DRAWS):
        other += models["rbf"].predict(rng.normal(X[few], deviations[few])) != answers
    figures["certain"] = 100.0 * float(np.mean(bounds <= CERTAIN))
    figures["above"] = float(np.count_nonzero(other / DRAWS > bounds[: len(other)]))
    return figures


def curved_table(cells: Sequence[Cell]) -> str:
    """Return a line for each data set and size of its error bars."""
    rows = []
    for row, found in by_row(cells, CURVED).items():
        name, deviation = row.rsplit(", ", 1)
        shares = [f"{found[column]:.2f}" for column in COLUMNS[:3]]
        gain = f"{found['rbf'] - found['linear']:+.1f}"
        last = [f"{found['certain']:.0f} %", f"{found['above']:.0f} of {JUDGED}"]
        rows.append([name, deviation, *shares, gain, *last])
    if not rows:
        return "Not measured yet.\n"
    header = ["data", "deviation", "SVC", "linear", "rbf", "rbf over linear",
              f"rbf, bound at most {CERTAIN:.0%}", "above their bound"]  # fmt: skip
    return rst_table(header, rows)
