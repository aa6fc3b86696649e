"""The measured parts of the ramp page: Figures 2 and 3, and the rules as printed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from widemargin_papers.harness.cells import Cell, by_row
from widemargin_papers.harness.figures import Curves, draw_panels
from widemargin_papers.harness.results import ResultStore
from widemargin_papers.harness.text_tables import folded, rst_table

from . import printed
from .printed import CONTESTANTS, LONGEST
from .tasks import LONG, RULES

STORE = "ramp"
PAGES = "docs/systems"
PICTURES = {f"{PAGES}/figures/ramp_figure3.png": "figure3"}
TIMED = ("SVC", *CONTESTANTS)
RATIOS = (("none", "safe+shrink"), ("shrink", "SVC"), ("safe+shrink", "SVC"))
QUARTERS = (0.25, 0.5, 0.75, 1.0)  # of the pair steps


def _split(row: str) -> tuple[str, str, str]:
    """Return data set, kernel and C of the key of a setting."""
    panel, _, rest = row.partition(" C ")
    name, _, kernel = panel.partition(" ")
    return name, kernel, rest.partition(" ")[0]


def _title(row: str) -> str:
    return row.partition(" tol ")[0]


def times(cells: Sequence[Cell]) -> str:
    """Return the processor seconds, setting by setting, and their ratios by kernel."""
    found = by_row(cells, "Figure 2")
    stopped = {cell.row for cell in cells if cell.note == "stopped"}
    rows, kernels = [], dict[str, list[Mapping[str, float]]]()
    for row, own in sorted(found.items()):
        seconds = (f"{own[name]:.2f}" for name in TIMED)
        done = f"{own['convex problems']:.0f}", f"{own['share decided']:.2f}"
        rows.append([_title(row) + "*" * (row in stopped), *seconds, *done])
        if row not in stopped:
            kernels.setdefault(_split(row)[1], []).append(own)
    kernels["all"] = [own for part in kernels.values() for own in part]
    shown = [[kernel, str(len(part)), *_ratios(part)]
             for kernel, part in kernels.items()]  # fmt: skip
    every = len(list(printed.settings()))
    header = ["setting", *TIMED, "problems", "share decided"]
    return "\n".join(
        [
            f"{len(rows)} of the {every} settings of Figure 2 and the linear kernel: "
            "processor seconds, tolerance 1e-6, 20,000 samples; of each fit the "
            f"fastest of three runs, but a fit of more than {LONG:g} processor seconds "
            "ran once. A star marks settings in which a fit was stopped after "
            f"{LONGEST:g} s; the ratios leave them out.\n",
            folded("Setting by setting", rst_table(header, rows)),
            rst_table(["kernel", "settings", *(f"{a} / {b}" for a, b in RATIOS),
                       "safe+shrink / fastest of the four"], shown),
        ]
    )  # fmt: skip


def _ratios(times: Sequence[Mapping[str, float]]) -> list[str]:
    """Return the ratios over some settings: median, and the largest."""
    found = [[own[a] / own[b] for own in times] for a, b in RATIOS]
    fastest = (min(own[name] for name in CONTESTANTS) for own in times)
    found.append([own["safe+shrink"] / least
                  for own, least in zip(times, fastest, strict=True)])  # fmt: skip
    return [f"{np.median(part):.2f}, at most {max(part):.2f}" for part in found]


def shares(cells: Sequence[Cell]) -> str:
    """Return Figure 3 as a table: the share decided after each quarter of the steps."""
    rows = []
    for row, points in sorted(by_row(cells, "Figure 3").items()):
        steps, decided = np.transpose(_curve(points))
        reached = [np.searchsorted(steps, q * steps[-1], "right") for q in QUARTERS]
        found = (decided[place - 1] if place else 0.0 for place in reached)
        rows.append([_title(row), f"{steps[-1]:.0f}", *(f"{s:.2f}" for s in found)])
    return (
        "Share of samples decided after a quarter, a half, three quarters and all of "
        "the pair steps of the first convex problem, tolerance 1e-6:\n\n"
        + rst_table(["setting", "steps", "1/4", "1/2", "3/4", "all"], rows)
    )


def _curve(points: Mapping[str, float]) -> list[tuple[float, float]]:
    return [(float(step.split(" ")[1]), share) for step, share in points.items()]


def rules(cells: Sequence[Cell]) -> str:
    """Return how many samples the printed rules fix, and how many wrongly."""
    found = by_row(cells, RULES)
    columns = list(next(iter(found.values()), {}))
    rows = [[row, *(f"{own[c]:.0f}" for c in columns)] for row, own in found.items()]
    return rst_table(["", *columns], rows)


def parts(_: ResultStore, cells: Sequence[Cell]) -> dict[str, str]:
    """Return the measured parts of the page."""
    return {
        f"{PAGES}/ramp_shares.inc": shares(cells),
        f"{PAGES}/ramp_times.inc": times(cells),
        f"{PAGES}/ramp_printed_rules.inc": rules(cells),
    }


def figures(cells: Sequence[Cell]) -> dict[str, Any]:
    """Draw seconds against C (Figure 2) and shares against iterations (Figure 3)."""
    seconds: dict[str, Curves] = {}
    for row, own in by_row(cells, "Figure 2").items():
        name, kernel, C = _split(row)
        curves = seconds.setdefault(f"{name} {kernel}", {})
        for contestant in CONTESTANTS:
            curves.setdefault(contestant, []).append((float(C), own[contestant]))
    decided = {
        _title(row).replace(" C ", ", C "): {"decided": _curve(points)}
        for row, points in sorted(by_row(cells, "Figure 3").items())
    }
    drawn = {}
    look: dict[str, Any] = {"size": (3.6, 3.0), "title_size": 9}
    if seconds:
        labels = "C", "seconds"
        drawn["figure2"] = draw_panels(seconds, labels, log=True, log_x=True, **look)
    if decided:
        drawn["figure3"] = draw_panels(decided, ("iteration", "share decided"), **look)
        for ax in drawn["figure3"].axes:
            ax.set_ylim(-0.05, 1.05)
            ax.locator_params(axis="x", nbins=4)
    return drawn
