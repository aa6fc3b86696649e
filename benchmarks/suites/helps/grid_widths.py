"""How wide should the default grid of SVCCV be? Three widths, both halves.

The candidates and the rule were fixed before the first run: ten values of C and of
gamma each, refined around the winner, not widened; the width with the largest mean
accuracy on the choosing half.
"""

from __future__ import annotations

from collections import defaultdict

import numpy as np
from sklearn.metrics import accuracy_score

from widemargin import SVCCV
from widemargin.tuning.grids import LEAST_C, LEAST_SHARE, MOST_C, MOST_SHARE
from widemargin_papers.harness.results import Record, ResultStore
from widemargin_papers.harness.text_tables import rst_table
from widemargin_papers.harness.timing import spending

from .suite import HALVES, DataSet, split

COUNT = 10
MOST_ROWS = 400  # for training
SPLITS = 3
DEFAULT = "default"
# C from and to, gamma from and to in units of gamma="scale"
WIDTHS = {
    "narrow": (1.0, 100.0, 0.1, 5.0),
    DEFAULT: (LEAST_C, MOST_C, LEAST_SHARE, MOST_SHARE),
    "wide": (0.01, 1e4, 0.001, 100.0),
}


def measured(data: DataSet, number: int) -> Record:
    """Return accuracy and processor time by width."""
    part = split(data, number)
    rows = np.random.default_rng(number).permutation(len(part.y))[:MOST_ROWS]
    X, y = part.X[rows], part.y[rows]
    scale = 1.0 / (X.shape[1] * X.var())
    figures, seconds = {}, {}
    for name, (least, most, low, high) in WIDTHS.items():
        model = SVCCV(
            Cs=np.geomspace(least, most, COUNT),
            gammas=scale * np.geomspace(low, high, COUNT),
            n_jobs=1,
        )
        with spending() as spent:
            answers = model.fit(X, y).predict(part.X_test)
        seconds[name] = spent.processor
        figures[name] = float(accuracy_score(part.y_test, answers))
    return {"figures": figures, "seconds": seconds}


def table(store: ResultStore) -> str:
    """Return accuracy less the default width's, by half."""
    gains: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    seconds: dict[str, list[float]] = defaultdict(list)
    sets: dict[str, set[str]] = defaultdict(set)
    for record in store.records.values():
        sets[record["half"]].add(record["set"])
        for name, figure in record["figures"].items():
            gain = 100.0 * (figure - record["figures"][DEFAULT])
            gains[record["half"]][name].append(gain)
            seconds[name].append(record["seconds"][name])
    if not sets[HALVES[0]]:
        return "Nothing measured yet."
    best = max(WIDTHS, key=lambda name: float(np.mean(gains[HALVES[0]][name])))
    rows = [
        [
            f"{name}: C {least:g} to {most:g}, gamma {low:g} to {high:g} x scale",
            *(_mean_and_worst(gains[half][name]) for half in HALVES),
            f"{np.mean(seconds[name]):.1f}",
        ]
        for name, (least, most, low, high) in WIDTHS.items()
    ]
    header = ["grid", *(f"half '{half}'" for half in HALVES), "seconds"]
    counted = " and ".join(f"{len(sets[half])} ({half})" for half in HALVES)
    return "\n".join(
        [
            "Accuracy on held-out rows less that of the default grid, in points: mean "
            f"over splits / worst split; {counted} data sets, at most {MOST_ROWS} "
            f"training rows, {len(store.records)} splits in all. The rule chooses: "
            f"{best}.\n",
            rst_table(header, rows),
        ]
    )


def _mean_and_worst(gain: list[float]) -> str:
    return f"{np.mean(gain):+.2f} / {np.min(gain):+.1f}" if gain else "-"
