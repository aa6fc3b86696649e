"""Moment models: kappa, tables that agree where they coincide, probabilities."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import norm

from widemargin.estimators.chance_constrained.cone_programs import orthogonal_factor
from widemargin.uncertainty.covariance_tables import (
    DiagonalTable,
    FactorTable,
    FullTable,
    Uncertainty,
)
from widemargin.uncertainty.risk_bounds import safety_factor, violation_probability

from tests.estimators.chance_constrained.uncertain import KINDS, uncertainty_of


def test_safety_factor_is_cantelli_or_the_normal_quantile():
    assert_allclose(safety_factor(0.1, "moments"), 3.0)
    assert_allclose(safety_factor(0.1, "gaussian"), norm.ppf(0.9))
    assert safety_factor(0.5, "gaussian") == 0.0


@pytest.mark.parametrize("risk", [0.0, 1.0, -0.1, 1.5, np.nan])
def test_risk_outside_the_unit_interval_is_refused(risk):
    with pytest.raises(ValueError, match="risk must lie strictly between"):
        safety_factor(risk, "moments")


def test_gaussian_refuses_a_risk_above_one_half():
    with pytest.raises(ValueError, match=r"risk <= 0\.5"):
        safety_factor(0.6, "gaussian")


@pytest.fixture
def three_tables():
    """Return the same diagonal covariances as variances, factors and matrices."""
    rng = np.random.default_rng(0)
    variances = rng.random((6, 3))
    variances[2] = 0.0
    eye = np.eye(3)
    return (
        DiagonalTable(variances),
        FactorTable(np.sqrt(variances)[:, :, None] * eye),
        FullTable(variances[:, :, None] * eye),
    )


def test_diagonal_factor_and_full_agree_where_they_coincide(three_tables):
    rng = np.random.default_rng(1)
    w, weights, scale = rng.normal(size=3), rng.random(6), rng.random(3) + 0.5
    first, *others = three_tables
    for table in others:
        assert_allclose(table.images(w), first.images(w))
        assert_allclose(table.weighted_sum(weights), first.weighted_sum(weights))
        assert_allclose(
            table.rescaled(scale).images(w), first.rescaled(scale).images(w)
        )
        two = table.take(np.array([4, 1]))  # few: factors are squared once and for all
        assert_allclose(two.images(w), first.images(w)[[4, 1]])
        summed = weights[0] * first.dense()[4] + weights[1] * first.dense()[1]
        assert_allclose(two.weighted_sum(weights[:2]), summed, atol=1e-15)
        assert_allclose(table.dense(), first.dense(), atol=1e-15)
        for k in range(6):
            factor = orthogonal_factor(table, k)
            assert_allclose(factor @ factor.T, first.dense()[k], atol=1e-15)


@pytest.mark.parametrize("count", [2, 50])
def test_sums_of_factors_are_sums_of_their_squares(count):
    rng = np.random.default_rng(5)
    table = FactorTable(rng.normal(size=(count, 4, 3)))
    weights = rng.random(count)
    summed = np.tensordot(weights, table.dense(), axes=1)
    assert_allclose(table.weighted_sum(weights), summed)


@pytest.mark.parametrize("kind", KINDS)
def test_spread_is_the_standard_deviation_along_w(kind):
    rng = np.random.default_rng(2)
    signs = np.where(rng.random(9) < 0.5, 1.0, -1.0)
    uncertainty = uncertainty_of(kind, 9, 3, signs, rng)
    w = rng.normal(size=3)
    matrices = uncertainty.table.dense()
    if uncertainty.groups is not None:
        matrices = matrices[uncertainty.groups]
    expected = [np.sqrt(max(w @ matrix @ w, 0.0)) for matrix in matrices]
    assert_allclose(uncertainty.spread(w), expected)
    rows = np.array([7, 0, 3])
    assert_allclose(uncertainty.take(rows).spread(w), np.array(expected)[rows])


def test_collect_is_the_transpose_of_expand():
    uncertainty = Uncertainty(FullTable(np.zeros((3, 2, 2))), np.array([0, 2, 2, 1]))
    per_group, per_sample = np.array([1.0, 2.0, 3.0]), np.array([4.0, 5.0, 6.0, 7.0])
    assert_allclose(
        uncertainty.expand(per_group) @ per_sample,
        per_group @ uncertainty.collect(per_sample),
    )


def test_violation_probability_matches_its_formulas():
    margin = np.array([2.0, -1.0, 1.0, 0.0, -2.0])
    spread = np.array([1.0, 1.0, 0.0, 0.0, 0.0])
    moments = violation_probability(margin, spread, "moments")
    assert_allclose(moments, [1.0 / 5.0, 1.0, 0.0, 1.0, 1.0])
    normal = violation_probability(margin, spread, "gaussian")
    assert_allclose(normal, [norm.cdf(-2.0), norm.cdf(1.0), 0.0, 1.0, 1.0])


def test_kappa_and_violation_probability_are_inverse():
    for bound in ("moments", "gaussian"):
        for risk in (0.01, 0.1, 0.4):
            kappa = safety_factor(risk, bound)
            found = violation_probability(np.array([kappa]), np.ones(1), bound)
            assert_allclose(found, risk)
