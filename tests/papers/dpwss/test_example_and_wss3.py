"""The general rule WSS3, and Figure 1 of the DPWSS paper."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse

from widemargin import SVC
from widemargin_papers.dpwss import example_models, variants
from widemargin_papers.harness.cells import by_row

y = np.where(np.arange(60) % 2 == 0, 1.0, -1.0)
X = np.random.default_rng(0).normal(size=(60, 4)) + 0.5 * y[:, None]


def test_wss3_draws_uniformly_among_all_pairs_that_violate_enough():
    slopes = np.array([3.0, 1.0, -np.inf, 0.5])
    falling = np.array([-np.inf, 2.0, 1.0, 0.0])
    rng = np.random.default_rng(0)
    drawn = [variants.drawn_pair(slopes, falling, 0.5, rng) for _ in range(6000)]
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
    end = variants.run_wss3(X @ X.T, y, sigma, seed=0)
    exact = SVC(kernel="linear").fit(X, y).certificate_
    assert end.violation < 1e-3
    assert_allclose(-end.objective, exact.objective, rtol=1e-4)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_figure_1_shows_the_models_of_its_cells(monkeypatch):
    heart = sparse.csr_matrix(X), y
    monkeypatch.setattr(example_models, "labelled", lambda _: heart)
    monkeypatch.setattr(example_models, "COLUMNS", (0, 1))
    moved, _ = example_models.moved_apart(0.2)
    assert_allclose(moved - X[:, :2], 0.2 * np.column_stack([y, y]))
    rows = by_row(
        list(example_models.example_models("heart", seeds=2)), example_models.FIGURE
    )
    assert len(rows) == 6
    plain = SVC(kernel="linear").fit(moved, y)
    row = rows["moved by 0.2: not private"]
    assert_allclose(row["first weight"], plain.coef_[0, 0])
    rows["moved by 0.2: DPWSS, seed 1"] = dict(row)
    equal, count = example_models.same_as_plain(rows, 0.2)
    assert 1 <= equal <= count == 2
    monkeypatch.setattr(example_models, "available", lambda _: True)
    assert example_models.picture(rows) is not None
    assert example_models.picture({}) is None
