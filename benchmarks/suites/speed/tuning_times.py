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
from widemargin_papers.bench.problems import covtype, ijcnn1
from widemargin_papers.harness import datasets
from widemargin_papers.harness.missing_runs import Measurement
from widemargin_papers.harness.results import Record, ResultStore
from widemargin_papers.harness.timing import spending

from ..record_tables import Column, records_table

Vector = NDArray[np.float64]
THREADS = 2
FOLDS = 5


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
    asked : float
        The least ratio of both times that is asked for.
    """

    name: str
    load: Callable[[], tuple[Any, Vector]]
    grid: dict[str, Vector]
    reference: Any
    ours: Any
    needs: str | None
    asked: float


def searches() -> list[Search]:
    """Return all searches."""
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
    listed = [Search("digits", _digits, wide, *classes, None, 10)]
    listed += [
        Search(name, partial(_of_file, name), wide, *classes, name, 10)
        for name in files
    ]
    listed += [
        Search(
            f"covtype {n}", partial(covtype, n), wide, *classes, "covtype.binary", asked
        )
        for n, asked in ((2000, 20), (5000, 15))
    ]
    listed += [
        Search(
            name, partial(_numbers, name), numbers,
            sklearn.svm.SVR(cache_size=500), SVR(), name, 15,
        )
        for name in ("concrete", "airfoil", "abalone")
    ]  # fmt: skip
    own = SVC(), SVC()  # beside our own SVC
    listed.append(
        Search("ijcnn1 20000", partial(ijcnn1, 20_000), narrow, *own, "ijcnn1", 5)
    )
    return listed


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


def timed(search: Search) -> Record:
    """Run both searches; ours first, on a process that has not searched yet."""
    X, y = search.load()
    options: dict[str, Any] = {"cv": FOLDS, "refit": False, "n_jobs": THREADS}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with spending() as own:
            ours = SharedGridSearchCV(search.ours, search.grid, **options).fit(X, y)
        with spending() as unit:
            theirs = GridSearchCV(search.reference, search.grid, **options).fit(X, y)
    return {
        "problem": search.name,
        "fits": FOLDS * int(np.prod([len(values) for values in search.grid.values()])),
        "reference": type(search.reference).__module__.split(".")[0],
        "unit": unit.wall,
        "seconds": own.wall,
        "difference": float(ours.best_score_ - theirs.best_score_),
        "rank": int(theirs.cv_results_["rank_test_score"][ours.best_index_]),
        "asked": search.asked,
    }


def work() -> Iterator[Measurement]:
    """Yield the searches whose data files are there."""
    for search in searches():
        if search.needs is None or datasets.available(search.needs):
            yield search.name, partial(timed, search)


def _ratio(record: Record) -> str:
    found, asked = record["unit"] / record["seconds"], record["asked"]
    return f"{found:.1f}x" if found >= asked else f"{found:.1f}x (target {asked:g}x)"


def table(store: ResultStore) -> str:
    """Return the stored searches, in their order."""
    names = [search.name for search in searches() if search.name in store.records]
    if not names:
        return ""
    columns: dict[str, Column] = {
        "search": "{problem}",
        "fits": "{fits}",
        "GridSearchCV over": "{reference}",
        "its seconds": "{unit:.1f}",
        "ours": "{seconds:.2f}",
        "ratio": _ratio,
        "best score": "{difference:+.4f}",
        "rank of our winner": "{rank}",
    }
    return records_table([store.records[name] for name in names], columns)
