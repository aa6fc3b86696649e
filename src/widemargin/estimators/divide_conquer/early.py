"""Early prediction: a point is judged by the model of its own cluster.

The solutions of a level's clusters, put side by side, solve the SVM problem whose
kernel is cut to the clusters (Lemma 1). So does prediction: only the samples of the
point's cluster count (equation 6 of Hsieh, Si and Dhillon 2014), with the intercept
fitted there,

    F(x) = sum_{i in cluster(x)} beta_i K(x_i, x) + b_{cluster(x)}.

A cluster that lacks a class has borrowed its nearest members
(:mod:`widemargin.estimators.divide_conquer.single_class_clusters`).
The glued sum over all clusters is not a model of anything and predicts worse (Table 1).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from widemargin.engine.gram import Gram
from widemargin.engine.kernels import Kernel, Precomputed
from widemargin.multilevel.level import Level
from widemargin.multilevel.router import Router, Samples, order_of
from widemargin.numerics.products import times

from .single_class_clusters import Loan

Vector = NDArray[np.float64]
Indices = NDArray[np.intp]

FUSED = 6  # pairs of which each sums anew sooner than all share the float32 entries


@dataclass(frozen=True)
class EarlyModel:
    """Routed prediction by the local models of all clusters.

    Parameters
    ----------
    router : Router
        Sends a point to a cell.
    groups : array of shape (n_cells,)
        Cluster of each cell.
    kernel : Kernel
        The kernel inside a cluster.
    support : array of shape (n_support,)
        Training rows of the support vectors, those of cluster 0 first.
    samples : array or CSR of shape (n_support, n_features), or None
        Those rows; None for a precomputed kernel, which needs only their indices.
    starts : array of shape (n_clusters + 1,)
        Cluster c has the support vectors ``starts[c]:starts[c + 1]``.
    coefficients : array of shape (n_support, n_pairs)
        ``beta`` of each class pair.
    intercepts : array of shape (n_clusters, n_pairs)
        Intercept of each local model; 0 for a pair with neither class in the cluster.
    """

    router: Router
    groups: Indices
    kernel: Kernel
    support: Indices
    samples: Samples
    starts: Indices
    coefficients: Vector
    intercepts: Vector
    _grams: dict[int, Gram] = field(
        init=False, default_factory=dict, repr=False, compare=False
    )

    def __post_init__(self) -> None:
        """Refuse pieces that do not belong together (a model file may be damaged)."""
        n_support, n_clusters = len(self.support), len(self.starts) - 1
        consistent = (
            n_clusters >= 1
            and self.starts[0] == 0
            and self.starts[-1] == n_support
            and bool((np.diff(self.starts) >= 0).all())
            and self.intercepts.ndim == 2
            and self.intercepts.shape[0] == n_clusters
            and self.coefficients.shape == (n_support, self.intercepts.shape[1])
            and (self.samples is None or self.samples.shape[0] == n_support)
            and (self.samples is not None or isinstance(self.kernel, Precomputed))
            and len(self.groups) == self.router.n_clusters
            and 0 <= int(self.groups.min()) <= int(self.groups.max()) < n_clusters
        )
        if not consistent:
            raise ValueError("the arrays of an early model do not belong together")

    @property
    def n_clusters(self) -> int:
        """Number of clusters."""
        return len(self.starts) - 1

    @property
    def n_pairs(self) -> int:
        """Number of class pairs."""
        return int(self.intercepts.shape[1])

    def assign(self, Z: Samples, threads: int = 1) -> Indices:
        """Cluster of each row of `Z`."""
        return self.groups[self.router.assign(Z, threads)]

    def decision(self, Z: Samples, threads: int = 1) -> Vector:
        """Decision value of each class pair at each row of `Z`, by its own cluster."""
        # one cluster: as exact as SVC
        labels = self.assign(Z, threads)
        return self.decision_of(Z, labels, threads, exact=self.n_clusters == 1)

    def decision_of(
        self, Z: Samples, labels: Indices, threads: int = 1, *, exact: bool = False
    ) -> Vector:
        """Return the same of rows whose clusters are known; `exact`: in float64."""
        order = order_of(labels, self.n_clusters)
        ends = np.cumsum(np.bincount(labels, minlength=self.n_clusters))
        values = np.empty((Z.shape[0], self.n_pairs))
        begin = 0
        for cluster, end in enumerate(ends):
            if end > begin:
                rows = order[begin:end]
                values[rows] = self._local(cluster, Z[rows], threads, exact)
            begin = end
        return values

    def _local(
        self, cluster: int, Z: Samples, threads: int, exact: bool = False
    ) -> Vector:
        own = slice(self.starts[cluster], self.starts[cluster + 1])
        intercepts = self.intercepts[cluster]
        if own.start == own.stop:  # one class only: a constant
            return np.broadcast_to(intercepts, (Z.shape[0], self.n_pairs))
        if isinstance(self.kernel, Precomputed):
            values = times(Z[:, self.support[own]], self.coefficients[own])
        else:
            gram = self._grams.get(cluster)
            if gram is None:
                gram = Gram(self.samples[own], self.kernel, threads=threads)
                self._grams[cluster] = gram
            values = self._sums(gram, Z, own, exact)
        return np.asarray(values + intercepts)

    def _sums(self, gram: Gram, Z: Samples, own: slice, exact: bool) -> Vector:
        single = not exact and gram.single_precision_suffices
        dtype = np.float32 if single else np.float64
        if self.n_pairs == 1 or (single and self.n_pairs <= FUSED):
            pairs = self.coefficients[own].T  # a vector at a time: the fused product
            return np.column_stack([gram.cross(Z, pair, dtype=dtype) for pair in pairs])
        return gram.cross(Z, self.coefficients[own], dtype=dtype)

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the compiled handles: they are made anew when needed."""
        return {**self.__dict__, "_grams": {}}


def early_model(
    level: Level,
    samples: Samples,
    kernel: Kernel,
    rows: Sequence[Indices],
    loans: Sequence[Loan] = (),
) -> EarlyModel:
    """Turn a solved level into a model.

    Parameters
    ----------
    level : Level
        Solutions for all class pairs.
    samples, kernel : Samples, Kernel
        What was trained on.
    rows : sequence of index arrays
        Training rows of each pair.
    loans : sequence of Loan
        Local models of clusters that lacked a class, in place of constants.
    """
    partition, n_pairs = level.partition, len(rows)
    clusters, owners, pairs, values = [], [], [], []
    for pair, (own, beta) in enumerate(zip(rows, level.betas, strict=True)):
        used = np.flatnonzero(beta)
        clusters.append(partition.labels[own[used]])
        owners.append(own[used])
        pairs.append(np.full(len(used), pair))
        values.append(beta[used])
    intercepts = level.intercepts.copy()
    for loan in loans:
        used = np.flatnonzero(loan.solution.beta)
        clusters.append(np.full(len(used), loan.cluster))
        owners.append(loan.rows[used])
        pairs.append(np.full(len(used), loan.pair))
        values.append(loan.solution.beta[used])
        intercepts[loan.cluster, loan.pair] = loan.solution.intercept
    n = samples.shape[0]
    places = np.concatenate(clusters) * n + np.concatenate(owners)
    found, at = np.unique(places, return_inverse=True)  # by cluster, then row
    coefficients = np.zeros((len(found), n_pairs))
    coefficients[at, np.concatenate(pairs)] = np.concatenate(values)
    support = found % n
    counts = np.bincount(found // n, minlength=partition.n_clusters)
    return EarlyModel(
        partition.router,
        partition.groups,
        kernel,
        support,
        None if isinstance(kernel, Precomputed) else samples[support],
        np.concatenate([[0], np.cumsum(counts)]),
        coefficients,
        intercepts,
    )
