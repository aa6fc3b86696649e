"""The invariants of every solve (mathematics 7), recomputed from nothing.

``assert_certified`` is called on every Solution in these tests. It evaluates the kernel
with numpy's own formulas in float64, has every claim judged in more digits than that
(``tests/oracles/exact_certificate.py``), and shares no code with the package.
"""

from __future__ import annotations

import numpy as np
from numpy.testing import assert_allclose
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from widemargin.engine.kernels import (
    CallableKernel,
    Gaussian,
    Kernel,
    Laplacian,
    Linear,
    Polynomial,
    Precomputed,
    Sigmoid,
)
from widemargin.engine.problem import DualProblem
from widemargin.engine.solution import Solution

from tests.oracles.claims import assert_claims_hold
from tests.oracles.exact_certificate import Model, Truth

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]


def kernel_matrix(kernel: Kernel, A: Matrix, B: Matrix | None = None) -> Matrix:
    """Evaluate the kernel by its formula in float64, differences before squares."""
    A = np.asarray(A, np.float64)
    B = A if B is None else np.asarray(B, np.float64)
    if isinstance(kernel, Gaussian):
        return np.exp(-kernel.gamma * cdist(A, B, "sqeuclidean"))
    if isinstance(kernel, Laplacian):
        return np.exp(-kernel.gamma * cdist(A, B, "cityblock"))
    inner = A @ B.T
    if isinstance(kernel, Linear):
        return inner
    if isinstance(kernel, Polynomial):
        return (kernel.gamma * inner + kernel.coef0) ** kernel.degree
    assert isinstance(kernel, Sigmoid)
    return np.tanh(kernel.gamma * inner + kernel.coef0)


def objective(K: Matrix, beta: Vector, linear: Vector) -> float:
    """Return the minimised dual."""
    return float(0.5 * beta @ K @ beta - linear @ beta)


def violation(K: Matrix, beta: Vector, problem: DualProblem) -> float:
    """Return the KKT violation by its definition."""
    gradient = K @ beta - problem.linear
    grow, shrink = beta < problem.upper, beta > problem.lower
    kink = np.zeros(len(beta)) if problem.kink is None else problem.kink
    falls = gradient + np.where(beta > 0, kink, -kink)
    rises = gradient + np.where(beta >= 0, kink, -kink)
    down = falls[shrink].max() if shrink.any() else -np.inf
    up = rises[grow].min() if grow.any() else np.inf
    if problem.total is None:
        return max(0.0, down, -up)
    return max(0.0, down - up)


def gap_at_best_intercept(K: Matrix, beta: Vector, problem: DualProblem) -> float:
    """Return primal minus dual, the intercept found by trying every breakpoint."""
    values = K @ beta
    breaks = problem.linear - values
    lower, upper = problem.lower, problem.upper
    if problem.kink is not None:  # a member is one with a positive, one with a negative
        breaks = np.concatenate([breaks - problem.kink, breaks + problem.kink])
        lower = np.concatenate([np.maximum(lower, 0), np.minimum(lower, 0)])
        upper = np.concatenate([np.maximum(upper, 0), np.minimum(upper, 0)])
        beta = np.concatenate([np.maximum(beta, 0), np.minimum(beta, 0)])
    candidates = breaks if problem.total is not None else np.zeros(1)
    residual = breaks[None, :] - candidates[:, None]
    rises = (upper - beta) * np.maximum(residual, 0)
    falls = (beta - lower) * np.maximum(-residual, 0)
    return float((rises + falls).sum(axis=1).min())


def truth_of(solution: Solution) -> Truth:
    """Return what is true of a solution, from the samples that it was given."""
    problem = solution.problem
    kernel, X = problem.gram.kernel, problem.gram.samples
    names = {
        Linear: "linear",
        Polynomial: "poly",
        Gaussian: "rbf",
        Laplacian: "laplacian",
        Sigmoid: "sigmoid",
        Precomputed: "precomputed",
        CallableKernel: "precomputed",
    }
    if isinstance(kernel, CallableKernel):
        X = np.asarray(kernel.function(X, X))
    parameters = {
        name: value for name, value in vars(kernel).items() if name != "function"
    }
    return Truth(
        Model(
            names[type(kernel)],
            X,
            solution.beta,
            float(solution.intercept),
            problem.linear,
            problem.lower,
            problem.upper,
            problem.total,
            kink=problem.kink,
            **parameters,
        )
    )


def assert_certified(
    solution: Solution, K: Matrix, *, tol: float = 1e-3, rounding: float | None = None
) -> None:
    """Assert feasibility, KKT violation, gap, and that the certificate says the truth.

    Kernel rows may have been float32, so what the solver believes may differ from the
    truth, but by no more than ``rounding`` in any gradient: half of ``tol`` unless the
    samples themselves were rounded.
    """
    problem, beta = solution.problem, solution.beta
    certificate = solution.certificate
    assert certificate.status in ("converged", "polished"), certificate
    assert (beta >= problem.lower).all() and (beta <= problem.upper).all()
    if problem.total is not None:
        scale = max(np.abs(beta).sum(), 1e-12)
        assert abs(beta.sum() - problem.total) <= 1e-12 * scale + 1e-15
    values = K @ beta
    digits = 1e-11 * max(1.0, np.abs(K).max() * np.abs(beta).sum())
    slack = digits + (0.5 * tol if rounding is None else rounding)
    found = violation(K, beta, problem)
    assert found <= tol + slack, (found, certificate)
    assert certificate.kkt_violation is not None
    assert_allclose(certificate.kkt_violation, found, atol=slack)
    if problem.gram.kernel.semidefinite:
        _assert_bounded(solution, K, tol, slack)
    else:  # nothing is proved of the optimum
        assert certificate.bound is None and certificate.gap is None
    assert_allclose(solution.values, values, atol=slack)
    unprovable = not problem.gram.kernel.semidefinite
    assert_claims_hold(certificate, truth_of(solution), may_lack_bound=unprovable)
    assert certificate.n_iter >= 0 and certificate.seconds >= 0.0


def _assert_bounded(solution: Solution, K: Matrix, tol: float, slack: float) -> None:
    """Assert that gap and bound are those of the point, to ``slack`` in a gradient."""
    problem, beta = solution.problem, solution.beta
    certificate = solution.certificate
    width = (problem.upper - problem.lower).sum()
    gap = gap_at_best_intercept(K, beta, problem)
    assert gap <= (tol + slack) * width
    assert certificate.gap is not None and certificate.gap >= 0.0
    assert_allclose(certificate.gap, gap, atol=slack * width, rtol=1e-6)
    assert certificate.bound is not None
    dual_value = -objective(K, beta, problem.linear)
    if problem.kink is not None:
        dual_value -= float(problem.kink @ np.abs(beta))
    assert_allclose(certificate.bound, dual_value, rtol=1e-9, atol=slack * width)
    assert_allclose(
        certificate.objective - certificate.bound,
        certificate.gap,
        atol=1e-9 * max(1.0, abs(certificate.objective)),
    )
