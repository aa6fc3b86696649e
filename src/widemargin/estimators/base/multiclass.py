"""One-vs-one: pairs of classes, the table of their coefficients, votes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import accumulate, combinations
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from widemargin.numerics.class_pairs import rows_of_pairs, stacked_pairs

from .task import Answer, Task

Vector = NDArray[np.float64]
Indices = NDArray[np.intp]


class PairRows(Protocol):
    """Two classes and the rows of training data that tell them apart."""

    @property
    def positive(self) -> int:
        """Class number of the positive class."""

    @property
    def negative(self) -> int:
        """Class number of the negative class."""

    @property
    def rows(self) -> Indices:
        """The rows: those of both classes, or with costs of others too."""


@dataclass
class BinaryTask(Task):
    """Two classes to be told apart.

    Attributes
    ----------
    y : ndarray
        +1 for the positive class, -1 for the negative one.
    costs : ndarray
        C times all weights of a row.
    positive, negative : int
        Class numbers.
    """

    y: Vector
    costs: Vector
    positive: int
    negative: int


@lru_cache(maxsize=8)
def class_pairs(n_classes: int) -> tuple[tuple[int, int], ...]:
    """Return (positive, negative) class numbers in LIBSVM's order.

    With two classes the second is the positive one, as everywhere in scikit-learn; with
    more, the first of each pair is.
    """
    if n_classes == 2:
        return ((1, 0),)
    return tuple(combinations(range(n_classes), 2))


def pair_members(labels: NDArray[np.integer], pair: tuple[int, int]) -> Indices:
    """Return the rows that belong to either class of a pair."""
    return np.flatnonzero((labels == pair[0]) | (labels == pair[1]))


class PairSamples(NamedTuple):
    """What a pair of classes is trained on.

    Attributes
    ----------
    rows : ndarray
        Rows of the training data.
    y : ndarray
        +1 where a row speaks for the first class of the pair, -1 for the second.
    weights : ndarray or None
        Factors on C, one per row; None for all 1.
    """

    rows: Indices
    y: Vector
    weights: Vector | None = None


def samples_of_classes(
    labels: Indices, pairs: Sequence[tuple[int, int]]
) -> list[PairSamples]:
    """Return for each pair the rows of its two classes, each for its own class."""
    n_classes = max(map(max, pairs)) + 1
    offsets, rows, signs = rows_of_pairs(labels, np.array(pairs), n_classes)
    return [
        PairSamples(rows[part], signs[part])
        for part in map(slice, offsets, offsets[1:])
    ]


class Stacked(NamedTuple):
    """All pair models in one table: the attributes of scikit-learn's SVC."""

    support: Indices  # rows, class by class
    n_support: NDArray[np.int32]
    dual_coef: Vector  # (n_classes - 1, n_SV), or (n_pairs, n_SV)
    intercept: Vector  # (n_pairs,)


def stack(
    labels: Indices,
    n_classes: int,
    pairs: Sequence[PairRows],
    answers: Sequence[Answer],
    *,
    by_pair: bool = False,
) -> Stacked:
    """Merge the answers of pairs: a row is a support vector if it is one in any pair.

    Row m of ``dual_coef`` holds, for a support vector of class c, its coefficient in
    the pair with the m-th of the other classes (LIBSVM's layout). That has no place for
    a row of a third class: with ``by_pair`` row m belongs to the m-th pair instead.
    """
    named = tuple([(pair.positive, pair.negative) for pair in pairs])
    support, n_support, dual_coef = stacked_pairs(
        labels,
        np.array([0, *accumulate([pair.rows.size for pair in pairs])]),
        np.concatenate([pair.rows for pair in pairs]),
        np.concatenate([answer.beta for answer in answers]),
        _rows_by_pair(n_classes, len(pairs)) if by_pair
        else _libsvm_rows(n_classes, named),
        len(pairs) if by_pair else n_classes - 1,
    )  # fmt: skip
    intercept = np.array([answer.intercept for answer in answers])
    return Stacked(support, n_support, dual_coef, intercept)


@lru_cache(maxsize=8)
def _libsvm_rows(n_classes: int, pairs: tuple[tuple[int, int], ...]) -> Indices:
    """Return the row of ``dual_coef`` by pair and class; -1 for a third class."""
    places = np.full((len(pairs), n_classes), -1)
    for number, pair in enumerate(pairs):
        first, second = sorted(pair)
        places[number, first], places[number, second] = second - 1, first
    return places


@lru_cache(maxsize=8)
def _rows_by_pair(n_classes: int, n_pairs: int) -> Indices:
    """Return the same where every pair has a row of its own."""
    return np.arange(n_pairs).repeat(n_classes).reshape(n_pairs, n_classes)


def pair_coefficients(dual_coef: Vector, n_support: Any) -> Any:
    """Return the (n_SV, n_pairs) table of coefficients, sparse for several classes."""
    n_classes = len(n_support)
    if n_classes == 2:
        return dual_coef[0]
    if is_by_pair(dual_coef, n_classes):
        return sparse.csc_array(dual_coef.T)
    # LIBSVM's table, entry by entry: the pair of a class with its m-th other one.
    tables = _pair_tables(n_classes)
    pairs = tables.with_others[np.repeat(np.arange(n_classes), n_support)]
    vectors, others = np.nonzero(dual_coef.T)
    columns = pairs[vectors, others]
    order = np.argsort(columns, kind="stable")
    ends = np.searchsorted(columns[order], np.arange(tables.second.size + 1))
    entries = dual_coef.T[vectors[order], others[order]]
    shape = (dual_coef.shape[1], tables.second.size)
    return sparse.csc_array((entries, vectors[order], ends), shape=shape)


def pair_sums(entries: Vector, dual_coef: Vector, n_support: Any) -> Vector:
    """Return the sums of all pairs from the kernel entries of a few rows.

    In LIBSVM's layout: each row of coefficients is summed class by class, and a pair
    takes one sum of either class. Every class has support vectors.
    """
    tables = _pair_tables(len(n_support))
    starts = np.cumsum(n_support) - n_support
    terms = entries[:, None, :] * dual_coef
    sums = np.add.reduceat(terms, starts, axis=2)
    first, second = tables.first, tables.second
    return np.asarray(sums[:, second - 1, first] + sums[:, first, second])


def is_by_pair(dual_coef: Any, n_classes: int) -> bool:
    """Whether a table of coefficients has one row per pair (as both have for two)."""
    return bool(dual_coef.shape[0] == n_classes * (n_classes - 1) // 2)


def pair_start(
    dual_coef: Vector,
    support: Indices,
    labels: Indices,
    n_classes: int,
    task: PairRows,
) -> Vector:
    """Return the former coefficients of one pair, row by row of the task."""
    first, second = sorted((task.positive, task.negative))
    full = np.zeros((dual_coef.shape[0], labels.size))
    full[:, support] = dual_coef
    if is_by_pair(dual_coef, n_classes):
        number = class_pairs(n_classes).index((task.positive, task.negative))
        return np.asarray(full[number, task.rows])
    of_first = labels[task.rows] == first
    start: Vector = np.where(
        of_first, full[second - 1, task.rows], full[first, task.rows]
    )
    return start


def vote(decisions: Vector, n_classes: int) -> NDArray[np.intp]:
    """Return the class with most pair votes; ties go to the lowest class number."""
    tables = _pair_tables(n_classes)
    wins = (decisions > 0).astype(np.float32)  # counts are exact
    votes = np.einsum("np,kp->nk", wins, tables.points) + tables.losses
    return np.asarray(votes.argmax(axis=1))


@dataclass(frozen=True)
class _PairTables:
    """What all models with the same number of classes share."""

    first: Indices  # class of each pair
    second: Indices
    with_others: Indices  # pair of each class with its m-th other one
    points: NDArray[np.float32]  # by class and pair: what a win of the first changes
    losses: Indices  # votes of each class if no first class wins


@cache
def _pair_tables(n_classes: int) -> _PairTables:
    first, second = np.triu_indices(n_classes, 1)
    pairs = np.arange(first.size)
    number = np.zeros((n_classes, n_classes), dtype=np.intp)
    number[first, second] = number[second, first] = pairs
    points = np.zeros((n_classes, first.size), dtype=np.float32)
    points[first, pairs], points[second, pairs] = 1, -1
    return _PairTables(
        first=first,
        second=second,
        with_others=number[~np.eye(n_classes, dtype=bool)].reshape(n_classes, -1),
        points=points,
        losses=np.bincount(second, minlength=n_classes),
    )


def one_vs_rest_scores(decisions: Vector, n_classes: int) -> Vector:
    """Return votes plus a confidence in (-1/3, 1/3), scikit-learn's "ovr" shape."""
    votes = np.zeros((decisions.shape[0], n_classes))
    confidences = np.zeros_like(votes)
    for column, (first, second) in enumerate(combinations(range(n_classes), 2)):
        value = decisions[:, column]
        confidences[:, first] += value
        confidences[:, second] -= value
        votes[:, first] += value >= 0
        votes[:, second] += value < 0
    return votes + confidences / (3.0 * (np.abs(confidences) + 1.0))
