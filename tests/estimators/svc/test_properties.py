"""Random small problems (hypothesis): invariants that hold for every one of them."""

from __future__ import annotations

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from widemargin import SVC
from widemargin.engine.gram import Gram
from widemargin.engine.kernels import Gaussian, Laplacian, Linear, Polynomial
from widemargin.engine.problem import DualProblem
from widemargin.engine.solve import solve
from widemargin.engine.solve_options import SolveOptions

from tests.certified import assert_certified, kernel_matrix, objective
from tests.oracles.generic_qp import solve_clarabel

PROFILE = settings(
    max_examples=60,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)


@st.composite
def samples_and_labels(draw):
    """Draw samples on a coarse grid (ties, duplicates, zeros) with two classes."""
    n = draw(st.integers(2, 25))
    d = draw(st.integers(1, 4))
    seed = draw(st.integers(0, 2**32 - 1))
    coarse = draw(st.sampled_from([0.5, 1.0, None]))
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * draw(st.sampled_from([1e-3, 1.0, 5.0]))
    if coarse is not None:
        X = np.round(X / coarse) * coarse
    y = np.where(rng.random(n) < draw(st.floats(0.1, 0.9)), 1.0, -1.0)
    y[:2] = 1.0, -1.0
    return X, y


KERNELS = st.sampled_from(
    [Linear(), Gaussian(0.5), Gaussian(1e-4), Laplacian(0.5), Polynomial(2, 0.5, 1.0)]
)
COSTS = st.sampled_from([1e-4, 0.1, 1.0, 1e3])


@PROFILE
@given(samples_and_labels(), KERNELS, COSTS, st.booleans(), st.integers(0, 1000))
def test_the_exact_answer_is_no_worse_than_clarabels(drawn, kernel, C, intercept, seed):
    X, y = drawn
    rng = np.random.default_rng(seed)
    costs = C * rng.uniform(0.0, 2.0, len(y))
    shift = rng.uniform(-0.3, 0.3, len(y)) * costs
    lower = np.minimum(0, y * costs) + np.minimum(0, shift)
    upper = np.maximum(0, y * costs) + np.maximum(0, shift)
    total = 0.0 if intercept else None
    problem = DualProblem(Gram(X, kernel), y, lower, upper, total)
    K = kernel_matrix(kernel, X)
    solution = solve(problem, SolveOptions(exact=True))
    scale = max(1.0, np.abs(K).max() * np.abs(solution.beta).sum())
    assert_certified(solution, K, tol=1e-7 * scale)
    theirs = solve_clarabel(K, y, lower, upper, total)
    best = objective(K, theirs, y)
    allowed = 1e-6 * abs(best) + 1e-9 * max(1.0, costs.sum())
    assert objective(K, solution.beta, y) <= best + allowed


@PROFILE
@given(samples_and_labels(), COSTS)
def test_estimator_and_scaled_data(drawn, C):
    X, y = drawn
    model = SVC(C=C, gamma=0.7).fit(X, y)
    assert model.certificate_.kkt_violation <= 1e-3
    # Doubling the samples and quartering gamma is the same kernel.
    again = SVC(C=C, gamma=0.175).fit(2 * X, y)
    scale = max(1.0, np.abs(model.decision_function(X)).max())
    assert_allclose(
        model.decision_function(X), again.decision_function(2 * X), atol=1e-6 * scale
    )


@PROFILE
@given(samples_and_labels(), COSTS)
def test_swapped_labels_are_a_swapped_sign(drawn, C):
    X, y = drawn
    one, other = SVC(C=C, gamma=0.7).fit(X, y), SVC(C=C, gamma=0.7).fit(X, -y)
    scale = max(1.0, np.abs(one.decision_function(X)).max())
    assert_allclose(
        one.decision_function(X), -other.decision_function(X), atol=1e-6 * scale
    )
