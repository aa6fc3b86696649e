"""Early prediction by default: what it loses against the exact model, or warns of.

The constants of :mod:`widemargin.estimators.divide_conquer.level_evidence` were chosen
while looking at the sets of "choose"; those of "check" were not looked at before.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.metrics import (
    average_precision_score,
    balanced_accuracy_score,
    roc_auc_score,
)
from sklearn.model_selection import train_test_split

from widemargin import SVC, DivideConquerSVC
from widemargin.estimators.divide_conquer import estimator
from widemargin.estimators.divide_conquer.evidence_rows import RowsInMemory
from widemargin.estimators.divide_conquer.level_evidence import levels_by_evidence
from widemargin.estimators.divide_conquer.level_quality import EarlyWarning
from widemargin_papers.harness.datasets import (
    available,
    load_dense,
    scale_to_interval,
    standardise,
)
from widemargin_papers.harness.missing_runs import Measurement
from widemargin_papers.harness.results import Record, ResultStore
from widemargin_papers.harness.text_tables import rst_table
from widemargin_papers.harness.timing import Spent, processor_seconds, spending

Vector = NDArray[np.float64]
Loader = Callable[[], tuple[Vector, Vector]]


@dataclass(frozen=True)
class Setting:
    """A data set and the parameters of the fits."""

    name: str
    half: str
    load: Loader
    parameters: dict[str, Any] = field(default_factory=dict)
    file: str | None = None


def _file(name: str, rows: int, scaled: Callable[[Any], Vector]) -> Loader:
    def load() -> tuple[Vector, Vector]:
        X, y = load_dense(name)
        kept = np.random.default_rng(0).permutation(len(y))[:rows]
        return scaled(X[kept]), y[kept]

    return load


def _generated(rows: int, features: int, **keywords: Any) -> Loader:
    def load() -> tuple[Vector, Vector]:
        X, y = make_classification(
            rows, features, n_informative=features - 4, n_redundant=2,
            n_clusters_per_class=4, class_sep=0.8, random_state=0, **keywords,
        )  # fmt: skip
        return standardise(X), y

    return load


def _of_file(
    name: str,
    half: str,
    rows: int = 50_000,
    scaled: Callable[[Any], Vector] = standardise,
    title: str = "",
    **parameters: Any,
) -> Setting:
    words = f"{name}{title}"
    return Setting(words, half, _file(name, rows, scaled), parameters, name)


RARE: dict[str, Any] = {"class_weight": {0: 1, 1: 50}}
SETTINGS = (
    _of_file("a9a", "choose"),
    _of_file("covtype.binary", "choose", 100_000, scale_to_interval),
    _of_file("covtype.binary", "choose", 100_000, scale_to_interval,
             ", C=32, gamma=32", C=32, gamma=32.0),
    Setting("generated, 10 features", "choose", _generated(300_000, 10)),
    Setting("generated, 20 features", "choose", _generated(200_000, 20)),
    Setting("generated, 0.3 % positives", "choose",
            _generated(120_000, 10, weights=[0.997], flip_y=0), RARE),
    _of_file("ijcnn1", "choose", scaled=scale_to_interval),
    _of_file("ijcnn1", "choose", scaled=scale_to_interval,
             title=", C=32, gamma=2", C=32, gamma=2.0),
    _of_file("magic04", "choose"),
    _of_file("mammography", "choose", class_weight="balanced"),
    _of_file("phoneme", "choose"),
    _of_file("hypothyroid", "check", class_weight="balanced"),
    _of_file("letter.scale", "check"),
    _of_file("page-blocks0", "check"),
    _of_file("segment7", "check"),
    _of_file("w5a", "check"),
    _of_file("mnist.t", "check"),
    Setting("generated, 8 features", "check", _generated(100_000, 8)),
    Setting("generated, 3 classes", "check", _generated(60_000, 12, n_classes=3)),
)  # fmt: skip


def work() -> Iterator[Measurement]:
    """Yield every setting whose data are there."""
    for setting in SETTINGS:
        if setting.file is None or available(setting.file):
            yield f"{setting.half}: {setting.name}", partial(measured, setting)


def measured(setting: Setting) -> Record:
    """Return the figures of the exact model and of the early one."""
    X, y = setting.load()
    _, codes = np.unique(y, return_inverse=True)
    size = min(20_000, len(codes) // 4)
    train, test, y_train, y_test = train_test_split(
        X, codes, test_size=size, stratify=codes, random_state=0
    )
    record: Record = {"name": setting.name, "half": setting.half, "rows": len(y_train)}
    contestants: dict[str, Any] = {
        "exact": SVC(**setting.parameters),
        "early": DivideConquerSVC(prediction="early", **setting.parameters),
    }
    for title, model in contestants.items():
        with warnings.catch_warnings(record=True) as caught, spending() as spent:
            warnings.simplefilter("always")
            model.fit(train, y_train)
        seconds = {"seconds": round(spent.processor, 3)}
        record[title] = _figures(model, test, y_test) | seconds
        warned = any(issubclass(one.category, EarlyWarning) for one in caught)
        record[title]["warned"] = warned
    early = contestants["early"]
    record["clusters"] = early.early_.n_clusters
    record["evidence_share"] = round(_evidence_share(early, train, y_train), 3)
    return record


def _evidence_share(early: DivideConquerSVC, X: Vector, y: NDArray[np.intp]) -> float:
    """Return the share of a fit's processor time that choosing its level takes.

    Both are measured in one fit: two fits differ by more than the share. Dividing the
    rows is no part of it: a fit whose level is given does so too.
    """
    asked, divided = Spent(), Spent()
    choosing = partial(_timed, levels_by_evidence, asked)
    dividing = _timed_method(RowsInMemory.divided, divided)
    with (
        patch.object(estimator, "levels_by_evidence", choosing),
        patch.object(RowsInMemory, "divided", dividing),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore")
        whole, _ = processor_seconds(lambda: clone(early).fit(X, y))
    return (asked.processor - divided.processor) / max(whole, 1e-9)


def _timed(run: Callable[..., Any], total: Spent, *given: Any, **more: Any) -> Any:
    with spending() as spent:
        found = run(*given, **more)
    total.processor += spent.processor
    return found


def _timed_method(method: Callable[..., Any], total: Spent) -> Callable[..., Any]:
    def timed(self: Any, *given: Any) -> Any:
        return _timed(method, total, self, *given)

    return timed


def _figures(model: Any, test: Vector, truth: NDArray[np.intp]) -> dict[str, Any]:
    found: dict[str, Any] = {
        "balanced": round(balanced_accuracy_score(truth, model.predict(test)), 5)
    }
    if len(model.classes_) == 2:
        values = model.decision_function(test)
        found["auc"] = round(roc_auc_score(truth, values), 5)
        found["precision"] = round(average_precision_score(truth, values), 5)
    return found


def table(store: ResultStore) -> str:
    """Return both halves: points lost, clusters, times, warnings."""
    header = ["set", "rows", "clusters", "exact", "lost", "AUC lost", "AP lost",
              "time / exact", "evidence", "warned"]  # fmt: skip
    rows = []
    for record in sorted(
        store.records.values(), key=lambda own: (own["half"] == "check", own["name"])
    ):
        exact, early = record["exact"], record["early"]
        rows.append(
            [
                f"{record['half']}: {record['name']}",
                str(record["rows"]),
                str(record["clusters"]),
                f"{100 * exact['balanced']:.2f}",
                *(_lost(exact, early, name) for name in FIGURES),
                f"{early['seconds'] / exact['seconds']:.2f}",
                f"{100 * record['evidence_share']:.0f} %",
                "yes" if early["warned"] else "",
            ]
        )
    return rst_table(header, rows)


FIGURES = ("balanced", "auc", "precision")


def _lost(exact: dict[str, Any], early: dict[str, Any], name: str) -> str:
    if name not in exact:
        return "-"
    return f"{100 * (exact[name] - early[name]):+.2f}"
