"""The chart of the README: how many times faster than the peers, five problems."""

from __future__ import annotations

import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from widemargin.display.ratios import RatiosDisplay
from widemargin_papers.bench.tables import OURS, ratio, stored, verdict
from widemargin_papers.harness.measuring import Problem
from widemargin_papers.harness.results import Record, ResultStore

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
    """One problem: our record and those of the peers."""

    problem: str
    ours: Record
    peers: dict[str, Record]


def with_unit(record: Record) -> str:
    """Show how long a record took, in milliseconds below one second."""
    value = float(record["seconds"])
    shown = f"{value:.3g} s" if value >= 1.0 else f"{1e3 * value:.3g} ms"
    return (">" if record["capped"] else "") + shown


def chart_rows(store: ResultStore, problems: Iterable[Problem]) -> list[Row]:
    """Return the stored records of the shown problems, in their order."""
    rows = {}
    for problem in problems:
        ours = stored(store, problem, OURS)
        if ours is None:
            continue
        found = {
            peer: record
            for peer in PEERS
            if (record := stored(store, problem, peer)) is not None
        }
        if len(found) == len(PEERS):
            name = str(ours.get("problem", problem.name))
            rows[name] = Row(name, ours, found)
    return [rows[name] for name in SHOWN if name in rows]


def span(rows: Sequence[Row]) -> str:
    """Return from least to most how many times faster than scikit-learn we are."""
    ratios = [ratio(row.ours, row.peers["scikit-learn"]) for row in rows]
    return f"{int(min(ratios))} to {int(max(ratios))} times faster"


def measured_with(rows: Sequence[Row], root: Path) -> str:
    """Which engine was measured, and whether it has changed since."""
    commits = sorted({row.ours["commit"] for row in rows})
    days = sorted({row.ours["at"][:10] for row in rows})
    when = days[0] if len(days) == 1 else f"{days[0]} to {days[-1]}"
    since = max(_changes_since(commit.rstrip("+"), root) for commit in commits)
    older = f";\nthe engine has changed since, in {since} commits" if since else ""
    return f"Measured {when} at {', '.join(commits)}{older}."


def _changes_since(commit: str, root: Path) -> int:
    """Return how many commits have touched the engine since."""
    command = ["git", "-C", str(root), "rev-list", "--count", f"{commit}..HEAD", "--"]
    done = subprocess.run(
        [*command, *ENGINE], capture_output=True, text=True, check=True
    )
    return int(done.stdout)


def chart(rows: Sequence[Row], note: str) -> Any:
    """Draw the ratios with the seconds of both sides, and the note below."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.4, 4.6), layout="constrained")
    measured = [[row.peers[peer] for peer in PEERS] for row in rows]
    display = RatiosDisplay(
        [f"{row.problem}\nours {with_unit(row.ours)}" for row in rows],
        [
            [ratio(row.ours, record) for record in records]
            for row, records in zip(rows, measured, strict=True)
        ],
        [
            [f"{verdict(row.ours, one, None)}  ({with_unit(one)})" for one in records]
            for row, records in zip(rows, measured, strict=True)
        ],
        [f"than {name}" for name in PEERS.values()],
    )
    ax = display.plot(ax=figure.subplots()).ax_
    ax.set_title("How many times faster widemargin's SVC fits", loc="left")
    figure.supxlabel(note, fontsize=8, x=0.01, ha="left")
    return figure
