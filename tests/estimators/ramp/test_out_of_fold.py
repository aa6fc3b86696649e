"""The start without the samples that models of other samples get wrong."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.metrics import balanced_accuracy_score
from sklearn.metrics.pairwise import rbf_kernel

from widemargin import RampSVC
from widemargin.engine.gram import Gram
from widemargin.engine.status import Status
from widemargin.estimators.base.row_folds import held_out
from widemargin.estimators.ramp import continuation as schedule
from widemargin.estimators.ramp.concave_convex import RampProblem
from widemargin.estimators.ramp.continuation import economical_descent
from widemargin.estimators.ramp.out_of_fold import held_out_margins, out_of_fold

from tests.estimators.ramp.test_concave_convex import exactly
from tests.estimators.ramp.test_continuation import blobs, plan, rough


def test_margins_are_those_of_models_without_the_sample():
    """Against fits of the other folds, with scikit-learn's kernel matrix."""
    ramp, _ = blobs(90, seed=3)
    margins = held_out_margins(ramp, plan())
    table = rbf_kernel(ramp.gram.samples, gamma=0.5)
    for fitted, held in held_out(ramp.gram.samples, ramp.y, enough=np.inf):
        part = exactly(ramp.subset(fitted).convex(np.zeros(fitted.size, bool)), None)
        values = table[np.ix_(held, fitted)] @ part.beta + part.intercept
        assert_allclose(margins[held], ramp.y[held] * values, rtol=1e-9, atol=1e-9)


def test_it_finds_the_flips_a_plain_start_keeps():
    """At a large C the plain SVM bends round every flip and so never clips it."""
    ramp, flips = blobs(200, share=0.15, cost=20.0, seed=10)
    ramp = replace(ramp, s=-1.0)
    plain = economical_descent(ramp, plan())
    started = economical_descent(ramp, plan(), out_of_fold(ramp, plan()))
    assert started.settled and plain.settled
    assert started.clipped[flips].sum() > plain.clipped[flips].sum() + 5
    assert started.clipped.sum() <= 32


def balanced_errors(ramp):
    """The same in other words: of every share, by scikit-learn."""
    margins = {
        share: held_out_margins(replace(ramp, costs=share * ramp.costs), plan())
        for share in (1.0, 0.1, 0.01, 0.001)
    }
    right = {
        share: balanced_accuracy_score(ramp.y, np.where(each < 0.0, -ramp.y, ramp.y))
        for share, each in margins.items()
    }
    return margins, {share: 1.0 - each for share, each in right.items()}


@pytest.mark.parametrize(("cost", "share"), [(1.0, 1.0), (10.0, 0.1), (100.0, 0.01)])
def test_the_folds_are_judged_where_the_fewest_are_wrong(cost, share):
    """C is divided by ten as long as that lowers the error of the held-out samples."""
    ramp, _ = blobs(150, share=0.25, cost=cost, seed=2)
    margins, errors = balanced_errors(ramp)
    assert min(errors, key=errors.__getitem__) == share
    assert_array_equal(out_of_fold(ramp, plan()), margins[share] < 0.0)
    assert share == 1.0 or ((margins[share] < 0.0) != (margins[1.0] < 0.0)).any()


def test_where_rows_are_many_a_sample_chooses_the_share(monkeypatch):
    """The sample carries the whole loss: as it is, or with all rows, C itself wins."""
    ramp, _ = blobs(200, share=0.25, cost=10.0, seed=2)
    monkeypatch.setattr(schedule, "SAMPLE", 100)
    part = ramp.subset(schedule.sampled_rows(ramp, 0))
    _, errors = balanced_errors(replace(part, costs=np.full(100, 20.0)))
    assert min(errors, key=errors.__getitem__) == 0.1
    for other in (part, ramp):
        _, errors = balanced_errors(other)
        assert min(errors, key=errors.__getitem__) == 1.0
    margins = held_out_margins(replace(ramp, costs=np.full(200, 1.0)), plan())
    assert_array_equal(out_of_fold(ramp, plan()), margins < 0.0)


def test_a_row_given_twice_is_one_of_weight_two_in_any_order():
    ramp, _ = blobs(80, seed=5)
    X, y, twice = ramp.gram.samples, ramp.y, np.arange(80) % 3 == 0
    costs = np.where(twice, 2.0, 1.0)
    weighted = out_of_fold(replace(ramp, costs=costs), plan())
    rows = np.random.default_rng(1).permutation(np.repeat(np.arange(80), 1 + twice))
    repeated = RampProblem(
        Gram(X[rows], ramp.gram.kernel), y[rows], np.ones(rows.size), ramp.s
    )
    assert_array_equal(out_of_fold(repeated, plan()), weighted[rows])


def test_the_order_of_rows_does_not_choose_the_model():
    """Loose solves of the folds put a sample near zero on either side of it."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(300, 3))
    y = np.argmax(X + 0.5 * rng.normal(size=X.shape), axis=1)
    y = np.where(rng.random(300) < 0.3, (y + 1) % 3, y)
    model = RampSVC(C=3.0).fit(X, y)
    for seed in range(8):
        rows = np.random.default_rng(seed).permutation(300)
        again = RampSVC(C=3.0).fit(X[rows], y[rows])
        assert_array_equal(np.sort(rows[again.suspects_]), model.outliers_)
        values = again.decision_function(X)
        assert_allclose(values, model.decision_function(X), atol=1e-9)


def test_sparse_rows_have_the_same_folds():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(150, 60)) * (rng.random((150, 60)) < 0.05)
    y = np.where(X.sum(axis=1) + 0.1 * rng.normal(size=150) > 0.0, 1.0, -1.0)
    dense = RampSVC(C=5.0).fit(X, y)
    thin = RampSVC(C=5.0).fit(sparse.csr_array(X), y)
    assert_array_equal(dense.outliers_, thin.outliers_)
    assert_allclose(dense.decision_function(X), thin.decision_function(X), atol=1e-6)


def test_a_class_that_is_not_found_keeps_its_samples():
    ramp, _ = blobs(100, share=0.0, unequal=0.1, seed=4)
    lonely = replace(ramp, costs=np.full(100, 1e-3))
    margins = held_out_margins(lonely, plan())
    assert (margins[ramp.y > 0.0] < 0.0).all()
    assert not out_of_fold(lonely, plan())[ramp.y > 0.0].any()


def test_one_sample_of_a_class_is_left_alone():
    ramp, _ = blobs(30, share=0.0, seed=4)
    y = np.full(30, -1.0)
    y[3] = 1.0
    margins = held_out_margins(replace(ramp, y=y), plan())
    assert margins[3] == np.inf
    assert np.isfinite(np.delete(margins, 3)).any()


def test_a_stopped_solve_is_no_clipped_set():
    ramp, _ = blobs(60)

    def halted(problem, start):
        return replace(rough(problem, start), status=Status.MAX_TIME)

    assert out_of_fold(ramp, plan(solver=halted)) is None


def test_folds_are_rounds_of_the_history():
    ramp, _ = blobs(120)
    X, y = ramp.gram.samples, ramp.y
    model = RampSVC().fit(X, y)
    stages = [record["stage"] for record in model.history_]
    assert stages.count("fold") in (10, 15, 20)  # at C, a tenth of it, and so on
    assert model.n_cccp_iter_[0] == len(stages)


@pytest.mark.parametrize("kernel", ["precomputed", "callable"])
def test_kernels_without_rows_of_numbers(kernel):
    ramp, flips = blobs(120, seed=6)
    X, y = ramp.gram.samples, ramp.y
    given = kernel == "precomputed"
    model = RampSVC(kernel="precomputed" if given else rbf_kernel)
    model.fit(rbf_kernel(X) if given else X, y)
    assert np.isin(model.outliers_, flips).mean() > 0.8
