"""Random fits over the extremes, and the judgement of what their certificates claim."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from decimal import Decimal, localcontext

import numpy as np
from scipy import sparse

from widemargin import ChanceConstrainedSVC

from .uncertain import assert_true
from tests.oracles.exact_chance import DIGITS, exact, exact_problem

FORMS = ("plain", "units", "offset", "far", "float32", "sparse", "tiny C", "huge C")
ENDS = ("solved", "max_iter", "max_time", "socp", "sdp", "ssgd", "published", "blocks")


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
        return given, self.y, {name: self.covariances, "sample_weight": self.weights}


def draw(seed: int, form: str, end: str) -> Case:
    """Draw a small problem of that form, to be fitted to that end."""
    rng = np.random.default_rng([seed, FORMS.index(form), ENDS.index(end)])
    n, d = int(rng.integers(4, 30)), int(rng.integers(1, 6))
    n, d = (min(n, 9), min(d, 2)) if end == "sdp" else (n, d)
    y = rng.integers(2, size=n)
    y[:2] = 0, 1
    X = rng.normal(size=(n, d)) + rng.choice([0.3, 1.0, 3.0]) * y[:, None]
    if rng.random() < 0.3:  # repeated rows, and a feature that does not vary
        X[n // 2 :] = X[: n - n // 2]
        X[:, 0] = np.where(rng.random() < 0.5, X[:, 0], 1.5)
    deviations = 10.0 ** rng.uniform(-3, 0.3)
    units = np.ones(d)
    if form in ("units", "far"):
        units = 10.0 ** rng.uniform(-4, 4, size=d)
    X = X * units
    if form in ("offset", "far"):
        X = X + units * rng.choice([1e3, 1e7, 1e9]) * rng.normal(size=d)
    if form == "float32":
        X = (X + rng.choice([0.0, 100.0])).astype(np.float32)
    kind = str(rng.choice(["variances", "matrices", "factors"]))
    if kind == "variances":
        covariances = np.square(deviations * units) * rng.random((n, d))
    else:
        rank = int(rng.integers(1, d + 2))
        covariances = deviations * rng.normal(size=(n, d, rank)) * units[:, None]
        if kind == "matrices":
            covariances = covariances @ covariances.transpose(0, 2, 1)
    weights = np.ones(n)
    if rng.random() < 0.5:
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
    if not options["fit_intercept"]:  # the centre is not an attribute
        options["standardize"] &= form == "sparse"
    if end == "max_iter":
        options["max_iter"] = int(rng.integers(1, 12))
    if end == "max_time":
        options["max_time"] = 1e-9
    if end in ("socp", "sdp"):
        options["solver"] = end
    if end in ("ssgd", "published", "blocks"):
        options |= {"solver": "ssgd", "epochs": 3, "refine": end != "published"}
    return Case(X, y, kind, covariances, weights, options, end, form == "sparse")


def fit(case: Case, **changes) -> ChanceConstrainedSVC:
    """Fit as the case says, whatever warnings there are."""
    X, y, extras = case.arguments
    model = ChanceConstrainedSVC(**(case.options | changes))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if case.end == "blocks" and not changes:
            parts = np.array_split(np.arange(len(y)), 3)
            return model.fit_blocks(
                [
                    (X[rows], y[rows], {k: v[rows] for k, v in extras.items()})
                    for rows in parts
                ]
            )
        return model.fit(X, y, **extras)


def judge(case: Case, model: ChanceConstrainedSVC):
    """Return the problem that was fitted, from the user's numbers and ``scale_``."""
    with localcontext(prec=DIGITS):
        risk = Decimal(case.options["risk"])
        kappa = ((1 - risk) / risk).sqrt()
        factors = case.options["class_weight"] or {0: 1.0, 1: 1.0}
        by_row = exact([factors[label] for label in case.y.tolist()])
        costs = Decimal(case.options["C"]) * by_row * exact(case.weights)
    return exact_problem(
        case.X,
        np.where(case.y == 1, 1.0, -1.0),
        costs,
        case.kind,
        case.covariances,
        np.arange(len(case.y)),
        kappa,
        scale=model.scale_,
        fit_intercept=case.options["fit_intercept"],
    )


def assert_claims_hold(case: Case):
    """Fit and judge; return the certificate and the true gap where it is known."""
    model = fit(case)
    best = None
    if case.end != "solved":
        exactly = fit(case, solver="newton", max_time=None, max_iter=1000)
        best = exactly.coef_[0], float(exactly.intercept_[0])
    at = model.coef_[0], float(model.intercept_[0])
    certificate = model.certificate_
    assert np.isfinite(certificate.objective)
    has_dual = case.end not in ("sdp", "ssgd", "published", "blocks")
    assert (certificate.gap is not None) == has_dual
    if certificate.status in ("polished", "converged") and has_dual:
        allowed = max(model.tol, 1e-6) * certificate.objective
        assert certificate.gap <= allowed
    return certificate, assert_true(certificate, judge(case, model), *at, best)
