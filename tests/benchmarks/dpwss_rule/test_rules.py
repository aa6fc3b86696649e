"""Other readings of the rule of DPWSS, and the general rule WSS3."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from suites.dpwss_rule import campaigns, rules
from widemargin import SVC
from widemargin_papers.dpwss.printed import printed

from tests.oracles.drawn_pairs import candidates

y = np.where(np.arange(60) % 2 == 0, 1.0, -1.0)
X = np.random.default_rng(0).normal(size=(60, 4)) + 0.5 * y[:, None]


def test_readings_of_the_rule_are_the_engine_and_its_variants():
    # As published: the same candidates as the core's readable twin, at every step of a
    # run; unused and running maxima admit more, never less.
    rng = np.random.default_rng(0)
    n = 30
    for _ in range(50):
        beta = rng.choice([0.0, 0.4, 1.0], size=n)
        gradient, used_row = rng.normal(size=n), rng.random(n) < 0.3
        twin = candidates(
            beta, gradient, np.zeros(n), np.ones(n), sigma=0.7,
            used={(i, int(j)) for i in range(n) for j in np.flatnonzero(used_row)},
        )  # fmt: skip
        falling = np.where(beta > 0.0, gradient, -np.inf)
        violations = -gradient[twin.i] + falling
        own = rules.admitted(violations, used_row, 0.7, "as published")
        assert_array_equal(own.members, twin.members)
        assert_allclose(own.scores, twin.scores)
        for reading in ("unused maximum", "running maximum"):
            more = rules.admitted(violations, used_row, 0.7, reading)
            assert set(own.members) <= set(more.members)


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(campaigns, "labelled", lambda name: (sparse.csr_matrix(X), y))


def test_the_cells_of_the_readings(small):
    cells = list(campaigns.readings("heart", 2))
    assert len(cells) == 10 and {cell.column for cell in cells} == {"obj", "iteration"}
    assert cells[0].paper == printed()["heart", 0, "obj", "0.1/0.7"]
    table = campaigns.readings_table(cells)
    assert "as published" in table and f"{cells[0].paper:.2f}" in table


def test_the_cells_of_wss3(small):
    cells = list(campaigns.wss3("heart", 2))
    assert len(cells) == 6
    assert f"{cells[0].ours:.2f}" in campaigns.wss3_table(cells)


def test_readings_end_where_they_must():
    K = X[:24] @ X[:24].T
    exact = SVC(kernel="linear", C=1.0, tol=1e-6).fit(X[:24], y[:24])
    optimum = -exact.certificate_.objective
    ends = {r: rules.run(K, y[:24], r, 0).objective for r in rules.READINGS}
    assert min(ends.values()) >= optimum - 1e-6  # every point on the way is feasible
    assert ends["next index"] <= ends["as published"] + 1e-9


def test_wss3_draws_uniformly_among_all_pairs_that_violate_enough():
    slopes = np.array([3.0, 1.0, -np.inf, 0.5])
    falling = np.array([-np.inf, 2.0, 1.0, 0.0])
    rng = np.random.default_rng(0)
    drawn = [rules.drawn_pair(slopes, falling, 0.5, rng) for _ in range(6000)]
    admitted = {
        (i, j)
        for i in range(4)
        for j in range(4)
        if slopes[i] + falling[j] >= 0.5 * 5.0
    }
    pairs, counts = np.unique(drawn, axis=0, return_counts=True)
    assert set(map(tuple, pairs.tolist())) == admitted
    assert_allclose(counts, 6000 / len(admitted), rtol=0.1)


@pytest.mark.parametrize("sigma", [0.1, 0.7, 1.0])
def test_wss3_ends_where_the_problem_does(sigma):
    end = rules.run_wss3(X @ X.T, y, sigma, seed=0)
    exact = SVC(kernel="linear").fit(X, y).certificate_
    assert end.violation < 1e-3
    assert_allclose(-end.objective, exact.objective, rtol=1e-4)
