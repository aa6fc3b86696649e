"""Fits of several classes above the size of a whole matrix share rows."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_matrix
from sklearn import svm
from sklearn.base import clone

from widemargin import SVC, NuSVC
from widemargin.engine import problem_batches

from tests.engine.test_shared_rows import classes


@pytest.fixture
def tables(monkeypatch):
    """Make 500 rows many; return the segments of the tables that fits make."""
    made = []

    class Seen(problem_batches.KernelTable):
        def __init__(self, gram, order=None, segments=None):
            made.append(segments)
            super().__init__(gram, order, segments)

    monkeypatch.setattr(problem_batches, "SEVERAL", 500)
    monkeypatch.setattr(problem_batches, "KernelTable", Seen)
    return made


@pytest.mark.parametrize("form", [np.asarray, csr_matrix])
def test_ten_classes_of_which_one_has_no_weight(tables, form):
    X, y = classes([90] * 10, 30, seed=4)
    weight = np.where(y == 3, 0.0, 1.0)
    ours = SVC(C=2.0, gamma=0.03).fit(form(X), y, weight)
    assert len(tables) == 1 and tables[0].starts.size == 9
    reference = svm.SVC(C=2.0, gamma=0.03, tol=1e-8).fit(X[y != 3], y[y != 3])
    assert_array_equal(ours.classes_, reference.classes_)
    assert_allclose(
        ours.decision_function(X), reference.decision_function(X), atol=1e-5
    )
    two = SVC(C=2.0, gamma=0.03, n_jobs=2).fit(form(X), y, weight)
    one = SVC(C=2.0, gamma=0.03, n_jobs=1).fit(form(X), y, weight)
    assert_array_equal(one._dense_dual_coef(), two._dense_dual_coef())
    assert_array_equal(one.intercept_, two.intercept_)


def test_nu_svc_shares_rows(tables):
    X, y = classes([150] * 4, 20, seed=5)
    ours = NuSVC(nu=0.3, gamma=0.05).fit(X, y)
    assert len(tables) == 1 and tables[0].starts.size == 4
    reference = svm.NuSVC(nu=0.3, gamma=0.05, tol=1e-8).fit(X, y)
    assert_allclose(
        ours.decision_function(X), reference.decision_function(X), atol=1e-4
    )


@pytest.mark.parametrize(("cache_size", "at_a_time"), [(0.7, 1), (1.0, 3), (9.0, 7)])
def test_memory_limits_the_pairs_at_a_time_and_not_how_they_are_solved(
    tables, cache_size, at_a_time
):
    X, y = classes([150] * 4, 20, seed=5)
    model = SVC(gamma=0.05, cache_size=cache_size)
    one = clone(model).set_params(n_jobs=1).fit(X, y)
    seven = clone(model).set_params(n_jobs=7).fit(X, y)
    assert [used.threads for used in tables] == [1, at_a_time]
    assert all(used.megabytes <= cache_size for used in tables)
    assert_array_equal(one.dual_coef_, seven.dual_coef_)
    assert_array_equal(one.intercept_, seven.intercept_)


def test_a_cache_that_is_too_small_and_large_pairs_leave_each_pair_alone(
    tables, monkeypatch
):
    X, y = classes([150] * 4, 20, seed=5)
    shared = SVC(gamma=0.05).fit(X, y)
    assert len(tables) == 1
    small = SVC(gamma=0.05, cache_size=0.5).fit(X, y)
    monkeypatch.setattr(problem_batches, "LARGEST", 299)
    large = SVC(gamma=0.05).fit(X, y)
    assert len(tables) == 1
    for other in (small, large):
        assert_allclose(
            shared.decision_function(X), other.decision_function(X), atol=1e-6
        )


@pytest.mark.parametrize("cache_size", [0.2, 1.5])  # less than a pair needs, and more
def test_pairs_that_share_no_rows_have_the_same_memory_for_any_threads(cache_size):
    X, y = classes([150] * 4, 20, seed=5)
    model = SVC(gamma=0.05, tol=1e-5, polish=False, cache_size=cache_size)
    one, two, eight = (clone(model).set_params(n_jobs=n).fit(X, y) for n in (1, 2, 8))
    for other in (two, eight):
        assert_array_equal(one.dual_coef_, other.dual_coef_)
        assert_array_equal(one.intercept_, other.intercept_)
