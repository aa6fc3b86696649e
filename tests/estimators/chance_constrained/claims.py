"""Random fits over the extremes, and the judgement of what their certificates claim."""

from __future__ import annotations

import warnings
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal, localcontext

import numpy as np
from scipy import sparse

from widemargin import ChanceConstrainedSVC
from widemargin.estimators.chance_constrained import smoothed_newton as newton_module
from widemargin.estimators.chance_constrained.block_sources import (
    Block,
    dask_chunks,
    in_memory,
)
from widemargin.estimators.chance_constrained.first_pass import first_pass

from .uncertain import assert_true
from tests.oracles.exact_chance import DIGITS, exact, exact_problem

FORMS = ("plain", "units", "offset", "far", "float32", "sparse", "tiny C", "huge C")
ENDS = (
    "solved",
    "max_iter",
    "max_time",
    "interrupted",
    "socp",
    "sdp",
    "ssgd",
    "published",
    "blocks",
    "dask",
)
STOCHASTIC = ("ssgd", "published", "blocks", "dask")
OFTEN = ("plain", "units", "float32", "tiny C", "huge C")  # class covariances too


@dataclass
class Case:
    """One random problem, and how it is to be fitted."""

    X: np.ndarray
    y: np.ndarray
    kind: str
    covariances: np.ndarray
    weights: np.ndarray
    options: dict
    end: str
    sparse: bool = False

    @property
    def arguments(self):
        name = "covariance_factor" if self.kind == "factors" else "covariance"
        given = sparse.csr_array(self.X) if self.sparse else self.X
        own = {} if self.kind == "class" else {name: self.covariances}
        return given, self.y, {**own, "sample_weight": self.weights}


def draw(seed: int, form: str, end: str) -> Case:
    """Draw a small problem of that form, to be fitted to that end."""
    rng = np.random.default_rng([seed, FORMS.index(form), ENDS.index(end)])
    n, d = int(rng.integers(4, 30)), int(rng.integers(1, 6))
    n, d = (min(n, 9), min(d, 2)) if end == "sdp" else (n, d)
    y = rng.integers(2, size=n)
    y[:2] = 0, 1
    X = rng.normal(size=(n, d)) + rng.choice([0.3, 1.0, 3.0]) * y[:, None]
    repeated = rng.random() < 0.3
    if repeated:  # repeated rows, and a feature that does not vary
        X[n // 2 :] = X[: n - n // 2]
        X[:, 0] = np.where(rng.random() < 0.5, X[:, 0], 1.5)
    deviations = 10.0 ** rng.uniform(-3, 0.3)
    units = np.ones(d)
    if form in ("units", "far"):
        units = 10.0 ** rng.uniform(-4, 4, size=d)
    X = X * units
    if form in ("offset", "far"):
        X = X + units * rng.choice([1e3, 1e7, 1e9]) * rng.normal(size=d)
    if form == "sparse":  # their sums are not compensated: the offset is in the error
        X = X + rng.choice([0.0, 1e6, 1e9])
    if form == "float32":
        X = (X + rng.choice([0.0, 100.0])).astype(np.float32)
    kind = str(rng.choice(["variances", "matrices", "factors", "class"]))
    if kind == "class" and (
        form not in OFTEN or repeated or min(np.bincount(y)) < d + 2
    ):
        kind = "variances"
    covariances = np.empty(0)
    if kind == "variances":
        covariances = np.square(deviations * units) * rng.random((n, d))
    elif kind != "class":
        rank = int(rng.integers(1, d + 2))
        covariances = deviations * rng.normal(size=(n, d, rank)) * units[:, None]
        if kind == "matrices":
            covariances = covariances @ covariances.transpose(0, 2, 1)
    weights = np.ones(n)
    if rng.random() < 0.5 and kind != "class":
        weights = 10.0 ** rng.uniform(-6, 6, size=n)
    C = {"tiny C": 10.0 ** rng.uniform(-9, -3), "huge C": 10.0 ** rng.uniform(3, 9)}
    options = {
        "C": float(C.get(form, 10.0 ** rng.uniform(-2, 2))),
        "risk": float(rng.choice([0.1, 0.3, 0.01])),
        "standardize": bool(rng.random() < 0.4),
        "fit_intercept": bool(rng.random() < 0.8),
        "class_weight": None if rng.random() < 0.6 else {0: 0.7, 1: 3.1},
        "random_state": seed,
    }
    if end == "max_iter":
        options["max_iter"] = int(rng.integers(1, 12))
    if end == "max_time":
        options["max_time"] = 1e-9
    if end in ("socp", "sdp"):
        options["solver"] = end
    if end in STOCHASTIC:
        options |= {"solver": "ssgd", "epochs": 3, "refine": end != "published"}
    return Case(X, y, kind, covariances, weights, options, end, form == "sparse")


def fit(case: Case, **changes) -> ChanceConstrainedSVC:
    """Fit as the case says, whatever warnings there are."""
    X, y, extras = case.arguments
    model = ChanceConstrainedSVC(**(case.options | changes))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if changes or case.end not in ("blocks", "dask", "interrupted"):
            return model.fit(X, y, **extras)
        if case.end == "interrupted":
            with Interruption(after=len(y) % 5), suppress(KeyboardInterrupt):
                model.fit(X, y, **extras)
            return model
        rows = np.array_split(np.arange(len(y)), 3)
        parts = [(X[r], y[r], {k: v[r] for k, v in extras.items()}) for r in rows]
        if case.end == "blocks":
            return model.fit_blocks(parts)
        chunks = [
            {"X": part, "y": labels, **more, "first": int(r[0])}
            for (part, labels, more), r in zip(parts, rows, strict=True)
        ]
        model._train_on(dask_chunks(chunks))
        return model


class Interruption:
    """Ctrl-C in the midst of Newton's method, after so many stages."""

    def __init__(self, after: int) -> None:
        self.left, self.stage = after, newton_module._stage

    def __enter__(self) -> None:
        newton_module._stage = self

    def __exit__(self, *_) -> None:
        newton_module._stage = self.stage

    def __call__(self, *given):
        self.left -= 1
        if self.left < 0:
            raise KeyboardInterrupt
        return self.stage(*given)


def judge(case: Case, model: ChanceConstrainedSVC):
    """Return the problem that was fitted, from the user's numbers and ``scale_``.

    Where a scaling centres and there is no intercept, that is of the centred samples.
    """
    with localcontext(prec=DIGITS):
        risk = Decimal(case.options["risk"])
        kappa = ((1 - risk) / risk).sqrt()
        factors = case.options["class_weight"] or {0: 1.0, 1: 1.0}
        by_row = exact([factors[label] for label in case.y.tolist()])
        costs = Decimal(case.options["C"]) * by_row * exact(case.weights)
    kind, covariances, entries = case.kind, case.covariances, np.arange(len(case.y))
    if kind == "class":
        kind, covariances, entries = "matrices", model.covariances_, case.y
    fit_intercept = case.options["fit_intercept"]
    problem = exact_problem(
        case.X,
        np.where(case.y == 1, 1.0, -1.0),
        costs,
        kind,
        covariances,
        entries,
        kappa,
        scale=model.scale_,
        fit_intercept=fit_intercept,
    )
    centre = np.zeros(case.X.shape[1])
    if not fit_intercept:
        given, y, extras = case.arguments
        centre = first_pass(in_memory([Block(given, y, **extras)]), model).scaling.mean
    with localcontext(prec=DIGITS):
        problem.X = problem.X - exact(centre)
    return problem, exact(centre)


def assert_claims_hold(case: Case):
    """Fit and judge; return the certificate and the true gap where it is known."""
    model = fit(case)
    best = None
    if case.end != "solved":
        exactly = fit(case, solver="newton", max_time=None, max_iter=1000)
        best = exactly.coef_[0], Decimal(float(exactly.intercept_[0]))
    problem, centre = judge(case, model)
    with localcontext(prec=DIGITS):
        moved = exact(model.coef_[0]) @ centre
        at = model.coef_[0], Decimal(float(model.intercept_[0])) + moved
    certificate = model.certificate_
    assert np.isfinite(certificate.objective)
    has_dual = case.end not in ("sdp", *STOCHASTIC)
    assert (certificate.gap is not None) == has_dual
    if certificate.status in ("polished", "converged") and has_dual:
        allowed = max(model.tol, 1e-6) * certificate.objective
        assert certificate.gap <= allowed
    return certificate, assert_true(certificate, problem, *at, best)
