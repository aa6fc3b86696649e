"""The problems of a fitted estimator, rebuilt from its public attributes alone.

Labels, weights and costs as the user gave them, ``dual_coef_``, ``support_`` and
``intercept_`` as the estimator shows them: one :class:`Model` for each pair of classes.
"""

from __future__ import annotations

import decimal
from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np

from tests.oracles.claims import assert_claims_hold
from tests.oracles.exact_certificate import JointTruth, Model, Truth
from tests.oracles.exact_numbers import CONTEXT, DECIMAL, Interval, rational
from tests.oracles.nu_truth import NuTruth, within


def certificates(estimator: Any) -> list[Any]:
    """Return the certificates of all pairs."""
    own = estimator.certificate_
    return own if isinstance(own, list) else [own]


def judged(
    estimator: Any, X: Any, y: Any, sample_weight: Any = None, **given: Any
) -> Iterator[tuple[Any, Any]]:
    """Yield the certificate and the truth of every pair of classes."""
    pairs = pair_models(estimator, X, y, sample_weight, **given)
    yield from zip(certificates(estimator), pairs, strict=True)


def assert_honest(
    model: Any, X: Any, y: Any, sample_weight: Any = None, **allowed: Any
) -> None:
    """Assert that what every certificate of a classifier claims is true."""
    for certificate, truth in judged(model, X, y, sample_weight):
        assert_claims_hold(certificate, truth, **allowed)


def pair_models(
    estimator: Any,
    X: Any,
    y: Any,
    sample_weight: Any = None,
    arithmetic: Any = None,
    all_rows: bool = False,
) -> Iterator[Any]:
    """Yield the truth of every pair of classes.

    An early model numbers rows with a weight; one of dask arrays `all_rows`.
    """
    y = np.asarray(y)
    weights = np.ones(len(y)) if sample_weight is None else np.asarray(sample_weight)
    weights = weights.astype(np.float64)
    present = weights > 0
    classes = estimator.classes_
    labels = np.searchsorted(classes, y)
    coefficients = _coefficients(estimator, len(y))
    price = getattr(estimator, "C", 1.0)  # NuSVC has none
    costs = price * _class_factors(estimator)[labels]
    if sample_weight is not None:
        costs = costs * weights
    samples = X
    if callable(estimator.kernel):
        samples = np.asarray(estimator.kernel(X, X))
    pairs = list(combinations(range(len(classes)), 2))
    for number, (first, second) in enumerate(pairs):
        rows = np.flatnonzero(present & ((labels == first) | (labels == second)))
        of_first = labels[rows] == first
        beta = np.where(
            of_first, coefficients[second - 1, rows], coefficients[first, rows]
        )
        positive = second if len(classes) == 2 else first
        signs = np.where(labels[rows] == positive, 1.0, -1.0)
        pair = Pair(estimator, samples, rows, signs, costs[rows], beta, number)
        pair.kept = np.arange(len(y)) if all_rows else np.flatnonzero(present)
        yield pair.truth(X, arithmetic)


def _coefficients(estimator: Any, n: int) -> Any:
    dual = estimator.dual_coef_
    dual = dual.toarray() if hasattr(dual, "toarray") else np.asarray(dual)
    full = np.zeros((dual.shape[0], n))
    full[:, estimator.support_] = dual
    return full


def _class_factors(estimator: Any) -> Any:
    given = estimator.class_weight
    if isinstance(given, dict):
        return np.array([float(given.get(c, 1.0)) for c in estimator.classes_.tolist()])
    if given is None:
        return np.ones(len(estimator.classes_))
    return estimator.class_weight_  # "balanced"


class Pair:
    """One pair of classes of a fitted estimator."""

    kept: Any  # rows that an early model numbers

    def __init__(
        self,
        estimator: Any,
        samples: Any,
        rows: Any,
        signs: Any,
        costs: Any,
        beta: Any,
        number: int,
    ) -> None:
        self.estimator = estimator
        self.samples, self.rows, self.signs = samples, rows, signs
        self.costs, self.beta, self.number = costs, beta, number

    def truth(self, X: Any, arithmetic: Any) -> Any:
        """Return what is true of this pair."""
        name = type(self.estimator).__name__
        if getattr(self.estimator, "early_", None) is not None:
            return self._clusters(X, arithmetic)
        if name == "RampSVC":
            return RampTruth(self, arithmetic)
        linear, ends = self.signs, self.signs * self.costs
        if name == "CostSensitiveSVC":
            linear, ends = self._prices()
        lower, upper = np.minimum(ends, 0.0), np.maximum(ends, 0.0)
        if name == "NuSVC":
            return self._share_of_errors(lower, upper, arithmetic)
        return Truth(self.model(linear, lower, upper), arithmetic)

    def _share_of_errors(self, lower: Any, upper: Any, arithmetic: Any) -> NuTruth:
        """Return the truth of nu-SVC, whose model is in units of its margin."""
        own, whole = self.estimator, float(self.costs.sum())
        margin, budget = float(own.rho_[self.number]), own.nu * whole
        if own.fit_intercept:  # as large as a class allows, at most
            budget = min(budget, 2.0 * min(map(within, (upper, -lower))))
        model = self.model(self.signs, lower / margin, upper / margin)
        return NuTruth(model, margin, budget, (lower, upper), arithmetic)

    def _prices(self) -> tuple[Any, Any]:
        """Return linear term and ends of the boxes of the cost-sensitive hinge loss."""
        missed, moved = self.estimator.cost_positive, self.estimator.cost_negative
        dear = self.signs > 0
        weight = 2 * moved - 1
        ends = self.signs * self.costs * np.where(dear, missed, weight)
        return self.signs * np.where(dear, 1.0, 1.0 / weight), ends

    def model(
        self,
        linear: Any,
        lower: Any,
        upper: Any,
        *,
        some: Any = slice(None),
        beta: Any = None,
        intercept: float | None = None,
        constant: Any = 0,
    ) -> Model:
        """Return the problem over ``some`` of the rows, and the model of it."""
        own, rows = self.estimator, self.rows[some]
        kernel = own.kernel
        square = callable(kernel) or kernel == "precomputed"
        if intercept is None:
            intercept = float(own.intercept_[self.number])
        return Model(
            "precomputed" if square else kernel,
            self.samples[np.ix_(rows, rows)] if square else self.samples[rows],
            self.beta[some] if beta is None else beta,
            intercept,
            linear[some],
            lower[some],
            upper[some],
            0.0 if own.fit_intercept else None,
            float(own.gamma_),
            int(own.degree),
            float(own.coef0),
            constant,
        )

    def _clusters(self, X: Any, arithmetic: Any) -> JointTruth:
        """Return the truth of the clusters' problems, with what they borrowed."""
        early = self.estimator.early_
        if self.estimator.kernel == "precomputed":
            X = X[:, self.kept]
        home = early.assign(X)[self.rows]
        ends = self.signs * self.costs
        lower, upper = np.minimum(ends, 0.0), np.maximum(ends, 0.0)
        parts, lent = [], self._lent()
        for cluster in np.unique(home):
            local = float(early.intercepts[cluster, self.number])
            some, beta = np.flatnonzero(home == cluster), None
            if cluster in lent:
                borrowed = np.searchsorted(self.rows, self.kept[lent[cluster]])
                some = np.concatenate([some, borrowed])
                own = slice(early.starts[cluster], early.starts[cluster + 1])
                found = dict(
                    zip(
                        self.kept[early.support[own]].tolist(),
                        early.coefficients[own, self.number].tolist(),
                        strict=True,
                    )
                )
                beta = np.array([found.get(row, 0.0) for row in self.rows[some]])
            model = self.model(
                self.signs, lower, upper, some=some, beta=beta, intercept=local
            )
            parts.append(Truth(model, arithmetic))
        return JointTruth(parts)

    def _lent(self) -> dict[int, list[int]]:
        """Return the rows that clusters without a class of this pair have borrowed."""
        return {
            loan["cluster"]: loan["lent"]
            for stage in self.estimator.history_
            if stage["stage"] == "borrowing"
            for loan in stage["loans"]
            if loan["pair"] == self.number
        }


class RampTruth(Truth):
    """The last convex problem of a ramp-loss fit; the violation is that of J.

    Which samples did not pull is read off the coefficients. Where they do not say it,
    at zero, it is the side of s: with the flat loss of those that did not pull, no
    other choice has a smaller objective. Where the records contradict that, and of a
    procedure stalled or cut short, the problem and so its optimum are not known.
    """

    def __init__(self, pair: Pair, arithmetic: Any) -> None:
        self.pair, estimator = pair, pair.estimator
        self.signs, self.costs, self.s = pair.signs, pair.costs, float(estimator.s)
        pull = pair.signs * pair.costs
        alpha = pair.signs * pair.beta
        lower, upper = np.minimum(pull, 0.0), np.maximum(pull, 0.0)
        plain = pair.model(pair.signs, lower, upper)
        super().__init__(plain, arithmetic)
        status = certificates(estimator)[pair.number].status
        rounds = int(estimator.n_cccp_iter_[pair.number])
        begun_anew = not estimator.warm_start  # else the first problem may have clipped
        self.known = rounds == 1 and begun_anew
        if rounds > 1 or not begun_anew or (alpha < 0).any():
            margins = pair.signs * (self.values.astype(float) + plain.intercept)
            clipped = (alpha < 0) | ((alpha == 0) & (margins < self.s))
            shift = np.where(clipped, pull, 0.0)
            size = self._clipped_by_the_records()
            ended = status in ("converged", "polished")
            self.known |= ended and size == np.count_nonzero(clipped)
            flat = sum(map(Fraction, pair.costs[clipped].tolist()), Fraction(0))
            constant = flat * (1 - Fraction(self.s)) if clipped.any() else 0
            self.model = pair.model(
                pair.signs, lower - shift, upper - shift, constant=constant
            )

    def _clipped_by_the_records(self) -> int | None:
        """Return how many samples did not pull; None where the records do not say it.

        Those below s after the round before: not always those below s at the end.
        """
        estimator = self.pair.estimator
        if np.ndim(estimator.objective_):  # the records of several pairs
            return None
        convex = [entry for entry in estimator.history_ if "clipped" in entry]
        objectives = [entry["objective"] for entry in convex]
        if estimator.objective_ not in objectives[1:]:
            return None
        before = len(objectives) - 2 - objectives[::-1].index(estimator.objective_)
        return int(convex[before]["clipped"])

    def sharper(self) -> RampTruth | None:
        """Return the same with more digits, where that takes under a second."""
        possible = super().sharper() is not None
        return RampTruth(self.pair, DECIMAL) if possible else None

    @property
    def optimum_at_most(self) -> Fraction | None:
        """The least objective known, where the problem is."""
        return super().optimum_at_most if self.known else None

    @property
    def violation(self) -> Interval:
        """By how much margins must be misread for the point to be stationary of J."""
        with decimal.localcontext(CONTEXT):
            number = self.arithmetic.number
            signs, b = number(self.signs), number(self.model.intercept)[()]
            s = number(self.s)[()]
            margins = signs * (self.values + b)
            alpha = self.signs * self.model.beta
            below, above = np.maximum(1 - margins, 0), np.maximum(margins - 1, 0)
            over, under = np.maximum(margins - s, 0), np.maximum(s - margins, 0)
            wrong = np.where(alpha < self.costs, np.minimum(below, over), 0)
            wrong = np.maximum(wrong, np.where(alpha > 0, np.maximum(above, under), 0))
            # No margin allows a multiplier below zero.
            wrong = np.where(alpha < 0, np.maximum(below, over), wrong)
            reach = self.errors + (abs(margins) + 4) * (8 * self.arithmetic.unit)
            low, high = (wrong - reach).max(), (wrong + reach).max()
        return Interval(max(rational(low), Fraction(0)), rational(high))
