"""Tables of suites: fit time against n, and regressors beside their peers."""

from __future__ import annotations

from collections.abc import Iterable

from widemargin_papers.bench.tables import OURS, ratio_table, stored
from widemargin_papers.harness.measuring import Problem
from widemargin_papers.harness.results import Record, ResultStore
from widemargin_papers.harness.text_tables import exponent


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


def family_table(store: ResultStore, problems: Iterable[Problem]) -> str:
    """Return the ratios of regressors and one-class models, and what they grow by.

    Below the table: quantiles against SVR and against each other on the same data, and
    the exponent of SVR's time where there are several sizes.
    """
    chosen = list(problems)
    table = [one for one in chosen if " n=" not in one.name]
    lines = [ratio_table(store, table)]
    for problem in table:
        _, _, data = problem.name.partition("QuantileSVR nine, ")
        if not data:
            continue
        nine, one, svr = (
            store.records.get(f"{name}{data} | {OURS}")
            for name in ("QuantileSVR nine, ", "QuantileSVR one, ", "SVR ")
        )
        if nine and one:
            share = float(nine["seconds"]) / float(one["seconds"])
            lines.append(f"{data}: nine quantiles take {share:.2g} times one (asked 4)")
        if one and svr:
            share = float(one["seconds"]) / float(svr["seconds"])
            lines.append(f"{data}: one quantile takes {share:.2g} times SVR (asked 1)")
    growth = growth_table(store, [one for one in chosen if " n=" in one.name])
    return "\n".join([*lines, growth])
