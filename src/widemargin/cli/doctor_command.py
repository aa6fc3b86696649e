"""``widemargin doctor``: what is installed, what this machine offers, a self-test."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import click
import numpy as np
from numpy.typing import NDArray
from sklearn import svm as peers
from sklearn.datasets import make_classification, make_regression

from widemargin import _core
from widemargin.estimators.base.validation import effective_threads
from widemargin.estimators.one_class_svm import OneClassSVM
from widemargin.estimators.svc import SVC
from widemargin.estimators.svr import SVR
from widemargin.runtime.hardware import machine

Vector = NDArray[np.float64]

PACKAGES = (
    "numpy", "scipy", "scikit-learn", "joblib", "threadpoolctl", "tqdm", "click",
)  # fmt: skip
EXTRAS = {
    "robust": ("clarabel",),
    "private": ("opendp",),
    "dask": ("dask", "distributed"),
    "plot": ("matplotlib",),
    "playground": ("starlette", "uvicorn"),
    "parquet": ("pyarrow",),
}
REPEATS = 3  # of which the fastest counts: a first fit also loads what it needs
AGREE = 1e-4  # largest difference of decision values to scikit-learn's, at tol=1e-6


@click.command()
@click.pass_context
def doctor(ctx: click.Context) -> None:
    """Print versions, instruction set, threads and memory, then test against peers.

    The self-test fits small problems here and with scikit-learn, compares the
    decision values and prints the fastest of three fits of each; it takes a few
    seconds. Exit code 1 if any differs.
    """
    for title, text in (*versions(), *hardware()):
        click.echo(f"{title:<16}{text}")
    click.echo()
    failed = False
    for title, difference, ours, theirs in self_test():
        agrees = difference <= AGREE
        failed |= not agrees
        click.echo(
            f"{title:<28}{'agrees' if agrees else 'DIFFERS'} with scikit-learn to "
            f"{difference:.0e}; {1e3 * ours:.1f} ms, scikit-learn {1e3 * theirs:.1f} ms"
        )
    if failed:
        click.echo("Please report this, with everything printed above.", err=True)
    ctx.exit(int(failed))


def versions() -> Iterator[tuple[str, str]]:
    """Yield this package's version, and those of what it needs and may use."""
    yield "widemargin", version("widemargin")
    yield "needs", ", ".join(f"{name} {version(name)}" for name in PACKAGES)
    for extra, names in EXTRAS.items():
        found = {name: _installed(name) for name in names}
        if all(found.values()):
            text = ", ".join(f"{name} {number}" for name, number in found.items())
        else:
            text = f"not installed: pip install 'widemargin[{extra}]'"
        yield f"[{extra}]", text


def hardware() -> Iterator[tuple[str, str]]:
    """Yield what a fit has to work with."""
    found = machine()
    yield "python", f"{found['python']}, {found['system']}"
    yield "processor", f"{found['processor']}, {found['cores']} cores"
    yield "instructions", _core.target()
    yield "threads", f"{effective_threads(None)} (n_jobs=None)"
    memory = found["memory_gib"]
    yield "memory", "unknown" if memory is None else f"{memory} GiB"


def self_test() -> Iterator[tuple[str, float, float, float]]:
    """Yield problem, largest difference to scikit-learn's values, and both seconds."""
    X, y = make_classification(1500, 12, n_informative=6, random_state=0)
    Z, targets = make_regression(600, 8, noise=5.0, random_state=0)
    targets = targets / targets.std()
    setting: dict[str, object] = {"tol": 1e-6, "gamma": 0.1}
    yield _compared("SVC", SVC, peers.SVC, X, y, setting)
    yield _compared(
        "SVC, 3 classes", SVC, peers.SVC, X, y + (X[:, 0] > 1),
        setting | {"decision_function_shape": "ovo"},
    )  # fmt: skip
    yield _compared(
        "SVC, polynomial", SVC, peers.SVC, X, y,
        setting | {"kernel": "poly", "coef0": 1.0},
    )  # fmt: skip
    yield _compared("SVR", SVR, peers.SVR, Z, targets, setting)
    yield _compared(
        "OneClassSVM", OneClassSVM, peers.OneClassSVM, X, None,
        setting | {"nu": 0.1},
    )  # fmt: skip


def _compared(
    title: str,
    ours: Callable[..., Any],
    theirs: Callable[..., Any],
    X: Vector,
    y: Vector | None,
    setting: dict[str, object],
) -> tuple[str, float, float, float]:
    values, seconds = [], []
    for make in (ours, theirs):
        model = make(**setting)
        times = []
        for _ in range(REPEATS):
            begun = time.perf_counter()
            model.fit(X, y)
            times.append(time.perf_counter() - begun)
        seconds.append(min(times))
        name = "predict" if title == "SVR" else "decision_function"
        values.append(getattr(model, name)(X))
    scale = max(1.0, float(np.abs(values[1]).max()))
    difference = float(np.abs(values[0] - values[1]).max()) / scale
    return title, difference, seconds[0], seconds[1]


def _installed(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None
