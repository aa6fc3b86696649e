"""The judge of certificates: its intervals hold the truth, and it convicts."""

import ast
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from widemargin.engine.certificate import Certificate

from tests.oracles import exact_certificate
from tests.oracles.claims import assert_claims_hold, judge
from tests.oracles.exact_certificate import JointTruth, Model, Truth
from tests.oracles.exact_numbers import DECIMAL, HAS_LONG, LONG

KERNELS = ("linear", "poly", "rbf", "laplacian", "sigmoid", "precomputed")


def some_model(seed, kernel="rbf", n=25, scale=1.0, total=0.0, **kernel_parameters):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3)) * scale
    if kernel == "precomputed":
        X = X @ X.T
    signs = np.where(rng.random(n) < 0.5, -1.0, 1.0)
    ends = signs * 10.0 ** rng.uniform(-2, 2, size=n)
    lower, upper = np.minimum(ends, 0.0), np.maximum(ends, 0.0)
    beta = rng.choice([0.0, 0.3, 1.0], size=n) * ends
    return Model(
        kernel, X, beta, float(rng.normal()), signs, lower, upper, total,
        **({"gamma": 0.3, "coef0": 0.5} | kernel_parameters),
    )  # fmt: skip


def inside(inner, outer):
    return outer.low <= inner.low and inner.high <= outer.high


@pytest.mark.skipif(not HAS_LONG, reason="long double is double on this platform")
@pytest.mark.parametrize("scale", [1.0, 1e4])
@pytest.mark.parametrize("total", [0.0, None])
@pytest.mark.parametrize("kernel", KERNELS)
def test_long_doubles_enclose_sixty_digits(kernel, total, scale, global_random_seed):
    model = some_model(global_random_seed, kernel, total=total, scale=scale)
    coarse, fine = Truth(model, LONG), Truth(model, DECIMAL)
    assert inside(fine.primal, coarse.primal)
    assert inside(fine.violation, coarse.violation)
    width = float(coarse.primal.high - coarse.primal.low)
    # No float64 sum of such terms is as good as this.
    sizes = float(coarse.primal) + float(
        (abs(coarse.values) * abs(coarse.beta)).sum()
        + (abs(coarse.values) * (model.upper - model.lower)).sum()
    )
    assert 0.0 < width < 2.0**-53 * sizes


@pytest.mark.parametrize("arithmetic", [LONG, DECIMAL], ids=lambda a: a.name)
@pytest.mark.parametrize("degree", [1, 2, 3])
def test_the_objective_by_fractions(degree, arithmetic, global_random_seed):
    """The polynomial kernel in rational arithmetic, term by term."""
    model = some_model(global_random_seed, "poly", n=8, degree=degree)
    rows = [[Fraction(x) for x in row] for row in model.X.tolist()]
    gamma, coef0 = Fraction(model.gamma), Fraction(model.coef0)
    beta = [Fraction(b) for b in model.beta.tolist()]
    K = [
        [
            (gamma * sum(a * b for a, b in zip(x, z, strict=True)) + coef0) ** degree
            for z in rows
        ]
        for x in rows
    ]
    values = [sum(k * b for k, b in zip(row, beta, strict=True)) for row in K]
    norm = sum(b * v for b, v in zip(beta, values, strict=True))
    residual = [
        Fraction(p) - v - Fraction(model.intercept)
        for p, v in zip(model.linear.tolist(), values, strict=True)
    ]
    loss = sum(
        max(Fraction(low) * u, Fraction(high) * u)
        for low, high, u in zip(
            model.lower.tolist(), model.upper.tolist(), residual, strict=True
        )
    )
    objective = norm / 2 + loss
    truth = Truth(model, arithmetic)
    assert truth.primal.low <= objective <= truth.primal.high
    assert truth.excess == sum(beta)


def test_a_row_far_away_costs_no_digits():
    model = some_model(0)
    near = Truth(model)
    moved = Truth(replace_samples(model, model.X + 2.0**40))
    assert float(moved.primal) == pytest.approx(float(near.primal), rel=1e-3)
    shifted = np.round(model.X * 2.0**10) * 2.0**-10  # exact, here and there
    here = Truth(replace_samples(model, shifted))
    there = Truth(replace_samples(model, shifted + 2.0**40))
    assert here.primal == there.primal
    assert Truth(replace_samples(model, sparse.csr_matrix(shifted))).primal == (
        here.primal
    )


def replace_samples(model, X):
    return Model(**(vars(model) | {"X": X}))


def two_points():
    """x = -1 and +1, linear: w = 1, b = 0, objective 1/2."""
    X, y = np.array([[-1.0], [1.0]]), np.array([-1.0, 1.0])
    lower, upper = np.array([-1.0, 0.0]), np.array([0.0, 1.0])
    return Model("linear", X, y / 2, 0.0, y, lower, upper, 0.0)


def test_the_optimum_of_two_points():
    truth = Truth(two_points())
    assert float(truth.primal) == float(truth.dual) == 0.5
    assert float(truth.violation) < 1e-17
    assert_claims_hold(claimed(), truth)


def claimed(**changed):
    right = Certificate("converged", 0.5 + 1e-12, 0.5 - 1e-12, 3e-12, 4e-12, 1, 0.0)
    return replace(right, **changed)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("objective", 0.5 - 1e-15),
        ("bound", 0.5 + 1e-15),
        ("gap", 1e-12),
        ("kkt_violation", 0.0),
        ("objective", np.nan),
        ("bound", np.nan),
        ("gap", np.nan),
        ("gap", None),
    ],
)
def test_each_false_claim_is_convicted(field, value):
    model = two_points()
    truth = Truth(model.with_point(model.beta * (1 - 2.0**-40), 0.0))
    assert_claims_hold(claimed(), truth)
    found = {claim.field for claim in judge(claimed(**{field: value}), truth).false}
    assert found
    with pytest.raises(AssertionError):
        assert_claims_hold(claimed(**{field: value}), truth)


def test_a_bound_that_is_missing_is_noticed():
    truth = Truth(two_points())
    lacking = claimed(bound=None, gap=None)
    with pytest.raises(AssertionError):
        assert_claims_hold(lacking, truth)
    assert_claims_hold(lacking, truth, may_lack_bound=True)


def test_an_excess_of_the_sum_is_repaired_before_the_dual_value_counts():
    model = replace_samples(two_points(), np.array([[0.0], [2.0]]))
    beta = model.beta - np.array([2.0**-20, 0.0])  # rewarded, and w is the same
    truth = Truth(model.with_point(beta, -1.0))
    assert truth.excess == -(Fraction(2) ** -20)
    K = model.X @ model.X.T
    assert model.linear @ beta - 0.5 * beta @ K @ beta > 0.5  # the optimum
    assert float(truth.dual) == 0.5
    assert_claims_hold(claimed(), truth)


def test_a_better_model_refutes_a_bound():
    """A poor point: its own dual value proves little, a better model refutes more."""
    model = some_model(3, n=40)
    truth = Truth(model.with_point(np.zeros(40), 0.0))
    best = float(truth.optimum_at_most)
    assert best < float(truth.primal)
    poor = Certificate(
        "max_iter", float(truth.primal) + 1e-9, best * (1 + 1e-9), np.inf, 1e9, 1, 0.0
    )
    assert "bound" in {claim.field for claim in judge(poor, truth).false}


def test_parts_side_by_side_add_up():
    parts = [Truth(some_model(seed)) for seed in (1, 2)]
    whole = JointTruth(parts)
    assert float(whole.primal) == pytest.approx(sum(float(p.primal) for p in parts))
    assert whole.violation.high == max(p.violation.high for p in parts)


@pytest.mark.parametrize(
    "name", ["exact_certificate", "exact_kernels", "exact_numbers", "better_model",
             "claims", "rebuilt", "nu_truth", "expansions", "exact_chance"]
)  # fmt: skip
def test_the_judge_shares_no_code_with_the_package(name):
    path = Path(exact_certificate.__file__).with_name(f"{name}.py")
    tree = ast.parse(path.read_text())
    named = [
        alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.Import)
        for alias in node.names
    ]
    named += [
        node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)
    ]
    assert not [module for module in named if module.startswith("widemargin")]
