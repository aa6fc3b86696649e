"""polish="auto", True or False: a choice wherever a fit ends at a dual optimum."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer

from widemargin import (
    SVC,
    SVR,
    CostSensitiveSVC,
    DivideConquerSVC,
    NuSVC,
    NuSVR,
    QuantileSVR,
    RampSVC,
)

from tests.problems import standard

MAKERS = [
    SVC, SVR, CostSensitiveSVC, DivideConquerSVC, NuSVC, NuSVR, QuantileSVR, RampSVC,
]  # fmt: skip
#: at its default C most of these rows lie on the margin, where "auto" stops at tol
SETTINGS = {QuantileSVR: {"C": 1.0}}
POLISHES = ["auto", True, False]


@pytest.fixture(scope="module")
def data():
    X, y = load_breast_cancer(return_X_y=True)
    return standard(X[:300]), y[:300]


@pytest.mark.parametrize("make", MAKERS, ids=lambda make: make.__name__)
def test_a_polished_fit_is_exact_and_an_unpolished_one_ends_at_the_tolerance(
    make, data
):
    own = SETTINGS.get(make, {})
    found = {
        polish: np.ravel(make(polish=polish, **own).fit(*data).certificate_)[0]
        for polish in POLISHES
    }
    assert {found[polish].status for polish in ("auto", True)} == {"polished"}
    assert found[True].kkt_violation < 1e-8
    assert found[False].status == "converged"
    assert found[True].kkt_violation < found[False].kkt_violation <= 1e-3


@pytest.mark.parametrize("make", MAKERS, ids=lambda make: make.__name__)
def test_another_word_is_refused(make, data):
    with pytest.raises(ValueError, match="'polish' parameter"):
        make(polish="never").fit(*data)


def test_levels_end_with_the_polish_that_is_asked_for(data):
    X, y = data
    for polish, status in ((True, "polished"), (False, "converged")):
        model = DivideConquerSVC(n_levels=1, polish=polish, random_state=0).fit(X, y)
        assert model.certificate_.status == status
