"""The problems on which speed is measured, with the ratios asked of us.

Real data where ``WIDEMARGIN_DATA`` has it, generated data of the same shape otherwise
(the problem's name then says so). Every figure is a ratio taken in one run: absolute
times do not carry over from one machine to another.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer

from widemargin_papers.harness import datasets
from widemargin_papers.harness.contestants import Settings
from widemargin_papers.harness.measuring import Problem

Vector = NDArray[np.float64]
Loaded = tuple[Any, Vector]
SWEEP_SIZE = 60
GENERATED = " (generated)"  # in the name of a problem whose file is missing
GROWING_SIZES = (1_000, 3_162, 10_000, 31_623, 100_000)


def _or_generated(
    name: str, n: int, d: int, load: Callable[[], Loaded], density: float | None = None
) -> Callable[[], Loaded]:
    """Return the loader of the named file, or of generated data of its shape."""
    if datasets.available(name):
        return load
    return partial(datasets.generated, n, d, density=density)


def _titled(name: str, title: str) -> str:
    """Return the title, marked when the named file is missing."""
    return title if datasets.available(name) else title + GENERATED


def breast_cancer() -> Loaded:
    """569 x 30, bundled with scikit-learn, standardised."""
    X, y = load_breast_cancer(return_X_y=True)
    return datasets.standardise(X), np.where(y > 0, 1.0, -1.0)


def synthetic() -> Loaded:
    """2000 x 20, generated."""
    return datasets.generated(2000, 20)


def letter() -> Loaded:
    """15000 x 16: letters A to M against N to Z."""
    X, y = datasets.load_dense("letter.scale")
    return X, datasets.signs(y, lambda labels: labels <= 13)


def cod_rna(scale: Callable[[Any], Any] = datasets.scale_to_interval) -> Loaded:
    """20000 x 8, drawn with seed 0, scaled to [0, 1] unless said otherwise."""
    X, y = datasets.load_dense("cod-rna")
    X, y = datasets.subsample(scale(X), y, 20_000)
    return np.ascontiguousarray(X), y


def ijcnn1(size: int | None = None) -> Loaded:
    """49990 x 22, as published; up to 141,691 rows with the test part."""
    X, y = datasets.load_dense("ijcnn1")
    if size is None:
        return X, y
    X_test, y_test = datasets.load_dense("ijcnn1.t")
    X, y = np.concatenate([X, X_test]), np.concatenate([y, y_test])
    X, y = datasets.subsample(X, y, size)
    return np.ascontiguousarray(X), y


def ijcnn1_test() -> Any:
    """The 91,701 test points of ijcnn1."""
    return datasets.load_dense("ijcnn1.t", n_features=22)[0]


def a9a() -> Loaded:
    """32561 x 123 as CSR, 11 % of the entries stored."""
    return datasets.load_libsvm("a9a", n_features=123)


def covtype(size: int | None = 50_000) -> Loaded:
    """581012 x 54 scaled to [0, 1]; ``size`` rows drawn with seed 0."""
    X, y = datasets.load_dense("covtype.binary")
    X, y = datasets.subsample(datasets.scale_to_interval(X), y, size)
    return np.ascontiguousarray(X), y


def problems() -> dict[str, Problem]:
    """Return the problems of the ratio table by name, smallest first."""
    linear = Settings(C=1.0, kernel="linear", fit_intercept=False)
    load_ijcnn1 = _or_generated("ijcnn1", 49_990, 22, ijcnn1)
    if datasets.available("ijcnn1.t"):
        load_test = ijcnn1_test
    else:
        load_test = lambda: datasets.generated(91_701, 22, seed=1)[0]  # noqa: E731
    load_a9a = _or_generated("a9a", 32_561, 123, a9a, density=0.11)
    table = [
        Problem(
            "breast cancer 569x30",
            breast_cancer,
            Settings(C=1.0, gamma=1 / 30),
            {"scikit-learn": 1.0},
            repeats=30,
        ),
        Problem(
            "predict one row, breast cancer",
            breast_cancer,
            Settings(C=1.0, gamma=1 / 30),
            {"scikit-learn": 1.0},
            action="predict_row",
            load_test=lambda: breast_cancer()[0],
            repeats=300,
        ),
        Problem(
            "synthetic 2000x20",
            synthetic,
            Settings(C=10.0, gamma=0.5),
            {"scikit-learn": 7.0, "intelex": 4.0},
            repeats=10,
        ),
        Problem(
            _titled("letter.scale", "letter 15000x16"),
            _or_generated("letter.scale", 15_000, 16, letter),
            Settings(C=10.0, gamma=1.0),
            {"scikit-learn": 9.0, "intelex": 5.0},
        ),
        Problem(
            _titled("cod-rna", "cod-rna 20000x8 in [0, 1]"),
            _or_generated("cod-rna", 20_000, 8, cod_rna),
            Settings(C=10.0, gamma=0.5),
            {"scikit-learn": 25.0, "intelex": 14.0},
        ),
        Problem(
            _titled("cod-rna", "cod-rna 20000x8 standardised"),
            _or_generated("cod-rna", 20_000, 8, partial(cod_rna, datasets.standardise)),
            Settings(C=10.0, gamma=0.5),
        ),
        Problem(
            _titled("ijcnn1", "ijcnn1 49990x22"),
            load_ijcnn1,
            Settings(C=32.0, gamma=2.0),
            {"scikit-learn": 18.0, "intelex": 8.0},
        ),
        Problem(
            _titled("ijcnn1.t", "predict ijcnn1 91701"),
            load_ijcnn1,
            Settings(C=32.0, gamma=2.0),
            {"scikit-learn": 60.0, "intelex": 4.0},
            action="predict",
            load_test=load_test,
        ),
        Problem(
            _titled("a9a", "a9a CSR, C=1"),
            load_a9a,
            Settings(C=1.0, gamma=1 / 123),
            {"scikit-learn": 25.0, "intelex": 3.5},
        ),
        Problem(
            _titled("a9a", "a9a CSR, C=32"),
            load_a9a,
            Settings(C=32.0, gamma=0.05),
            {"scikit-learn": 12.0, "intelex": 4.0},
        ),
        Problem(
            _titled("covtype.binary", "covtype 50000x54"),
            _or_generated("covtype.binary", 50_000, 54, covtype),
            Settings(C=32.0, gamma=32.0),
            {"scikit-learn": 30.0, "intelex": 8.0},
            repeats=2,
        ),
        Problem(
            _titled("a9a", "linear a9a CSR"),
            load_a9a,
            linear,
            {"LinearSVC": 0.5},
            peers=("LinearSVC",),
        ),
        Problem(
            _titled("covtype.binary", "linear covtype 581012x54"),
            _or_generated("covtype.binary", 581_012, 54, lambda: covtype(None)),
            linear,
            {"LinearSVC": 0.5},
            peers=("LinearSVC",),
            repeats=2,
        ),
    ]
    return {problem.name: problem for problem in table}


def sweep(size: int = SWEEP_SIZE) -> list[Problem]:
    """Return random problems: n 100..20,000, d 2..500, C and gamma log-uniform.

    Problem i is the same on every machine: it is drawn with seed i. gamma is measured
    in units of 1 / (d Var(X)), the kernel's natural width.
    """
    drawn = []
    for seed in range(size):
        rng = np.random.default_rng(seed)
        n = round(10 ** rng.uniform(2, np.log10(20_000)))
        d = round(10 ** rng.uniform(np.log10(2), np.log10(500)))
        C = 10 ** rng.uniform(-1, 3)
        width = 10 ** rng.uniform(-1.5, 1.5)
        noise = rng.uniform(0.0, 0.2)
        load = partial(datasets.generated, n, d, seed=seed, noise=noise)
        gamma = float(width / (d * load()[0].var()))
        drawn.append(
            Problem(
                f"sweep {seed:02d}: {n}x{d}",
                load,
                Settings(C=float(C), gamma=gamma),
                {"scikit-learn": 1.0},
                repeats=5 if n > 1000 else 30,  # milliseconds need many
                peers=("scikit-learn",),
            )
        )
    return drawn


def growing(sizes: tuple[int, ...] = GROWING_SIZES) -> list[Problem]:
    """Return ijcnn1 and covtype in growing sizes: fit time against n."""
    drawn = []
    for n in sizes:
        drawn.append(
            Problem(
                _titled("ijcnn1.t", f"ijcnn1 n={n}"),
                _or_generated("ijcnn1.t", n, 22, partial(ijcnn1, n)),
                Settings(C=32.0, gamma=2.0),
                peers=(),
            )
        )
        drawn.append(
            Problem(
                _titled("covtype.binary", f"covtype n={n}"),
                _or_generated("covtype.binary", n, 54, partial(covtype, n)),
                Settings(C=32.0, gamma=32.0),
                peers=(),
            )
        )
    return drawn


def tighter(tol: float = 1e-6) -> list[Problem]:
    """Return the medium problems at another tolerance."""
    chosen = ("synthetic", "letter", "cod-rna", "ijcnn1")
    return [
        replace(
            problem,
            name=f"{name}, tol={tol:g}",
            settings=replace(problem.settings, tol=tol),
            target={},
        )
        for name, problem in problems().items()
        if name.startswith(chosen)
    ]


def one_thread() -> list[Problem]:
    """Return the problems of the ratio table with one thread for everybody."""
    return [
        replace(
            problem,
            name=f"{name}, one thread",
            settings=replace(problem.settings, threads=1),
            target={},
        )
        for name, problem in problems().items()
        if problem.action == "fit" and "linear" not in name and "covtype" not in name
    ]
