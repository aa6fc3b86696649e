"""What the draws would compose to: the table of mathematics 1.4, and by hand."""

from __future__ import annotations

import math

import pytest
from numpy.testing import assert_allclose

from widemargin.estimators.dpwss.composition import (
    advanced,
    basic,
    bounded_range,
    concentrated,
    pure_concentrated,
    selection_report,
)


@pytest.mark.parametrize(
    ("epsilon", "draws", "figures"),
    [
        (0.1, 400, (40, 13.8, 10.7, 4.7)),
        (0.1, 13688, (1369, 200, 122.5, 43.6)),
        (1, 372, (372, 732, 276, 90.9)),
        (1, 13688, (13688, 24081, 7401, 1988)),
    ],
)
def test_the_composed_table(epsilon, draws, figures):
    report = selection_report(epsilon, draws, 1e-5)
    computed = (
        report.basic,
        report.advanced,
        report.pure_concentrated,
        report.bounded_range,
    )
    assert_allclose(computed, figures, rtol=0.007)


@pytest.mark.parametrize("delta", [0.0, 1.0, -1e-5, 2.0, math.nan])
def test_a_delta_that_is_none_is_refused(delta):
    with pytest.raises(ValueError, match="delta must lie between 0 and 1"):
        selection_report(1.0, 10, delta)


def test_formulas_by_hand():
    assert basic(0.5, 6) == 3.0
    expected = 0.5 * math.sqrt(2 * 6 * math.log(1e5)) + 6 * 0.5 * (math.exp(0.5) - 1)
    assert_allclose(advanced(0.5, 6, 1e-5), expected)
    assert concentrated(0.0, 1e-5) == 0.0
    # At order A = 3 the formula reads rho 3 + (ln 1e5 + 2 ln(2/3) - ln 3)/2.
    at_three = 3 * 0.3 + (math.log(1e5) + 2 * math.log(2 / 3) - math.log(3)) / 2
    assert concentrated(0.3, 1e-5) <= at_three
    grid = min(
        0.3 * a
        + (math.log(1e5) + (a - 1) * math.log(1 - 1 / a) - math.log(a)) / (a - 1)
        for a in [1 + 0.001 * k for k in range(1, 40000)]
    )
    assert_allclose(concentrated(0.3, 1e-5), grid, rtol=1e-5)
    assert pure_concentrated(0.2, 10, 1e-5) == concentrated(10 * 0.04 / 2, 1e-5)
    assert bounded_range(0.2, 10, 1e-5) == concentrated(10 * 0.04 / 8, 1e-5)


def test_concentrated_agrees_with_an_accountant():
    accounting = pytest.importorskip("dp_accounting")
    ledger = accounting.rdp.RdpAccountant()
    ledger.compose(accounting.ZCDpEvent(1.0, 0.0))
    assert_allclose(concentrated(1.0, 1e-5), ledger.get_epsilon(1e-5), rtol=0.02)


def test_the_report_never_claims_a_guarantee():
    report = selection_report(0.1, 400, 1e-5)
    assert report.guarantee is False
    text = str(report)
    for phrase in (
        "NO END-TO-END PRIVACY GUARANTEE",
        "Draws: 400 with epsilon = 0.1",
        "basic 40",
        "13.8",
        "10.72",
        "4.728",
        "Use PrivateSVC",
    ):
        assert phrase in text
    assert selection_report(math.inf, 5, 1e-5).basic == math.inf
