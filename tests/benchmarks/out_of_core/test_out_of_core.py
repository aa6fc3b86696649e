"""Runs beyond memory on few rows, and the cost model on costs that it should find."""

from __future__ import annotations

from pathlib import Path

import pytest
from numpy.testing import assert_allclose, assert_array_equal

from suites.dask_workers import block_lengths
from suites.out_of_core import cost_model
from suites.out_of_core.exact_runs import from_map
from suites.out_of_core.exact_runs import table as exact_runs_table
from suites.out_of_core.generated import FEATURES, as_dask, make_block
from widemargin_papers.harness.results import Record, ResultStore


def test_a_run_from_a_map_beside_svc() -> None:
    found = from_map(21_000, compare=True, others=500)
    assert found["status"] == "converged" and found["rows"] == 21_000
    assert found["largest difference"] < 3e-3
    assert 0 < found["support"] < found["held"] < 21_000
    assert found["relative gap"] < 1e-3
    store = ResultStore(Path("none.json"))
    store.records["one"] = found
    assert "differ by at most" in exact_runs_table(store)


def test_rows_are_the_same_wherever_they_are_made() -> None:
    pytest.importorskip("dask")
    assert block_lengths(120_000) == [50_000, 50_000, 20_000]
    X, y = as_dask(60_000)
    block = make_block(1, 10_000)
    assert_array_equal(X[50_000:].compute(scheduler="synchronous"), block[:, :FEATURES])
    assert_array_equal(y[50_000:].compute(scheduler="synchronous"), block[:, FEATURES])


def run(n: int) -> Record:
    """Return the record of a run that follows the model to the letter."""
    support = 0.01 * n + 2.0 * n**0.5
    judged, solved = 2.5 * n * support, 7.0 * support**2
    there, here = 2e-9 * judged + 3e-5 * n, 5e-9 * solved
    return {
        "source": "dask", "rows": n, "support": support, "held": 3 * support,
        "rounds": 6, "judged entries": judged, "solve entries": solved,
        "processor": there + here, "processor of workers": there,
    }  # fmt: skip


def test_the_model_is_found_and_carried_on(tmp_path: Path) -> None:
    sizes = (50_000, 100_000, 200_000)
    model = cost_model.exact_model([run(n) for n in sizes])
    assert_allclose(model.share, 0.01, rtol=1e-6)
    assert_allclose(model.per_solved, 5e-9, rtol=1e-6)
    assert_allclose(model.per_judged, 2e-9, rtol=1e-3)
    assert_allclose(model.processor(5e5), run(500_000)["processor"], rtol=1e-3)
    store = ResultStore(tmp_path / "runs.json")
    assert cost_model.exact_table(store) == "Not measured yet."
    store.records = {str(n): run(n) for n in (*sizes, 500_000)}
    text = cost_model.exact_table(store)
    assert text.count("1.00") == 4 and "1e+09" in text


def test_the_model_of_early_fits(tmp_path: Path) -> None:
    store = ResultStore(tmp_path / "runs.json")
    assert cost_model.early_table(store) == "Not measured yet."
    for n, clusters in ((50, 64), (100, 64), (200, 256), (400, 256), (300, 256)):
        seconds = 4e-2 * n + 0.05 * clusters
        record = {"rows": 1000 * n, "clusters": clusters, "processor": seconds}
        store.records[str(n)] = record
    text = cost_model.early_table(store)
    assert "40.0 s for 1e6 rows" in text and "1.00" in text
