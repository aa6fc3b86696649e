"""Rows that pairs of classes share: each entry once, in the memory of one cache."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from widemargin import _core
from widemargin.engine.gram import Gram
from widemargin.engine.kernel_table import BatchOptions, KernelTable, ProblemBatch
from widemargin.engine.kernels import Gaussian
from widemargin.engine.shared_rows import row_segments
from widemargin.engine.status import Status
from widemargin.runtime.deadline import Deadline

from tests.certified import assert_certified, kernel_matrix


def classes(sizes, d, seed=0):
    """Return overlapping clouds of these sizes, rows shuffled, and their labels."""
    rng = np.random.default_rng(seed)
    labels = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
    centres = rng.standard_normal((len(sizes), d))
    return centres[labels] + rng.standard_normal((labels.size, d)), labels


def pairs_of(labels, C=2.0):
    """Return the problems of all pairs of classes."""
    count = labels.max() + 1
    parts, signs = [], []
    for i in range(count):
        for j in range(i + 1, count):
            rows = np.flatnonzero((labels == i) | (labels == j))
            parts.append(rows)
            signs.append(np.where(labels[rows] == i, 1.0, -1.0))
    linear = np.concatenate(signs)
    return ProblemBatch(
        np.concatenate([[0], np.cumsum([part.size for part in parts])]),
        np.concatenate(parts).astype(np.int32), linear,
        np.minimum(C * linear, 0.0), np.maximum(C * linear, 0.0),
        np.zeros(len(parts)),
    )  # fmt: skip


def one_of(batch, number):
    part = batch.part(number)
    return ProblemBatch(
        np.array([0, part.stop - part.start]), batch.members[part], batch.linear[part],
        batch.lower[part], batch.upper[part], batch.totals[[number]],
    )  # fmt: skip


def shared_table(X, batch, gamma, threads=1):
    segments = row_segments(X.shape[0], batch.offsets, batch.members, threads)
    return KernelTable(Gram(X, Gaussian(gamma), threads=threads), segments=segments)


def union_of(batch, beta, labels):
    """Count the entries that support vectors have with the classes of their pairs."""
    sizes = np.bincount(labels)
    needed = np.zeros((labels.size, sizes.size), dtype=bool)
    for number in range(batch.count):
        part = batch.part(number)
        support = batch.members[part][beta[part] != 0.0]
        for label in np.unique(labels[batch.members[part]]):
            needed[support, label] = True
    return int((needed * sizes).sum())


SIZES = [300, 280, 250, 40]  # working sets, and all members at a time


@pytest.mark.parametrize("d", [5, 60])  # rows by four, and by more
def test_solutions_are_certified_and_shared_rows_are_those_of_a_pair_alone(d):
    X, labels = classes(SIZES, d)
    batch = pairs_of(labels)
    table = shared_table(X, batch, 1.0 / d)
    exact = BatchOptions(polish="always")
    together = table.solve(batch, exact)
    whole = KernelTable(Gram(X, Gaussian(1.0 / d))).solve(batch, exact)
    for number in range(batch.count):
        part, alone = batch.part(number), one_of(batch, number)
        apart = shared_table(X, batch, 1.0 / d).solve(alone, exact)
        for name in ("beta", "values", "errors", "summed"):
            assert_array_equal(getattr(together, name)[part], getattr(apart, name))
        assert_array_equal(together.figures[number], apart.figures[0])
    assert set(together.status) == set(whole.status) == {Status.POLISHED}
    # Wrong entries between the members of a working set would only cost steps.
    assert together.n_iter.sum() <= 1.2 * whole.n_iter.sum()
    assert_allclose(together.beta, whole.beta, atol=1e-7)
    K = kernel_matrix(Gaussian(1.0 / d), X)
    for number in range(batch.count):
        members = batch.members[batch.part(number)]
        found = together.solution(number)
        assert_certified(found, K[np.ix_(members, members)])
        assert found.proved_violation <= 1e-3


def test_every_entry_that_is_evaluated_serves_all_pairs():
    X, labels = classes([400] * 6, 120, seed=1)
    batch = pairs_of(labels)
    table = shared_table(X, batch, 0.01)
    solved = table.solve(batch)
    apart = 0
    for number in range(batch.count):
        alone = one_of(batch, number)
        own = shared_table(X, batch, 0.01)
        own.solve(alone)
        apart += own.entries["tables"]
    evaluated = table.entries["tables"]
    assert evaluated <= 1.3 * union_of(batch, solved.beta, labels)
    assert evaluated <= 0.7 * apart
    assert evaluated <= X.shape[0] ** 2


def test_memory_is_that_of_the_classes_and_of_one_pair_a_thread():
    sizes = [300, 200, 100]
    _, labels = classes(sizes, 2)
    batch = pairs_of(labels)
    for threads in (1, 2, 8):
        segments = row_segments(600, batch.offsets, batch.members, threads)
        own = sum(sorted([500, 400, 300])[-threads:])  # two classes, one over the other
        assert segments.capacity == 600 + own
        listed = 8e-6 * segments.order.size * segments.starts.size
        assert_allclose(segments.megabytes, listed + 4e-6 * segments.capacity * 304)
        assert_array_equal(np.sort(segments.starts), segments.starts)
        ordered = labels[segments.order]
        assert np.count_nonzero(np.diff(ordered)) == 2
    _, labels = classes([3000, 10, 10], 2)  # a long class has several segments
    batch = pairs_of(labels)
    segments = row_segments(3020, batch.offsets, batch.members, 1)
    assert segments.starts.size == 5
    assert np.diff(segments.starts, append=3020).max() == 1000
    assert segments.capacity == 3 * 3000 + 20 + (3000 + 3 * 10)


def most_pieces(segments, problems, threads):
    """Return how many pieces problems need at a time, by looking at each of them."""
    sets = [set(rows.tolist()) for rows in problems]
    parts = np.split(segments.order, segments.starts[1:])
    shared, alone = 0, [0] * len(sets)
    for one in parts:
        for other in parts:
            both = {int(one[0]), int(other[0])}
            users = [number for number, rows in enumerate(sets) if both <= rows]
            if len(users) == 1:
                alone[users[0]] += one.size
            elif users:
                shared += one.size
    return shared + sum(sorted(alone)[-threads:])


@pytest.mark.parametrize("wide", [8, 0])  # cells are counted, or sorted
def test_pieces_are_counted_for_any_sets_of_rows(wide, monkeypatch):
    monkeypatch.setattr("widemargin.engine.shared_rows.WIDE", wide)
    rng = np.random.default_rng(5)
    for _ in range(20):
        n, count = int(rng.integers(20, 60)), int(rng.integers(2, 6))
        groups = np.arange(n) % 6
        chosen = [rng.permutation(6)[: rng.integers(1, 4)] for _ in range(count)]
        problems = [np.flatnonzero(np.isin(groups, own)) for own in chosen]
        problems.append(rng.permutation(n)[: rng.integers(1, n // 4)])
        offsets = np.array([0, *np.cumsum([rows.size for rows in problems])])
        members = np.concatenate(problems).astype(np.int32)
        for threads in (1, 3):
            segments = row_segments(n, offsets, members, threads)
            assert segments.capacity == most_pieces(segments, problems, threads)


def test_results_and_entries_do_not_depend_on_the_number_of_threads():
    X, labels = classes(SIZES, 80, seed=2)
    batch = pairs_of(labels)
    tables = [shared_table(X, batch, 0.02, threads) for threads in (1, 2, 3)]
    runs = [
        table.solve(batch, BatchOptions(threads=threads))
        for table, threads in zip(tables, (1, 2, 3), strict=True)
    ]
    for table, run in zip(tables[1:], runs[1:], strict=True):
        for name in ("beta", "values", "errors", "summed", "n_iter", "figures"):
            assert_array_equal(getattr(runs[0], name), getattr(run, name), name)
        assert table.entries == tables[0].entries


def test_limits_and_interruptions():
    # Large enough for ten times the 20 ms after which the monitor is called.
    X, labels = classes([1200, 1100, 1000, 40], 60, seed=3)
    batch = pairs_of(labels, C=1e3)
    late = shared_table(X, batch, 0.5).solve(
        batch, BatchOptions(deadline=Deadline.after(0.0))
    )
    assert set(late.status) == {Status.MAX_TIME}
    asked = []

    def interrupt(*_):
        asked.append(1)
        raise KeyboardInterrupt

    table = shared_table(X, batch, 0.5, threads=2)
    with pytest.raises(KeyboardInterrupt):
        table.solve(batch, BatchOptions(tol=1e-8, monitor=interrupt, threads=2))
    assert asked == [1]
    again = table.solve(batch, BatchOptions(threads=2))
    assert all(status.solved for status in again.status)


@pytest.mark.parametrize("starts", [[], [1, 2], [0, 2, 2], [0, 4]])
def test_segments_that_are_none_are_refused(starts):
    gram = Gram(np.eye(4), Gaussian(1.0))
    with pytest.raises(ValueError, match="segment"):
        _core.KernelTable(gram._core, np.array(starts, dtype=np.int64), 4)
