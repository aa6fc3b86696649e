"""The tables of private models' accuracies, made of the stored results."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from widemargin.estimators.private.settings import DROWNED
from widemargin_papers.harness.results import ResultStore
from widemargin_papers.harness.text_tables import list_table

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
LEAST_GAIN = 0.05  # of accuracy: where there is less, noise has nothing to drown
THRESHOLDS = (0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.7, 0.85, 1.0)


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


@dataclass(frozen=True)
class NoisyFit:
    """A private fit: what the public numbers said of it, and what became of it."""

    half: str
    mechanism: str
    ratio: float
    drowned: bool


def noisy_fits(store: ResultStore) -> list[NoisyFit]:
    """Return all fits that had something to lose to noise.

    Drowned is one that gains, over always answering the larger class, less than half
    of what the same settings gain on average at the largest epsilon. What a small C
    or few steps lose, they lose there too.
    """
    gains: dict[tuple[str, str, str], list[float]] = defaultdict(list)
    cases = [
        (record, case)
        for record in store.records.values()
        for case in record["cases"]
        if case["epsilon"] is not None
    ]
    for record, case in cases:
        if case["epsilon"] == max(EPSILONS):
            for method, accuracy in case["accuracy"].items():
                key = record["set"], case["kernel"], method
                gains[key].append(accuracy - record["majority"])
    fits = []
    for record, case in cases:
        for method, ratio in case["noise_to_signal"].items():
            room = float(np.mean(gains[record["set"], case["kernel"], method]))
            if room < LEAST_GAIN:
                continue
            gain = case["accuracy"][method] - record["majority"]
            mechanism = method.partition(",")[0]
            fits.append(NoisyFit(record["half"], mechanism, ratio, gain < room / 2))
    return fits


def warned_shares(fits: Sequence[NoisyFit], threshold: float) -> tuple[float, float]:
    """Return the shares warned of: of the drowned fits, and of the others."""
    shares = []
    for drowned in (True, False):
        warned = [one.ratio > threshold for one in fits if one.drowned == drowned]
        shares.append(float(np.mean(warned)) if warned else float("nan"))
    return shares[0], shares[1]


def balanced_error(fits: Sequence[NoisyFit], half: str, threshold: float) -> float:
    """Return missed and false warnings of a half in equal parts, over mechanisms."""
    errors = []
    for mechanism in SHOWN:
        mine = [f for f in fits if f.half == half and f.mechanism == mechanism]
        caught, false = warned_shares(mine, threshold)
        errors.append((1.0 - caught + false) / 2.0)
    return float(np.mean(errors))


def preferred_threshold(fits: Sequence[NoisyFit], half: str) -> float:
    """Return the threshold with the least error on a half; of equals the largest."""
    errors = {t: round(balanced_error(fits, half, t), 6) for t in THRESHOLDS}
    least = min(errors.values())
    return max(threshold for threshold in THRESHOLDS if errors[threshold] == least)


def warning_table(store: ResultStore) -> str:
    """Return how many drowned fits are warned of, by mechanism and half."""
    fits = noisy_fits(store)
    rows = []
    for half in HALVES:
        for mechanism in SHOWN:
            mine = [f for f in fits if f.half == half and f.mechanism == mechanism]
            row = [half, mechanism, str(len(mine)), str(sum(f.drowned for f in mine))]
            for threshold in (DROWNED, 1.0):
                row += [
                    f"{100 * part:.0f} %" for part in warned_shares(mine, threshold)
                ]
            rows.append(row)
    header = ["half", "mechanism", "fits", "drowned"]
    header += ["drowned, warned", "others, warned", "drowned, at 1", "others, at 1"]
    errors = ", ".join(
        f"{balanced_error(fits, half, DROWNED):.3f} instead of "
        f"{balanced_error(fits, half, 1.0):.3f} at 1 on the half {half!r}"
        for half in HALVES
    )
    lead = (
        f"`fit` warns above a ratio of {DROWNED:g}; the choosing half prefers "
        f"{preferred_threshold(fits, HALVES[0]):g} of {len(THRESHOLDS)} thresholds. "
        f"Missed and false warnings in equal parts: {errors}."
    )
    return f"{lead}\n\n{list_table(header, rows)}"


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
            "Fits with and without `NoiseWarning`. Drowned are those that gain less "
            "than half of what the same settings gain at the largest epsilon, over "
            "always answering the larger class.\n",
            warning_table(store),
        ]
    )
