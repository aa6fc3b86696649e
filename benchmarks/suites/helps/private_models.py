"""What privacy costs in accuracy, by mechanism, and which should be the default.

Eight two-class sets whose features lie in [-1, 1], in alphabetical order, in turn "to
choose" and "to check". The length bounds, gamma and delta were fixed before the first
run. The rule: of the mechanisms whose noise is safe against attacks on
floating-point bits, at the C that is the default, the one with the largest mean
accuracy over sets, epsilons and kernels of the choosing half.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from functools import lru_cache, partial
from itertools import product
from typing import Any

import numpy as np
from sklearn.model_selection import train_test_split

from widemargin import SVC, NoiseWarning, PrivacyWarning, PrivateSVC
from widemargin_papers.harness.datasets import available, load_libsvm
from widemargin_papers.harness.missing_runs import Measurement
from widemargin_papers.harness.results import Record

from .suite import HALVES, Vector

SETS = (
    "a9a",
    "australian_scale",
    "breast-cancer_scale",
    "diabetes_scale",
    "german.numer_scale",
    "heart_scale",
    "ijcnn1",
    "ionosphere_scale",
)
HALF = {name: HALVES[place % 2] for place, name in enumerate(SETS)}
DRAWS = 30  # each has its own split, noise and frequencies
MOST_ROWS = 3000  # of training, and of the test
TRAINING_SHARE = 0.7
EPSILONS = (0.1, 0.5, 1.0, 5.0)
KERNELS = ("linear", "rbf")
PLAIN = "SVC, not private"
METHODS: dict[str, dict[str, Any]] = {
    "gradient": {"mechanism": "gradient"},
    "gradient, C=1": {"mechanism": "gradient", "C": 1.0},
    "gradient, 10 steps": {"mechanism": "gradient", "n_steps": 10},
    "gradient, 30 steps": {"mechanism": "gradient", "n_steps": 30},
    "output": {"mechanism": "output"},
    "output, C=0.01": {"mechanism": "output", "C": 0.01},
    "objective": {"mechanism": "objective"},
}
NOT_SAFE = ("objective",)  # its noise is proven in real arithmetic only


def work() -> Iterator[Measurement]:
    """Yield every draw of the sets that are there, draw by draw."""
    for number, name in product(range(DRAWS), SETS):
        if available(name):
            key = f"{HALF[name]}: {name}, draw {number}"
            yield key, partial(measured, name, number)


@lru_cache(maxsize=len(SETS))
def _load(name: str) -> tuple[Vector, Vector]:
    X, y = load_libsvm(name)
    return np.asarray(X.toarray(), np.float64), np.where(y > 0, 1.0, -1.0)


def public_settings(kernel: str, features: int) -> dict[str, Any]:
    """Return what is known without looking at features in [-1, 1]."""
    known: dict[str, Any] = {"classes": (-1.0, 1.0), "clip_norm": 1.0}
    if kernel == "rbf":
        known |= {"clip_norm": math.sqrt(features), "gamma": 1.0 / features}
    return known | {"kernel": kernel}


def measured(name: str, number: int) -> Record:
    """Return accuracies on unseen rows by kernel, epsilon and method."""
    X, y = _load(name)
    train, test, y_train, y_test = train_test_split(
        X, y, train_size=TRAINING_SHARE, stratify=y, random_state=number
    )
    train, y_train = train[:MOST_ROWS], y_train[:MOST_ROWS]
    test, y_test = test[:MOST_ROWS], y_test[:MOST_ROWS]
    cases: list[dict[str, Any]] = []
    for kernel in KERNELS:
        known = public_settings(kernel, X.shape[1])
        gamma = known.get("gamma", 1.0)
        plain = SVC(kernel=kernel, gamma=gamma, n_jobs=1).fit(train, y_train)
        figures: dict[str, Any] = {PLAIN: plain.score(test, y_test)}
        cases.append({"kernel": kernel, "epsilon": None, "accuracy": figures})
        for epsilon in EPSILONS:
            found, drowned = {}, {}
            for method, settings in METHODS.items():
                model = PrivateSVC(epsilon, random_state=number, **known, **settings)
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", PrivacyWarning)
                    warnings.simplefilter("ignore", NoiseWarning)
                    found[method] = model.fit(train, y_train).score(test, y_test)
                drowned[method] = round(model.privacy_report().noise_to_signal, 4)
            cases.append(
                {
                    "kernel": kernel,
                    "epsilon": epsilon,
                    "accuracy": found,
                    "noise_to_signal": drowned,
                }
            )
    share = float(np.mean(y_test > 0))
    return {
        "set": name,
        "half": HALF[name],
        "draw": number,
        "rows": len(y_train),
        "majority": max(share, 1.0 - share),
        "cases": cases,
    }
