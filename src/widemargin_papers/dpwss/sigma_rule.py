"""A rule for choosing sigma, which the paper leaves as a challenge.

A larger sigma admits fewer pairs, ends earlier and farther from the optimum. The rule:
the largest sigma whose objective is within `ALLOWED` of the optimum, in the mean over
the sets to choose; the others, in turn by alphabet, check it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from widemargin_papers.harness.cells import Cell, by_row
from widemargin_papers.harness.text_tables import list_table

from .tasks import APART, SWEEP

ALLOWED = 0.005  # of the optimal objective
HALVES = {
    "choose": sorted(APART)[::2],
    "check": sorted(APART)[1::2],
}


def figures_of(cells: Sequence[Cell]) -> dict[tuple[str, float], tuple[float, float]]:
    """Return (half, sigma) -> mean share of the objective lost, and of iterations."""
    swept, plain = by_row(cells, "Sweep of sigma"), by_row(cells, "Randomness")
    found = {}
    for half, names in HALVES.items():
        for sigma in SWEEP:
            pairs = [
                (swept[f"{name} sigma={sigma}"], plain[f"{name}: WSS2"])
                for name in names
                if f"{name} sigma={sigma}" in swept and f"{name}: WSS2" in plain
            ]
            lost = [
                (own["obj"] - best["obj"]) / abs(best["obj"]) for own, best in pairs
            ]
            ratio = [own["iteration"] / best["iteration"] for own, best in pairs]
            if lost:
                found[half, sigma] = float(np.mean(lost)), float(np.mean(ratio))
    return found


def chosen(
    found: dict[tuple[str, float], tuple[float, float]], half: str
) -> float | None:
    """Return the largest sigma that loses no more than is allowed."""
    kept = [s for s in SWEEP if found.get((half, s), (np.inf, 0.0))[0] <= ALLOWED]
    return max(kept, default=None)


def rule(cells: Sequence[Cell]) -> str:
    """Return what each sigma loses and saves on both halves, and the one chosen."""
    found = figures_of(cells)
    if not found:
        return "(Not measured.)\n"
    rows = []
    for sigma in SWEEP:
        pairs = [found[half, sigma] for half in HALVES]
        entries = (f"{100 * lost:.2f} % / {ratio:.2f}" for lost, ratio in pairs)
        rows.append((f"{sigma:g}", *entries))
    header = ["sigma", *(f"{half} ({', '.join(n)})" for half, n in HALVES.items())]
    words = [f"{half}: {chosen(found, half) or 'none'}" for half in HALVES]
    return (
        f"{list_table(header, rows)}\nThe largest sigma that loses at most "
        f"{100 * ALLOWED:g} % of the objective, by half: {'; '.join(words)}.\n"
    )
