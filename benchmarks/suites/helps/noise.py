"""Wrong labels of several kinds, as people and processes make them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from sklearn.svm import SVC

Vector = NDArray[np.float64]
Labels = NDArray[np.intp]
Noise = Callable[[Vector, Labels, np.random.Generator], Labels]

ONE_SIDED = 0.3  # share of the one class
PATTERNED = 0.2  # share of all rows, near the boundary and in clusters
NEAR = 0.4  # the share of rows that counts as near the boundary
CLUSTER = 15  # rows of a cluster, on average


def clean(_X: Vector, y: Labels, _rng: np.random.Generator) -> Labels:
    """Return the right labels."""
    return y.copy()


def uniform(share: float, _X: Vector, y: Labels, rng: np.random.Generator) -> Labels:
    """Give a share of all rows another label, each other one equally likely."""
    return _relabelled(y, rng.permutation(len(y))[: round(share * len(y))], rng)


def one_sided(_X: Vector, y: Labels, rng: np.random.Generator) -> Labels:
    """Give rows of one class, drawn at random, the label of one other class."""
    source, target = rng.permutation(_classes(y))[:2]
    members = rng.permutation(np.flatnonzero(y == source))
    given = y.copy()
    given[members[: round(ONE_SIDED * len(members))]] = target
    return given


def near_boundary(X: Vector, y: Labels, rng: np.random.Generator) -> Labels:
    """Confuse rows near the boundary with the class that is closest to them.

    The boundary is that of an SVM of the right labels.
    """
    model = SVC(decision_function_shape="ovr", random_state=0).fit(X, y)
    values = model.decision_function(X)
    table = np.column_stack([-values, values]) if values.ndim == 1 else values
    rows = np.arange(len(y))
    own = table[rows, y]
    table[rows, y] = -np.inf
    near = np.argsort(np.abs(own - table.max(axis=1)))[: round(NEAR * len(y))]
    chosen = rng.permutation(near)[: round(PATTERNED * len(y))]
    given = y.copy()
    given[chosen] = table.argmax(axis=1)[chosen]
    return given


def clustered(X: Vector, y: Labels, rng: np.random.Generator) -> Labels:
    """Relabel whole clusters of neighbouring rows, as one careless annotator would."""
    count = max(2, len(y) // CLUSTER)
    seed = int(rng.integers(2**31))
    members = KMeans(count, n_init=1, random_state=seed).fit_predict(X)
    order = np.argsort(rng.permutation(count)[members], kind="stable")
    chosen = order[: round(PATTERNED * len(y))]
    shift = rng.integers(1, len(_classes(y)), size=count)[members]
    given = y.copy()
    given[chosen] = ((y + shift) % len(_classes(y)))[chosen]
    return given


def _classes(y: Labels) -> Labels:
    return np.arange(int(y.max()) + 1)


def _relabelled(
    y: Labels, chosen: NDArray[np.intp], rng: np.random.Generator
) -> Labels:
    given = y.copy()
    shift = rng.integers(1, len(_classes(y)), size=len(chosen))
    given[chosen] = (y[chosen] + shift) % len(_classes(y))
    return given


NOISES: dict[str, Noise] = {
    "clean": clean,
    "uniform 10 %": partial(uniform, 0.1),
    "uniform 20 %": partial(uniform, 0.2),
    "uniform 30 %": partial(uniform, 0.3),
    "one-sided": one_sided,
    "near the boundary": near_boundary,
    "in clusters": clustered,
}


def given_labels(kind: str, X: Vector, y: Labels, number: int) -> Labels:
    """Return the labels of split `number` with this kind of noise."""
    place = list(NOISES).index(kind)
    return NOISES[kind](X, y, np.random.default_rng((number, place)))
