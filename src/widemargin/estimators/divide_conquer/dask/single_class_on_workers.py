"""What a cluster on a worker borrows: the nearest rows of a class that it lacks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from widemargin.engine.kernels import Kernel
from widemargin.engine.problem import hinge_terms
from widemargin.engine.solution import stage_record
from widemargin.engine.solve_options import SolveOptions
from widemargin.estimators.base.multiclass import class_pairs
from widemargin.estimators.divide_conquer.evidence_rows import Rows
from widemargin.estimators.divide_conquer.single_class_clusters import MEMBERS, lenders
from widemargin.multilevel.level import Part, PartSolution, solve_cluster

Vector = NDArray[np.float64]
Indices = NDArray[np.intp]


@dataclass(frozen=True)
class ClusterLoan:
    """A pair of classes of which a cluster had one, solved with borrowed rows.

    Attributes
    ----------
    pair : int
        Which.
    rows : Rows
        Support vectors of that problem.
    beta : ndarray
        Their coefficients.
    size : int
        Rows of that problem.
    lent : ndarray
        Numbers of those that are borrowed.
    solution : PartSolution
        Its certificate, without coefficients.
    """

    pair: int
    rows: Rows
    beta: Vector
    size: int
    lent: Indices
    solution: PartSolution

    def columns(self, n_pairs: int) -> Vector:
        """Return the coefficients as a table of all pairs."""
        table = np.zeros((len(self.beta), n_pairs))
        table[:, self.pair] = self.beta
        return table


def borrowing_stage(loans: Sequence[tuple[int, ClusterLoan]]) -> dict[str, Any]:
    """Return the stage record of what clusters have borrowed.

    The seconds are part of the level's: each cluster borrows as it is trained.
    """
    size = sum(loan.size for _, loan in loans)
    lent = [
        {"cluster": cluster, "pair": loan.pair, "lent": loan.lent.tolist()}
        for cluster, loan in loans
    ]
    solved = [loan.solution for _, loan in loans]
    return stage_record("borrowing", size, 0.0, solved, loans=lent)


def loans_of(
    own: Rows, lending: Rows, kernel: Kernel, n_classes: int, options: SolveOptions
) -> list[ClusterLoan]:
    """Solve the pairs of which a cluster has one class, with rows of the other.

    The weights of the rows are their C. A cluster without rows borrows none.
    """
    present = np.isin(np.arange(n_classes), own.codes)
    found = []
    for number, (positive, negative) in enumerate(class_pairs(n_classes)):
        if present[positive] == present[negative]:
            continue
        absent = negative if present[positive] else positive
        mine = own.take(np.flatnonzero(np.isin(own.codes, (positive, negative))))
        theirs = lending.take(np.flatnonzero(lending.codes == absent))
        if not len(theirs.codes):
            continue
        size = len(mine.codes)
        some = np.random.default_rng(size).permutation(size)[:MEMBERS]
        members = mine.samples[np.sort(some)]
        lent = theirs.take(lenders(members, theirs.samples, kernel, size))
        both = joined_rows([mine, lent])
        signs = np.where(both.codes == positive, 1.0, -1.0)
        rows = np.arange(len(both.codes))
        part = Part(rows, *hinge_terms(signs, both.weights, True))
        [solved] = solve_cluster(both.samples, kernel, [part], options)
        used = np.flatnonzero(solved.beta)
        bare = replace(solved, beta=np.empty(0))
        support = both.take(used), solved.beta[used]
        found.append(ClusterLoan(number, *support, len(both.codes), lent.numbers, bare))
    return found


def joined_rows(parts: Sequence[Rows]) -> Rows:
    """Return rows of several places one behind the other."""
    return Rows(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def each_once(rows: Rows, coefficients: Vector) -> tuple[Rows, Vector]:
    """Return rows by their numbers, each once, with the sum of its coefficients."""
    _, first, at = np.unique(rows.numbers, return_index=True, return_inverse=True)
    sums = np.zeros((len(first), coefficients.shape[1]))
    np.add.at(sums, at, coefficients)
    return rows.take(first), sums
