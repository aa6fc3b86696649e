"""Proofs of several solutions over one kernel matrix, each entry evaluated once.

Solutions that began at points with known products (:mod:`.vertex_starts`) need the
products of what has changed since. Where the changes are many in all, one pass over the
matrix serves every solution.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from .bounded_values import KnownPoint
from .gram import Gram
from .solution import Solution
from .solve import proved, solve
from .solve_options import SolveOptions
from .status import Status
from .verification import verify_changes

Vector = NDArray[np.float64]


def proved_together(
    gram: Gram, solutions: Sequence[Solution], options: SolveOptions
) -> list[Solution]:
    """Return solutions verified as :func:`.solve` with ``certify`` would.

    Parameters
    ----------
    gram : Gram
        The matrix; its threads are used.
    solutions : sequence of Solution
        Points reached, not verified; their problems are on ``gram``, or on views of
        all its rows.
    options : SolveOptions
        Those of the solves. Where rounding of float32 rows has left more than ``tol``,
        a solve goes on from the verified values.
    """
    points = [solution.near for solution in solutions if solution.near is not None]
    betas = np.array([solution.beta for solution in solutions])
    if len(points) == len(solutions) and _changes_are_many(points, betas):
        every = verify_changes(gram, points, betas)
        solutions = [
            solution.checked_by(values)
            for solution, values in zip(solutions, every, strict=True)
        ]
    return [_proved(solution, options) for solution in solutions]


def _changes_are_many(points: Sequence[KnownPoint], betas: Vector) -> bool:
    """Whether rows of all changes are more than one pass over the matrix costs.

    By symmetry that is half of its entries, and about as much for several products.
    """
    changed = np.count_nonzero(betas != [point.beta for point in points])
    return bool(changed > betas.shape[1])


def _proved(solution: Solution, options: SolveOptions) -> Solution:
    verified = proved(solution, options.tol)
    if verified.status != Status.STALLED:
        return verified
    further = solve(verified.problem, replace(options, certify=True), start=verified)
    return replace(
        further,
        n_iter=solution.n_iter + further.n_iter,
        seconds=solution.seconds + further.seconds,
    )
