"""A first stage tells whether few rows of the matrix are needed: counted entries."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from widemargin import SVC
from widemargin.engine import forecast, problem_batches
from widemargin.engine.gram import Gram
from widemargin.engine.kernel_table import BatchOptions, KernelTable, ProblemBatch
from widemargin.engine.kernels import Gaussian
from widemargin.engine.problem import hinge_terms

from tests.certified import truth_of
from tests.oracles.claims import assert_claims_hold

WHOLE = 1200 * 1200 / 2


def two_clouds(apart, n=1200):
    rng = np.random.default_rng(0)
    y = np.resize([0, 1, 1, 0, 1], n)
    return rng.standard_normal((n, 5)) + apart * y[:, None], y


def problem(y):
    terms = hinge_terms(np.where(y == 1, 1.0, -1.0), np.ones(y.size), True)
    offsets, members = np.array([0, y.size]), np.arange(y.size, dtype=np.int32)
    return ProblemBatch(offsets, members, *terms[:3], np.zeros(1))


@pytest.fixture
def tables(monkeypatch):
    """List the tables that are made, each with the entries it evaluates."""
    made = []

    class Listed(KernelTable):
        def __init__(self, *arguments, **named):
            super().__init__(*arguments, **named)
            made.append(self)

    monkeypatch.setattr(forecast, "KernelTable", Listed)
    monkeypatch.setattr(problem_batches, "KernelTable", Listed)
    return made


def entries(tables):
    return sum(table.entries["tables"] for table in tables)


@pytest.mark.parametrize("keep_rows", [False, True])
def test_few_support_vectors_need_few_rows(tables, keep_rows):
    X, y = two_clouds(apart=3.0)
    model = SVC(gamma=0.02, keep_rows=keep_rows).fit(X, y)
    assert len(model.support_) < 0.1 * len(y)
    assert entries(tables) < 0.3 * WHOLE
    assert model.certificate_.status == "polished"
    assert model.certificate_.kkt_violation < 1e-9
    forecast_off = SVC(gamma=0.02)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(forecast, "SAMPLES", np.inf)
        forecast_off.fit(X, y)
    assert entries(tables) > WHOLE
    assert_array_equal(model.support_, forecast_off.support_)
    assert_allclose(
        model.decision_function(X), forecast_off.decision_function(X), atol=1e-8
    )


def test_many_support_vectors_take_the_whole_matrix_and_little_more(tables):
    X, y = two_clouds(apart=0.5)
    model = SVC(gamma=0.02).fit(X, y)
    assert len(model.support_) > 0.3 * len(y)
    assert WHOLE < entries(tables) < 1.2 * WHOLE
    alone = tables[-1].solve(problem(y))
    assert model.n_iter_[0] == alone.n_iter[0]  # as without a first stage


def test_what_few_rows_prove_is_true():
    X, y = two_clouds(apart=3.0)
    gram = Gram(X, Gaussian(0.02))
    solved = forecast.solved_by_few_rows(gram, problem(y), BatchOptions())
    solution = solved.solution(0)
    assert_claims_hold(solution.certificate, truth_of(solution))
    assert solution.certificate.kkt_violation < 1e-9


@pytest.mark.parametrize("case", ["few samples", "one class", "several problems"])
def test_other_problems_are_left_to_the_whole_matrix(case):
    X, y = two_clouds(apart=3.0)
    if case == "few samples":
        X, y = X[:900], y[:900]
    if case == "one class":  # in the first stage
        y[::8] = 1
    batch = problem(y)
    if case == "several problems":
        batch = ProblemBatch(
            np.array([0, 600, 1200]), batch.members, batch.linear, batch.lower,
            batch.upper, np.zeros(2),
        )  # fmt: skip
    gram = Gram(X, Gaussian(0.02))
    assert forecast.solved_by_few_rows(gram, batch, BatchOptions()) is None
