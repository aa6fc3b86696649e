"""``solver="divide"``: divide and conquer as a way of solving, in other systems too."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import make_moons

from widemargin import SVC, CostSensitiveSVC, RampSVC
from widemargin.engine.gram import Gram
from widemargin.engine.kernels import Gaussian
from widemargin.engine.solve import solve
from widemargin.engine.solve_options import SolveOptions
from widemargin.estimators.ramp.concave_convex import RampProblem
from widemargin.multilevel.driver import Plan, solve_divided

from tests.certified import assert_certified, kernel_matrix


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


def test_a_ramp_problem_with_samples_clipped_reaches_the_direct_objective():
    X, y = moons(2000)
    ramp = RampProblem(Gram(X, Gaussian(2.0)), 2.0 * y - 1, np.full(2000, 5.0), s=-0.2)
    clipped = ramp.clips(
        solve(ramp.convex(np.zeros(2000, bool)), SolveOptions(tol=1e-3))
    )
    assert 20 < clipped.sum() < 1000
    problem = ramp.convex(clipped)  # boxes of both signs for either class
    stages = []
    divided = solve_divided(
        problem, Plan(2), SolveOptions(tol=1e-6), record=stages.append
    )
    direct = solve(problem, SolveOptions(tol=1e-6))
    assert_certified(divided, kernel_matrix(Gaussian(2.0), X), tol=1e-6)
    assert [stage["stage"] for stage in stages] == ["level 2", "level 1", "refine"]
    assert_allclose(
        divided.certificate.objective, direct.certificate.objective, rtol=1e-6
    )
