"""The chart of the README: how many times faster than the peers, five problems."""

from __future__ import annotations

import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from widemargin.display.canvas import COLOURS
from widemargin_papers.harness.measuring import Problem
from widemargin_papers.harness.results import Record, ResultStore

from .tables import OURS, ratio, seconds, stored, verdict

#: from the smallest to the largest; all others stand in the tables of the SVC page
SHOWN = (
    "breast cancer 569x30",
    "letter 15000x16",
    "a9a CSR, C=1",
    "ijcnn1 49990x22",
    "covtype 50000x54",
)
PEERS = {"scikit-learn": "scikit-learn", "intelex": "scikit-learn-intelex"}
ENGINE = ("core", "src/widemargin/engine", "src/widemargin/estimators/base")


@dataclass(frozen=True)
class Row:
    """One problem: our record and those of the peers that were measured."""

    problem: str
    ours: Record
    peers: dict[str, Record]


def chart_rows(store: ResultStore, problems: Iterable[Problem]) -> list[Row]:
    """Return the stored records of the shown problems, in their order."""
    rows = {}
    for problem in problems:
        ours = stored(store, problem, OURS)
        if ours is None:
            continue
        found = {peer: stored(store, problem, peer) for peer in PEERS}
        name = str(ours.get("problem", problem.name))
        rows[name] = Row(name, ours, {p: r for p, r in found.items() if r is not None})
    return [rows[name] for name in SHOWN if name in rows]


def measured_with(rows: Sequence[Row], root: Path) -> str:
    """Say which engine was measured and whether it has changed since."""
    commits = sorted({row.ours["commit"] for row in rows})
    days = sorted({row.ours["at"][:10] for row in rows})
    when = days[0] if len(days) == 1 else f"{days[0]} to {days[-1]}"
    since = max(_changes_since(commit.rstrip("+"), root) for commit in commits)
    older = f"; the engine has changed since, in {since} commits" if since else ""
    return f"Measured {when} at {', '.join(commits)}{older}."


def _changes_since(commit: str, root: Path) -> int:
    """Return how many commits have touched the engine since."""
    command = ["git", "-C", str(root), "rev-list", "--count", f"{commit}..HEAD", "--"]
    done = subprocess.run(
        [*command, *ENGINE], capture_output=True, text=True, check=True
    )
    return int(done.stdout)


def _ratios(row: Row) -> list[float]:
    """Return the ratios of a row, one a peer."""
    return [ratio(row.ours, record) or 1.0 for record in row.peers.values()]


def chart(rows: Sequence[Row], note: str) -> Any:
    """Draw two bars a problem, from equal speed, on a logarithmic scale."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8.4, 4.2), layout="constrained")
    ax = figure.subplots()
    height = 0.36
    for place, row in enumerate(reversed(rows)):
        bars = zip(row.peers.values(), _ratios(row), strict=True)
        for k, (record, times) in enumerate(bars):
            at = place + height * (0.5 - k)
            ax.barh(at, times - 1.0, left=1.0, height=height * 0.92, color=COLOURS[k])
            text = f"{verdict(row.ours, record, None)}  ({seconds(record)} s)"
            ax.annotate(
                text, (times, at), xytext=(4, 0), textcoords="offset points",
                va="center", fontsize=8.5,
            )  # fmt: skip
    ax.set_yticks(
        range(len(rows)),
        [f"{row.problem}\nours {seconds(row.ours)} s" for row in reversed(rows)],
    )
    ax.set_xscale("log")
    ticks = [0.5, 1, 2, 5, 10, 20, 50, 100]
    slowest = min((r for row in rows for r in _ratios(row)), default=1.0)
    ax.set_xlim(min(1.0, 0.8 * slowest), 200.0)
    ticks = [tick for tick in ticks if tick >= ax.get_xlim()[0]]
    ax.set_xticks(ticks, [f"{tick:g}x" for tick in ticks])
    ax.minorticks_off()
    ax.spines[["top", "right"]].set_visible(False)
    ax.set_title("How many times faster widemargin's SVC fits", loc="left")
    for k, name in enumerate(PEERS.values()):
        ax.barh([0], [0], color=COLOURS[k], label=f"than {name}")
    ax.legend(loc="upper right", frameon=False)
    figure.supxlabel(note, fontsize=8, x=0.01, ha="left")
    return figure
