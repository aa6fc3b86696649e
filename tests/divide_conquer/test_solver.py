"""``solver="divide"``: divide and conquer as a way of solving, in other systems too."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import make_moons

from widemargin import SVC, CostSensitiveSVC, RampSVC


def moons(n):
    return make_moons(n, noise=0.25, random_state=0)


@pytest.mark.parametrize("solver", ["auto", "direct", "divide"])
def test_solver_of_svc_reaches_the_direct_objective(solver):
    X, y = moons(3000)
    model = SVC(C=4.0, gamma=2.0, tol=1e-6, solver=solver, random_state=0).fit(X, y)
    direct = SVC(C=4.0, gamma=2.0, tol=1e-6).fit(X, y)
    assert model.certificate_.gap >= 0 and model.certificate_.kkt_violation <= 1.5e-6
    assert_allclose(
        model.certificate_.bound, direct.certificate_.bound, rtol=1e-6, atol=0
    )
    stages = [stage["stage"] for stage in model.history_]
    assert ("level 1" in stages) == (solver == "divide")


@pytest.mark.parametrize("system", [RampSVC, CostSensitiveSVC])
def test_solver_of_other_systems_reaches_the_direct_objective(system):
    X, y = moons(3000)
    settings = {"C": 5.0, "gamma": 2.0, "tol": 1e-6, "random_state": 0}
    if system is RampSVC:  # without clipping: with it, where one ends is no minimum
        settings["s"] = -np.inf
    direct = system(solver="direct", **settings).fit(X, y)
    divided = system(solver="divide", **settings).fit(X, y)
    stages = [stage["stage"] for stage in divided.history_]
    assert any(stage.startswith("level") for stage in stages), stages
    assert_allclose(
        divided.certificate_.objective, direct.certificate_.objective, rtol=1e-6
    )
