"""The exact finish on dask collections, gathering only the rows that matter.

The problem is solved on the support vectors of the early model; the workers are asked
which of their rows violate its margins; those are taken in, and so on. When no row
does, the solution is that of all rows, although most of them never left their worker.
"""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass, replace
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from ..certificate import Certificate, total_gap
from ..levels import precision_recall
from ..multiclass import class_pairs
from ..solution import stage_record
from ..validation import cache_megabytes
from .distributed import Blocks, Trained

Vector = NDArray[np.float64]
ROUNDS = 50  # each takes in rows found to violate a margin
COPIED = ("support_vectors_", "n_support_", "dual_coef_", "intercept_", "n_iter_")


@dataclass(frozen=True)
class Violators:
    """Rows that a model, fitted on some rows, does not yet respect.

    Attributes
    ----------
    rows, samples, codes, costs : arrays
        The rows, at most a share from each block, the worst first.
    violation : float
        Largest violation over all rows outside the fit.
    losses : array of shape (n_pairs,)
        Hinge loss of those rows, times their C.
    """

    rows: NDArray[np.intp]
    samples: NDArray[np.floating]
    codes: NDArray[np.intp]
    costs: Vector
    violation: float
    losses: Vector


def finish(
    estimator: Any, blocks: Blocks, trained: Trained, classes: NDArray[Any]
) -> None:
    """Exact finish on the support vectors and whatever violates their margins."""
    rows, X = trained.model.support, trained.model.samples
    codes, costs = trained.codes, trained.costs
    clock = time.perf_counter()
    inner = clone(estimator).set_params(
        C=1.0, gamma=estimator.gamma_, class_weight=None, n_levels=0, early_level="auto"
    )
    for rounds in count(1):
        budget = cache_megabytes(estimator.cache_size, len(rows)) * 1e6
        needed = len(rows) * (X.shape[1] * X.dtype.itemsize + 32)
        if needed > budget:
            return _too_large(estimator, len(rows), needed, budget)
        order = np.argsort(rows, kind="stable")
        rows, X, codes, costs = rows[order], X[order], codes[order], costs[order]
        inner.fit(X, codes, sample_weight=costs)
        found = violators(
            blocks, inner, rows, classes, estimator.C * estimator.class_weight_,
            estimator.tol,
        )  # fmt: skip
        if len(found.rows) == 0 or rounds == ROUNDS:
            break
        rows = np.concatenate([rows, found.rows])
        X = np.concatenate([X, found.samples])
        codes = np.concatenate([codes, found.codes])
        costs = np.concatenate([costs, found.costs])
    if len(found.rows):
        warnings.warn(
            f"A violation of {found.violation:.2e} is left after {ROUNDS} rounds of "
            "the exact finish; fit again with a larger tol.",
            ConvergenceWarning,
            stacklevel=4,
        )
    _store_exact(estimator, inner, rows, found, rounds, time.perf_counter() - clock)
    return None


def _too_large(estimator: Any, count: int, needed: float, budget: float) -> None:
    estimator.fit_status_ = 1
    warnings.warn(
        f"The exact finish needs {needed / 1e6:.0f} MB for {count} support vectors and "
        f"cache_size allows {budget / 1e6:.0f} MB; the model is the early one. Raise "
        "cache_size, or ask for prediction='early'.",
        ConvergenceWarning,
        stacklevel=5,
    )


def _store_exact(
    estimator: Any, inner: Any, rows: Any, found: Any, rounds: int, seconds: float
) -> None:
    level = precision_recall(estimator.support_, rows[inner.support_])
    estimator.history_[-1].update(level)
    estimator.early_ = None
    estimator.support_ = rows[inner.support_]
    for name in COPIED:
        setattr(estimator, name, getattr(inner, name))
    estimator.fit_status_ = int(inner.fit_status_ or len(found.rows) > 0)
    own = _certificates(inner)
    certificates = [
        replace(
            certificate,
            objective=certificate.objective + loss,
            gap=total_gap([certificate.gap, loss]),
            kkt_violation=max(certificate.kkt_violation, found.violation),
            seconds=seconds,
        )
        for certificate, loss in zip(own, found.losses, strict=True)
    ]
    estimator.certificate_ = certificates if len(own) > 1 else certificates[0]
    estimator.history_.append(
        stage_record(
            "finish",
            estimator.shape_fit_[0],
            seconds,
            certificates,
            rounds=rounds,
            gathered=len(rows),
            n_support=len(estimator.support_),
        )
    )


def _certificates(model: Any) -> list[Certificate]:
    own = model.certificate_
    return own if isinstance(own, list) else [own]


def violators(
    blocks: Blocks,
    model: Any,
    active: NDArray[np.intp],
    classes: NDArray[Any],
    costs: Vector,
    tol: float,
) -> Violators:
    """Ask every block which of its rows violate the margins of a fitted model.

    Parameters
    ----------
    blocks : Blocks
        All rows.
    model : estimator
        Fitted on the rows `active` (ascending) with class numbers as labels.
    active : array
        Rows the model was fitted on; they are its own business.
    classes, costs : arrays of shape (n_classes,)
        Labels; C of each class.
    tol : float
        A margin below ``1 - tol`` is a violation.
    """
    import dask

    weights = blocks.weights or [None] * len(blocks.samples)
    quota = max(100, -(-2 * len(active) // len(blocks.samples)))
    shared = dask.delayed((model, active, classes, costs, tol, quota))
    look = dask.delayed(_violators_of_block)
    tasks = [
        look(X, y, w, offset, shared)
        for X, y, w, offset in zip(
            blocks.samples, blocks.labels, weights, blocks.offsets, strict=True
        )
    ]
    found = dask.compute(*tasks)
    rows, samples, codes, own_costs = (
        np.concatenate([item[k] for item in found]) for k in range(4)
    )
    largest = max(item[4] for item in found)
    losses = np.sum([item[5] for item in found], axis=0)
    return Violators(rows, samples, codes, own_costs, largest, losses)


def _violators_of_block(X: Any, y: Any, w: Any, offset: int, shared: Any) -> Any:
    model, active, classes, costs, tol, quota = shared
    X, codes = np.asarray(X), np.searchsorted(classes, np.asarray(y))
    cost = costs[codes] if w is None else costs[codes] * np.asarray(w)
    rows = np.arange(offset, offset + len(X))
    outside = ~np.isin(rows, active, assume_unique=True) & (cost > 0)
    X, codes, cost, rows = X[outside], codes[outside], cost[outside], rows[outside]
    pairs = class_pairs(len(classes))
    worst, losses = np.zeros(len(X)), np.zeros(len(pairs))
    if len(X):
        decisions = np.reshape(model._pair_decisions(X), (len(X), -1))
        for number, (positive, negative) in enumerate(pairs):
            sign = np.where(codes == positive, 1.0, -1.0)
            taking_part = (codes == positive) | (codes == negative)
            short = np.maximum(0.0, 1.0 - sign * decisions[:, number]) * taking_part
            losses[number] = (cost * short).sum()
            worst = np.maximum(worst, short)
    chosen = np.flatnonzero(worst > tol)
    chosen = np.sort(chosen[np.argsort(-worst[chosen], kind="stable")[:quota]])
    largest = float(worst.max(initial=0.0))
    return rows[chosen], X[chosen], codes[chosen], cost[chosen], largest, losses
