"""What the table of updates says of measurements with known ratios."""

from __future__ import annotations

from pathlib import Path
from unittest.mock import patch

import numpy as np
from numpy.testing import assert_allclose

from suites.streams import settled_rows, update_choice
from widemargin import SVC
from widemargin.engine import updates
from widemargin.engine.update_routes import Route
from widemargin.estimators.incremental.task_state import TaskState
from widemargin_papers.harness.results import ResultStore

from tests.problems import standard


def rows(name, slower=1.0):
    """Return updates of a set whose fits follow the model to the letter."""
    found = []
    for n in (60, 300, 1200):
        for support in (n // 10, n // 2):
            fit = 5e-4 + 3e-9 * n**2 + 8e-9 * n * support
            seconds = slower * fit
            row = {"C": 1.0, "move": "add 1", "n": n, "support": support, "fit": fit}
            found.append(row | {"seconds": seconds, "chosen": "refit", "path": 2 * fit})
    half = update_choice.SETS.index(name) % 2
    return {"half": update_choice.HALVES[half], "updates": found}


def test_the_table_has_both_halves_and_the_constants():
    store = ResultStore(Path("none.json"))
    store.records = {"a5a": rows("a5a"), "ijcnn1": rows("ijcnn1", 1.5)}
    text = update_choice.table(store)
    assert text.count("0.50 ms + 3.00 ns n² + 8.0 ns n support") == 2
    lines = [line.split() for line in text.splitlines() if " all " in line]
    assert [line[-2:] for line in lines] == [["1.00", "0"], ["1.50", "6"]]
    assert "Largest, checked on: 1.50 (ijcnn1" in text


def test_every_way_is_measured():
    rng = np.random.default_rng(0)
    X = standard(rng.normal(size=(140, 3)))
    y = (X[:, 0] + 0.3 * rng.normal(size=140) > 0).astype(int)
    model = SVC(keep_rows=True, n_jobs=1, gamma=0.5).fit(X[:60], y[:60])
    # A path sums K beta, which a warm solve needs and a fit does not sum.
    never_at_once = patch.object(TaskState, "least_seconds", lambda *_: 0.0)
    path = update_choice.Forced(Route.PATH)
    with never_at_once, patch.object(updates, "cheapest", path):
        model.partial_fit(X[60:80], y[60:80])
    row = update_choice.by_way(model, ("add", 50), X, y)
    assert row is not None
    assert row["n"] == 130 and row["chosen"] == "refit"
    assert {"path", "warm", "refit", "fit", "seconds"} <= set(row)
    constants = update_choice.compiled_constants(rows("a5a")["updates"])
    assert_allclose(constants, [5e-4, 3e-9, 8e-9], rtol=1e-6)


def test_rows_that_change_nothing_are_settled():
    store = ResultStore(Path("none.json"))
    store.records = {"linear": settled_rows.measured(4000, 5)}
    text = settled_rows.table(store)
    assert text.count("100 %") == 3 and "enters as another leaves" in text
