"""Error bounds hold, and are small: against sums of fractions, and exact matrices."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse

from widemargin import ChanceConstrainedSVC
from widemargin.estimators.chance_constrained.chance_problem import ChanceProblem
from widemargin.estimators.chance_constrained.first_pass import Scaling
from widemargin.estimators.chance_constrained.proven_solution import Dual, optimum_below
from widemargin.estimators.chance_constrained.smoothed_newton import newton
from widemargin.numerics.compensated import (
    UNIT,
    column_sums,
    inner,
    lowered,
    plain_inner,
    raised,
    row_products,
    sum_above,
)
from widemargin.numerics.semidefinite import proven_shifts
from widemargin.uncertainty.covariance_tables import (
    DiagonalTable,
    FactorTable,
    FullTable,
    Uncertainty,
    enclosed_images,
)

from .uncertain import KINDS, judge_of, objective_of, optimum_near, random_problem

TABLES = ("matrices", "variances", "factors")


def wild(rng, shape):
    """Return numbers of both signs over many orders of magnitude."""
    return rng.normal(size=shape) * 10.0 ** rng.uniform(-8, 8, size=shape)


def exact_dot(a, b):
    pairs = zip(a.tolist(), b.tolist(), strict=True)
    return sum((Fraction(x) * Fraction(y) for x, y in pairs), Fraction(0))


def assert_encloses(found, exact):
    for value, error, truth in zip(found.value, found.error, exact, strict=True):
        assert abs(Fraction(float(value)) - truth) <= Fraction(float(error))


@pytest.mark.parametrize("length", [0, 1, 2, 3, 7, 64, 101])
@pytest.mark.parametrize("product", [inner, plain_inner])
def test_dot_products_are_enclosed(length, product):
    rng = np.random.default_rng(length)
    a, b = wild(rng, (20, length)), wild(rng, (20, length))
    if length:  # nothing but rounding would be left
        a[:, -1], b[:, -1] = -(a[:, :-1] * b[:, :-1]).sum(axis=1), 1.0
    exact = [exact_dot(x, y) for x, y in zip(a, b, strict=True)]
    found = product(a, b)
    assert_encloses(found, exact)
    if product is inner:
        size = [float(exact_dot(abs(x), abs(y))) for x, y in zip(a, b, strict=True)]
        kept = UNIT * np.abs(np.array(exact, dtype=float))
        assert np.all(found.error <= 1.01 * kept + 1e-28 * np.array(size) + 1e-300)


@pytest.mark.parametrize("form", ["dense", "float32", "sparse"])
@pytest.mark.parametrize("n", [1, 40, 3000])
def test_products_with_samples_are_enclosed(form, n):
    rng = np.random.default_rng(n)
    X = wild(rng, (n, 5)).astype(np.float32 if form == "float32" else np.float64)
    w, b, values = wild(rng, 5), 1e7, wild(rng, n)
    values[::3] = 0.0
    given = sparse.csr_array(X) if form == "sparse" else X
    chosen = rng.integers(n, size=20)
    found = row_products(given, w, b)
    for i in chosen.tolist():
        truth = exact_dot(X[i].astype(float), w) + Fraction(b)
        assert abs(Fraction(found.value[i]) - truth) <= Fraction(found.error[i])
    columns = [exact_dot(column, values) for column in X.T.astype(float)]
    assert_encloses(column_sums(given, values), columns)


def test_sums_are_rounded_outwards():
    rng = np.random.default_rng(0)
    terms = np.abs(wild(rng, 1000))
    total = sum(map(Fraction, terms.tolist()))
    assert Fraction(sum_above(terms, 0)) >= total
    for value in (0.0, 1e-320, 1.0, 1e300):
        assert lowered(value) <= value < raised(value)
    assert_allclose(sum_above(terms), float(total), rtol=1e-14)


def table_of(kind, k, d, rng):
    units = 10.0 ** rng.uniform(-4, 4, size=d)
    if kind == "variances":
        return DiagonalTable(rng.random((k, d)) * units**2)
    factors = rng.normal(size=(k, d, d + 1)) * units[:, None]
    if kind == "factors":
        return FactorTable(factors)
    return FullTable(factors @ factors.transpose(0, 2, 1))


@pytest.mark.parametrize("kind", TABLES)
@pytest.mark.parametrize("k", [2, 30])
def test_images_and_spreads_are_enclosed(kind, k):
    rng = np.random.default_rng(k)
    d = 4
    table = table_of(kind, k, d, rng)
    p, chosen = wild(rng, (k, d)), np.arange(1, k, 2)
    found = enclosed_images(table, chosen, p[chosen])
    exact = np.vectorize(Fraction, otypes=[object])
    for place, entry in enumerate(chosen.tolist()):
        numbers, at = exact(table.entries[entry]), exact(p[entry])
        if kind == "variances":
            image = numbers * at
        else:
            image = numbers @ (numbers.T @ at if kind == "factors" else at)
        value = found.images.value[place], found.images.error[place]
        for v, e, truth in zip(*value, image, strict=True):
            assert abs(Fraction(float(v)) - truth) <= Fraction(float(e))
        assert Fraction(float(found.norms[place])) ** 2 >= image @ at


def determinant(matrix):
    """Return the determinant of fractions, by elimination."""
    matrix, out = matrix.copy(), Fraction(1)
    for j in range(len(matrix)):
        if matrix[j, j] == 0:
            return Fraction(0)
        out *= matrix[j, j]
        for i in range(j + 1, len(matrix)):
            matrix[i] = matrix[i] - matrix[j] * (matrix[i, j] / matrix[j, j])
    return out


@pytest.mark.parametrize("rank", [1, 2, 3, 4])
@pytest.mark.parametrize("spoilt", [0.0, 1e-9])
def test_shifted_matrices_are_semidefinite_in_exact_arithmetic(rank, spoilt):
    rng = np.random.default_rng(rank)
    units = 10.0 ** rng.uniform(-3, 3, size=4)
    factors = rng.normal(size=(20, 4, rank)) * units[:, None]
    matrices = factors @ factors.transpose(0, 2, 1)
    matrices -= spoilt * np.einsum("kii->k", matrices)[:, None, None] * np.eye(4)
    shifts = proven_shifts(matrices, np.arange(20))
    if rank == 4 and not spoilt:
        assert shifts is None  # and it takes no more than that to prove it
        shift, unit = np.zeros(20), np.ones((20, 4))
    else:
        shift, unit = shifts.shift, shifts.unit
        assert np.all(shift <= 1e-13) or spoilt
    exact = np.vectorize(Fraction, otypes=[object])
    for matrix, t, e in zip(matrices, shift, unit, strict=True):
        shifted = exact(matrix)
        for j in range(4):
            shifted[j, j] += Fraction(float(t)) * Fraction(float(e[j])) ** 2
        for size in range(1, 5):  # leading minors of what is strictly above
            assert determinant(shifted[:size, :size]) > 0


def test_constant_features_and_certain_samples_need_no_shift():
    matrices = np.zeros((3, 4, 4))
    matrices[1, :2, :2] = [[2.0, 1.0], [1.0, 3.0]]
    matrices[2, 3, 3] = 1e-200
    assert proven_shifts(matrices, np.arange(3)) is None


def test_singular_class_covariances_are_kept_as_factors():
    """Features that add up to one have a singular covariance; nothing is lost by it."""
    rng = np.random.default_rng(0)
    kinds = rng.integers(6, size=300)
    X = np.column_stack([np.eye(6)[kinds], rng.normal(size=(300, 2))])
    y = (X[:, -1] + 0.7 * rng.normal(size=300) + 0.4 * (kinds % 2) > 0).astype(int)
    model = ChanceConstrainedSVC().fit(X, y)
    assert model.certificate_.status == "polished"
    assert model.certificate_.gap <= 1e-12 * model.certificate_.objective
    for k in (0, 1):
        assert_allclose(model.covariances_[k], 0.01 * np.cov(X[y == k].T), atol=1e-16)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_any_numbers_give_a_true_bound(kind, fit_intercept):
    """Multipliers outside their boxes, unbalanced, and directions outside the balls."""
    problem = random_problem(4, kind, n=20, d=3, fit_intercept=fit_intercept)
    solution, plain = newton(problem), Scaling.identity(3)
    judge, at = judge_of(problem), (solution.w, solution.b)
    optimum = optimum_near(judge, *at) or objective_of(judge, *at)
    best = solution.dual
    assert 0.0 <= optimum - Decimal(solution.proof.bound) <= 1e-9 * float(optimum)
    rng = np.random.default_rng(0)
    for size in (1e-12, 1e-6, 1e-3, 1.0, 1e6):
        alpha = best.alpha + size * rng.normal(size=20)
        preimages = (1.0 + size) * best.preimages + size * rng.normal(size=(20, 3))[
            : len(best.preimages)
        ]
        for dual in (
            Dual(alpha, best.preimages),
            Dual((1.0 + size) * best.alpha, best.preimages),
            Dual(best.alpha, preimages),
            Dual(best.alpha, (1.0 + size) * best.preimages),
            Dual(alpha, preimages),
        ):
            assert 0.0 <= Decimal(optimum_below(problem, plain, dual)) <= optimum


def test_matrices_that_are_not_semidefinite_are_given_their_due():
    """Uncertain along one axis, and by rounding less than not at all along others.

    Then w may lean on that axis a little without any spread: the optimum is lower
    than that of the semidefinite matrices, and their dual point must not deny it.
    """
    rng = np.random.default_rng(11)
    signs = np.repeat([1.0, -1.0], 20)
    X, groups = rng.normal(size=(40, 3)) + signs[:, None], np.zeros(40, dtype=np.intp)
    below = 2e-7
    tables = (
        FullTable(np.diag([50.0, 0.0, 0.0])[None]),
        FullTable(np.diag([50.0, -below, -below])[None]),
    )
    sound, spoilt = (
        ChanceProblem(X, signs, np.ones(40), Uncertainty(table, groups), 3.0)
        for table in tables
    )
    solution = newton(sound)
    lean = np.sqrt(below / 50.0) * np.linalg.norm(solution.w[1:])
    judge = judge_of(spoilt)
    values = [
        objective_of(judge, [sign * 0.999 * lean, *solution.w[1:]], solution.b)
        for sign in (-1.0, 1.0)
    ]
    assert min(values) < Decimal(solution.proof.bound)
    bound = optimum_below(spoilt, Scaling.identity(3), solution.dual)
    assert Decimal(bound) <= min(values)
    assert bound >= 0.9 * solution.proof.bound


def test_what_leaves_floating_point_is_not_proved():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(20, 2)), np.arange(20) % 2
    with np.errstate(all="ignore"), pytest.warns(UserWarning, match="overflow"):
        model = ChanceConstrainedSVC(C=1e308).fit(X, y)
    certificate = model.certificate_
    assert (certificate.status, certificate.bound, certificate.gap) == (
        "overflow",
        None,
        None,
    )
