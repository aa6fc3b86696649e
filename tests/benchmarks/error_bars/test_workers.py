"""Evidence of several workers and of little memory: the cells, on small data."""

from __future__ import annotations

import pytest

from suites.error_bars import workers
from widemargin_papers.harness.cells import by_row


@pytest.mark.parametrize(
    "run",
    [
        workers.by_jobs,
        pytest.param(workers.by_dask, marks=pytest.mark.campaign),  # starts clusters
    ],
)
def test_speed_up(monkeypatch, run):
    monkeypatch.setattr(workers, "REPEATS", 1)
    monkeypatch.setattr(workers, "COUNTS", (1,))
    (figures,) = by_row(run((400, 5))).values()
    assert figures["speed-up, 1 workers"] == 1.0
    assert figures["accuracy"] > 0.8


def test_a_file_is_trained_on_within_a_limit():
    (figures,) = by_row(workers.limited(rows=20_000, limit_mb=200)).values()
    assert figures["file, MB"] == pytest.approx(0.8)
    assert figures["accuracy on new rows"] > 0.8
