"""Speed of regressors, quantiles, one-class and nu models against their namesakes.

Targets standardised, features as the files have them (scaled to an interval), gamma
about 1 / (d Var(X)); the least ratios asked stand beside each problem.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from sklearn.datasets import load_diabetes

from widemargin_papers.bench import problems as speed
from widemargin_papers.harness import datasets
from widemargin_papers.harness.contestants import Settings
from widemargin_papers.harness.measuring import Problem

from .family_judge import judged_family

#: rows x features and gamma of the regressions
REGRESSIONS = {
    "bike": ("17379x17", 0.5),
    "pol": ("15000x26", 2.0),
    "kin40k": ("40000x8", 1.5),
    "protein": ("45730x9", 3.5),
}
of_family = partial(Problem, judged=judged_family)
QUANTILES = ("bike", "pol")  # SVR, one quantile and nine on the same data
SIZES = (2_500, 5_000, 10_000, 20_000, 40_000)
SVR, QUANTILE = (
    Settings(C=10.0, estimator="SVR"),
    Settings(C=10.0, estimator="QuantileSVR"),
)


def regression(name: str, size: int | None = None) -> speed.Loaded:
    """Return features and standardised targets; ``size`` rows drawn with seed 0."""
    X, y = datasets.load_dense(name)
    X, y = datasets.subsample(X, y, size)
    return np.ascontiguousarray(X), (y - y.mean()) / y.std()


def diabetes() -> speed.Loaded:
    """442 x 10, bundled with scikit-learn; targets standardised."""
    X, y = load_diabetes(return_X_y=True)
    return datasets.standardise(X), (y - y.mean()) / y.std()


def unlabelled(load: Callable[[], speed.Loaded]) -> speed.Loaded:
    """Standardise the features: outliers are looked for in all directions alike."""
    X, y = load()
    return datasets.standardise(X), y


def mammography() -> speed.Loaded:
    """11183 x 6."""
    return datasets.load_dense("mammography")


def all_letters() -> speed.Loaded:
    """15000 x 16, 26 classes."""
    return datasets.load_dense("letter.scale")


def problems() -> list[Problem]:
    """Return the problems of the suite, smallest first."""
    return [*_small(), *_regressions(), *_one_class(), *_nu(), *_growing()]


def _small() -> list[Problem]:
    small: dict[str, Any] = {"load": diabetes, "target": speed.asked(1), "repeats": 30}
    peers: dict[str, Any] = {"peers": ("scikit-learn",)}
    gamma = 0.1
    return [
        of_family("SVR diabetes 442x10", settings=replace(SVR, gamma=gamma), **small),
        of_family("OneClassSVM diabetes 442x10, nu=0.1", **small, **peers,
                settings=Settings(estimator="OneClassSVM", nu=0.1, gamma=gamma)),
        of_family("NuSVR diabetes 442x10, nu=0.5", **small, **peers,
                settings=Settings(estimator="NuSVR", nu=0.5, gamma=gamma)),
        of_family("NuSVC breast_cancer 569x30, nu=0.1",
                **small | {"load": speed.breast_cancer}, **peers,
                settings=Settings(estimator="NuSVC", nu=0.1, gamma=1 / 30)),
    ]  # fmt: skip


def _regressions() -> list[Problem]:
    rows = []
    for name, (shape, gamma) in REGRESSIONS.items():
        load, data = partial(regression, name), f"{name} {shape}"
        rows.append(
            of_family(f"SVR {data}", load, replace(SVR, gamma=gamma),
                      speed.asked(12, 5), file=name)
        )  # fmt: skip
        if name not in QUANTILES:
            continue
        for words, count in (("one", 1), ("nine", 9)):
            settings = replace(QUANTILE, gamma=gamma, quantiles=count)
            rows.append(
                of_family(f"QuantileSVR {words}, {data}", load, settings, peers=(),
                        file=name)
            )  # fmt: skip
    return rows


def _one_class() -> list[Problem]:
    sources: dict[str, tuple[str, Callable[[], speed.Loaded], float]] = {
        "mammography": ("mammography 11183x6", mammography, 1 / 6),
        "ijcnn1": ("ijcnn1 49990x22", speed.ijcnn1, 1 / 22),
        "covtype.binary": ("covtype 50000x54", speed.covtype, 1 / 54),
    }
    return [
        of_family(
            f"OneClassSVM {title}, nu={nu:g}", partial(unlabelled, load),
            Settings(estimator="OneClassSVM", nu=nu, gamma=gamma), speed.asked(8),
            peers=("scikit-learn",), file=file,
        )
        for file, (title, load, gamma) in sources.items()
        for nu in (0.01, 0.1, 0.5)
    ]  # fmt: skip


def _nu() -> list[Problem]:
    """Return the nu problems."""
    rows: list[tuple[str, str, str, Callable[[], speed.Loaded], float, Settings]] = [
        ("NuSVC", "letter.scale", "NuSVC letter 15000x16, nu=0.2", speed.letter, 0.2,
         Settings(gamma=1.0)),
        ("NuSVC", "letter.scale", "NuSVC letter 15000x16, 26 classes, nu=0.2",
         all_letters, 0.2, Settings(gamma=1.0)),
        ("NuSVC", "ijcnn1", "NuSVC ijcnn1 49990x22, nu=0.05", speed.ijcnn1, 0.05,
         Settings(gamma=2.0)),
        ("NuSVR", "bike", "NuSVR bike 17379x17, nu=0.5", partial(regression, "bike"),
         0.5, Settings(C=10.0, gamma=0.5)),
    ]  # fmt: skip
    return [
        of_family(
            title,
            load,
            replace(settings, estimator=estimator, nu=nu),
            speed.asked(8),
            file=file,
        )
        for estimator, file, title, load, nu, settings in rows
    ]


def _growing() -> list[Problem]:
    """Return SVR on growing parts of kin40k: fit time against n."""
    settings = replace(SVR, gamma=REGRESSIONS["kin40k"][1])
    return [
        of_family(
            f"SVR kin40k n={n}",
            partial(regression, "kin40k", n),
            settings,
            peers=(),
            file="kin40k",
        )
        for n in SIZES
    ]
