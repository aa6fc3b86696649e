"""The quantile campaign: figures by definition, the bundled set, and its table."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.metrics import mean_pinball_loss

from widemargin_papers.harness.results import ResultStore
from widemargin_papers.helps import quantiles


def test_figures_are_coverage_and_the_mean_pinball_loss() -> None:
    truth = np.array([0.0, 1.0, 2.0, 9.0])
    table = np.column_stack([truth - 1.0, truth, truth + 1.0])
    table[3] = [0.0, 1.0, 2.0]
    found = quantiles._figures(table, truth)
    assert found["coverage"] == 75.0
    losses = [
        mean_pinball_loss(truth, table[:, k], alpha=q)
        for k, q in enumerate(quantiles.QUANTILES)
    ]
    assert_allclose(found["pinball"], np.mean(losses), atol=1e-5)


def test_a_split_is_measured_and_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(quantiles, "GRID", {"C": [1.0], "gamma": [0.1]})
    monkeypatch.delitem(quantiles.METHODS, "HistGradientBoosting")  # its threads spin
    record = quantiles.measured("diabetes", 0)
    for method in quantiles.METHODS:
        assert 50.0 < record[method]["coverage"] < 95.0
        assert 0.1 < record[method]["pinball"] < 0.25  # of a target of spread 1
    store = ResultStore(tmp_path / "helps_quantiles.json")
    store.add("check: diabetes, split 0", record)
    text = quantiles.table(store)
    assert text.count("**") == 2  # the least loss
    assert "1.000" in text
    assert len(quantiles.SETS) == 10
