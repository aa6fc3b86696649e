"""What a fit beyond memory costs, as a model: fitted, checked, and carried on.

Exact fits in rounds. With n rows of d features and S support vectors:

    S = s n + t sqrt(n)               noisy labels, and rows along the boundary
    judged entries = passes n S       the passes weighted with the model each one had
    solve entries = q S^2
    processor seconds = judged a + n c of the workers, solve b where it is solved

Early fits. A row is read, assigned, sent and trained, and each of k clusters is a
partition of the shuffle and a task: ``processor seconds = n e + k f``. (The entries of
clusters of a thousand rows are lost in that.) Times are those of one core of the
machine of the runs; wall time is that over the workers plus the solves, which run in
one place.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

from widemargin_papers.harness.results import Record, ResultStore
from widemargin_papers.harness.text_tables import rst_table

from .generated import FEATURES

Vector = NDArray[np.float64]
CHECKED = 500_000  # rows of the run on dask that the model is not fitted to
CHECKED_EARLY = 300_000
AHEAD = ((10**8, 100), (10**8, 1000), (10**9, 100), (10**9, 1000))
THREADS = 16  # of the machine that solves
LINK = 1e9  # bytes a second out of one place
CLUSTER = 1000  # rows of a cluster of an early fit
TASKS = 2e-3  # seconds of dask's scheduler for the two tasks of a cluster, at 1 ms each


@dataclass(frozen=True)
class ExactModel:
    """The numbers of the model of exact fits, in the notation above."""

    share: float
    boundary: float
    passes: float
    solves: float
    rounds: float
    held: float
    per_judged: float
    per_solved: float
    per_row: float

    def support(self, n: float) -> float:
        """Return the number of support vectors."""
        return float(self.share * n + self.boundary * np.sqrt(n))

    def judged(self, n: float) -> float:
        """Return the kernel entries of all passes."""
        return self.passes * n * self.support(n)

    def solved(self, n: float) -> float:
        """Return the kernel entries of all solves."""
        return self.solves * self.support(n) ** 2

    def processor(self, n: float) -> float:
        """Return the processor seconds of all processes."""
        solving = self.per_solved * self.solved(n)
        return self.per_judged * self.judged(n) + solving + self.per_row * n


def _least(columns: Sequence[Vector], seconds: Vector) -> Vector:
    """Return coefficients >= 0 with the least squares of relative errors."""
    table = np.column_stack(columns) / seconds[:, None]
    return np.asarray(nnls(table, np.ones(len(seconds)))[0])


def _column(records: Sequence[Record], name: str) -> Vector:
    return np.array([float(record[name]) for record in records])


def exact_model(records: Sequence[Record]) -> ExactModel:
    """Fit the model to some runs on dask workers."""
    rows, support = _column(records, "rows"), _column(records, "support")
    judged = _column(records, "judged entries")
    solved = _column(records, "solve entries")
    there = _column(records, "processor of workers")
    here = _column(records, "processor") - there
    share, boundary = _least([rows, np.sqrt(rows)], support)
    per_judged, per_row = _least([judged, rows], there)
    return ExactModel(
        share=float(share),
        boundary=float(boundary),
        passes=float(np.mean(judged / (rows * support))),
        solves=float(np.mean(solved / support**2)),
        rounds=float(np.mean(_column(records, "rounds"))),
        held=float(np.mean(_column(records, "held") / support)),
        per_judged=float(per_judged),
        per_solved=float(_least([solved], here)[0]),
        per_row=float(per_row),
    )


def split(
    store: ResultStore, source: str, checked: int
) -> tuple[list[Record], Record | None]:
    """Return the runs that are fitted, and the one that is checked."""
    own = [r for r in store.records.values() if r.get("source", source) == source]
    fitted = [r for r in own if r["rows"] != checked]
    rest = [record for record in own if record["rows"] == checked]
    return sorted(fitted, key=lambda r: int(r["rows"])), rest[0] if rest else None


def _beside(what: str, measured: float, expected: float, digits: str) -> list[str]:
    ratio = expected / measured
    return [what, f"{measured:{digits}}", f"{expected:{digits}}", f"{ratio:.2f}"]


def exact_table(store: ResultStore) -> str:
    """Return the model of exact fits, its check, and where it leads."""
    fitted, checked = split(store, "dask", CHECKED)
    if len(fitted) < 3 or checked is None:
        return "Not measured yet."
    model, n = exact_model(fitted), float(CHECKED)
    sizes = ", ".join(f"{record['rows']:,}" for record in fitted)
    compared = [
        _beside("support vectors", checked["support"], model.support(n), ",.0f"),
        _beside(
            "judged entries / 1e9", checked["judged entries"] / 1e9,
            model.judged(n) / 1e9, ".2f",
        ),
        _beside(
            "solve entries / 1e9", checked["solve entries"] / 1e9,
            model.solved(n) / 1e9, ".2f",
        ),
        _beside("processor seconds", checked["processor"], model.processor(n), ".1f"),
    ]  # fmt: skip
    header = ["of the run", "measured", "model", "model / measured"]
    return "\n".join(
        [
            f"Fitted to {sizes} rows on two dask workers: "
            f"support = {model.share:.4f} n + {model.boundary:.1f} sqrt(n), "
            f"{model.passes:.2f} passes,\n{model.solves:.1f} support^2 solve entries, "
            f"{model.rounds:.1f} rounds, {model.held:.1f} rows held for each support "
            f"vector;\n{1e9 * model.per_judged:.2f} s for 1e9 judged entries, "
            f"{1e9 * model.per_solved:.2f} s for 1e9 solve entries, "
            f"{1e6 * model.per_row:.1f} s for 1e6 rows.",
            "",
            f"The run with {CHECKED:,} rows, to which it was not fitted, from its "
            "number of rows alone:",
            "",
            rst_table(header, compared),
            "Carried on:",
            "",
            rst_table(AHEAD_HEADER, [_ahead(model, *case) for case in AHEAD]),
        ]
    )


AHEAD_HEADER = ["rows", "workers", "support", "judging h", "solving h", "worker MB"]
AHEAD_HEADER += ["solver GB", "sent TB", "sending h"]


def _ahead(model: ExactModel, n: int, workers: int) -> list[str]:
    """Return what an exact fit would take; d and the share are those of the runs."""
    support = model.support(n)
    row = 4 * FEATURES + 16  # a support vector with its number and coefficient
    judging = (model.per_judged * model.judged(n) + model.per_row * n) / workers
    solving = model.per_solved * model.solved(n) / THREADS
    sent = model.rounds * support * row * workers
    held = model.held * support * (row + 64)  # gradients, bounds and packed rows
    figures = (judging / 3600, solving / 3600)
    return [
        f"{n:.0e}",
        str(workers),
        f"{support:,.0f}",
        *(f"{hours:,.1f}" for hours in figures),
        f"{2 * support * row / 1e6:,.0f}",
        f"{held / 1e9:,.1f}",
        f"{sent / 1e12:,.2f}",
        f"{sent / LINK / 3600:,.1f}",
    ]


def early_table(store: ResultStore) -> str:
    """Return the model of early fits, its check, and where it leads."""
    fitted, checked = split(store, "", CHECKED_EARLY)
    if len(fitted) < 3 or checked is None:
        return "Not measured yet."
    columns = [_column(fitted, "rows"), _column(fitted, "clusters")]
    per_row, per_cluster = _least(columns, _column(fitted, "processor"))
    expected = per_row * checked["rows"] + per_cluster * checked["clusters"]
    compared = [_beside("processor seconds", checked["processor"], expected, ".1f")]
    header = ["of the run", "measured", "model", "model / measured"]
    sizes = ", ".join(f"{record['rows']:,}" for record in fitted)
    ahead: list[list[str]] = []
    for n, workers in AHEAD:
        clusters = n / CLUSTER
        training = (per_row * n + per_cluster * clusters) / workers
        assigning: Any = n * clusters * 2 * FEATURES / 1e10 / workers
        ahead.append(
            [
                f"{n:.0e}",
                str(workers),
                f"{clusters:,.0f}",
                f"{training / 3600:.2f}",
                f"{assigning / 3600:,.1f}",
                f"{n * (4 * FEATURES + 24) / 1e12:.2f}",
                f"{16 * clusters * 4 * FEATURES / 1e9:.2f}",
                f"{TASKS * clusters / 3600:.2f}",
            ]
        )
    leads = ["rows", "workers", "clusters", "training h", "assigning h"]
    leads += ["shuffled TB", "sample GB", "scheduling h"]
    return "\n".join(
        [
            f"Fitted to {sizes} rows on two dask workers: {1e6 * per_row:.1f} s for "
            f"1e6 rows and\n{1e3 * per_cluster:.1f} s for 1,000 clusters.",
            "",
            f"The run with {CHECKED_EARLY:,} rows, to which it was not fitted:",
            "",
            rst_table(header, compared),
            f"Carried on, with clusters of {CLUSTER:,} rows:",
            "",
            rst_table(leads, ahead),
        ]
    )
