"""Clusters without a class borrow its nearest members.

A cluster that saw one class of a pair only would answer with a constant: no ranking, no
threshold, and for a rare class most clusters are like that. Such a cluster is solved
once more, with the nearest rows of the missing class beside its own. The rows stay
members of their own clusters too: the early model solves the problems of all clusters,
those of borrowers with the rows they borrowed, and its certificate adds them up.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from widemargin.engine.gram import Gram
from widemargin.engine.kernels import Kernel, Precomputed
from widemargin.engine.solve_options import SolveOptions
from widemargin.multilevel.level import (
    Division,
    Level,
    Limits,
    Part,
    PartSolution,
    solved_clusters,
)
from widemargin.multilevel.router import Samples

Vector = NDArray[np.float64]
Indices = NDArray[np.intp]

LENT = 100  # rows of the missing class, and no more than the cluster has itself
CANDIDATES = 5_000  # of which the nearest lend
MEMBERS = 200  # of the cluster, to which they are near


@dataclass(frozen=True)
class Loan:
    """A cluster and a pair of classes of which it had one.

    Attributes
    ----------
    cluster, pair : int
        Which.
    rows : ndarray
        Training rows of the problem: the cluster's own, then the borrowed ones.
    lent : int
        How many are borrowed.
    solution : PartSolution
        Solution of the cluster's problem with the borrowed rows.
    """

    cluster: int
    pair: int
    rows: Indices
    lent: int
    solution: PartSolution

    def record(self) -> dict[str, Any]:
        """Return which rows were lent, for ``history_``: the problem is theirs too."""
        return {
            "cluster": self.cluster,
            "pair": self.pair,
            "lent": self.rows[len(self.rows) - self.lent :].tolist(),
        }


def borrow(
    level: Level, division: Division, options: SolveOptions, limits: Limits
) -> list[Loan]:
    """Solve the problems of the clusters that lack a class, with borrowed rows.

    Parameters
    ----------
    level : Level
        A solved level.
    division : Division
        What it divides: pairs of classes, whose sign is that of the linear term.
    options, limits : SolveOptions, Limits
        Options and limits of every solve.

    Returns
    -------
    list of Loan
        None for a kernel matrix, whose rows have no other representation.
    """
    if isinstance(division.kernel, Precomputed) or level.partition.n_clusters == 1:
        return []
    # plain solves of plain data: they may run in other processes (`solve_level`)
    plain = replace(options, screen=None, every_value=False, monitor=None, certify=True)
    plain = replace(plain, exact=False)
    shared = limits.shared(level.partition.n_clusters)
    loans: list[tuple[int, int, Indices, int]] = []
    parts: list[Part] = []
    for cluster, pair, own, missing in _lacking(level, division):
        lent = _nearest(division, division.rows[pair][own], missing)
        taken = np.concatenate([own, np.searchsorted(division.rows[pair], lent)])
        rows, problem = division.rows[pair][taken], division.problems[pair]
        loans.append((cluster, pair, rows, len(lent)))
        parts.append(
            Part(
                np.arange(len(rows)), problem.linear[taken], problem.lower[taken],
                problem.upper[taken], None if problem.total is None else 0.0,
            )
        )  # fmt: skip

    def job(number: int) -> tuple[Any, ...]:
        samples = division.samples[loans[number][2]]
        return samples, division.kernel, [parts[number]], plain, shared

    solved = solved_clusters(job, np.arange(len(loans)), limits.n_jobs)
    return [Loan(*loan, part[0]) for loan, part in zip(loans, solved, strict=True)]


def _lacking(
    level: Level, division: Division
) -> Iterator[tuple[int, int, Indices, Indices]]:
    """Yield clusters with one class of a pair: members, and all of the other class."""
    labels, clusters = level.partition.labels, level.partition.n_clusters
    for pair, (problem, rows) in enumerate(
        zip(division.problems, division.rows, strict=True)
    ):
        if problem.total is None:  # no constant: without an intercept it has a model
            continue
        positive = problem.linear > 0
        own = labels[rows]
        ones = np.bincount(own[positive], minlength=clusters)
        others = np.bincount(own[~positive], minlength=clusters)
        for cluster in np.flatnonzero((ones == 0) != (others == 0)):
            missing = rows[positive if ones[cluster] == 0 else ~positive]
            yield int(cluster), pair, np.flatnonzero(own == cluster), missing


def _nearest(division: Division, members: Indices, missing: Indices) -> Indices:
    """Return the rows nearest to a cluster's members; some of them are looked at."""
    rng = np.random.default_rng(len(members))
    missing = _some(missing, CANDIDATES, rng)
    sample = division.samples[_some(members, MEMBERS, rng)]
    candidates = division.samples[missing]
    return missing[lenders(sample, candidates, division.kernel, len(members))]


def lenders(
    members: Samples, candidates: Samples, kernel: Kernel, size: int
) -> Indices:
    """Return which candidates lend to a cluster of that size: the nearest to members.

    In feature space the squared distance to the mean of the members is, but for a
    constant, K(z, z) less twice the mean of K(z, x) over them.
    """
    lent, count = min(LENT, size), candidates.shape[0]
    if count <= lent:
        return np.arange(count)
    n = members.shape[0]
    means = Gram(members, kernel).cross(candidates, np.full(n, 1.0 / n))
    distances = Gram(candidates, kernel).diagonal() - 2.0 * means
    return np.sort(np.argsort(distances, kind="stable")[:lent])


def _some(rows: Indices, size: int, rng: np.random.Generator) -> Indices:
    if len(rows) <= size:
        return rows
    return np.sort(rng.choice(rows, size=size, replace=False))
