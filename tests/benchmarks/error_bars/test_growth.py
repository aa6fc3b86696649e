"""How the solvers of samples with error bars grow: the cells, on small data."""

from __future__ import annotations

import numpy as np
from numpy.testing import assert_allclose

from suites.error_bars import growth


def by_column(cells, row):
    return {cell.column: cell for cell in cells if cell.row == row}


def test_growth_has_exponents_of_all_sizes_and_of_the_last_three(monkeypatch):
    """Seconds are made up here: m^0 to begin with, then m^2; the first call is slow."""
    spent = iter([1e3, 1.0, 1.0, 4.0, 16.0] * 2)
    timed = growth.timed
    monkeypatch.setattr(growth, "timed", lambda *run: (next(spent), timed(*run)[1]))
    warmed = []
    monkeypatch.setattr(
        growth, "_warm_up", lambda name: warmed.append((name, next(spent)))
    )
    cells = list(growth.with_rows((200, 400, 800, 1600)))
    assert [name for name, _ in warmed] == ["newton", "SSGD 10m"]
    for name in ("newton", "SSGD 10m"):
        found = by_column(cells, f"{name}, d = 10")
        assert_allclose(found["exponent in m, last three sizes"].ours, 2.0)
        assert 1.0 < found["exponent in m"].ours < 2.0
    assert "relative gap" in by_column(cells, "newton, d = 10")["seconds, m = 800"].note


def test_growth_with_features_has_both_methods_and_the_stream_its_file(monkeypatch):
    monkeypatch.setattr(growth, "ROWS_FOR_FEATURES", 300)
    cells = list(growth.with_features((3, 6)))
    for name in ("newton", "SSGD 2m"):
        assert np.isfinite(by_column(cells, f"{name}, m = 300")["exponent in d"].ours)
    stream = list(growth.stream(20_000))
    assert by_column(stream, stream[0].row)["file, MB"].ours == 0.8
