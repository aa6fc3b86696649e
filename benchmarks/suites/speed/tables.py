"""Tables of suites: fit time against n, and regressors beside their peers."""

from __future__ import annotations

from collections.abc import Iterable
from statistics import median

from widemargin_papers.bench.tables import OURS, ratio, ratio_table, stored
from widemargin_papers.harness.measuring import Problem
from widemargin_papers.harness.results import Record, ResultStore

from ..record_tables import exponent


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
    """Return the ratios of regressors and one-class models, and what they grow by."""
    table, growing = parted(problems)
    growth = growth_table(store, growing)
    return "\n".join(
        [ratio_table(store, table), *quantile_shares(store, table), growth]
    )


def sweep_summary(store: ResultStore, problems: Iterable[Problem]) -> list[str]:
    """Return the median and the extremes of the ratios to the first peer."""
    ratios = [
        (ratio(ours, peer), problem.name)
        for problem in problems
        if (ours := stored(store, problem, OURS)) is not None
        and (peer := stored(store, problem, problem.peers[0])) is not None
    ]
    if not ratios:
        return []
    values = sorted(ratios)
    middle = median(value for value, _ in values)
    slower = sum(value < 1 for value, _ in values)
    return [
        f"{len(values)} problems: median {middle:.2g}x, least {values[0][0]:.2g}x "
        f"({values[0][1]}), most {values[-1][0]:.2g}x ({values[-1][1]}); "
        f"slower than scikit-learn on {slower}"
    ]


def parted(problems: Iterable[Problem]) -> tuple[list[Problem], list[Problem]]:
    """Return the problems of a table of ratios, and those of growing size."""
    chosen = list(problems)
    growing = [one for one in chosen if " n=" in one.name]
    return [one for one in chosen if one not in growing], growing


def quantile_shares(store: ResultStore, problems: Iterable[Problem]) -> list[str]:
    """Return quantiles against SVR and against each other on the same data."""
    lines = []
    for problem in problems:
        _, _, data = problem.name.partition("QuantileSVR nine, ")
        if not data:
            continue
        nine, one, svr = (
            store.records.get(f"{name}{data} | {OURS}")
            for name in ("QuantileSVR nine, ", "QuantileSVR one, ", "SVR ")
        )
        if nine and one:
            share = float(nine["seconds"]) / float(one["seconds"])
            lines.append(
                f"{data}: nine quantiles take {share:.2g} times one (target: 4)"
            )
        if one and svr:
            share = float(one["seconds"]) / float(svr["seconds"])
            lines.append(
                f"{data}: one quantile takes {share:.2g} times SVR (target: 1)"
            )
    return lines
