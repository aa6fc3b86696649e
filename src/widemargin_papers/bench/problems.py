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
GENERATED = " (generated)"  # in the name of a problem whose file is missing
IJCNN1, COVTYPE = Settings(C=32.0, gamma=2.0), Settings(C=32.0, gamma=32.0)


def of_file(
    file: str,
    title: str,
    shape: tuple[int, int],
    load: Callable[[], Loaded],
    settings: Settings,
    target: dict[str, float] | None = None,
) -> Problem:
    """Return a problem on the named file, or on generated data of its shape."""
    if not datasets.available(file):
        title, density = title + GENERATED, {"a9a": 0.11, "w5a": 0.04}.get(file)
        load = partial(datasets.generated, *shape, density=density)
    return Problem(title, load, settings, target or {})


def breast_cancer() -> Loaded:
    """569 x 30, bundled with scikit-learn, standardised."""
    X, y = load_breast_cancer(return_X_y=True)
    return datasets.standardise(X), np.where(y > 0, 1.0, -1.0)


def synthetic() -> Loaded:
    """2000 x 20, generated."""
    return datasets.generated(2000, 20)


def rows_of(
    file: str,
    *,
    scale: Callable[[Any], Any] | None = None,
    positive: Callable[[Vector], Any] | None = None,
    size: int | None = None,
) -> Loaded:
    """Return the dense rows of a file, scaled; ``size`` of them, drawn with seed 0.

    ``positive`` says which labels are +1; without it they stay as they are.
    """
    X, y = datasets.load_dense(file)
    X, y = datasets.subsample(X if scale is None else scale(X), y, size)
    labels = y if positive is None else datasets.signs(y, positive)
    return np.ascontiguousarray(X), labels


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


def covtype(size: int | None = 50_000) -> Loaded:
    """581012 x 54 scaled to [0, 1]; ``size`` rows drawn with seed 0."""
    return rows_of("covtype.binary", scale=datasets.scale_to_interval, size=size)


def _pixels(X: Any) -> Any:
    return X / 255.0


def _above_zero(labels: Vector) -> Any:
    return labels > 0


#: letters A to M against N to Z; targets above their median against the others
letter = partial(rows_of, "letter.scale", positive=lambda labels: labels <= 13)
protein = partial(rows_of, "protein", scale=datasets.standardise, size=20_000,
                  positive=lambda t: t > np.median(t))  # fmt: skip
cod_rna = partial(rows_of, "cod-rna", scale=datasets.scale_to_interval, size=20_000)
digits = partial(rows_of, "mnist.t", scale=_pixels)  # the test digits, ten classes
images = partial(digits, positive=lambda labels: labels % 2 == 0)  # even against odd
_standard = partial(rows_of, scale=datasets.standardise, positive=_above_zero)
phoneme, magic04 = partial(_standard, "phoneme"), partial(_standard, "magic04")
a9a = partial(datasets.load_libsvm, "a9a", n_features=123)  # 11 % of entries stored
w5a = partial(datasets.load_libsvm, "w5a", n_features=300)  # 4 % of entries stored


def wide() -> list[Problem]:
    """Return the problems of many features: images of two and of ten classes."""
    settings = Settings(C=5.0, gamma=0.02)
    file = partial(of_file, "mnist.t", shape=(10_000, 778), settings=settings)
    return [
        file(title="images 10000x778", load=images, target=asked(18, 1.4)),
        file(title="images, ten classes", load=digits, target=asked(12, 4.5)),
    ]


def held_out() -> list[Problem]:
    """Return problems on which no constant was chosen."""
    return [
        of_file(file, title, shape, load, Settings(C=C, gamma=gamma), asked(15, 5))
        for file, title, shape, load, C, gamma in (
            ("phoneme", "phoneme 5404x5", (5_404, 5), phoneme, 10.0, 1.0),
            ("magic04", "magic04 19020x10", (19_020, 10), magic04, 10.0, 0.1),
            ("protein", "protein 20000x9", (20_000, 9), protein, 1.0, 0.5),
            ("w5a", "w5a CSR 9888x300", (9_888, 300), w5a, 10.0, 0.05),
        )
    ]


def problems() -> dict[str, Problem]:
    """Return the problems of the ratio table by name, smallest first."""
    small = Settings(C=1.0, gamma=1 / 30)
    linear = Settings(C=1.0, kernel="linear", fit_intercept=False)
    cancer = Problem("breast cancer 569x30", breast_cancer, small, asked(1), repeats=30)
    fitted = of_file("ijcnn1", "ijcnn1 49990x22", (49_990, 22), ijcnn1, IJCNN1,
                      asked(40, 20))  # fmt: skip
    test = datasets.available("ijcnn1.t")
    a9a_csr = partial(of_file, "a9a", shape=(32_561, 123), load=a9a)
    cod = partial(of_file, "cod-rna", shape=(20_000, 8),
                  settings=Settings(C=10.0, gamma=0.5))  # fmt: skip
    primal: dict[str, Any] = {"target": {"LinearSVC": 0.5}, "peers": ("LinearSVC",)}
    table = [
        cancer,
        replace(cancer, name="predict one row, breast cancer", action="predict_row",
                load_test=lambda: breast_cancer()[0], repeats=300),
        Problem("synthetic 2000x20", synthetic, Settings(C=10.0, gamma=0.5),
                asked(7, 4), repeats=10),
        of_file("letter.scale", "letter 15000x16", (15_000, 16), letter,
                 Settings(C=10.0, gamma=1.0), asked(20, 10)),
        cod(title="cod-rna 20000x8 in [0, 1]", load=cod_rna, target=asked(25, 14)),
        cod(title="cod-rna 20000x8 standardised",
            load=partial(cod_rna, scale=datasets.standardise)),
        fitted,
        replace(fitted, name="predict ijcnn1 91701" + ("" if test else GENERATED),
                target=asked(60, 4), action="predict",
                load_test=ijcnn1_test if test else _generated_test),
        a9a_csr(title="a9a CSR, C=1", settings=Settings(C=1.0, gamma=1 / 123),
                target=asked(25, 3.5)),
        a9a_csr(title="a9a CSR, C=32", settings=Settings(C=32.0, gamma=0.05),
                target=asked(12, 4)),
        *wide(),
        *held_out(),
        replace(
            of_file("covtype.binary", "covtype 50000x54", (50_000, 54), covtype,
                     COVTYPE, asked(60, 18)),
            repeats=2,
        ),
        replace(a9a_csr(title="linear a9a CSR", settings=linear), **primal),
        replace(
            of_file("covtype.binary", "linear covtype 581012x54", (581_012, 54),
                     partial(covtype, None), linear),
            repeats=2, **primal,
        ),
    ]  # fmt: skip
    return {problem.name: problem for problem in table}


def asked(scikit_learn: float, intelex: float | None = None) -> dict[str, float]:
    """Return the least ratios asked against each peer."""
    both = {"scikit-learn": scikit_learn, "intelex": intelex}
    return {peer: ratio for peer, ratio in both.items() if ratio is not None}


def _generated_test() -> Any:
    return datasets.generated(91_701, 22, seed=1)[0]
