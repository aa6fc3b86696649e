"""The hinge problem reaches its public gap, always: no error, no early return."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse

from widemargin import PrivateSVC
from widemargin.engine.gram import Gram
from widemargin.engine.kernels import Linear
from widemargin.engine.problem import classification_problem
from widemargin.engine.solve import solve
from widemargin.engine.solve_options import SolveOptions
from widemargin.estimators.private import hinge
from widemargin.estimators.private.hinge import hinge_gap, minimise_hinge
from widemargin.runtime.deadline import Deadline

# Few records: `warn_of_drowned_signal` has its own test.
pytestmark = pytest.mark.filterwarnings("ignore::widemargin.NoiseWarning")


def exact(values):
    """Fractions of an array's floats."""
    return [[Fraction(x) for x in row] for row in np.atleast_2d(values).tolist()]


def exact_excess(X, y, costs, w, beta):
    """P(w) minus the dual at beta, in rational arithmetic: nothing rounds."""
    rows, labels = exact(X), exact(y)[0]
    cost, point, dual = exact(costs)[0], exact(w)[0], exact(beta)[0]
    losses = [
        c
        * max(
            Fraction(0), 1 - label * sum(a * b for a, b in zip(row, point, strict=True))
        )
        for row, label, c in zip(rows, labels, cost, strict=True)
    ]
    primal = sum(x * x for x in point) / 2 + sum(losses)
    back = [
        sum(b * row[k] for b, row in zip(dual, rows, strict=True))
        for k in range(len(point))
    ]
    bound = sum(b * label for b, label in zip(dual, labels, strict=True))
    return float(primal - (bound - sum(x * x for x in back) / 2))


def dual_point(X, y, costs):
    """A good dual point within its box, from the engine: another solver's word."""
    gram = Gram(np.ascontiguousarray(X), Linear())
    problem = classification_problem(gram, y, costs, fit_intercept=False)
    solution = solve(problem, SolveOptions(exact=True))
    return solution.beta, solution.recomputed().certificate.gap


def questionnaire(rng, n, d):
    """Answers yes and no: many records repeat, many lie exactly on the margin."""
    X = rng.integers(0, 2, size=(n, d)) / math.sqrt(d)
    return X, np.where(X @ rng.normal(size=d) + 0.3 * rng.normal(size=n) > 0, 1.0, -1.0)


@pytest.mark.parametrize("cost", [0.1, 10.0, 1e3])
@pytest.mark.parametrize("tol", [1e-6, 1e-9])
def test_repeated_records_reach_the_gap(cost, tol, global_random_seed):
    # Narrowing the corner about a fixed centre ended here in an error: the more records
    # share a place on the margin, the worse rounding spoils their shares.
    X, y = questionnaire(np.random.default_rng(global_random_seed), 2000, 5)
    costs, tau = np.full(2000, cost), tol * (2 * cost) ** 2
    w = minimise_hinge(X, y, costs, tau)
    beta, gap = dual_point(X, y, costs)
    assert ((y * beta >= 0) & (y * beta <= costs)).all()
    assert exact_excess(X, y, costs, w, beta) <= tau + gap


@pytest.mark.parametrize(
    "kind", ["answers", "copies", "near copies", "line", "lengths"]
)
def test_awkward_records_reach_the_smallest_gap_allowed(kind, global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    for _ in range(6):
        n, d = int(rng.integers(2, 300)), int(rng.integers(1, 30))
        X = rng.normal(size=(n, d))
        if kind == "answers":
            X = rng.integers(-1, 2, size=(n, d)).astype(float)
        elif kind in ("copies", "near copies"):
            X = X[rng.integers(min(n, 5), size=n)]
            X += 1e-9 * rng.normal(size=(n, d)) * (kind == "near copies")
        elif kind == "line":
            X = np.outer(X[:, 0], X[0]) + 1e-10 * X
        else:
            X *= 10 ** rng.uniform(-8, 3, size=(n, 1))
        radius = 10 ** rng.uniform(-3, 3)
        X *= radius / np.linalg.norm(X, axis=1).max().clip(1e-300)
        y, cost = rng.choice([-1.0, 1.0], size=n), 10 ** rng.uniform(-4, 4) / radius**2
        costs = np.where(y > 0, cost, cost * rng.choice([0.0, 0.01, 1.0]))
        taus = [tol * (2 * cost * radius) ** 2 for tol in (1e-6, 1e-12)]
        coarse, fine = (minimise_hinge(X, y, costs, tau) for tau in taus)
        reach = sum(math.sqrt(2 * tau) for tau in taus)
        assert np.linalg.norm(coarse - fine) <= reach


def test_extreme_public_numbers_are_trained_on():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 3)), rng.choice([-1.0, 1.0], size=40)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    for radius in (1e-50, 1e-9, 1e9, 1e50):
        for cost in (1e-50, 1.0, 1e50):
            tau = 1e-12 * (2 * cost * radius) ** 2
            w = minimise_hinge(radius * X, y, np.full(40, cost), tau)
            assert np.isfinite(w).all()


def test_sparse_and_dense_rows_meet(global_random_seed):
    X, y = questionnaire(np.random.default_rng(global_random_seed), 300, 6)
    costs = np.full(300, 1.0)
    dense = minimise_hinge(X, y, costs, 1e-10)
    packed = minimise_hinge(sparse.csr_array(X), y, costs, 1e-10)
    assert np.linalg.norm(dense - packed) <= 2 * math.sqrt(2e-10)


def test_a_solve_that_misses_its_gap_goes_on(monkeypatch, global_random_seed):
    # Twenty stages are told that they are not there yet; none of them is the last.
    X, y = questionnaire(np.random.default_rng(global_random_seed), 200, 4)
    told, real = [], hinge.hinge_gap

    def doubtful(*arguments):
        told.append(real(*arguments))
        return math.inf if len(told) <= 20 else told[-1]

    monkeypatch.setattr(hinge, "hinge_gap", doubtful)
    w = minimise_hinge(X, y, np.full(200, 0.1), 1e-8)
    assert len(told) > 20 and told[-1] <= 1e-8
    monkeypatch.undo()
    again = minimise_hinge(X, y, np.full(200, 0.1), 1e-8)
    assert np.linalg.norm(w - again) <= 2 * math.sqrt(2e-8)


@pytest.mark.parametrize("kind", ["plain", "rounded", "zero", "doubled", "one class"])
def test_every_hinge_problem_reaches_its_gap(kind, global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    for _ in range(40):
        n, d = int(rng.integers(1, 60)), int(rng.integers(1, 80))
        X = rng.normal(size=(n, d)) * 10 ** rng.uniform(-3, 2)
        X = {"rounded": np.round(X), "zero": 0 * X}.get(kind, X)
        X = np.repeat(X, 2, axis=0) if kind == "doubled" else X
        y = rng.choice([-1.0, 1.0], size=len(X))
        y = np.ones(len(X)) if kind == "one class" else y
        costs = np.full(len(X), 10 ** rng.uniform(-4, 3))
        reach = 2 * costs[0] * max(np.linalg.norm(X, axis=1).max(), 1e-3)
        w = minimise_hinge(X, y, costs, 1e-6 * reach**2)
        primal = 0.5 * w @ w + costs @ np.maximum(0, 1 - y * (X @ w))
        # The engine's certified lower bound on the optimum, another solver's word.
        gram = Gram(np.ascontiguousarray(X), Linear())
        problem = classification_problem(gram, y, costs, fit_intercept=False)
        options = SolveOptions(deadline=Deadline.after(1.0))
        other = solve(problem, options).recomputed().certificate
        slack = other.gap + 1e-13 * primal  # rounding of these two sums
        assert primal - other.bound <= 1e-6 * reach**2 + slack


def test_any_point_and_shares_bound_the_excess(global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    X, y = rng.normal(size=(50, 4)), rng.choice([-1.0, 1.0], size=50)
    costs, share, w = (
        rng.uniform(0.1, 2.0, 50),
        rng.uniform(size=50),
        rng.normal(size=4),
    )
    gap = hinge_gap(X, y, costs, w, share, 1 - y * (X @ w))
    assert_allclose(gap, exact_excess(X, y, costs, w, y * costs * share), rtol=1e-12)


@pytest.mark.parametrize("mechanism", ["output", "objective"])
def test_answers_to_a_questionnaire_are_trained_without_an_error(mechanism):
    X, y = questionnaire(np.random.default_rng(0), 3000, 6)
    for cost in (0.1, 1.0, 100.0):
        settings = {"C": cost, "clip_norm": 1.0, "classes": [-1, 1]}
        model = PrivateSVC(mechanism=mechanism, **settings).fit(X, y)
        assert model.privacy_report().guarantee
        assert np.isfinite(model.coef_).all()
