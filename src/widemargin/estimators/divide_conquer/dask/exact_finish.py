"""The exact finish on dask collections, gathering only the rows that matter.

The problem is solved on the support vectors of the early model; the workers are asked
which of their rows violate its margins; those are taken in, and so on. When no row
does, the solution is that of all rows, although most of them never left their worker:
the workers then prove it, with decision values in float64 and bounds on their rounding.
"""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass, replace
from functools import partial
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from widemargin.engine.bounds import UNIT, gap_between, sum_above, total_above
from widemargin.engine.certificate import Certificate
from widemargin.engine.gram import Gram
from widemargin.engine.kernels import numeric_gamma
from widemargin.engine.solution import stage_record
from widemargin.engine.status import Status
from widemargin.engine.verification import bounded_cross
from widemargin.estimators.base.fitted import FittedClassifier
from widemargin.estimators.base.multiclass import class_pairs, pair_coefficients
from widemargin.estimators.base.validation import cache_megabytes
from widemargin.multilevel.driver import precision_recall

from .workers import Blocks, Trained

Vector = NDArray[np.float64]
# Shares of the tolerance: rows inside are solved to the first, rows outside miss the
# margin by at most the second, on either side, so that the whole is within tol.
INNER, OUTSIDE = 0.5, 0.25
ROUNDS = 50  # each takes in rows found to violate a margin


@dataclass(frozen=True)
class Violators:
    """Rows that a model, fitted on some rows, does not yet respect.

    Attributes
    ----------
    rows, samples, codes, costs : arrays
        The rows, at most a share from each block, the worst first.
    violation : array of shape (n_pairs,)
        KKT violation of each pair over all rows, inside and outside of the fit.
    losses : array of shape (n_pairs,)
        Hinge loss of the rows outside, times their C.
    """

    rows: NDArray[np.intp]
    samples: NDArray[np.floating]
    codes: NDArray[np.intp]
    costs: Vector
    violation: Vector
    losses: Vector


@dataclass(frozen=True)
class Gathered:
    """The rows of the present fit, ascending, and what it says of them.

    Attributes
    ----------
    rows, codes, costs : arrays
        Row numbers, class numbers, and the C of each.
    betas : array of shape (n_pairs, n_rows)
        Coefficients of each class pair.
    """

    rows: NDArray[np.intp]
    codes: NDArray[np.intp]
    costs: Vector
    betas: Vector

    @classmethod
    def of(cls, model: Any, rows: Any, codes: Any, costs: Any) -> Gathered:
        """Read the coefficients off the fitted model."""
        betas = np.zeros((len(model.intercept_), len(rows)))
        betas[:, model.support_] = _pair_table(model).T
        return cls(rows, codes, costs, betas)


def finish(
    estimator: Any, blocks: Blocks, trained: Trained, early: FittedClassifier
) -> FittedClassifier | None:
    """Exact finish on the support vectors and whatever violates their margins.

    None where these rows take more memory than ``cache_size`` allows.
    """
    rows, X = trained.model.support, trained.model.samples
    codes, costs = trained.codes, trained.costs
    clock = time.perf_counter()
    inner = clone(estimator).set_params(
        C=1.0, gamma=numeric_gamma(early.kernel), class_weight=None, n_levels=0,
        early_level="auto", tol=INNER * estimator.tol,
    )  # fmt: skip
    everywhere = estimator.C * early.class_weight
    for fresh in _one_of_each_missing(blocks, codes, early.classes, everywhere):
        rows, X = np.append(rows, fresh[0]), np.concatenate([X, fresh[1][np.newaxis]])
        codes, costs = np.append(codes, fresh[2]), np.append(costs, fresh[3])
    for rounds in count(1):
        budget = cache_megabytes(estimator.cache_size, len(rows)) * 1e6
        needed = len(rows) * (X.shape[1] * X.dtype.itemsize + 32)
        if needed > budget:
            _warn_too_large(len(rows), needed, budget)
            return None
        order = np.argsort(rows, kind="stable")
        rows, X, codes, costs = rows[order], X[order], codes[order], costs[order]
        inner.fit(X, codes, sample_weight=costs)
        fitted = Gathered.of(inner, rows, codes, costs)
        short = OUTSIDE * estimator.tol
        ask = partial(
            violators, blocks, inner, fitted, early.classes, everywhere, short
        )
        found = ask()
        if len(found.rows) == 0 or rounds == ROUNDS:
            found = ask(proof=True)
            if len(found.rows) == 0 or rounds == ROUNDS:
                break
        rows = np.concatenate([rows, found.rows])
        X = np.concatenate([X, found.samples])
        codes = np.concatenate([codes, found.codes])
        costs = np.concatenate([costs, found.costs])
    if len(found.rows):
        left = found.violation.max()
        warnings.warn(
            f"A violation of {left:.2e} is left after {ROUNDS} rounds of "
            "the exact finish; fit again with a larger tol.",
            ConvergenceWarning,
            stacklevel=4,
        )
    seconds = time.perf_counter() - clock
    return _exact_model(early, inner, rows, found, rounds, seconds, estimator.tol)


def _one_of_each_missing(
    blocks: Blocks, codes: NDArray[np.intp], classes: NDArray[Any], costs: Vector
) -> list[tuple[int, Any, int, float]]:
    """Return a row of each class without a support vector: number, x, code, cost.

    Without an intercept all support vectors of the clusters may be of one class. A fit
    needs every class; the rest of it comes in by its violations.
    """
    import dask

    missing = np.setdiff1d(np.arange(len(classes)), codes)
    if missing.size == 0:
        return []
    found = dask.compute(*blocks.each(_first_of_each, (classes, costs, missing)))
    firsts = {row[2]: row for block in reversed(found) for row in block}
    return [firsts[code] for code in missing.tolist()]


def _first_of_each(X: Any, y: Any, w: Any, offset: int, shared: Any) -> Any:
    classes, costs, missing = shared
    X, codes = np.asarray(X), np.searchsorted(classes, np.asarray(y))
    cost = costs[codes] if w is None else costs[codes] * np.asarray(w)
    own = np.flatnonzero(np.isin(codes, missing) & (cost > 0))
    first = own[np.unique(codes[own], return_index=True)[1]]
    return [(offset + int(i), X[i], int(codes[i]), float(cost[i])) for i in first]


def _warn_too_large(count: int, needed: float, budget: float) -> None:
    warnings.warn(
        f"The exact finish needs {needed / 1e6:.0f} MB for {count} support vectors and "
        f"cache_size allows {budget / 1e6:.0f} MB; the model is the early one. Raise "
        "cache_size, or ask for prediction='early'.",
        ConvergenceWarning,
        stacklevel=5,
    )


def _exact_model(
    early: FittedClassifier,
    inner: Any,
    rows: NDArray[np.intp],
    found: Violators,
    rounds: int,
    seconds: float,
    tol: float,
) -> FittedClassifier:
    """Return the model over all rows, of which `inner` was fitted on `rows`."""
    support = rows[inner.support_]
    certificates = [
        _whole(certificate, loss, violation, tol, seconds)
        for certificate, loss, violation in zip(
            _certificates(inner),
            found.losses.tolist(),
            found.violation.tolist(),
            strict=True,
        )
    ]
    proved = all((own.kkt_violation or 0.0) <= tol for own in certificates)
    *before, level = early.history
    finish = stage_record(
        "finish",
        early.n_given,
        seconds,
        certificates,
        rounds=rounds,
        gathered=len(rows),
        n_support=len(support),
    )
    return replace(
        early,
        support=support,
        support_vectors=inner.support_vectors_,
        n_support=inner.n_support_,
        dual_coef=inner.dual_coef_,
        intercept=inner.intercept_,
        n_iter=inner.n_iter_,
        certificates=certificates,
        converged=inner.fit_status_ == 0 and len(found.rows) == 0 and proved,
        history=[
            *before,
            level | precision_recall(early.support.astype(np.intp), support),
            finish,
        ],
    )


def _whole(
    inner: Certificate, loss: float, violation: float, tol: float, seconds: float
) -> Certificate:
    """Certificate of the problem over all rows; those outside have no coefficient.

    So the dual value, a lower bound of the optimum, is that of the rows inside.
    """
    objective = total_above([inner.objective, loss])
    solved = Status(inner.status).solved
    return replace(
        inner,
        status=Status.STALLED.value if solved and violation > tol else inner.status,
        objective=objective,
        gap=gap_between(objective, inner.bound),
        kkt_violation=violation,
        seconds=seconds,
    )


def _certificates(model: Any) -> list[Certificate]:
    own = model.certificate_
    return own if isinstance(own, list) else [own]


def _pair_table(model: Any) -> Vector:
    """Coefficients of the support vectors, one column a class pair."""
    table = pair_coefficients(model._dense_dual_coef(), model.n_support_)
    dense = table.toarray() if sparse.issparse(table) else table
    return np.reshape(np.asarray(dense), (len(model.support_), -1))


def violators(
    blocks: Blocks,
    model: Any,
    fitted: Gathered,
    classes: NDArray[Any],
    costs: Vector,
    short: float,
    *,
    proof: bool = False,
) -> Violators:
    """Ask every block which of its rows violate the margins of a fitted model.

    Parameters
    ----------
    blocks : Blocks
        All rows.
    model : estimator
        Fitted on the rows `fitted` with class numbers as labels.
    fitted : Gathered
        Those rows, with their coefficients.
    classes, costs : arrays of shape (n_classes,)
        Labels; C of each class.
    short : float
        A margin below ``1 - short`` is a violation.
    proof : bool
        Whether decision values are summed in float64 and taken at the worse end of what
        rounding allows: violation and losses are then upper bounds.
    """
    import dask

    quota = max(100, -(-2 * len(fitted.rows) // len(blocks.samples)))
    shared = model, fitted, classes, costs, short, quota, proof
    found = dask.compute(*blocks.each(_violators_of_block, shared))
    rows, samples, codes, own_costs = (
        np.concatenate([item[k] for item in found]) for k in range(4)
    )
    lowest = np.min([item[4] for item in found], axis=0)
    highest = np.max([item[5] for item in found], axis=0)
    if not model.fit_intercept:  # no violation of another row is needed
        lowest, highest = np.minimum(lowest, 0.0), np.maximum(highest, 0.0)
        violation = np.maximum(-lowest, highest)
    else:
        violation = np.maximum(highest - lowest, 0.0)
    losses = np.array(
        [total_above(item[6][k] for item in found) for k in range(len(lowest))]
    )
    return Violators(rows, samples, codes, own_costs, violation, losses)


def _violators_of_block(X: Any, y: Any, w: Any, offset: int, shared: Any) -> Any:
    model, fitted, classes, costs, short, quota, proof = shared
    X, codes = np.asarray(X), np.searchsorted(classes, np.asarray(y))
    cost = costs[codes] if w is None else costs[codes] * np.asarray(w)
    rows = np.arange(offset, offset + len(X))
    place = np.searchsorted(fitted.rows, rows)
    inside = np.isin(rows, fitted.rows, assume_unique=True)
    cost[inside] = fitted.costs[place[inside]]
    pairs = class_pairs(len(classes))
    worst, losses = np.zeros(len(X)), np.zeros(len(pairs))
    lowest, highest = np.full(len(pairs), np.inf), np.full(len(pairs), -np.inf)
    if len(X):
        decisions, errors = _decisions(model, X, proof)
        for number, (positive, negative) in enumerate(pairs):
            own = np.flatnonzero(
                ((codes == positive) | (codes == negative)) & (cost > 0)
            )
            sign = np.where(codes[own] == positive, 1.0, -1.0)
            beta = np.where(
                inside[own], fitted.betas[number][place[own] * inside[own]], 0.0
            )
            # the gradient, up to the intercept: of free members it is zero
            gradient, error = decisions[own, number] - sign, errors[own, number]
            grows = beta < np.maximum(0.0, sign * cost[own])
            falls = beta > np.minimum(0.0, sign * cost[own])
            lowest[number] = (gradient - error).min(where=grows, initial=np.inf)
            highest[number] = (gradient + error).max(where=falls, initial=-np.inf)
            missing = np.maximum(0.0, error - sign * gradient) * ~inside[own]
            losses[number] = sum_above(cost[own] * missing)
            worst[own] = np.maximum(worst[own], missing)
    chosen = np.flatnonzero(worst > short)
    chosen = np.sort(chosen[np.argsort(-worst[chosen], kind="stable")[:quota]])
    found = rows[chosen], X[chosen], codes[chosen], cost[chosen]
    return *found, lowest, highest, losses


def _decisions(model: Any, X: Any, proof: bool) -> tuple[Vector, Vector]:
    """Return decision values of all pairs, and bounds on their rounding if asked."""
    if not proof:
        decisions = np.reshape(model._values(X), (len(X), -1))
        return decisions, np.zeros(decisions.shape)
    gram = Gram(model.support_vectors_, model._kernel, cache_mb=1)
    columns = [
        bounded_cross(gram, X, np.ascontiguousarray(column))
        for column in _pair_table(model).T
    ]
    values = np.stack([own for own, _ in columns], axis=1) + model.intercept_
    errors = np.stack([error for _, error in columns], axis=1)
    return values, errors + 4.0 * UNIT * (
        np.abs(values) + np.abs(model.intercept_) + 1.0
    )
