"""Rows that change nothing, among 200,000: what one takes that enters or leaves."""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import partial

import numpy as np
from numpy.typing import NDArray

from widemargin import SVC
from widemargin_papers.harness.missing_runs import Measurement
from widemargin_papers.harness.results import Record, ResultStore
from widemargin_papers.harness.text_tables import rst_table

ROWS, FEATURES = 200_000, 20
UPDATES = 200  # of each kind
KINDS = ("enters", "leaves", "enters as another leaves")


def many_rows(n: int = ROWS) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """Return rows of two classes, most of them far from the boundary."""
    X = np.random.default_rng(0).normal(size=(n, FEATURES))
    score = X[:, 0] + 0.5 * X[:, 1]
    X[:, 0] += np.sign(score)
    return X, (score > 0).astype(np.intp)


def measured(n: int = ROWS, updates: int = UPDATES) -> Record:
    """Return the milliseconds of each kind, at the middle and at 99 of 100."""
    X, y = many_rows(n)
    exact = SVC(polish=True, exact_updates=True)  # at tol every row may count
    model = exact.set_params(kernel="linear", keep_rows=True, n_jobs=1).fit(X, y)
    far = iter(np.flatnonzero(model.decision_function(X) * (2 * y - 1) > 3.0))
    first = next(far)
    model.partial_fit(X[[first]] * 1.01, y[[first]])  # the columns grow once
    record: Record = {"rows": n, "support": int(model.support_.size)}
    for kind in KINDS:
        spent, settled = [], 0
        for row in [next(far) for _ in range(updates)]:
            begun = time.process_time()
            if kind == "leaves":
                model.forget(row)
            else:
                leaver = row if "another" in kind else None
                model.partial_fit(X[[row]] * 1.01, y[[row]], forget_ids=leaver)
            spent.append(1e3 * (time.process_time() - begun))
            settled += model.history_[-1]["route"] == "settled"
        middle, high = np.percentile(spent, [50, 99]).tolist()
        record[kind] = {"middle": middle, "high": high, "settled": settled / updates}
    return record


def work() -> Iterator[Measurement]:
    """Yield the one measurement."""
    yield f"linear, {ROWS} x {FEATURES}", partial(measured)


def table(store: ResultStore) -> str:
    """Return what one row takes, by kind."""
    header = ("rows", "support vectors", "one row", "50 %", "99 %", "settled")
    lines = [
        (f"{record['rows']:,} x {FEATURES}", f"{record['support']}", kind,
         f"{record[kind]['middle']:.2f} ms", f"{record[kind]['high']:.2f} ms",
         f"{100 * record[kind]['settled']:.0f} %")
        for record in store.records.values()
        for kind in KINDS
    ]  # fmt: skip
    return rst_table(header, lines)
