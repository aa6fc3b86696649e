"""The stream of ``benchmarks/stream.py``: what is measured, its table, its picture."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from widemargin_papers.harness.datasets import available
from widemargin_papers.harness.figures import draw_panels
from widemargin_papers.harness.missing_runs import Measurement
from widemargin_papers.harness.results import ResultStore
from widemargin_papers.harness.text_tables import rst_table

from ..campaign import Campaign
from . import settled_rows, update_choice
from .learners import learners
from .prequential import CHUNKS, followed, ijcnn1

PICTURE = "docs/systems/incremental_stream.svg"


def work(chunks: int = CHUNKS) -> Iterator[Measurement]:
    """Yield one measurement per model; none without the data."""
    if not (available("ijcnn1") and available("ijcnn1.t")):
        return
    for name, (make, every) in learners().items():
        yield name, partial(_measured, make, every, chunks)


def _measured(make: Any, every: int, chunks: int) -> dict[str, Any]:
    return followed(make, every, *ijcnn1(chunks))


def table(store: ResultStore) -> str:
    """Return latency, throughput and accuracy of all models."""
    header = ("model", "50 %", "95 %", "99 %", "rows a second", "accuracy", "recall")
    rows, notes = [], []
    for name in sorted(store.records):
        record = store.records[name]
        latency = [f"{1e3 * seconds:.2f} ms" for seconds in record["latency"]]
        speed = f"{record['rows a second']:,.0f}"
        shares = [f"{record[share]:.4f}" for share in ("accuracy", "recall")]
        rows.append((name, *latency, speed, *shares))
        if "routes" in record:
            ways = ", ".join(
                f"{count:,} {way}" for way, count in sorted(record["routes"].items())
            )
            notes.append(
                f"{name}: {record['chunks']:,} chunks and the first window, {ways}; "
                f"KKT violation at the end {record['violation']:.0e}."
            )
        elif record["measured"] < record["chunks"]:
            notes.append(
                f"{name}: {record['measured']:,} of {record['chunks']:,} chunks."
            )
    return rst_table(header, rows) + "\n" + " ".join(notes) + "\n"


def figures(store: ResultStore) -> dict[str, Any]:
    """Draw the accuracy over time of all models that answered every chunk."""
    curves = {
        name: [
            (record["chunks"] * (k + 0.5) / len(record["curve"]), value)
            for k, value in enumerate(record["curve"])
        ]
        for name, record in sorted(store.records.items())
        if record["measured"] == record["chunks"]
    }
    labels = ("chunk", "accuracy before learning")
    panels = {"ijcnn1, chunks of 10": curves}
    return {"stream": draw_panels(panels, labels, size=(9.0, 4.0))}


CAMPAIGNS = {
    "ijcnn1": Campaign(
        "stream", work, table, pictures={PICTURE: "stream"}, figures=figures
    )
}
UPDATES = {
    "choice": Campaign("updates", update_choice.work, update_choice.table),
    "settled": Campaign("settled", settled_rows.work, settled_rows.table),
}
