"""Whether updates cost more than a fit, and whether the way chosen is the shortest.

Eight data sets in two halves, every other one by alphabet: constants of the estimates
(``widemargin.engine.update_routes``) are chosen on the first and checked on the other.
A set is taken at C=1 with gamma="scale" and at C=10 with four times that gamma, from
60 rows on. Processor time of one thread, the least of several.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls
from sklearn.base import clone
from sklearn.preprocessing import scale

from widemargin import SVC
from widemargin.engine import updates
from widemargin.engine.update_routes import Route
from widemargin.estimators.incremental.task_state import TaskState
from widemargin_papers.harness.datasets import available, load_dense
from widemargin_papers.harness.missing_runs import Measurement
from widemargin_papers.harness.results import Record, ResultStore
from widemargin_papers.harness.text_tables import rst_table

Row = dict[str, Any]
Move = tuple[str, int]

SETS = ("a5a", "cod-rna", "covtype.binary", "ijcnn1", "magic04", "mammography",
        "page-blocks0", "phoneme")  # fmt: skip
SIZES = (60, 150, 300, 600, 1200, 2400, 5000)
SETTINGS = ((1.0, 1.0), (10.0, 4.0))  # C, and the factor of gamma="scale"
MOVES = (("add", 1), ("add", 10), ("add", 50), ("forget", 10), ("slide", 10))
HALVES = ("chosen on", "checked on")
MOST = 60  # rows that a move brings at most
LONG = 0.06  # seconds of repeats, of which there are
REPEATS = (1, 49)  # at least and at most
SLOWER = 1.2  # than a fit: no update is to be


def rows_of(name: str, n: int, seed: int = 0) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return rows of a data set, standardised, in random order, two classes first."""
    X, y = load_dense(name)
    chosen = np.random.default_rng(seed).permutation(len(y))[:n]
    other = int(np.argmax(y[chosen] != y[chosen[0]]))
    chosen[[1, other]] = chosen[[other, 1]]
    return scale(np.asarray(X[chosen], dtype=float)), y[chosen]


def applied(model: SVC, move: Move, X: Any, y: Any) -> tuple[SVC, float]:
    """Return a copy of the model after a move, and the seconds of the move alone."""
    kind, rows = move
    model = copy.copy(model)
    n = model.ids_.size
    begun = time.process_time()
    if kind == "forget":
        model.forget(model.ids_[2 : 2 + rows])  # the first two are of two classes
    else:
        window = n if kind == "slide" else None
        model.partial_fit(X[n : n + rows], y[n : n + rows], window=window)
    return model, time.process_time() - begun


def fitted(model: SVC, X: Any, y: Any) -> tuple[SVC, float]:
    """Return a clone fitted to rows, and the seconds it took."""
    fresh, begun = clone(model), time.process_time()
    fresh.fit(X, y)
    return fresh, time.process_time() - begun


Action = Callable[[], tuple[SVC, float]]


def least(*actions: Action) -> list[tuple[SVC, float]]:
    """Return the results of actions, and of the seconds of each the least.

    They take turns: whatever else the machine does meets all of them alike.
    """
    fewest, most = REPEATS
    models: list[SVC] = []
    seconds: list[list[float]] = []
    while len(seconds) < fewest or (len(seconds) < most and np.sum(seconds) < LONG):
        found = [action() for action in actions]
        models = [model for model, _ in found]
        seconds.append([spent for _, spent in found])
    shortest = np.min(seconds, axis=0).tolist()
    return list(zip(models, shortest, strict=True))


class Forced:
    """Take one way whatever the estimate."""

    def __init__(self, route: Route) -> None:
        self.route = route

    def __call__(self, *sizes: int, **settings: Any) -> tuple[Route, int]:
        """Return the way, as ``cheapest`` would."""
        if self.route == Route.WARM and not settings["warm"]:
            return Route.REFIT, 1
        return self.route, 1 << 30


def by_way(model: SVC, move: Move, X: Any, y: Any) -> Row | None:
    """Return the seconds of each way, of the one chosen, and of a whole fit.

    None where one class is left, of which there is no fit.
    """
    moves = partial(applied, model, move, X, y)
    live = moves()[0]._updates.closed_up().live
    if np.unique(live.targets).size == 1:
        return None
    both = least(moves, partial(fitted, model, live.X, live.targets))
    (moved, seconds), (fresh, fit) = both
    row: Row = {
        "n": live.n,
        "support": len(fresh.support_),
        "seconds": seconds,
        "fit": fit,
    }
    row["chosen"] = moved.history_[-1]["route"]
    if row["chosen"] == "settled":
        return row  # there is nothing to choose
    never_at_once = patch.object(TaskState, "least_seconds", lambda *_: 0.0)
    for route in Route:
        with never_at_once, patch.object(updates, "cheapest", Forced(route)):
            [(moved, seconds)] = least(moves)
        if moved.history_[-1]["route"] == route:
            row[route.value] = seconds
    return row


def measured(name: str) -> Record:
    """Return a row for each setting, size and move of one data set."""
    rows: list[Row] = []
    for n in SIZES:
        X, y = rows_of(name, n + MOST)
        if len(y) < n + MOST:
            continue
        gamma = 1.0 / (X.shape[1] * X.var())
        for C, factor in SETTINGS:
            model = SVC(C=C, gamma=factor * gamma, keep_rows=True, n_jobs=1)
            model.fit(X[:n], y[:n])
            for move in MOVES:
                row = by_way(model, move, X, y)
                if row is not None:
                    rows.append({"C": C, "move": f"{move[0]} {move[1]}"} | row)
    return {"half": HALVES[SETS.index(name) % 2], "updates": rows}


def work() -> Iterator[Measurement]:
    """Yield one measurement per available data set."""
    for name in SETS:
        if available(name):
            yield name, partial(measured, name)


def compiled_constants(rows: Sequence[Row]) -> NDArray[np.float64]:
    """Return base, entry and steps of compiled fits, by least relative squares."""
    few = [row for row in rows if row["n"] <= 2000]
    terms = [(1.0, row["n"] ** 2, row["n"] * row["support"]) for row in few]
    seconds = np.array([row["fit"] for row in few])
    return np.asarray(nnls(np.array(terms) / seconds[:, None], np.ones(len(few)))[0])


def table(store: ResultStore) -> str:
    """Return both halves: what was chosen, against the shortest way and whole fits."""
    header = ("half", "rows", "updates", "took", "shortest", "fits", "median", "most",
              "above 1.2")  # fmt: skip
    lines, notes = [], []
    for half in HALVES:
        rows = [
            row | {"set": name}
            for name, record in sorted(store.records.items())
            for row in record["updates"]
            if record["half"] == half
        ]
        for size in (*SIZES, None):
            some = [row for row in rows if size in (None, _size(row))]
            if some:
                lines.append(
                    (half, "all" if size is None else f"{size:,}", *_sums(some))
                )
        worst = sorted(rows, key=_ratio)[-3:]
        notes.append(
            f"Largest, {half}: " + "; ".join(map(_said, reversed(worst))) + "."
        )
        base, entry, steps = compiled_constants(rows)
        notes.append(
            f"Compiled fits, {half}: {1e3 * base:.2f} ms + {1e9 * entry:.2f} ns n² + "
            f"{1e9 * steps:.1f} ns n support."
        )
    return rst_table(header, lines) + "\n" + "\n\n".join(notes) + "\n"


def _size(row: Row) -> int:
    return min(SIZES, key=lambda size: abs(size - int(row["n"])))


def _ratio(row: Row) -> float:
    return float(row["seconds"] / row["fit"])


def _sums(rows: Sequence[Row]) -> tuple[str, ...]:
    ways = ("seconds", *(route.value for route in Route))
    best = sum(min(row[way] for way in ways if way in row) for row in rows)
    ratios = np.array([_ratio(row) for row in rows])
    return (
        f"{len(rows)}",
        f"{sum(row['seconds'] for row in rows):.2f} s",
        f"{best:.2f} s",
        f"{sum(row['fit'] for row in rows):.2f} s",
        f"{np.median(ratios):.2f}",
        f"{ratios.max():.2f}",
        f"{np.count_nonzero(ratios > SLOWER)}",
    )


def _said(row: Row) -> str:
    return (
        f"{_ratio(row):.2f} ({row['set']}, {row['n']:,} rows, C={row['C']:g}, "
        f"{row['move']}: {row['chosen']} {1e3 * row['seconds']:.1f} ms, "
        f"fit {1e3 * row['fit']:.1f} ms)"
    )
