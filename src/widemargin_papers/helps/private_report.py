"""The tables of private models' accuracies, made of the stored results."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from widemargin_papers.harness.results import ResultStore
from widemargin_papers.harness.text_tables import list_table, rst_table

from .private_models import (
    EPSILONS,
    HALF,
    KERNELS,
    METHODS,
    NOT_SAFE,
    PLAIN,
    SETS,
)
from .suite import HALVES

Key = tuple[str, str, float | None, str]  # set, kernel, epsilon, method
SHOWN = {  # rows of the page's table: the defaults of each mechanism
    "gradient": "gradient (default)",
    "objective": "objective",
    "output": "output",
}


def accuracies(store: ResultStore) -> dict[Key, list[float]]:
    """Return the accuracies of all draws."""
    found: dict[Key, list[float]] = defaultdict(list)
    for record in store.records.values():
        for case in record["cases"]:
            for method, accuracy in case["accuracy"].items():
                key = record["set"], case["kernel"], case["epsilon"], method
                found[key].append(accuracy)
    return found


def mean_of(
    found: dict[Key, list[float]], half: str, method: str, epsilon: float | None = None
) -> float:
    """Return a method's mean over the sets of a half, kernels and epsilons (or one)."""
    wanted = EPSILONS if epsilon is None else (epsilon,)
    means = [
        np.mean(draws)
        for (name, _, own, what), draws in found.items()
        if HALF[name] == half and what == method and own in wanted
    ]
    return float(np.mean(means)) if means else float("nan")


def chosen(found: dict[Key, list[float]], half: str) -> str:
    """Return the most accurate with noise that is safe in floats, at the default C."""
    safe = [
        method
        for method, settings in METHODS.items()
        if method not in NOT_SAFE and "C" not in settings
    ]
    return max(safe, key=lambda method: mean_of(found, half, method))


def choice_table(found: dict[Key, list[float]]) -> str:
    """Return the mean accuracy of every candidate on both halves."""
    rows = []
    for method in METHODS:
        row = [f"{method} (not safe in floats)" if method in NOT_SAFE else method]
        for half in HALVES:
            row += [f"{mean_of(found, half, method, e):.3f}" for e in EPSILONS]
            row.append(f"{mean_of(found, half, method):.3f}")
        rows.append(row)
    columns = [*(f"{epsilon:g}" for epsilon in EPSILONS), "mean"]
    header = ["method", *(f"{half}, {column}" for half in HALVES for column in columns)]
    best = [chosen(found, half) for half in HALVES]
    lead = (
        f"The choosing half prefers: {best[0]}. The best on the other half: {best[1]}."
    )
    return f"{lead}\n\n{list_table(header, rows)}"


def _entry(draws: Sequence[float]) -> str:
    """Write mean and standard error in points."""
    error = np.std(draws, ddof=1) / np.sqrt(len(draws)) if len(draws) > 1 else np.nan
    return f"{100 * np.mean(draws):.1f} ± {100 * error:.1f}"


def price_table(store: ResultStore) -> str:
    """Return accuracy in per cent by set, kernel, mechanism and epsilon."""
    found, rows = accuracies(store), []
    sizes = {r["set"]: r["rows"] for r in store.records.values()}
    for name in SETS:
        title = f"{name} ({sizes.get(name, 0)} rows)"
        for kernel in KERNELS:
            plain = found.get((name, kernel, None, PLAIN))
            if plain is None:
                continue
            last = _entry(plain)
            for method, label in SHOWN.items():
                figures = [_entry(found[name, kernel, e, method]) for e in EPSILONS]
                rows.append((title, f"{kernel}, {label}", *figures, last))
                title = last = ""
    epsilons = [f"{epsilon:g}" for epsilon in EPSILONS]
    return list_table(("data", "kernel, mechanism", *epsilons, PLAIN), rows)


def warning_table(store: ResultStore) -> str:
    """Return how much of what can be learnt is left, with and without the warning."""
    left: dict[tuple[str, bool], list[float]] = defaultdict(list)
    for record in store.records.values():
        base = record["majority"]
        plain = {
            case["kernel"]: case["accuracy"][PLAIN]
            for case in record["cases"]
            if case["epsilon"] is None
        }
        for case in record["cases"]:
            room = plain[case["kernel"]] - base
            if case["epsilon"] is None or room < 0.05:
                continue  # nothing that could be lost
            for method, ratio in case["noise_to_signal"].items():
                kept = (case["accuracy"][method] - base) / room
                left[method, ratio > 1.0].append(kept)
    rows = []
    for method in METHODS:
        row = [method]
        for warned in (True, False):
            kept = left.get((method, warned), [])
            share = f"{100 * np.mean(np.array(kept) < 0.5):.0f} %" if kept else "-"
            row += [str(len(kept)), share]
        rows.append(row)
    header = ["method", "warned", "of these half lost", "not warned", "half lost"]
    return rst_table(header, rows)


def table(store: ResultStore) -> str:
    """Return all tables, each with what it shows."""
    found = accuracies(store)
    draws = {len(each) for each in found.values()}
    count = f"{min(draws)}" if len(draws) == 1 else f"{min(draws)} to {max(draws)}"
    return "\n".join(
        [
            f"Accuracy on unseen rows in per cent: mean and standard error of {count} "
            "draws, by epsilon:\n",
            price_table(store),
            "Every candidate for the default, mean over the sets and kernels of each "
            "half, by epsilon:\n",
            choice_table(found),
            "Fits with and without `NoiseWarning`: the share that kept less than half "
            "of what SVC gains over always answering the larger class:\n",
            warning_table(store),
        ]
    )
