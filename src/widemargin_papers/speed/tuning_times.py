"""How long a grid of parameters takes: shared fits beside scikit-learn's searches.

The unit is ``GridSearchCV`` over scikit-learn's own estimator in the same run, with as
many processes as our search has threads. Both search the same grid on the same folds,
to the same tolerance; neither fits the winner to all rows.

torchkm (PyPI; tried: 4.3.2) is no contestant: it is made for GPUs, has one width of the
kernel a search, and on a CPU took minutes for 50 values of C on 400 rows.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import sklearn.svm
from numpy.typing import NDArray
from sklearn.datasets import load_digits
from sklearn.model_selection import GridSearchCV

from widemargin import SVC, SVR, SharedGridSearchCV
from widemargin_papers.harness import datasets
from widemargin_papers.harness.measuring import say
from widemargin_papers.harness.text_tables import layout
from widemargin_papers.harness.timing import spending

from .problems import covtype, ijcnn1

Vector = NDArray[np.float64]
THREADS = 2
FOLDS = 5
FIRST = 3  # the winner must be among the best 3 of the reference
HEADER = ("problem", "fits", "reference", "unit s", "ours s", "ratio", "score", "rank")


@dataclass(frozen=True)
class Search:
    """One grid on one data set.

    Attributes
    ----------
    name : str
        How it is printed.
    load : callable
        Returns samples and targets.
    grid : dict
        Values by parameter.
    reference, ours : estimator
        What the two searches tune.
    needs : str or None
        The data file it needs.
    """

    name: str
    load: Callable[[], tuple[Any, Vector]]
    grid: dict[str, Vector]
    reference: Any
    ours: Any
    needs: str | None


@dataclass(frozen=True)
class Timed:
    """Both searches, timed.

    Attributes
    ----------
    unit, seconds : float
        Wall time of the reference, and of ours.
    difference : float
        Our best score minus theirs.
    rank : int
        The place of our winner in their table.
    """

    unit: float
    seconds: float
    difference: float
    rank: int


def searches() -> Iterator[Search]:
    """Yield the searches whose data files are there, smallest first."""
    wide = {"C": np.geomspace(0.1, 1000, 10), "gamma": np.geomspace(0.05, 100, 10)}
    narrow = {"C": np.geomspace(0.1, 1000, 5), "gamma": np.geomspace(0.1, 10, 5)}
    numbers = {**wide, "epsilon": np.array([0.1])}
    classes = sklearn.svm.SVC(cache_size=500), SVC()
    files = (
        "german.numer_scale",
        "splice_scale",
        "segment7",
        "a5a",
        "phoneme",
        "mammography",
    )
    listed = [Search("digits", _digits, wide, *classes, None)]
    listed += [
        Search(name, partial(_of_file, name), wide, *classes, name) for name in files
    ]
    listed += [
        Search(f"covtype {n}", partial(covtype, n), wide, *classes, "covtype.binary")
        for n in (2000, 5000)
    ]
    listed += [
        Search(
            name, partial(_numbers, name), numbers,
            sklearn.svm.SVR(cache_size=500), SVR(), name,
        )
        for name in ("concrete", "airfoil", "abalone")
    ]  # fmt: skip
    # beside our own SVC
    listed.append(
        Search("ijcnn1 20000", partial(ijcnn1, 20_000), narrow, SVC(), SVC(), "ijcnn1")
    )
    for search in listed:
        if search.needs is None or datasets.available(search.needs):
            yield search


def _digits() -> tuple[Any, Vector]:
    X, y = load_digits(return_X_y=True)
    return X / 16.0, y


def _of_file(name: str) -> tuple[Any, Vector]:
    X, y = datasets.load_dense(name)
    X = datasets.scale_to_interval(X)
    if len(y) > 5000:
        X, y = datasets.subsample(X, y, 5000)
    return np.ascontiguousarray(X), y


def _numbers(name: str) -> tuple[Any, Vector]:
    X, y = datasets.load_dense(name)
    return np.ascontiguousarray(datasets.scale_to_interval(X)), (y - y.mean()) / y.std()


def timed(search: Search) -> Timed:
    """Run both searches; ours first, on a process that has not searched yet."""
    X, y = search.load()
    options: dict[str, Any] = {"cv": FOLDS, "refit": False, "n_jobs": THREADS}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with spending() as own:
            ours = SharedGridSearchCV(search.ours, search.grid, **options).fit(X, y)
        say(f"{search.name}: ours {own.wall:.1f} s")
        with spending() as unit:
            theirs = GridSearchCV(search.reference, search.grid, **options).fit(X, y)
    rank = int(theirs.cv_results_["rank_test_score"][ours.best_index_])
    difference = float(ours.best_score_ - theirs.best_score_)
    return Timed(unit.wall, own.wall, difference, rank)


def tuning_table(only: str = "") -> str:
    """Measure the searches that `only` names; return their table.

    Parameters
    ----------
    only : str
        Part of a name, or several with commas between them.
    """
    rows = []
    for search in searches():
        if not any(part.strip() in search.name for part in only.split(",")):
            continue
        found = timed(search)
        fits = FOLDS * int(np.prod([len(values) for values in search.grid.values()]))
        peer = type(search.reference).__module__.split(".")[0]
        rows.append(
            [
                search.name, str(fits), peer,
                f"{found.unit:.1f}", f"{found.seconds:.2f}",
                f"{found.unit / found.seconds:.1f}x", f"{found.difference:+.4f}",
                f"{found.rank}" + ("" if found.rank <= FIRST else " (!)"),
            ]
        )  # fmt: skip
        say(f"{search.name}: {rows[-1][5]}")
    return layout(HEADER, rows) if rows else ""
