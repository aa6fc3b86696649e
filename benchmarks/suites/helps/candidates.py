"""Which ``s`` and ``init`` should be RampSVC's defaults? Asked of the choosing half.

The candidates and the settings were fixed before the first run. The rule: of those that
cost at most 0.2 points on clean labels, the one with the largest mean gain over all
settings. (It asked for no cost at all until no candidate passed two splits; over ten
the same one would pass.)
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product

import numpy as np
from sklearn.metrics import balanced_accuracy_score

from widemargin import SVC, RampSVC
from widemargin_papers.harness.results import Record, ResultStore
from widemargin_papers.harness.text_tables import rst_table

from .noise import given_labels
from .suite import DataSet, split

CUTS = (0.0, -0.5, -1.0, -2.0)
STARTS = ("out_of_fold", "continuation", "svm")
KINDS = ("clean", "uniform 20 %")
COSTS = (1.0, 10.0)
PLAIN = "SVC"
MOST_LOST = 0.2  # points on clean labels, mean over data sets


def name_of(s: float, init: str) -> str:
    """Return a candidate's name."""
    return f"s={s:g}, {init}"


def measured(data: DataSet, number: int) -> Record:
    """Return the balanced accuracies by setting and candidate."""
    part = split(data, number)
    figures: dict[str, dict[str, float]] = {}
    for kind, C in product(KINDS, COSTS):
        given = given_labels(kind, part.X, part.y, number)
        models = {PLAIN: SVC(C=C, n_jobs=1)} | {
            name_of(s, init): RampSVC(C=C, s=s, init=init, n_jobs=1)
            for s, init in product(CUTS, STARTS)
        }
        figures[f"{kind}, C={C:g}"] = {
            name: balanced_accuracy_score(
                part.y_test, model.fit(part.X, given).predict(part.X_test)
            )
            for name, model in models.items()
        }
    return {"figures": figures}


def gains(store: ResultStore) -> dict[str, dict[str, dict[str, float]]]:
    """Return candidate -> setting -> set -> mean gain over SVC in points."""
    found: dict[str, dict[str, dict[str, list[float]]]] = {}
    for record in store.records.values():
        for setting, figures in record["figures"].items():
            for name, figure in figures.items():
                if name != PLAIN:
                    sets = found.setdefault(name, {}).setdefault(setting, {})
                    gain = 100.0 * (figure - figures[PLAIN])
                    sets.setdefault(record["set"], []).append(gain)
    return {
        name: {
            setting: {data: float(np.mean(each)) for data, each in sets.items()}
            for setting, sets in settings.items()
        }
        for name, settings in found.items()
    }


def chosen(found: Mapping[str, Mapping[str, Mapping[str, float]]]) -> str | None:
    """Return the candidate that the rule chooses, None if none qualifies."""

    def mean(name: str, beginning: str = "") -> float:
        settings = found[name].items()
        kept = [each for setting, each in settings if setting.startswith(beginning)]
        return float(np.mean([np.mean(list(sets.values())) for sets in kept]))

    qualified = [name for name in found if mean(name, "clean") >= -MOST_LOST]
    return max(qualified, key=mean, default=None)


def table(store: ResultStore) -> str:
    """Return each candidate's mean and worst gain."""
    found = gains(store)
    settings = [f"{kind}, C={C:g}" for kind, C in product(KINDS, COSTS)]
    rows = [
        [name, *(_mean_and_worst(found[name][setting]) for setting in settings)]
        for name in found
    ]
    splits = {record["split"] for record in store.records.values()}
    sets = {record["set"] for record in store.records.values()}
    return "\n".join(
        [
            "Balanced accuracy less SVC's, in points: mean over data sets / worst data "
            f"set; {len(sets)} sets of the choosing half, {len(splits)} splits each. "
            f"The rule chooses {chosen(found)}.\n",
            rst_table(["candidate", *settings], rows),
        ]
    )


def _mean_and_worst(sets: Mapping[str, float]) -> str:
    gain = list(sets.values())
    return f"{np.mean(gain):+.1f} / {np.min(gain):+.1f}"
