"""The quantile campaign: figures by definition, the bundled set, and its table."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.metrics import mean_pinball_loss

from suites.helps import quantile_prices, quantiles
from widemargin.estimators.quantile_svr import FACTOR
from widemargin_papers.harness.results import ResultStore

RESULTS = Path(__file__).parents[3] / "benchmarks" / "results"


def test_figures_are_coverage_and_the_mean_pinball_loss() -> None:
    truth = np.array([0.0, 1.0, 2.0, 9.0])
    table = np.column_stack([truth - 1.0, truth, truth + 1.0])
    table[3] = [0.0, 1.0, 2.0]
    part = quantiles.Part(table, np.array([-2.0, 2.0]), table, truth)
    found = quantiles.figures(table, part)
    assert found["coverage"] == 75.0
    losses = [
        mean_pinball_loss(truth, table[:, k], alpha=q)
        for k, q in enumerate(quantiles.QUANTILES)
    ]
    assert_allclose(found["pinball"], np.mean(losses) / 2.0, atol=1e-5)


def test_calibration_gives_each_quantile_its_share_of_unseen_rows() -> None:
    part = quantiles.split("diabetes", 0)
    given = part.train, part.y_train, part.test
    plain = quantiles.figures(quantiles.narrow_svr(*given), part)
    moved = quantiles.figures(quantiles.default_svr(*given), part)
    assert plain["coverage"] < 65.0 and 75.0 < moved["coverage"] < 90.0
    assert moved["pinball"] < plain["pinball"]


def test_a_split_is_measured_and_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
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


def test_the_factor_of_the_default_is_the_choosing_half_s(tmp_path: Path) -> None:
    store = ResultStore(tmp_path / "helps_prices.json")
    assert quantile_prices.table(store) == "Nothing measured yet."
    record = quantile_prices.measured("diabetes", 0)
    losses = {f"{factor:g}": 2.0 for factor in quantile_prices.FACTORS} | {"4": 1.0}
    for name, loss in losses.items():
        assert record[name]["pinball"] > 0.1
        record[name] = {"pinball": loss, "coverage": 70.0}
    store.add("choose: diabetes, split 0", record)
    assert "4 (chosen)" in quantile_prices.table(store)


def test_the_default_price_is_what_the_stored_results_choose() -> None:
    store = ResultStore(RESULTS / "helps_prices.json")
    assert f"{FACTOR:g} (chosen)" in quantile_prices.table(store)
