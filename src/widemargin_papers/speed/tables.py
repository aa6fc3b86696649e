"""Tables of results: ratios against the peers, fitted exponents. Text, nothing else."""

from __future__ import annotations

from collections.abc import Iterable

from widemargin_papers.harness.measuring import Problem
from widemargin_papers.harness.results import Record, ResultStore
from widemargin_papers.harness.text_tables import exponent, layout

from . import problems as speed

OURS = "widemargin"


def seconds(record: Record | None) -> str:
    """Show the seconds of a record; ">" marks a capped one."""
    if record is None:
        return "-"
    value = float(record["seconds"])
    shown = f"{value:.3g}" if value >= 1e-3 else f"{1e6 * value:.0f}us"
    return (">" if record["capped"] else "") + shown


def ratio(ours: Record, theirs: Record | None) -> float | None:
    """Return how many times faster we are (a lower bound for a capped peer)."""
    if theirs is None:
        return None
    return float(theirs["seconds"]) / float(ours["seconds"])


def verdict(ours: Record, theirs: Record | None, asked: float | None) -> str:
    """Show a ratio and what is asked: "9.3x" reached, "6.1x !7" missed."""
    found = ratio(ours, theirs)
    if found is None or theirs is None:
        return "-"
    shown = (">" if theirs["capped"] else "") + f"{found:.2g}x"
    if asked is None:
        return shown
    return shown if found >= asked else f"{shown} !{asked:g}"


def excess(ours: Record, theirs: Record | None) -> str:
    """Show our primal objective's excess over theirs, relative."""
    if theirs is None or "objective" not in theirs or "objective" not in ours:
        return "-"
    difference = ours["objective"] - theirs["objective"]
    return f"{difference / abs(theirs['objective']):+.0e}"


def dual_excess(ours: Record, theirs: Record | None) -> str:
    """Show how much lower our dual bound is than theirs, relative; negative: higher."""
    if theirs is None or "bound" not in theirs or "bound" not in ours:
        return excess(ours, theirs)
    return f"{(theirs['bound'] - ours['bound']) / abs(theirs['bound']):+.0e}"


def processor(record: Record | None) -> str:
    """Show the processor seconds of a record, which contention hardly changes."""
    if record is None or "processor_seconds" not in record:
        return "-"
    return f"{record['processor_seconds']:.3g}"


def memory(record: Record | None) -> str:
    """Show the peak memory of a record's process in MB."""
    if record is None or "peak_mb" not in record:
        return "-"
    return f"{record['peak_mb']:.0f}"


def stored(store: ResultStore, problem: Problem, contestant: str) -> Record | None:
    """Return the record of a run: printing needs no data, only what was measured."""
    real = problem.name.replace(speed.GENERATED, "")
    for name in (real, problem.name):
        record = store.records.get(f"{name} | {contestant}")
        if record is not None:
            return record
    return None


def ratio_table(store: ResultStore, problems: Iterable[Problem]) -> str:
    """Return the ratio table of those problems whose results are in the store."""
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
                dual_excess(ours, peer if peer and not peer["capped"] else other),
                processor(ours),
                processor(peer),
                memory(ours),
                memory(peer),
                str(ours.get("n_support") or "-"),
            )
        )
    header = (
        "problem", "ours s", "peer s", "faster", "intelex s", "faster", "objective",
        "cpu s", "peer cpu s", "MB", "peer MB", "support",
    )  # fmt: skip
    note = (
        "peer: scikit-learn's SVC (LinearSVC where linear); '>' stopped at its cap; '!'"
        "\nthe ratio asked and missed; objective: relative difference of the dual value"
        "\nto the peer's, recomputed in float64, negative is better; least of repeats."
    )
    return layout(header, rows) + "\n" + note


def growth_table(store: ResultStore, problems: Iterable[Problem]) -> str:
    """Return fit time against n with the fitted exponent, for each data set."""
    families: dict[str, list[Record]] = {}
    for problem in problems:
        record = stored(store, problem, OURS)
        if record is not None:
            families.setdefault(problem.name.split(" n=")[0], []).append(record)
    lines = []
    for family, records in families.items():
        records.sort(key=lambda record: record["n"])
        times = ", ".join(
            f"{record['n']}: {record['seconds']:.3g} s" for record in records
        )
        slope = ""
        if len(records) > 2:
            fitted = exponent(
                [record["n"] for record in records],
                [record["seconds"] for record in records],
            )
            slope = f"; time ~ n^{fitted:.2f}"
        lines.append(f"{family}: {times}{slope}")
    return "\n".join(lines)
