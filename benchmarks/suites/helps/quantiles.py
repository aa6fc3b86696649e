"""Intervals by default: coverage and pinball loss beside gradient boosting.

Each method predicts the quantiles 0.1, 0.5 and 0.9 of ten data sets, features
standardised by the training rows: :class:`widemargin.QuantileSVR` as it is, which is
calibrated, and without that; :class:`widemargin.QuantileSVRCV` as it is, which searches
C and gamma besides; scikit-learn's two gradient boosting regressors as they are. Losses
are in units of the targets' standard deviation. The default C was chosen on one half
(:mod:`.quantile_prices`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_diabetes
from sklearn.ensemble import GradientBoostingRegressor, HistGradientBoostingRegressor
from sklearn.metrics import mean_pinball_loss
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from widemargin import QuantileSVR, QuantileSVRCV
from widemargin_papers.harness.datasets import available, load_dense
from widemargin_papers.harness.missing_runs import Measurement
from widemargin_papers.harness.results import Record, ResultStore
from widemargin_papers.harness.text_tables import rst_table
from widemargin_papers.harness.timing import spending

from .suite import HALVES

Vector = NDArray[np.float64]
Predict = Callable[[Vector, Vector, Vector], Vector]

FILES = ("abalone", "airfoil", "bike", "concrete", "energy", "housing", "kin40k",
         "pol", "protein")  # fmt: skip
BUNDLED = "diabetes"
SETS = sorted((*FILES, BUNDLED))
QUANTILES = (0.1, 0.5, 0.9)
SPLITS = 2
MOST_TRAINING_ROWS = 1500
MOST_TEST_ROWS = 4000


def plain(**settings: Any) -> QuantileSVR:
    """Return an unfitted QuantileSVR of the three quantiles."""
    return QuantileSVR(quantile=QUANTILES, non_crossing=True, n_jobs=1, **settings)


def default_svr(X: Vector, y: Vector, test: Vector) -> Vector:
    """Return the quantiles of a QuantileSVR with its defaults."""
    return plain().fit(X, y).predict(test)


def narrow_svr(X: Vector, y: Vector, test: Vector) -> Vector:
    """Return the quantiles of the same model without calibration."""
    return plain(calibrate=False).fit(X, y).predict(test)


def searched_svr(X: Vector, y: Vector, test: Vector) -> Vector:
    """Return the quantiles at the C and gamma that cross-validation chooses."""
    model = QuantileSVRCV(quantile=QUANTILES, non_crossing=True, n_jobs=1)
    return np.asarray(model.set_params(random_state=0).fit(X, y).predict(test))


def boosted(kind: Any, X: Vector, y: Vector, test: Vector) -> Vector:
    """Return the quantiles of a gradient boosting regressor, a model for each."""
    words = "quantile" if kind is HistGradientBoostingRegressor else "alpha"
    models = [
        kind(loss="quantile", random_state=0, **{words: q}).fit(X, y) for q in QUANTILES
    ]
    return np.sort(np.column_stack([model.predict(test) for model in models]), axis=1)


METHODS: dict[str, Predict] = {
    "QuantileSVR": default_svr,
    "not calibrated": narrow_svr,
    "QuantileSVRCV": searched_svr,
    "GradientBoosting": partial(boosted, GradientBoostingRegressor),
    "HistGradientBoosting": partial(boosted, HistGradientBoostingRegressor),
}


class Part(NamedTuple):
    """A split: features standardised by the training rows, targets as they are."""

    train: Vector
    y_train: Vector
    test: Vector
    y_test: Vector


def work() -> Iterator[Measurement]:
    """Yield the data sets that are there, split by split."""
    return splits(measured)


def splits(measure: Callable[[str, int], Record]) -> Iterator[Measurement]:
    """Yield a measurement of every split of the data sets that are there."""
    for number in range(SPLITS):
        for place, name in enumerate(SETS):
            if name == BUNDLED or available(name):
                half = HALVES[place % 2]
                yield f"{half}: {name}, split {number}", partial(measure, name, number)


def split(name: str, number: int) -> Part:
    """Return a split of a data set."""
    X, y = load_diabetes(return_X_y=True) if name == BUNDLED else load_dense(name)
    size = min(MOST_TRAINING_ROWS, round(0.6 * len(y)))
    train, test, y_train, y_test = train_test_split(
        X, y, train_size=size, test_size=min(MOST_TEST_ROWS, len(y) - size),
        random_state=number,
    )  # fmt: skip
    scaler = StandardScaler().fit(train)
    return Part(scaler.transform(train), y_train, scaler.transform(test), y_test)


def measured(name: str, number: int) -> Record:
    """Return coverage, pinball loss and processor time of every method on a split."""
    part = split(name, number)
    record: Record = {"name": name, "rows": len(part.y_train)}
    for method, predict in METHODS.items():
        with spending() as spent:
            table = predict(part.train, part.y_train, part.test)
        seconds = {"seconds": round(spent.processor, 3)}
        record[method] = figures(table, part) | seconds
    return record


def figures(table: Vector, part: Part) -> dict[str, float]:
    """Return coverage in per cent, and pinball loss in units of the targets' spread."""
    truth = part.y_test
    inside = (table[:, 0] <= truth) & (truth <= table[:, -1])
    losses = [
        mean_pinball_loss(truth, column, alpha=q)
        for q, column in zip(QUANTILES, table.T, strict=True)
    ]
    spread = float(part.y_train.std())
    return {
        "coverage": round(100.0 * float(inside.mean()), 2),
        "pinball": round(float(np.mean(losses)) / spread, 5),
    }


def table(store: ResultStore) -> str:
    """Return coverage and loss of each set, and the means over all."""
    names = sorted({record["name"] for record in store.records.values()})
    header = ["set", "rows", *METHODS]
    rows, means = [], []
    for name in names:
        records = [own for own in store.records.values() if own["name"] == name]
        found = [
            [np.mean([own[method][figure] for own in records]) for method in METHODS]
            for figure in ("pinball", "coverage")
        ]
        best = min(found[0])
        rows.append(
            [
                f"{HALVES[SETS.index(name) % 2]}: {name}",
                str(records[0]["rows"]),
                *(
                    f"{'**' if loss == best else ''}{loss:.4f}"
                    f"{'**' if loss == best else ''}, {inside:.0f} %"
                    for loss, inside in zip(*found, strict=True)
                ),
            ]
        )
        seconds = [
            np.mean([own[method]["seconds"] for own in records]) for method in METHODS
        ]
        means.append(
            [np.asarray(found[0]) / best, *map(np.asarray, found[1:]), seconds]
        )
    ratios, coverage, seconds = (
        np.mean([own[k] for own in means], axis=0) for k in range(3)
    )
    for words, figures, form in (
        ("mean of loss over the least", ratios, "{:.3f}"),
        ("mean coverage", coverage, "{:.1f} %"),
        ("mean processor time", seconds, "{:.2f} s"),
    ):
        rows.append([words, "", *(form.format(float(one)) for one in figures)])
    return rst_table(header, rows)
