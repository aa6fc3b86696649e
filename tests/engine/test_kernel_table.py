"""Many small problems over one kernel matrix, in one compiled call."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from widemargin.engine.gram import Gram
from widemargin.engine.kernel_table import BatchOptions, KernelTable, ProblemBatch
from widemargin.engine.kernels import Gaussian, Precomputed
from widemargin.engine.problem import classification_problem
from widemargin.engine.solve import solve
from widemargin.engine.solve_options import SolveOptions
from widemargin.engine.status import Status

from tests import problems
from tests.certified import assert_certified, kernel_matrix
from tests.engine.test_entries import clouds

NAMED = [*problems.real_problems(), *problems.built_problems()]


def alone(problem):
    """Return a batch of one problem on all rows."""
    n = problem.n
    totals = None if problem.total is None else np.array([problem.total])
    return ProblemBatch(
        np.array([0, n]), np.arange(n, dtype=np.int32), problem.linear,
        problem.lower, problem.upper, totals,
    )  # fmt: skip


def several(y, count, C=1.0, seed=0):
    """Return problems on random parts of the rows, at different costs."""
    rng = np.random.default_rng(seed)
    parts = [np.flatnonzero(rng.random(y.size) < 0.8) for _ in range(count)]
    sizes = [part.size for part in parts]
    members = np.concatenate(parts).astype(np.int32)
    signs, costs = y[members], np.repeat(C * 2.0 ** np.arange(count), sizes)
    ends = signs * costs
    return ProblemBatch(
        np.concatenate([[0], np.cumsum(sizes)]), members, signs,
        np.minimum(ends, 0.0), np.maximum(ends, 0.0), np.zeros(count),
    )  # fmt: skip


@pytest.mark.parametrize("named", NAMED, ids=repr)
@pytest.mark.parametrize("polish", ["never", "always"])
def test_solutions_are_certified_and_those_of_the_engine(named, polish):
    problem = problems.dual(named)
    table, batch = KernelTable(problem.gram), alone(problem)
    solved = table.solve(batch, BatchOptions(polish=polish))
    if solved.status[0] == Status.MAX_ITER:  # creeps: the caller takes another way
        assert solved.n_iter[0] == 100 * problem.n
        return
    found = solved.solution(0)
    if solved.status[0] == Status.STALLED:  # the same: float32 leaves too much
        assert found.proved_violation > 1e-3 and named.name == "moons, C=1000"
        return
    assert_certified(found, kernel_matrix(named.kernel, named.X))
    assert found.proved_violation <= 1e-3
    reference = solve(problem, SolveOptions(exact=True))
    if solved.status[0] == Status.POLISHED and reference.status == Status.POLISHED:
        size = max(1.0, np.abs(reference.values).max())
        assert_allclose(found.values, reference.values, atol=1e-4 * size)
        assert found.proved_violation <= 1e-8 * size


@pytest.mark.parametrize("n", [400, 900])  # all members in a block, and working sets
@pytest.mark.parametrize("equality", [True, False])
def test_problems_on_parts_of_the_rows(n, equality):
    X, y = clouds(n, 6, seed=5)
    gram = Gram(X, Gaussian(0.1))
    batch = several(y, 4)
    batch = batch if equality else replace(batch, totals=None)
    solved = KernelTable(gram).solve(batch)
    assert set(solved.status) == {Status.POLISHED}
    for number in range(batch.count):
        found = solved.solution(number)
        assert_certified(found, kernel_matrix(gram.kernel, found.problem.gram.samples))
        exact = solve(found.problem, SolveOptions(exact=True))
        assert_allclose(found.beta, exact.beta, atol=1e-8)
        assert_allclose(found.intercept, exact.intercept, atol=1e-8)
        assert not found.exact  # members far from the margin are not summed in float64
        near = np.flatnonzero(solved.summed[batch.part(number)])
        assert_allclose(found.values[near], exact.values[near], atol=1e-8)


def test_results_do_not_depend_on_the_number_of_threads():
    X, y = clouds(1500, 8, seed=6)
    batch = several(y, 5, C=0.5)
    runs = [
        KernelTable(Gram(X, Gaussian(0.1), threads=threads)).solve(
            batch, BatchOptions(threads=threads)
        )
        for threads in (1, 2, 3)
    ]
    for other in runs[1:]:
        for name in ("beta", "values", "errors", "summed", "n_iter"):
            assert_array_equal(getattr(runs[0], name), getattr(other, name), name)
        assert runs[0].status == other.status


def test_a_fit_of_all_rows_takes_pair_steps_on_all_of_them():
    X, y = clouds(2000, 20, seed=11)
    batch = alone(classification_problem(Gram(X, Gaussian(0.5)), y, 10.0))
    # The same rows beside one more: theirs are copied, a working set at a time, as more
    # of them are free than a large one holds.
    beside = replace(batch, members=np.delete(np.arange(2001, dtype=np.int32), 1000))
    samples = {"all": X, "some": np.insert(X, 1000, 0.0, axis=0)}
    solved = {
        rows: KernelTable(Gram(samples[rows], Gaussian(0.5))).solve(problem)
        for rows, problem in (("all", batch), ("some", beside))
    }
    for found in solved.values():
        assert found.solution(0).proved_violation <= 1e-3
    assert solved["all"].n_iter[0] < 0.9 * solved["some"].n_iter[0]


def test_entries_are_evaluated_once():
    X, y = clouds(1000, 6, seed=7)
    gram = Gram(X, Gaussian(0.1))
    solved = KernelTable(gram).solve(several(y, 6), BatchOptions(certify=False))
    assert set(solved.status) == {Status.CONVERGED}
    assert gram.evaluated <= 500 * (1000 + 128)
    assert gram.entries["tables"] == gram.evaluated
    KernelTable(gram).solve(several(y, 1))
    support = np.count_nonzero(solved.beta[:800]) + 400
    assert gram.entries["certificate"] <= support * support


def test_a_warm_start_needs_few_steps_and_ends_at_the_same_point():
    X, y = clouds(700, 6, seed=8)
    table, batch = KernelTable(Gram(X, Gaussian(0.1))), several(y, 3)
    cold = table.solve(batch)
    warm = table.solve(batch, start=cold.beta)
    assert warm.n_iter.max() == 0
    assert_allclose(warm.beta, cold.beta, atol=1e-9)
    halves = replace(batch, lower=0.5 * batch.lower, upper=0.5 * batch.upper)
    from_there = table.solve(halves, start=0.5 * cold.beta)
    assert from_there.n_iter.sum() < table.solve(halves).n_iter.sum()
    assert_allclose(from_there.beta, table.solve(halves).beta, atol=1e-8)


def test_unverified_points_say_so():
    X, y = clouds(300, 4, seed=9)
    table, batch = KernelTable(Gram(X, Gaussian(0.3))), several(y, 2)
    solved = table.solve(batch, BatchOptions(certify=False))
    assert np.isinf(solved.errors).all() and not solved.summed.any()
    found = solved.solution(1)
    assert found.checked is None
    assert_certified(found, kernel_matrix(Gaussian(0.3), found.problem.gram.samples))


def test_auto_skips_a_polish_that_would_take_long():
    """With a narrow kernel every sample is on the margin: the system is the matrix."""
    X, y = clouds(700, 4, seed=10)
    table, problem = KernelTable(Gram(X, Gaussian(50.0))), several(y, 1, C=100.0)
    assert table.solve(problem).status == [Status.CONVERGED]
    polished = table.solve(problem, BatchOptions(polish="always"))
    assert polished.status == [Status.POLISHED]
    limited = BatchOptions(polish="always", polish_limit=100)
    assert table.solve(problem, limited).status == [Status.CONVERGED]


def test_a_given_matrix_and_far_samples():
    X, y = clouds(200, 4, seed=11)
    K = kernel_matrix(Gaussian(0.3), X)
    batch = several(y, 2)
    of_samples = KernelTable(Gram(X, Gaussian(0.3))).solve(batch)
    given = KernelTable(Gram(K, Precomputed())).solve(batch)
    assert given.summed.all()  # the given entries are exact, rounded ones are not
    assert_allclose(given.beta, of_samples.beta, atol=1e-7)
    X[0] += 1e4  # evaluated by differences as a row, by expansion as a column
    far = KernelTable(Gram(X, Gaussian(0.3))).solve(batch)
    assert far.summed.all()
    for number in range(2):
        found = far.solution(number)
        assert_certified(
            found, kernel_matrix(Gaussian(0.3), found.problem.gram.samples)
        )


def test_limits_and_interruptions():
    X, y = clouds(600, 4, seed=12)
    table, batch = KernelTable(Gram(X, Gaussian(1.0))), several(y, 3)
    few = table.solve(batch, BatchOptions(max_iter=5))
    assert few.status == [Status.MAX_ITER] * 3
    assert few.n_iter.tolist() == [5, 5, 5]
    assert np.isinf(few.errors).all()
    hard = BatchOptions(tol=1e-9, monitor=lambda *_: False)
    big = several(np.tile(y, 1), 60, C=1e3)
    stopped = table.solve(big, hard)
    assert stopped.status[-1] == Status.INTERRUPTED

    def interrupt(*_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        table.solve(big, BatchOptions(tol=1e-9, monitor=interrupt, threads=2))


def test_the_order_of_members_changes_nothing():
    X, y = clouds(300, 4, seed=9)
    batch, rng = several(y, 3), np.random.default_rng(1)
    shuffled = np.concatenate(
        [rng.permutation(np.arange(*batch.offsets[p : p + 2])) for p in range(3)]
    )
    parts = ("members", "linear", "lower", "upper")
    other = replace(batch, **{name: getattr(batch, name)[shuffled] for name in parts})
    first, second = (
        KernelTable(Gram(X, Gaussian(0.3))).solve(one) for one in (batch, other)
    )
    for name in ("beta", "values", "errors", "summed"):
        assert_array_equal(getattr(second, name), getattr(first, name)[shuffled])
    assert_array_equal(first.figures, second.figures)


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"members": np.array([0, 1, 1], dtype=np.int32)}, "twice"),
        ({"members": np.array([0, 1, 9], dtype=np.int32)}, "not there"),
        ({"offsets": np.array([0, 2])}, "offsets must run"),
        ({"linear": np.ones(2)}, "one entry per member"),
        ({"totals": np.zeros(2)}, "one entry per problem"),
    ],
)
def test_malformed_batches_are_refused(change, error):
    batch = ProblemBatch(
        np.array([0, 3]), np.arange(3, dtype=np.int32), np.ones(3), np.zeros(3),
        np.ones(3), np.zeros(1),
    )  # fmt: skip
    table = KernelTable(Gram(np.eye(4), Gaussian(1.0)))
    with pytest.raises((ValueError, IndexError), match=error):
        table.solve(replace(batch, **change))
