"""Robustness to wrong labels: RampSVC, SVC and cleanlab on real data with known flips.

Labels of the training part are flipped, at random or at the points the clean model is
surest of; every method chooses its parameters by cross-validation on the *flipped*
labels, as a user would have to; accuracy is taken on clean test labels, and what each
method calls mislabelled is compared with what was flipped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.calibration import CalibratedClassifierCV
from sklearn.model_selection import (
    GridSearchCV,
    StratifiedKFold,
    cross_val_predict,
    train_test_split,
)

from widemargin import SVC, RampSVC
from widemargin_papers.harness.campaign import Measurement
from widemargin_papers.harness.datasets import load_dense, signs, subsample
from widemargin_papers.harness.results import Record, ResultStore

from .printed import PAPERS_S

Vector = NDArray[np.float64]
Mask = NDArray[np.bool_]

DATASETS = (
    "breast-cancer_scale",
    "australian_scale",
    "diabetes_scale",
    "ionosphere_scale",
)
RANDOM_SHARES = (0.0, 0.1, 0.2, 0.3)
CONFIDENT_SHARES = (0.1, 0.2, 0.3)
GRID: dict[str, list[Any]] = {"C": [0.1, 1.0, 10.0, 100.0]}
CEILINGS = [0.0, -1.0]
FOLDS = 3
UNTUNED = (("rbf", 100.0), ("linear", 1.0))  # kernel and C, not tuned
SEEDS = 10
MOST_ROWS = 1000  # of a data set, so that a cell stays a matter of seconds


def flip_random(y: Vector, share: float, rng: np.random.Generator) -> Mask:
    """Choose a share of all labels at random."""
    chosen = np.zeros(len(y), bool)
    size = round(share * len(y))
    chosen[rng.choice(len(y), size=size, replace=False)] = True
    return chosen


def flip_confident(
    X: Vector, y: Vector, share: float, rng: np.random.Generator
) -> Mask:
    """Choose the share of one class that the model of the clean labels is surest of."""
    side = rng.choice([-1.0, 1.0])
    model = SVC(kernel="linear").fit(X, y)
    members = np.flatnonzero(y == side)
    sure = side * model.decision_function(X[members])
    chosen = np.zeros(len(y), bool)
    chosen[members[np.argsort(-sure)[: round(share * len(members))]]] = True
    return chosen


FLIPS: dict[str, Callable[[Vector, Vector, float, np.random.Generator], Mask]] = {
    "random": lambda X, y, share, rng: flip_random(y, share, rng),
    "confident": flip_confident,
}


@dataclass(frozen=True)
class Answer:
    """A fitted model and the training samples it holds to be mislabelled."""

    model: Any
    suspects: Mask
    chosen: dict[str, float] = field(default_factory=dict)


Answers = Iterator[tuple[str, Answer]]  # by method


def tune(
    model: Any, grid: dict[str, list[Any]], X: Vector, y: Vector, seed: int
) -> Any:
    """Return the model refitted at the best parameters by cross-validation."""
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=seed)
    return GridSearchCV(model, grid, cv=folds).fit(X, y)


def plain_answer(model: Any, X: Vector, y: Vector) -> Answer:
    """Suspects of SVC: the training points it misclassifies."""
    return Answer(model, model.predict(X) != y)


def ramp_answer(model: RampSVC, y: Vector) -> Answer:
    """Suspects of RampSVC: its `outliers_`."""
    return Answer(model, np.isin(np.arange(len(y)), model.outliers_))


def by_svc(X: Vector, y: Vector, seed: int) -> Answer:
    """Plain SVC, its C chosen by cross-validation."""
    search = tune(SVC(n_jobs=1), GRID, X, y, seed)
    return replace(plain_answer(search.best_estimator_, X, y), chosen=_chosen(search))


def by_ramp(init: str) -> Callable[[Vector, Vector, int], Answer]:
    """RampSVC from the given start."""

    def answer(X: Vector, y: Vector, seed: int) -> Answer:
        # each candidate names its own s
        model = RampSVC(s=PAPERS_S, init=init, n_jobs=1)
        search = tune(model, GRID | {"s": CEILINGS}, X, y, seed)
        return replace(ramp_answer(search.best_estimator_, y), chosen=_chosen(search))

    return answer


def _chosen(search: GridSearchCV) -> dict[str, float]:
    return {name: float(value) for name, value in search.best_params_.items()}


def by_cleanlab(X: Vector, y: Vector, seed: int) -> Answer:
    """Plain SVC refitted without the points cleanlab calls label issues."""
    from cleanlab.filter import find_label_issues

    search = tune(SVC(n_jobs=1), GRID, X, y, seed)
    folds = StratifiedKFold(5, shuffle=True, random_state=seed)
    calibrated = CalibratedClassifierCV(SVC(n_jobs=1, **search.best_params_), cv=3)
    probabilities = cross_val_predict(
        calibrated, X, y, cv=folds, method="predict_proba"
    )
    suspects = find_label_issues((y > 0).astype(int), probabilities, n_jobs=1)
    model = SVC(n_jobs=1, **search.best_params_)
    kept = ~suspects if len(np.unique(y[~suspects])) == 2 else np.ones(len(y), bool)
    return Answer(model.fit(X[kept], y[kept]), suspects, _chosen(search))


METHODS: dict[str, Callable[[Vector, Vector, int], Answer]] = {
    "SVC": by_svc,
    "RampSVC svm": by_ramp("svm"),
    "RampSVC continuation": by_ramp("continuation"),
    "cleanlab": by_cleanlab,
}


@dataclass(frozen=True)
class Cell:
    """One setting: data, kind and share of flips, seed."""

    dataset: str
    kind: str
    share: float
    seed: int

    @property
    def key(self) -> str:
        """The name of the cell in the results file."""
        return f"{self.dataset} {self.kind} {self.share:g} seed {self.seed}"


def cells() -> Iterator[Cell]:
    """Yield all settings, seed by seed, so that a stopped campaign is balanced."""
    kinds = [("random", share) for share in RANDOM_SHARES]
    kinds += [("confident", share) for share in CONFIDENT_SHARES]
    for seed, dataset, (kind, share) in product(range(SEEDS), DATASETS, kinds):
        yield Cell(dataset, kind, share, seed)


def flipped_data(cell: Cell) -> tuple[Vector, Vector, Mask, Vector, Vector]:
    """Return training samples, flipped labels, the flipped ones' mask, and the test."""
    X, y = load_dense(cell.dataset)
    y = signs(y, lambda labels: labels == labels.max())
    X, y = subsample(X, y, MOST_ROWS, seed=cell.seed)
    X_train, X_test, y_train, y_test = train_test_split(
        X, y, test_size=0.4, stratify=y, random_state=cell.seed
    )
    rng = np.random.default_rng(cell.seed)
    flipped = FLIPS[cell.kind](X_train, y_train, cell.share, rng)
    noisy = np.where(flipped, -y_train, y_train)
    return X_train, noisy, flipped, X_test, y_test


def judged(
    model: Any, suspects: Mask, flipped: Mask, X_test: Vector, y_test: Vector
) -> Record:
    """Return accuracy on the clean test, precision and recall of the suspects."""
    caught = int(np.count_nonzero(suspects & flipped))
    suspected = int(np.count_nonzero(suspects))
    return {
        "accuracy": float(np.mean(model.predict(X_test) == y_test)),
        "suspected": suspected,
        "precision": caught / suspected if suspected else None,
        "recall": caught / int(flipped.sum()) if flipped.any() else None,
    }


def run_cell(cell: Cell, answers: Callable[[Vector, Vector, int], Answers]) -> Record:
    """Flip, fit all methods, and return accuracy, precision and recall of each."""
    X, noisy, flipped, X_test, y_test = flipped_data(cell)
    record: Record = {"n": len(noisy), "flipped": int(flipped.sum()), "methods": {}}
    for name, answer in answers(X, noisy, cell.seed):
        found = judged(answer.model, answer.suspects, flipped, X_test, y_test)
        record["methods"][name] = found | {"chosen": answer.chosen}
    return record


def tuned(X: Vector, y: Vector, seed: int) -> Answers:
    """Yield every method, its parameters chosen on the flipped labels."""
    for name, method in METHODS.items():
        yield name, method(X, y, seed)


def untuned(X: Vector, y: Vector, _seed: int) -> Answers:
    """Yield SVC and RampSVC with C as a user without clean labels might leave it."""
    for kernel, C in UNTUNED:
        shared: dict[str, Any] = {"C": C, "kernel": kernel, "n_jobs": 1}
        yield f"SVC, {kernel} C={C:g}", plain_answer(SVC(**shared).fit(X, y), X, y)
        for init in ("svm", "continuation"):
            model = RampSVC(s=PAPERS_S, init=init, **shared).fit(X, y)
            yield f"RampSVC {init}, {kernel} C={C:g}", ramp_answer(model, y)


def work(
    answers: Callable[[Vector, Vector, int], Answers] = tuned,
) -> Iterator[Measurement]:
    """Yield all settings."""
    for cell in cells():
        yield cell.key, partial(run_cell, cell, answers)


def summary(store: ResultStore) -> list[dict[str, Any]]:
    """Return the means over the seeds: a row per data set, kind, share and method."""
    groups: dict[tuple[str, str, str, str], list[Record]] = {}
    for key, record in store.records.items():
        dataset, kind, share, _, _ = key.split(" ")
        for method, figures in record["methods"].items():
            groups.setdefault((dataset, kind, share, method), []).append(figures)
    rows = []
    for (dataset, kind, share, method), members in sorted(groups.items()):
        row: dict[str, Any] = {
            "dataset": dataset,
            "kind": kind,
            "share": float(share),
            "method": method,
            "seeds": len(members),
        }
        for figure in ("accuracy", "precision", "recall"):
            known = [m[figure] for m in members if m[figure] is not None]
            row[figure] = float(np.mean(known)) if known else None
        rows.append(row)
    return rows
