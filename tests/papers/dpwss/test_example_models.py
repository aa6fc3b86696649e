"""Figure 1 of the DPWSS paper."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse

from widemargin import SVC
from widemargin_papers.dpwss import example_models
from widemargin_papers.harness.cells import by_row

y = np.where(np.arange(60) % 2 == 0, 1.0, -1.0)
X = np.random.default_rng(0).normal(size=(60, 4)) + 0.5 * y[:, None]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_figure_1_shows_the_models_of_its_cells(monkeypatch):
    heart = sparse.csr_matrix(X), y
    monkeypatch.setattr(example_models, "labelled", {"heart": heart}.__getitem__)
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
