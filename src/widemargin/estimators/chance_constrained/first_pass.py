"""The first pass over the data, and the binary problems that it makes of each block.

Labels, class covariances, scales and costs must be known before a solver starts. They
come from moments of the classes, block by block, so that rows in memory, on disk and in
dask chunks give the same problems.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial, reduce
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from widemargin.estimators.base.validation import class_weights
from widemargin.runtime.lazy import lazy_property
from widemargin.uncertainty.covariance_tables import CovarianceTable, Uncertainty
from widemargin.uncertainty.covariances import (
    CLASS,
    Moments,
    centred_rows,
    class_factors,
    class_matrices,
    given_covariances,
    moments_of,
    sample_covariances,
    stacked_rows,
)
from widemargin.uncertainty.risk_bounds import safety_factor

from .block_sources import Block, Source
from .chance_problem import ChanceProblem, refuse_wide

Floats = NDArray[np.float64]


class Settings(Protocol):
    """The parameters of the estimator."""

    C: float
    risk: float
    bound: str
    kernel: str
    gamma: Any
    n_components: int
    covariance: Any
    covariance_scale: float
    standardize: bool
    fit_intercept: bool
    class_weight: Any
    solver: str
    refine: bool
    epochs: int
    sampling: str
    tol: float
    max_iter: int
    max_time: float | None
    memory_mb: float
    n_jobs: int | None
    verbose: bool


@dataclass(frozen=True)
class Scaling:
    """Features measured in their standard deviations: ``(x - mean) / scale``.

    Sparse samples stay sparse: their scaling has mean 0.
    """

    mean: Floats
    scale: Floats

    @classmethod
    def identity(cls, n_features: int) -> Scaling:
        """Return the scaling that changes nothing."""
        return cls(np.zeros(n_features), np.ones(n_features))

    @classmethod
    def of(cls, moments: Moments, *, centre: bool) -> Scaling:
        """Return the scaling of samples with these moments (as StandardScaler)."""
        variances = np.diag(moments.scatter) / moments.mass
        scale = np.sqrt(variances)
        constant = scale <= 10.0 * np.finfo(float).eps * np.abs(moments.mean)
        mean = moments.mean if centre else np.zeros_like(moments.mean)
        return cls(mean, np.where(constant, 1.0, scale))

    def apply(self, X: Any) -> Any:
        """Return the scaled samples, in double precision: their model is exact."""
        centred = bool(np.any(self.mean))
        if not centred and np.all(self.scale == 1.0):
            return X
        if not sparse.issparse(X):
            return np.ascontiguousarray((X - self.mean) / self.scale)
        if centred:
            raise TypeError("a scaling that centres cannot be applied to sparse rows")
        return (X @ sparse.diags_array(1.0 / self.scale)).tocsr()

    def restore(self, w: Floats, b: float) -> tuple[Floats, float]:
        """Return the same boundary in the original units."""
        original = w / self.scale
        return original, b - float(self.mean @ original)


@dataclass(frozen=True)
class BlockProblems:
    """The binary problems of one block: one, or one for each class against the rest.

    They share all but their signs. ``rows`` are the positions of the rows that count
    (those with weight) among the ``n_given`` of the block.
    """

    given: list[ChanceProblem]  # in the units of X
    scaling: Scaling
    rows: NDArray[np.intp]
    n_given: int
    first: int = 0  # number of the first row of the block

    @classmethod
    def of(cls, given: list[ChanceProblem]) -> BlockProblems:
        """Return problems that are solved as they are, all rows of which count."""
        n, d = given[0].shape
        return cls(given, Scaling.identity(d), np.arange(n), n)

    @lazy_property
    def scaled(self) -> list[ChanceProblem]:
        """The problems as they are solved: means and covariances scaled."""
        X, uncertainty = self.scaling.apply(self.given[0].X), self.given[0].uncertainty
        if np.any(self.scaling.scale != 1.0):
            uncertainty = uncertainty.rescaled(self.scaling.scale)
        return [replace(p, X=X, uncertainty=uncertainty) for p in self.given]

    def split(self, count: int) -> list[BlockProblems]:
        """Return the scaled problems in `count` parts of every count-th sample."""
        parts = []
        for first in range(min(count, self.scaled[0].shape[0])):
            rows = np.arange(first, self.scaled[0].shape[0], count)
            part = self.scaled[0].take(rows)
            own = [replace(part, signs=p.signs[rows]) for p in self.scaled]
            parts.append(replace(BlockProblems.of(own), first=first))
        return parts


@dataclass(frozen=True)
class ProblemBuilder:
    """Makes the binary problems of a block, by what is known of all rows.

    ``table`` has the covariance of each class, or None where every row has its own;
    ``costs`` are those of a unit of weight, for each class.
    """

    classes: NDArray[Any]
    table: CovarianceTable | None
    scaling: Scaling
    costs: Floats
    kappa: float
    fit_intercept: bool
    moments: Moments | None = None  # of all rows, where there is a first pass

    @property
    def n_problems(self) -> int:
        """Number of binary problems."""
        return 1 if len(self.classes) == 2 else len(self.classes)

    @property
    def matrices(self) -> Floats | None:
        """The covariance of each class; None where every row has its own."""
        return None if self.table is None else self.table.dense()

    def problems(self, block: Block) -> BlockProblems:
        """Return the problems of the rows of one block that count."""
        weights = block.weights
        rows = np.flatnonzero(weights > 0.0)
        X = block.X if len(rows) == block.X.shape[0] else block.X[rows]
        labels = np.searchsorted(self.classes, block.y[rows])
        uncertainty = self.uncertainty(block)
        if len(rows) < block.X.shape[0]:
            uncertainty = uncertainty.take(rows)
        costs = self.costs[labels] * weights[rows]
        given = [
            ChanceProblem(
                X,
                np.where(labels == k, 1.0, -1.0),
                costs,
                uncertainty,
                self.kappa,
                self.fit_intercept,
            )
            for k in (range(self.n_problems) if self.n_problems > 1 else [1])
        ]
        return BlockProblems(given, self.scaling, rows, block.X.shape[0], block.first)

    def uncertainty(self, block: Block) -> Uncertainty:
        """Return every row's covariance: its own, or that of its class."""
        n, d = block.X.shape
        if block.own:
            return sample_covariances(
                block.covariance, block.covariance_factor, n, d, block.first
            )
        if self.table is None:
            raise ValueError(
                "covariance='class' cannot be estimated from a part of the data: give "
                "the matrices (covariance= a (d, d) array or a dict of them), give "
                "covariance= with the rows, or call fit on a first part."
            )
        # a row without weight may have a label that does not count
        labels = np.searchsorted(self.classes, block.y)
        return Uncertainty(self.table, np.minimum(labels, len(self.classes) - 1))


@dataclass(frozen=True)
class _Summary:
    """What some rows tell; ``own``: whether they come with covariances."""

    labels: NDArray[Any]
    moments: dict[Any, Moments]  # of each class; without features if not needed
    features: int
    own: bool
    sparse: bool

    @property
    def by_class(self) -> list[Moments]:
        return [self.moments[label] for label in self.labels.tolist()]

    def merged(self, other: _Summary) -> _Summary:
        if self.features != other.features:
            raise ValueError(
                f"blocks have {self.features} and {other.features} features: all must "
                "have the same."
            )
        if self.own != other.own:
            raise ValueError(
                "some blocks bring covariance or covariance_factor and others do not: "
                "give it with all of them, or with none."
            )
        both = self.moments | other.moments
        for label in self.moments.keys() & other.moments.keys():
            both[label] = self.moments[label].merged(other.moments[label])
        labels = np.union1d(self.labels, other.labels)
        mixed = self.sparse or other.sparse
        return _Summary(labels, both, self.features, self.own, mixed)


def _summarised(block: Block, scaled: bool, estimated: bool) -> _Summary:
    """Summarise one block; of features only if they are scaled or estimated."""
    weights, d = block.weights, block.X.shape[1]
    rows = np.flatnonzero(weights > 0.0)
    labels, numbers = np.unique(block.y[rows], return_inverse=True)
    used = d if scaled or (estimated and not block.own) else 0
    refuse_wide(used, len(labels))
    moments = {}
    for k, label in enumerate(labels.tolist()):
        own = rows[numbers == k]
        X = block.X[own] if used else np.empty((len(own), 0))
        moments[label] = moments_of(X, weights[own])
    return _Summary(labels, moments, d, block.own, sparse.issparse(block.X))


def first_pass(
    source: Source[Block], settings: Settings, in_features: bool = False
) -> ProblemBuilder:
    """Return what the solvers must know of all rows.

    ``in_features``: they are random features, which are not scaled once more.
    """
    kappa = safety_factor(settings.risk, settings.bound)
    estimated = isinstance(settings.covariance, str) and settings.covariance == CLASS
    standardized = settings.standardize and not in_features
    scaled = standardized or (settings.kernel == "rbf" and not in_features)
    parts = source.map(partial(_summarised, scaled=scaled, estimated=estimated))
    first = next(parts, None)
    if first is None:
        raise ValueError("blocks is empty: there are no samples to learn from.")
    seen = reduce(_Summary.merged, parts, first)
    classes, d = seen.labels, seen.features
    if len(classes) < 2:
        raise ValueError(
            "The number of classes has to be greater than one; got "
            f"{len(classes)} class (rows with zero sample_weight do not count)"
        )
    table: CovarianceTable | None = None
    if not seen.own and estimated:
        table = _class_table(source, seen, settings.covariance_scale)
    elif not seen.own:
        table = given_covariances(settings.covariance, classes, d)
    scaling, whole = Scaling.identity(d), reduce(Moments.merged, seen.by_class)
    if standardized:
        scaling = Scaling.of(whole, centre=not seen.sparse)
    masses = np.array([part.mass for part in seen.by_class])
    numbers = np.arange(len(classes))
    costs = settings.C * class_weights(settings.class_weight, classes, numbers, masses)
    intercept = settings.fit_intercept
    return ProblemBuilder(classes, table, scaling, costs, kappa, intercept, whole)


def _class_table(
    source: Source[Block], seen: _Summary, scale: float
) -> CovarianceTable:
    """Return ``scale`` times the sample covariance of every class.

    Where a matrix is singular, as that of a class with no more samples than features
    or of features that depend on each other, rounding would hide by how much, and it
    could not be proved semidefinite: the centred samples are kept as factors then.
    """
    moments, classes = seen.by_class, seen.labels
    if min(part.rows for part in moments) > seen.features:
        table = class_matrices(moments, scale, classes)
        if table is not None:
            return table
    parts = source.map(partial(_centred, classes=classes, moments=moments))
    centred = [reduce(stacked_rows, own) for own in zip(*parts, strict=True)]
    return class_factors(centred, moments, scale, classes)


def _centred(
    block: Block, classes: NDArray[Any], moments: list[Moments]
) -> list[Floats]:
    """Return the centred samples of each class, at most d rows."""
    weights, centred = block.weights, []
    for label, part in zip(classes, moments, strict=True):
        rows = np.flatnonzero((weights > 0.0) & (block.y == label))
        centred.append(centred_rows(block.X, rows, weights[rows], part.mean))
    return centred
