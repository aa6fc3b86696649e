"""Divide and conquer beyond the paper: speed, memory, rows on dask workers."""

from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from suites import dask_workers
from suites.divide_conquer import dask_scale, speed
from suites.divide_conquer.campaigns import CAMPAIGNS, TASKS
from widemargin import SVC, DivideConquerSVC
from widemargin_papers.harness.missing_runs import cells_of
from widemargin_papers.harness.results import ResultStore

ROOT = Path(__file__).parents[3]
SYSTEMS = ROOT / "docs" / "systems"


def test_speed_cells(moons, contestants_here):
    early = {c.column: c for c in speed.early_speed("ijcnn1", 600)}
    assert early["points lost"].ours < 5
    assert early["times faster"].ours > 0
    exact = [c for c in speed.exact_speed("ijcnn1", 600)]
    assert any("level 2" in c.note for c in exact)
    predict = list(speed.predict_speed("ijcnn1", 300))
    assert len(predict) == 6 and all(c.ours > 0 for c in predict)


def test_an_exact_fit_that_was_stopped_says_so(moons, monkeypatch):
    whole = {c.column: c for c in speed.full_exact()}
    note = whole["DC auto s"].note
    assert "solve" in note and "asked 3600" in note and "stopped" not in note
    assert whole["peak MB"].paper is None  # the 8 GB are the issue's, not the paper's
    plain = DivideConquerSVC.fit

    def fit(self, X, y):
        plain(self, X, y).fit_status_ = 1
        return self

    monkeypatch.setattr(DivideConquerSVC, "fit", fit)
    cut = {c.column: c for c in speed.full_exact()}
    assert cut["DC auto s"].note.startswith("stopped, early model; ")
    assert cut["accuracy %"].note == "stopped, early model"


def test_automatic_levels_beside_svc(moons):
    cells = list(speed.automatic_speed("ijcnn1", {"max_time": 600.0}, 1))
    assert {c.row for c in cells} == {"ijcnn1, 900 rows, max_time=600"}
    columns = [c.column for c in cells]
    assert columns[0] == "SVC s" and columns[-1] == "DC auto over SVC, processor"


def test_a_level_beside_svc_stopped_after_its_time(moons):
    cells = {c.column: c for c in speed.stopped("ijcnn1")}
    assert cells["level s"].ours > 0.0
    assert 50.0 < cells["level %"].ours <= 100.0
    assert cells["SVC stopped then %"].note in ("max_time", "polished", "converged")


def test_generated_blocks_are_reproducible_and_learnable():
    block = dask_scale.make_block(3, 4000)
    assert_array_equal(block, dask_scale.make_block(3, 4000))
    assert block.dtype == np.float32 and block.shape == (4000, 21)
    X, y = block[:, :20], block[:, 20]
    model = SVC(C=1.0, gamma=1.0).fit(X, y)
    other = dask_scale.make_block(4, 2000)
    assert model.score(other[:, :20], other[:, 20]) > 0.7


def test_the_same_rows_on_dask_and_in_memory(monkeypatch):
    distributed = pytest.importorskip("dask.distributed")

    def cluster(workers, limit):
        return distributed.Client(
            processes=False, n_workers=1, threads_per_worker=1, dashboard_address=None
        )

    monkeypatch.setattr(dask_scale, "worker_processes", cluster)
    for module in (dask_scale, dask_workers):
        monkeypatch.setattr(module, "BLOCK", 1000)
    apart, own, lost = dask_scale.same_rows(4000)
    assert apart.row == "4000 x 20, the same rows"
    assert min(apart.ours, own.ours) > 70
    assert_allclose(lost.ours, own.ours - apart.ours)
    assert abs(lost.ours) < 2


@pytest.fixture(scope="module")
def stored():
    return ResultStore(ROOT / "benchmarks" / "results" / "divide_conquer.json")


def test_the_figures_told_in_prose_are_the_stored_ones(stored):
    cells = cells_of(TASKS, stored)
    ours = {(cell.table, cell.row, cell.column): cell.ours for cell in cells}
    page = " ".join((SYSTEMS / "divide_conquer.rst").read_text("utf-8").split())
    faster = "Speed, early", "ijcnn1, 49990 rows", "times faster"
    assert f"early prediction is {ours[faster]:.1f} times as fast" in page
    at_least = "Speed, early", "covtype, 50000 rows", "times faster"
    assert f"at least {ours[at_least]:.0f} times" in page
    whole = "Speed, exact", "covtype, 464810 rows"
    minutes = ours[(*whole, "DC auto s")] / 60
    gigabytes = ours[(*whole, "peak MB")] / 1000
    assert f"took {minutes:.0f} minutes" in page and f"{gigabytes:.1f} GB" in page
    assert f"accuracy is {ours[(*whole, 'accuracy %')]:.2f} %" in page
    for data in ("ijcnn1, all rows", "covtype, 50000 rows"):  # "below the data again"
        rows = "Memory", f"{data}, early"
        allowed = ours[(*rows, "data MB")] + 2 * ours[(*rows, "kernel block MB")]
        assert ours[(*rows, "peak MB over loaded data")] < allowed


def test_every_task_is_stored_and_shown(stored):
    assert all(task.name in stored.records for task in TASKS)
    shown = CAMPAIGNS["speed"].table(stored)
    for cell in cells_of(TASKS, stored):
        assert f"{cell.table}: " in shown and cell.column in shown
