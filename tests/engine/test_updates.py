"""The path engine against the definition, a generic solver and the polished batch."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from widemargin import _core
from widemargin.engine import updates
from widemargin.engine.gram import Gram
from widemargin.engine.kernels import Gaussian, Laplacian, Linear, Polynomial
from widemargin.engine.path import end as path_end
from widemargin.engine.path import follow as engine
from widemargin.engine.problem import DualProblem
from widemargin.engine.solution import Solution
from widemargin.engine.solve import solve
from widemargin.engine.solve_options import SolveOptions

from tests.certified import assert_certified, kernel_matrix, objective
from tests.oracles.generic_qp import solve_clarabel

KERNELS = (
    Linear(), Gaussian(0.5), Laplacian(0.5), Polynomial(2, 2.0, 1.0), Gaussian(0.02),
)  # fmt: skip


class Stream:
    """Samples, of which some are live, and the solution on those."""

    def __init__(self, X, y, kernel, *, C=1.0, margin=1.0, equality=True):
        self.X, self.y, self.kernel = np.ascontiguousarray(X), y, kernel
        self.C, self.margin, self.equality = C, margin, equality
        self.live = np.empty(0, dtype=np.intp)
        target = self.problem()
        self.solution = Solution(
            target, np.zeros(0), np.zeros(0), "polished", exact=True
        )

    def problem(self):
        """Return the cost-sensitive problem on the live rows."""
        signs = self.y[self.live]
        ends = np.where(signs > 0, 1.0, self.margin) * self.C * signs
        linear = np.where(signs > 0, 1.0, -1.0 / self.margin)
        rows = self.live if self.live.size else np.zeros(1, dtype=np.intp)
        gram = Gram(self.X[rows], self.kernel)
        gram = gram if self.live.size else gram.subset([])
        total = 0.0 if self.equality else None
        return DualProblem(
            gram, linear, np.minimum(ends, 0), np.maximum(ends, 0), total
        )

    def add(self, rows, route="path"):
        """Add samples, along the path unless a shorter route is asked for."""
        self.live = np.concatenate([self.live, rows])
        return self._take(
            updates.add(
                self.solution, self.problem(), updates.UpdateOptions(route=route)
            )
        )

    def remove(self, positions):
        """Remove live samples along the path."""
        keep = np.setdiff1d(np.arange(self.live.size), positions)
        self.live = self.live[keep]
        options = updates.UpdateOptions(route="path")
        return self._take(updates.remove(self.solution, keep, self.problem(), options))

    def price(self, C, margin):
        """Change the costs along the path."""
        self.C, self.margin = C, margin
        options = updates.UpdateOptions(route="path")
        return self._take(updates.move(self.solution, self.problem(), options))

    def _take(self, moved):
        self.solution, account = moved
        self.check()
        return account

    def check(self):
        """Assert feasibility, KKT and certificate, recomputed from nothing."""
        if self.live.size:
            K = kernel_matrix(self.kernel, self.X[self.live])
            assert_certified(self.solution, K, tol=1e-8, rounding=1e-9)

    def decisions(self):
        """Return the decision values on all samples, live or not."""
        if not self.live.size:
            return np.full(len(self.y), self.solution.intercept)
        K = kernel_matrix(self.kernel, self.X, self.X[self.live])
        return K @ self.solution.beta + self.solution.intercept


def noisy(seed, n, d, kind="plain"):
    """Return data with duplicates, integers or constant features as asked."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    y = np.where(X[:, 0] + 0.7 * rng.standard_normal(n) > 0, 1.0, -1.0)
    if kind == "duplicates":
        X[n // 2 :] = X[: n - n // 2]
    elif kind == "integers":
        X = np.round(X)
    elif kind == "constant":
        X[:, 1:] = 0.5
    return X, y


def batch(stream):
    """Return the polished solution of the live problem from scratch."""
    return solve(stream.problem(), SolveOptions(exact=True))


operation = st.tuples(
    st.sampled_from(["add", "add", "remove", "price"]), st.integers(0, 10**6)
)


@settings(max_examples=320, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    seed=st.integers(0, 10**6),
    kernel=st.sampled_from(KERNELS),
    kind=st.sampled_from(["plain", "duplicates", "integers", "constant"]),
    equality=st.sampled_from([True, True, True, False]),
    operations=st.lists(operation, min_size=1, max_size=8),
)
def test_random_sequences_of_add_remove_and_price(
    seed, kernel, kind, equality, operations
):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 40))
    X, y = noisy(seed, n, int(rng.integers(1, 6)), kind)
    stream = Stream(X, y, kernel, C=10 ** rng.uniform(-1, 2), equality=equality)
    for what, number in operations:
        rng = np.random.default_rng(number)
        waiting = np.setdiff1d(np.arange(n), stream.live)
        if what == "add" and waiting.size:
            count = int(rng.integers(1, waiting.size + 1))
            stream.add(rng.permutation(waiting)[:count])
        elif what == "remove" and stream.live.size:
            count = int(rng.integers(1, stream.live.size + 1))
            stream.remove(rng.permutation(stream.live.size)[:count])
        else:
            stream.price(10 ** rng.uniform(-1, 2), float(rng.choice([0.5, 1, 3, 7])))
    if stream.live.size:
        fresh, K = batch(stream), kernel_matrix(kernel, X[stream.live])
        assert_allclose(
            objective(K, stream.solution.beta, fresh.problem.linear),
            objective(K, fresh.beta, fresh.problem.linear),
            rtol=1e-9,
            atol=1e-12,
        )


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
@pytest.mark.parametrize("kind", ["plain", "duplicates", "integers"])
def test_chunk_is_one_by_one_is_batch(kernel, kind):
    X, y = noisy(3, 120, 4, kind)
    chunk = Stream(X, y, kernel, C=2.0, margin=7.0)
    chunk.add(np.arange(80))
    together = chunk.add(np.arange(80, 120))
    single = Stream(X, y, kernel, C=2.0, margin=7.0)
    single.add(np.arange(80))
    steps = sum(single.add(np.array([row])).steps for row in range(80, 120))
    assert together.route == "path"
    if kind == "plain":
        assert together.steps <= 1.2 * steps
    fresh = batch(chunk)
    assert fresh.certificate.kkt_violation <= 1e-8
    K = kernel_matrix(kernel, X)
    expected = K @ fresh.beta + fresh.intercept
    scale = max(1.0, np.abs(expected).max())
    for stream in (chunk, single):
        found = objective(K, stream.solution.beta, fresh.problem.linear)
        best = objective(K, fresh.beta, fresh.problem.linear)
        assert_allclose(found, best, rtol=1e-10)
        if stream.solution.problem.total is not None:
            assert_allclose(stream.decisions(), expected, rtol=0, atol=1e-8 * scale)


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
@pytest.mark.parametrize("kind", ["plain", "duplicates"])
def test_add_then_remove_is_the_identity(kernel, kind):
    X, y = noisy(11, 130, 5, kind)
    stream = Stream(X, y, kernel, C=3.0)
    stream.add(np.arange(90))
    before = stream.decisions()
    stream.add(np.arange(90, 130))
    stream.remove(np.arange(90, 130))
    scale = max(1.0, np.abs(before).max())
    assert_allclose(stream.decisions(), before, rtol=0, atol=1e-8 * scale)


def test_the_order_of_chunks_does_not_matter(global_random_seed):
    X, y = noisy(global_random_seed, 100, 3)
    forwards = Stream(X, y, Gaussian(0.5), C=5.0)
    for start in range(0, 100, 20):
        forwards.add(np.arange(start, start + 20))
    backwards = Stream(X, y, Gaussian(0.5), C=5.0)
    for start in range(80, -1, -20):
        backwards.add(np.arange(start, start + 20)[::-1])
    assert_allclose(forwards.decisions(), backwards.decisions(), rtol=0, atol=1e-9)


@pytest.mark.parametrize("equality", [True, False])
@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_generic_solver_agrees(kernel, equality):
    X, y = noisy(5, 50, 3)
    stream = Stream(X, y, kernel, C=2.0, margin=3.0, equality=equality)
    stream.add(np.arange(30))
    stream.add(np.arange(30, 50))
    problem, K = stream.problem(), kernel_matrix(kernel, X)
    theirs = solve_clarabel(
        K, problem.linear, problem.lower, problem.upper, problem.total
    )
    assert_allclose(
        objective(K, stream.solution.beta, problem.linear),
        objective(K, theirs, problem.linear),
        rtol=1e-7,
    )


@pytest.mark.parametrize("opposite", [False, True])
def test_duplicates_with_equal_and_opposite_labels(opposite):
    X, y = noisy(7, 40, 2)
    X, y = np.concatenate([X] * 3), np.concatenate([y, -y if opposite else y, y])
    stream = Stream(X, y, Gaussian(1.0), C=1.5)
    stream.add(np.arange(40))
    stream.add(np.arange(40, 120))
    stream.remove(np.arange(0, 120, 2))
    fresh = batch(stream)
    assert_allclose(
        stream.solution.certificate.objective, fresh.certificate.objective, rtol=1e-9
    )


def test_exchange_for_more_margin_vectors_than_dimensions():
    """Linear, n >> d, integer features: the solver leaves dependent rows inside.

    Copies of the two features hide from the bound on the rank that three rows can be
    independent, so the path itself has to exchange all but three.
    """
    rng = np.random.default_rng(0)
    X = np.tile(rng.integers(-2, 3, (400, 2)).astype(float), 20)
    y = np.where(X[:, 0] + rng.standard_normal(400) > 0, 1.0, -1.0)
    stream = Stream(X, y, Linear(), C=0.3)
    stream.live = np.arange(200)
    stream.solution = batch(stream)
    dependent = stream.solution.margin.size - 3
    assert dependent > 0
    account = stream.add(np.arange(200, 400), route="path")
    assert account.exchanges >= dependent
    assert stream.solution.margin.size <= 3
    assert_allclose(
        stream.solution.certificate.objective,
        batch(stream).certificate.objective,
        rtol=1e-9,
    )


def test_the_empty_start_is_left_by_a_perturbation():
    """Every sample of a class ties at the empty model (mathematics 3.2, case 4)."""
    X, y = noisy(2, 300, 8)
    stream = Stream(X, y, Linear(), C=1.0, margin=7.0)
    account = stream.add(np.arange(300), route="path")
    assert account.route == "path"
    assert account.perturbations >= 1
    assert account.shifts >= 1


def test_one_class_first_then_the_other_and_back():
    X, y = noisy(1, 60, 3)
    order = np.argsort(-y, kind="stable")
    positives = int((y > 0).sum())
    stream = Stream(X, y, Gaussian(0.5))
    assert stream.add(order[:positives]).route == "direct"
    assert_array_equal(stream.solution.beta, 0.0)
    assert stream.solution.intercept == 1.0
    stream.add(order[positives:])
    assert stream.remove(np.arange(positives)).route == "direct"
    assert stream.solution.intercept == -1.0
    assert stream.remove(np.arange(60 - positives)).route == "direct"
    assert stream.live.size == 0


def test_a_chunk_that_changes_nothing_takes_no_step():
    X, y = noisy(4, 60, 3)
    stream = Stream(X, y, Gaussian(0.5), C=1.0)
    stream.add(np.arange(60))
    outside = np.flatnonzero(stream.solution.beta == 0)
    before = np.delete(stream.solution.beta, outside[:3])
    assert stream.remove(outside[:3]).steps == 0
    assert_array_equal(stream.solution.beta, before)


def test_costs_of_zero_close_a_box():
    X, y = noisy(6, 80, 3)
    stream = Stream(X, y, Gaussian(0.5), C=4.0)
    stream.add(np.arange(80))
    target = stream.problem()
    absent = np.zeros(80, dtype=bool)
    absent[::3] = True
    lower = np.where(absent, 0.0, target.lower)
    upper = np.where(absent, 0.0, target.upper)
    closed = DualProblem(target.gram, target.linear, lower, upper, 0.0)
    moved, _ = updates.move(stream.solution, closed)
    assert_certified(moved, kernel_matrix(stream.kernel, X), tol=1e-8, rounding=1e-9)
    fresh = solve(closed, SolveOptions(exact=True))
    assert_allclose(moved.values + moved.intercept, fresh.values + fresh.intercept,
                    rtol=0, atol=1e-8)  # fmt: skip


def test_the_repair_makes_an_approximate_solution_exact():
    X, y = noisy(9, 400, 4)
    problem = Stream(X, y, Gaussian(0.3), C=10.0)
    problem.live = np.arange(400)
    near = solve(problem.problem(), SolveOptions(tol=0.05))
    assert near.certificate.kkt_violation > 1e-4
    repaired, account = updates.exact(near)
    assert account.route == "path" and account.rounds >= 1
    assert_certified(
        repaired, kernel_matrix(problem.kernel, X), tol=1e-8, rounding=1e-9
    )


def test_rows_that_were_not_watched_are_repaired(monkeypatch):
    monkeypatch.setattr(engine, "WATCH_ALL_BELOW", 5)
    monkeypatch.setattr(engine, "WATCH_SHARE", 1)
    X, y = noisy(10, 200, 3)
    stream = Stream(X, y, Gaussian(0.5), C=2.0)
    stream.add(np.arange(150))
    account = stream.add(np.arange(150, 200))
    assert account.route == "path" and account.rounds > 1


def test_a_path_that_gives_up_hands_over_to_the_solver(monkeypatch):
    follow = path_end.follow

    def stalls(*arguments):
        beta, counts, watched = follow(*arguments)
        return beta, counts | {"status": "stalled"}, watched

    monkeypatch.setattr(path_end, "follow", stalls)
    X, y = noisy(12, 90, 3)
    stream = Stream(X, y, Gaussian(0.5), C=2.0)
    account = stream.add(np.arange(90))
    assert account.route == "refit"


def test_a_huge_chunk_is_solved_anew_and_repaired_to_the_same_point():
    X, y = noisy(13, 1500, 3)
    stream = Stream(X, y, Gaussian(0.5), C=1.0)
    assert stream.add(np.arange(100)).route == "path"
    assert stream.add(np.arange(100, 1500), "auto").route in ("warm", "refit")
    assert stream.add(np.arange(0), "auto").route == "path"
    solved = stream.decisions()
    stream.solution, account = updates.move(
        stream.solution, replace(stream.problem(), linear=2 * stream.problem().linear)
    )
    stream.solution, account = updates.move(
        stream.solution, stream.problem(), updates.UpdateOptions(route="path")
    )
    assert account.route == "path" and account.steps > 0
    assert_allclose(solved, stream.decisions(), rtol=0, atol=1e-8)


def test_a_step_limit_stalls_instead_of_running_on():
    rng = np.random.default_rng(0)
    n = 40
    block = rng.standard_normal((n, n))
    K = block @ block.T
    zeros, ones = np.zeros(n), np.ones(n)
    signs = np.where(np.arange(n) % 2, 1.0, -1.0)
    side = np.where(signs > 0, 1, 0).astype(np.int8)
    *_, counts = _core.follow_path(
        zeros, -signs, np.diag(K).copy(), zeros, zeros, np.minimum(signs, 0),
        np.maximum(signs, 0), zeros, K @ signs, side, True, 0.0, 1.0,
        lambda row: K[row].copy(), 3, 0,
    )  # fmt: skip
    assert counts["status"] == "stalled" and counts["steps"] == 3
    assert ones.sum() == n


def test_the_seam_refuses_other_dtypes():
    zeros = np.zeros(3, dtype=np.float32)
    with pytest.raises(TypeError):
        _core.follow_path(
            zeros, zeros, zeros, zeros, zeros, zeros, zeros, zeros, zeros,
            np.zeros(3, np.int8), True, 0.0, 1.0, lambda row: zeros, 10, 0,
        )  # fmt: skip
