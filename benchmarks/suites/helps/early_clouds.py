"""Early prediction by default on generated clouds: what is lost without a warning.

Two to five classes, each of some clouds in 2 to 20 dimensions, 20,000 to 70,000 rows.
The clouds of "apart" have shapes and distances of their own, some have wrong labels,
and half of them settings other than the defaults; those of "close" overlap, with the
defaults. What the costs of :mod:`widemargin.estimators.divide_conquer.whole_problem`
are was settled on the first twelve with even numbers; the others check it.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import balanced_accuracy_score

from widemargin import SVC, DivideConquerSVC
from widemargin.estimators.divide_conquer.level_quality import EarlyWarning
from widemargin_papers.harness.missing_runs import Measurement
from widemargin_papers.harness.results import Record, ResultStore
from widemargin_papers.harness.text_tables import rst_table
from widemargin_papers.harness.timing import spending

TEST = 20_000
TOLERATED = 0.005  # the default of early_tolerance


class Clouds(NamedTuple):
    """Standardised rows, of which the first are for training, and the settings."""

    X: NDArray[np.float64]
    y: NDArray[np.intp]
    settings: dict[str, Any]


def apart(number: int) -> Clouds:
    """Return clouds of different shapes and shares, some labels wrong."""
    rng = np.random.default_rng((2121, number))
    k, d = int(rng.integers(2, 6)), int(rng.integers(2, 21))
    n, per = int(rng.integers(20_000, 70_001)) + TEST, int(rng.integers(1, 9))
    noise, spread = rng.choice([0.0, 0.02, 0.1]), rng.uniform(1.0, 3.0)
    even = np.full(k, 1 / k)
    shares = rng.dirichlet(np.full(k, 5.0)) if rng.random() < 0.5 else even
    y = rng.choice(k, size=n, p=shares)
    centres = rng.normal(size=(k, per, d)) * spread
    scales = rng.uniform(0.5, 1.5, size=(k, per, d))
    own = rng.integers(per, size=n)
    X = centres[y, own] + scales[y, own] * rng.normal(size=(n, d))
    X = np.einsum("ij,jk->ik", X, np.linalg.qr(rng.normal(size=(d, d)))[0])
    wrong = rng.random(n) < noise
    y = np.where(wrong, rng.integers(k, size=n), y)
    settings: dict[str, Any] = {}
    if rng.random() >= 0.5:
        settings = {
            "C": float(rng.choice([0.1, 1, 10, 100])),
            "gamma": float(rng.choice([0.25, 1, 4]) / d),
        }
    return Clouds(_standardised(X), y, settings)


def close(number: int) -> Clouds:
    """Return round clouds that overlap."""
    rng = np.random.default_rng((2122, number))
    k, d = int(rng.integers(2, 6)), int(rng.integers(3, 21))
    n, per = int(rng.integers(20_000, 70_001)) + TEST, int(rng.integers(1, 5))
    spread = rng.uniform(0.5, 1.2)
    y = rng.choice(k, size=n)
    centres = rng.normal(size=(k, per, d)) * spread
    own = rng.integers(per, size=n)
    X = centres[y, own] + rng.normal(size=(n, d))
    return Clouds(_standardised(X), y, {})


def _standardised(X: NDArray[np.float64]) -> NDArray[np.float64]:
    training = X[:-TEST]
    found: NDArray[np.float64] = (X - training.mean(axis=0)) / training.std(axis=0)
    return found


#: title -> the clouds, their numbers
GROUPS: dict[str, tuple[Callable[[int], Clouds], range]] = {
    "choose: apart": (apart, range(0, 24, 2)),
    "check: apart": (apart, range(1, 48, 2)),
    "check: close": (close, range(24)),
}


def work() -> Iterator[Measurement]:
    """Yield every set."""
    for group, (make, numbers) in GROUPS.items():
        for number in numbers:
            yield f"{group}, {number}", partial(measured, group, make, number)


def measured(group: str, make: Callable[[int], Clouds], number: int) -> Record:
    """Return what the early model loses, whether it warned, and processor times."""
    X, y, settings = make(number)
    models: dict[str, Any] = {
        "exact": SVC(n_jobs=1, **settings),
        "early": DivideConquerSVC(
            prediction="early", n_jobs=1, random_state=0, **settings
        ),
    }
    figures: dict[str, Any] = {"group": group, "number": number, "rows": len(y) - TEST}
    for title, model in models.items():
        with warnings.catch_warnings(record=True) as caught, spending() as spent:
            warnings.simplefilter("always")
            model.fit(X[:-TEST], y[:-TEST])
        right = balanced_accuracy_score(y[-TEST:], model.predict(X[-TEST:]))
        warned = any(issubclass(one.category, EarlyWarning) for one in caught)
        figures[title] = {
            "balanced": round(float(right), 5), "seconds": round(spent.processor, 3),
            "warned": warned,
        }  # fmt: skip
    figures["clusters"] = models["early"].early_.n_clusters
    return figures


def table(store: ResultStore) -> str:
    """Return how many lose more than is tolerated without a word, group by group."""
    header = ["clouds", "sets", "one cluster", "warned", "silent losses", "worst",
              "time / exact, median", "most"]  # fmt: skip
    rows = []
    for group in GROUPS:
        own = [one for one in store.records.values() if one["group"] == group]
        if not own:
            continue
        losses = [one["exact"]["balanced"] - one["early"]["balanced"] for one in own]
        silent = [
            loss for loss, one in zip(losses, own, strict=True)
            if not one["early"]["warned"]
        ]  # fmt: skip
        ratios = [one["early"]["seconds"] / one["exact"]["seconds"] for one in own]
        rows.append(
            [
                group,
                str(len(own)),
                str(sum(one["clusters"] == 1 for one in own)),
                str(sum(one["early"]["warned"] for one in own)),
                str(sum(loss > TOLERATED for loss in silent)),
                f"{100 * max(silent):.2f}",
                f"{np.median(ratios):.2f}",
                f"{max(ratios):.2f}",
            ]
        )
    return rst_table(header, rows)
