"""What RampSVC would gain over SVC if the best C of each data set were known.

Tuned against tuned, both choose C on wrong labels, and the choice is noisy. Here the
test labels choose it, for both: what is left is the most that the ramp loss can give.
"""

from __future__ import annotations

import numpy as np
from sklearn.metrics import balanced_accuracy_score

from widemargin import RampSVC
from widemargin_papers.harness.results import Record, ResultStore
from widemargin_papers.harness.text_tables import rst_table

from .label_methods import COSTS, Trial
from .noise import given_labels
from .suite import HALVES, DataSet, split

SPLITS = 3
KINDS = ("clean", "uniform 20 %", "uniform 30 %")
CUTS = {"SVC": -np.inf, "default": RampSVC().s, "s=-0.5": -0.5}


def measured(data: DataSet, number: int) -> Record:
    """Return the balanced accuracies by kind of noise and method, one for each C."""
    part = split(data, number)
    figures: dict[str, dict[str, list[float]]] = {}
    for kind in KINDS:
        trial = Trial(part, given_labels(kind, part.X, part.y, number), number)
        figures[kind] = {
            name: [
                float(
                    balanced_accuracy_score(part.y_test, trial.fitted(C, s).predicted)
                )
                for C in COSTS
            ]
            for name, s in CUTS.items()
        }
    return {"figures": figures}


def best(store: ResultStore, half: str, kind: str, name: str) -> dict[str, float]:
    """Return data set -> balanced accuracy in per cent at the best C of the set."""
    by_set: dict[str, list[list[float]]] = {}
    for record in store.records.values():
        if record["half"] == half:
            by_set.setdefault(record["set"], []).append(record["figures"][kind][name])
    return {
        data: 100.0 * float(np.mean(splits, axis=0).max())
        for data, splits in by_set.items()
    }


def table(store: ResultStore) -> str:
    """Return the gains at the best C of each set: mean and worst over sets."""
    rows = []
    for half in HALVES:
        for kind in KINDS:
            plain = best(store, half, kind, "SVC")
            cells = [half, kind, f"{np.mean(list(plain.values())):.1f}"]
            for name in list(CUTS)[1:]:
                known = best(store, half, kind, name)
                gains = [known[data] - plain[data] for data in plain]
                cells.append(f"{np.mean(gains):+.1f} / {np.min(gains):+.1f}")
            rows.append(cells)
    heads = ["half", "labels", "SVC", "RampSVC", "RampSVC, s=-0.5"]
    return "\n".join(
        [
            f"C is the best of {', '.join(f'{C:g}' for C in COSTS)} on the test "
            f"labels, for each data set and method (mean of {SPLITS} splits). Balanced "
            "accuracy of "
            "SVC, and by how many points RampSVC is above it: mean / worst set.\n",
            rst_table(heads, rows),
        ]
    )
