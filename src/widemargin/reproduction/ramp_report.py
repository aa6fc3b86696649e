"""The measured part of the ramp page, written from the stored results.

``python benchmarks/ramp.py --print`` prints it; ``docs/systems/ramp_measured.inc`` is
what it printed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from widemargin.reproduction import mislabelled, ramp_timing
from widemargin.reproduction.results import ResultStore


def rst_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a simple table in reStructuredText."""
    widths = [max(len(row[i]) for row in [header, *rows]) for i in range(len(header))]
    rule = "  ".join("=" * width for width in widths)

    def line(cells: Sequence[str]) -> str:
        return "  ".join(
            c.ljust(w) for c, w in zip(cells, widths, strict=True)
        ).rstrip()

    body = "\n".join(line(row) for row in rows)
    return f"{rule}\n{line(header)}\n{rule}\n{body}\n{rule}\n"


def _mean(values: Sequence[float | None], form: Callable[[float], str]) -> str:
    known = [value for value in values if value is not None]
    return form(float(np.mean(known))) if known else "-"


def _place(method: str) -> tuple[str, int]:
    """Order methods by their setting, then as the benchmark lists them."""
    name, _, setting = method.partition(", ")
    return setting, list(mislabelled.METHODS).index(name)


def robustness_tables(store: ResultStore) -> str:
    """Return accuracy, precision and recall, over data sets and apart."""
    summary = mislabelled.summary(store)
    methods = list(dict.fromkeys(row["method"] for row in summary))
    methods.sort(key=_place)
    settings = sorted({(row["kind"], row["share"]) for row in summary}, reverse=True)
    settings.sort(key=lambda setting: (setting[0] != "random", setting[1]))
    seeds = sorted({row["seeds"] for row in summary})
    datasets = sorted({row["dataset"] for row in summary})

    def figures(name: str, **wanted: Any) -> list[float | None]:
        return [
            row[name]
            for row in summary
            if all(row[key] == value for key, value in wanted.items())
        ]

    accuracy = [
        [f"{kind} {share:.0%}"]
        + [
            _mean(
                figures("accuracy", kind=kind, share=share, method=method),
                lambda value: f"{value:.3f}",
            )
            for method in methods
        ]
        for kind, share in settings
    ]
    found = [
        [f"{kind} {share:.0%}"]
        + [
            " / ".join(
                _mean(
                    figures(name, kind=kind, share=share, method=method),
                    lambda value: f"{value:.2f}",
                )
                for name in ("precision", "recall")
            )
            for method in methods
        ]
        for kind, share in settings
        if share > 0
    ]
    apart = [
        [dataset, f"{kind} {share:.0%}"]
        + [
            _mean(
                figures(
                    "accuracy", dataset=dataset, kind=kind, share=share, method=method
                ),
                lambda value: f"{value:.3f}",
            )
            for method in methods
        ]
        for dataset in datasets
        for kind, share in settings
        if share in (0.0, 0.2)
    ]
    return "\n".join(
        [
            f"Test accuracy on clean labels, mean over {len(datasets)} data sets "
            f"({', '.join(datasets)}) and {' or '.join(map(str, seeds))} seeds each:\n",
            rst_table(["flips", *methods], accuracy),
            "Precision / recall of the samples called mislabelled (for SVC: those it "
            "misclassifies in training):\n",
            rst_table(["flips", *methods], found),
            "Accuracy by data set:\n",
            rst_table(["data", "flips", *methods], apart),
        ]
    )


def timing_tables(store: ResultStore) -> str:
    """Return the ratios of processor times, setting by setting, and their medians."""
    rows = []
    for key in sorted(store.records):
        figures = store.records[key]["contestants"]
        seconds = {name: entry["processor"] for name, entry in figures.items()}
        share = max(
            (point[2] for stage in figures["safe+shrink"]["curve"] for point in stage),
            default=0.0,
        )
        stopped = any(entry["status"] == "max_time" for entry in figures.values())
        rows.append(
            [key.split(" tol ")[0] + ("*" if stopped else "")]
            + [f"{seconds[name]:.2f}" for name in ("SVC", *ramp_timing.CONTESTANTS)]
            + [str(figures["safe+shrink"]["rounds"]), f"{share:.2f}"]
        )
    header = ["setting", "SVC", *ramp_timing.CONTESTANTS, "problems", "share decided"]
    medians = [
        [name, f"{value:.3g}"] for name, value in ramp_timing.ratios(store).items()
    ]
    return "\n".join(
        [
            "Processor seconds (one run, minimum of repeats, tolerance 1e-6, 20,000 "
            "samples; a star marks settings in which a fit was stopped):\n",
            rst_table(header, rows),
            rst_table(["over the settings", "figure"], medians),
        ]
    )


def share_tables(store: ResultStore) -> str:
    """Return Figure 3 as a table: iteration and share decided, check by check."""
    rows = [
        [
            key.split(" tol ")[0],
            ", ".join(f"{n}: {share:.2f}" for n, share, _ in record["points"]),
        ]
        for key, record in sorted(store.records.items())
    ]
    return "\n".join(
        [
            "Share of samples decided at each check (iteration: share), first convex "
            "problem, tolerance 1e-6:\n",
            rst_table(["setting", "iteration: share"], rows),
        ]
    )
