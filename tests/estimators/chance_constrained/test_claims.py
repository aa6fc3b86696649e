"""No certificate claims more than is true, rounding included: judged to 100 digits."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from .claims import ENDS, FORMS, assert_claims_hold, draw

pytest.importorskip("clarabel")


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("form", FORMS)
def test_certificates_claim_no_more_than_is_true(form, end):
    assert_claims_hold(draw(0, form, end))


@pytest.mark.campaign
@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("form", FORMS)
def test_thousands_of_certificates_claim_no_more_than_is_true(
    form, end, record_property
):
    statuses, ratios = Counter(), []
    for seed in range(100, 160):
        certificate, true_gap = assert_claims_hold(draw(seed, form, end))
        statuses[certificate.status] += 1
        if true_gap is not None and true_gap > 0.0:
            ratios.append(certificate.gap / true_gap)
    record_property("statuses", dict(statuses))
    if ratios:
        record_property("median of claimed over true gap", float(np.median(ratios)))
