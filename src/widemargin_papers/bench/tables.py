"""The table of ratios against the peers, as text."""

from __future__ import annotations

from collections.abc import Iterable

from widemargin_papers.harness.measuring import Problem
from widemargin_papers.harness.results import Record, ResultStore
from widemargin_papers.harness.text_tables import layout

from .problems import GENERATED

OURS = "widemargin"


def seconds(record: Record | None) -> str:
    """Show the seconds of a record; ">" marks a capped one."""
    if record is None:
        return "-"
    value = float(record["seconds"])
    shown = f"{value:.3g}" if value >= 1e-3 else f"{1e6 * value:.0f}us"
    return (">" if record["capped"] else "") + shown


def ratio(ours: Record, theirs: Record) -> float:
    """Return how many times faster we are (a lower bound for a capped peer)."""
    return float(theirs["seconds"]) / float(ours["seconds"])


def verdict(ours: Record, theirs: Record | None, asked: float | None) -> str:
    """Show a ratio and what is asked: "9.3x" reached, "6.1x !7" missed."""
    if theirs is None:
        return "-"
    found = ratio(ours, theirs)
    digits = ".0f" if found >= 99.5 else ".2g"
    shown = (">" if theirs["capped"] else "") + f"{found:{digits}}x"
    if asked is None:
        return shown
    return shown if found >= asked else f"{shown} !{asked:g}"


def excess(ours: Record, theirs: Record | None) -> str:
    """Show how much lower our dual bound is than theirs, relative; negative: higher.

    Without a dual bound: how much higher our primal objective is.
    """
    for name, sign in (("bound", -1), ("objective", 1)):
        if theirs is not None and name in theirs and name in ours:
            difference = sign * (ours[name] - theirs[name])
            return f"{difference / abs(theirs[name]):+.0e}"
    return "-"


def _shown(record: Record | None, name: str, form: str) -> str:
    return "-" if record is None or name not in record else f"{record[name]:{form}}"


def stored(store: ResultStore, problem: Problem, contestant: str) -> Record | None:
    """Return the record of a run: printing needs no data, only what was measured."""
    real = problem.name.replace(GENERATED, "")
    for name in (real, problem.name):
        record = store.records.get(f"{name} | {contestant}")
        if record is not None:
            return record
    return None


HEADER = (
    "problem", "ours s", "peer s", "faster", "intelex s", "faster", "objective",
    "cpu s", "peer cpu s", "MB", "peer MB", "support",
)  # fmt: skip


def ratio_rows(
    store: ResultStore, problems: Iterable[Problem]
) -> list[tuple[str, ...]]:
    """Return a row under `HEADER` for each problem whose results are in the store."""
    rows = []
    for problem in problems:
        found = {name: stored(store, problem, name) for name in (OURS, *problem.peers)}
        ours = found[OURS]
        if ours is None:
            continue
        first = problem.peers[0] if problem.peers else ""
        peer, other = found.get(first), found.get("intelex")
        rows.append(
            (
                str(ours.get("problem", problem.name)),
                seconds(ours),
                seconds(peer),
                verdict(ours, peer, problem.target.get(first)),
                seconds(other),
                verdict(ours, other, problem.target.get("intelex")),
                excess(ours, peer if peer and not peer["capped"] else other),
                *(_shown(one, "processor_seconds", ".3g") for one in (ours, peer)),
                *(_shown(one, "peak_mb", ".0f") for one in (ours, peer)),
                str(ours.get("n_support") or "-"),
            )
        )
    return rows


def ratio_table(store: ResultStore, problems: Iterable[Problem]) -> str:
    """Return the ratio table of those problems whose results are in the store."""
    note = (
        "peer: scikit-learn's SVC (LinearSVC where linear); '>' stopped at its cap; '!'"
        "\na target that is missed; objective: relative difference of the dual value"
        "\nto the peer's, recomputed in float64, negative is better; least of repeats."
    )
    return layout(HEADER, ratio_rows(store, problems)) + "\n" + note
