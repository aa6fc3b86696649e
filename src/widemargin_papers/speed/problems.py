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
SWEEP_SIZE, SWEEP_MORE = 60, 20
GENERATED = " (generated)"  # in the name of a problem whose file is missing
IJCNN1, COVTYPE = Settings(C=32.0, gamma=2.0), Settings(C=32.0, gamma=32.0)
GROWING_SIZES = (1_000, 3_162, 10_000, 31_623, 100_000)


def _of_file(
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


def digits() -> Loaded:
    """10000 x 778: the test digits of MNIST, ten classes, pixels / 255."""
    X, y = datasets.load_dense("mnist.t")
    return X / 255.0, y


def images() -> Loaded:
    """The same digits, even against odd."""
    X, y = digits()
    return X, datasets.signs(y, lambda labels: labels % 2 == 0)


def magic04() -> Loaded:
    """19020 x 10, standardised."""
    X, y = datasets.load_dense("magic04")
    return datasets.standardise(X), datasets.signs(y, lambda labels: labels > 0)


def phoneme() -> Loaded:
    """5404 x 5, standardised."""
    X, y = datasets.load_dense("phoneme")
    return datasets.standardise(X), datasets.signs(y, lambda labels: labels > 0)


def protein() -> Loaded:
    """20000 x 9, drawn with seed 0: targets above their median against the others."""
    X, y = datasets.load_dense("protein")
    X, y = datasets.subsample(datasets.standardise(X), y, 20_000)
    return np.ascontiguousarray(X), datasets.signs(y, lambda t: t > np.median(t))


def w5a() -> Loaded:
    """9888 x 300 as CSR, 4 % of the entries stored."""
    return datasets.load_libsvm("w5a", n_features=300)


def wide() -> list[Problem]:
    """Return the problems of many features: images of two and of ten classes."""
    settings = Settings(C=5.0, gamma=0.02)
    file = partial(_of_file, "mnist.t", shape=(10_000, 778), settings=settings)
    return [
        file(title="images 10000x778", load=images, target=asked(18, 1.4)),
        file(title="images, ten classes", load=digits, target=asked(12, 4.5)),
    ]


def held_out() -> list[Problem]:
    """Return problems on which no constant was chosen."""
    target = asked(15, 5)
    return [
        _of_file("phoneme", "phoneme 5404x5", (5_404, 5), phoneme,
                 Settings(C=10.0, gamma=1.0), target),
        _of_file("magic04", "magic04 19020x10", (19_020, 10), magic04,
                 Settings(C=10.0, gamma=0.1), target),
        _of_file("protein", "protein 20000x9", (20_000, 9), protein,
                 Settings(C=1.0, gamma=0.5), target),
        _of_file("w5a", "w5a CSR 9888x300", (9_888, 300), w5a,
                 Settings(C=10.0, gamma=0.05), target),
    ]  # fmt: skip


def problems() -> dict[str, Problem]:
    """Return the problems of the ratio table by name, smallest first."""
    small = Settings(C=1.0, gamma=1 / 30)
    linear = Settings(C=1.0, kernel="linear", fit_intercept=False)
    cancer = Problem("breast cancer 569x30", breast_cancer, small, asked(1), repeats=30)
    fitted = _of_file("ijcnn1", "ijcnn1 49990x22", (49_990, 22), ijcnn1, IJCNN1,
                      asked(40, 20))  # fmt: skip
    test = datasets.available("ijcnn1.t")
    a9a_csr = partial(_of_file, "a9a", shape=(32_561, 123), load=a9a)
    cod = partial(_of_file, "cod-rna", shape=(20_000, 8),
                  settings=Settings(C=10.0, gamma=0.5))  # fmt: skip
    primal: dict[str, Any] = {"target": {"LinearSVC": 0.5}, "peers": ("LinearSVC",)}
    table = [
        cancer,
        replace(cancer, name="predict one row, breast cancer", action="predict_row",
                load_test=lambda: breast_cancer()[0], repeats=300),
        Problem("synthetic 2000x20", synthetic, Settings(C=10.0, gamma=0.5),
                asked(7, 4), repeats=10),
        _of_file("letter.scale", "letter 15000x16", (15_000, 16), letter,
                 Settings(C=10.0, gamma=1.0), asked(20, 10)),
        cod(title="cod-rna 20000x8 in [0, 1]", load=cod_rna, target=asked(25, 14)),
        cod(title="cod-rna 20000x8 standardised",
            load=partial(cod_rna, datasets.standardise)),
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
            _of_file("covtype.binary", "covtype 50000x54", (50_000, 54), covtype,
                     COVTYPE, asked(60, 18)),
            repeats=2,
        ),
        replace(a9a_csr(title="linear a9a CSR", settings=linear), **primal),
        replace(
            _of_file("covtype.binary", "linear covtype 581012x54", (581_012, 54),
                     partial(covtype, None), linear),
            repeats=2, **primal,
        ),
    ]  # fmt: skip
    return {problem.name: problem for problem in table}


def counted() -> dict[str, list[Problem]]:
    """Return the problems whose kernel entries are counted, in two halves.

    Constants of the engine are chosen on the first and checked on the second.
    """
    table = problems()
    covtype_30k = _of_file("covtype.binary", "covtype 30000x54", (30_000, 54),
                           partial(covtype, 30_000), COVTYPE)  # fmt: skip
    chosen, checked = ("letter", "cod-rna 20000x8 in", "images 1"), (
        "synthetic", "cod-rna 20000x8 st", "ijcnn1", "a9a CSR, C=1", "covtype",
        "phoneme", "magic04", "protein", "w5a",
    )  # fmt: skip
    return {
        "chosen on": [p for p in table.values() if p.name.startswith(chosen)]
        + [covtype_30k],
        "checked on": [p for p in table.values() if p.name.startswith(checked)],
    }


def asked(scikit_learn: float, intelex: float | None = None) -> dict[str, float]:
    """Return the least ratios asked against each peer."""
    both = {"scikit-learn": scikit_learn, "intelex": intelex}
    return {peer: ratio for peer, ratio in both.items() if ratio is not None}


def _generated_test() -> Any:
    return datasets.generated(91_701, 22, seed=1)[0]


def sweep(size: int = SWEEP_SIZE, more: int = SWEEP_MORE) -> list[Problem]:
    """Return random problems: n 100..20,000, d 2..500, C and gamma log-uniform.

    Problem i is the same on every machine: it is drawn with seed i. gamma is measured
    in units of 1 / (d Var(X)), the kernel's natural width. Of ``more`` problems after
    these every other one is wide, d 500..2,000, and the rest have 3 to 8 classes.
    """
    drawn = []
    for seed in range(size + more):
        rng = np.random.default_rng(seed)
        is_wide = seed >= size and seed % 2 == 0
        classes = 2 if seed < size or is_wide else int(rng.integers(3, 9))
        n = round(10 ** rng.uniform(2, np.log10(5_000 if is_wide else 20_000)))
        widths = (500, 2_000) if is_wide else (2 if classes == 2 else 8, 500)
        d = round(10 ** rng.uniform(*np.log10(widths)))
        C = 10 ** rng.uniform(-1, 3)
        width = 10 ** rng.uniform(-1.5, 1.5)
        noise = rng.uniform(0.0, 0.2)
        load = partial(
            datasets.generated, n, d, seed=seed, noise=noise, classes=classes
        )
        gamma = float(width / (d * load()[0].var()))
        words = "" if classes == 2 else f", {classes} classes"
        drawn.append(
            Problem(
                f"sweep {seed:02d}: {n}x{d}{words}",
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
        drawn += [
            _of_file("ijcnn1.t", f"ijcnn1 n={n}", (n, 22), partial(ijcnn1, n), IJCNN1),
            _of_file("covtype.binary", f"covtype n={n}", (n, 54), partial(covtype, n),
                     COVTYPE),
        ]  # fmt: skip
    return [replace(problem, peers=()) for problem in drawn]


def _changed(problem: Problem, words: str, settings: Settings) -> Problem:
    name = f"{problem.name}, {words}"
    return replace(problem, name=name, settings=settings, target={})


def tighter(tol: float = 1e-6) -> list[Problem]:
    """Return the medium problems at another tolerance."""
    chosen = ("synthetic", "letter", "cod-rna", "ijcnn1")
    return [
        _changed(problem, f"tol={tol:g}", replace(problem.settings, tol=tol))
        for name, problem in problems().items()
        if name.startswith(chosen)
    ]


def one_thread() -> list[Problem]:
    """Return the problems of the ratio table with one thread for all contestants."""
    return [
        _changed(problem, "one thread", replace(problem.settings, threads=1))
        for name, problem in problems().items()
        if problem.action == "fit" and "linear" not in name and "covtype" not in name
    ]
