"""The measured part of the ramp page, made of the stored results of each campaign."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from widemargin_papers.harness.campaign import Campaign
from widemargin_papers.harness.cells import Cell
from widemargin_papers.harness.figures import Curves, draw_panels, save
from widemargin_papers.harness.results import ResultStore
from widemargin_papers.harness.text_tables import folded, rst_table

from . import printed, timing
from .printed import CONTESTANTS
from .tasks import share_cells


def timing_tables(store: ResultStore) -> str:
    """Return the ratios of processor times, setting by setting, and their medians."""
    rows, repeats = [], []
    for key in sorted(store.records):
        figures = store.records[key]["contestants"]
        repeats += [entry["repeats"] for entry in figures.values()]
        both = figures["safe+shrink"]
        share = max((p[2] for stage in both["curve"] for p in stage), default=0.0)
        stopped = any(entry["status"] == "max_time" for entry in figures.values())
        seconds = (figures[name]["processor"] for name in ("SVC", *CONTESTANTS))
        entries = (f"{spent:.2f}" for spent in (*seconds, share))
        *times, decided = entries
        title = _panel(key) + ("*" if stopped else "")
        rows.append([title, *times, str(both["rounds"]), decided])
    header = ["setting", "SVC", *CONTESTANTS, "problems", "share decided"]
    medians = [[name, f"{value:.3g}"] for name, value in timing.ratios(store).items()]
    every = len(list(printed.settings()))
    known = "All" if len(rows) == every else f"{len(rows)} of the"
    once = f"{repeats.count(1)} of {len(repeats)} fits"
    return "\n".join(
        [
            f"{known} {every} settings of Figure 2 and the linear kernel: processor "
            "seconds, tolerance 1e-6, 20,000 samples; of each fit the fastest of three "
            f"runs, but a fit of more than {timing.LONG:g} processor seconds ran "
            f"once ({once}). A star marks settings in which a fit was "
            f"stopped after {printed.LONGEST:g} s.\n",
            folded("Setting by setting", rst_table(header, rows)),
            rst_table(["over the settings", "figure"], medians),
        ]
    )


def _panel(key: str) -> str:
    return key.split(" tol ")[0]


def target_tables(store: ResultStore) -> str:
    """Return the targets of issue 4, what was reached, and where they are missed."""
    ended = timing.times_that_ended(store.records)
    medians = timing.ratios(store)
    missed = [key for key, t in ended.items() if not timing.within_reach(t)]
    gain = medians["median of none / safe+shrink"]
    reached = f"{len(ended) - len(missed)} of {len(ended)}"
    within = "safe+shrink within 1.25x the best of the four plus 0.1 s"
    rows = [
        ["none / safe+shrink, median", "at least 2", f"{gain:.3g}", _met(gain >= 2.0)],
        [within, "every setting", reached, _met(not missed)],
    ]
    for name in ("safe+shrink", "shrink (the default)"):
        whole = medians[f"median of {name} / SVC"]
        met = _met(whole <= 2.0)
        rows.append([f"{name} / SVC, median", "at most 2", f"{whole:.3g}", met])
    parts = [rst_table(["processor time", "target", "measured", "outcome"], rows)]
    if missed:
        where = [
            f"{_panel(key)} ({ended[key]['safe+shrink']:.2f} s, "
            f"best {timing.best_of_four(ended[key]):.2f} s)"
            for key in sorted(missed)
        ]
        parts.append(
            "More than 1.25x the best plus 0.1 s takes safe+shrink at: "
            f"{', '.join(where)}.\n"
        )
    return "\n".join([*parts, "The same by kernel:\n", _by_kernel(ended)])


def _met(yes: bool) -> str:
    return "met" if yes else "missed"


def _by_kernel(ended: dict[str, dict[str, float]]) -> str:
    """Return a table of the ratios for each kernel: median, and the largest."""
    pairs = (("none", "safe+shrink"), ("shrink", "SVC"), ("safe+shrink", "SVC"))
    kernels: dict[str, list[dict[str, float]]] = {}
    for key in sorted(ended):
        kernel = _panel(key).partition(" ")[2].partition(" C ")[0]
        kernels.setdefault(kernel, []).append(ended[key])
    rows = []
    for kernel, times in kernels.items():
        ratios = ([t[a] / t[b] for t in times] for a, b in pairs)
        shown = (f"{np.median(r):.2f}, at most {np.max(r):.2f}" for r in ratios)
        rows.append([kernel, str(len(times)), *shown])
    header = ["kernel", "settings", *(f"{a} / {b}" for a, b in pairs)]
    return rst_table(header, rows)


def share_tables(store: ResultStore) -> str:
    """Return Figure 3 as a table: the share decided after each quarter of the steps."""
    quarters = (0.25, 0.5, 0.75, 1.0)
    rows = []
    for key, record in sorted(store.records.items()):
        steps, shares, _ = np.transpose(record["points"])
        reached = [np.searchsorted(steps, q * steps[-1], "right") for q in quarters]
        found = [shares[place - 1] if place else 0.0 for place in reached]
        rows.append(
            [_panel(key), f"{steps[-1]:.0f}", *(f"{share:.2f}" for share in found)]
        )
    return "\n".join(
        [
            "Share of samples decided after a quarter, a half, three quarters and all "
            "of the pair steps of the first convex problem, tolerance 1e-6:\n",
            rst_table(["setting", "steps", "1/4", "1/2", "3/4", "all"], rows),
        ]
    )


def figures(cells: Sequence[Cell]) -> dict[str, Any]:
    """Draw seconds against C (Figure 2) and shares against iterations (Figure 3)."""
    seconds: dict[str, Curves] = {}
    shares: dict[str, Curves] = {}
    for cell in cells:
        if cell.ours is None:
            continue
        panel, _, rest = cell.row.partition(" C ")
        C = rest.split(" ")[0]
        if cell.table == "Figure 2":
            curves = seconds.setdefault(panel, {})
            curves.setdefault(cell.column, []).append((float(C), cell.ours))
        elif cell.table == "Figure 3":
            curves = shares.setdefault(f"{panel}, C {C}", {})
            iteration = float(cell.column.split(" ")[1])
            curves.setdefault("decided", []).append((iteration, cell.ours))
    drawn = {}
    look: dict[str, Any] = {"size": (3.6, 3.0), "title_size": 9}
    if seconds:
        labels = "C", "seconds"
        drawn["figure2"] = draw_panels(seconds, labels, log=True, log_x=True, **look)
    if shares:
        drawn["figure3"] = draw_panels(shares, ("iteration", "share decided"), **look)
        for ax in drawn["figure3"].axes:
            ax.set_ylim(-0.05, 1.05)
            ax.locator_params(axis="x", nbins=4)
    return drawn


def draw(store: ResultStore, path: Path) -> None:
    """Draw Figure 3 from the stored shares, if the picture is not of these already.

    The picture names the records it was drawn from.
    """
    digest = drawn_from(store)
    if path.is_file() and digest.encode() in path.read_bytes():
        return
    records = [record for _, record in sorted(store.records.items())]
    cells = [cell for record in records for cell in share_cells(record)]
    save(figures(cells)["figure3"], path, about=digest)


def drawn_from(store: ResultStore) -> str:
    """Return a digest of the curves in `store`."""
    points = {key: record["points"] for key, record in store.records.items()}
    text = json.dumps(points, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


CAMPAIGNS = {
    "shares": Campaign("ramp_shares", timing.share_work, share_tables),
    "times": Campaign("ramp_times", timing.work, timing_tables),
    "targets": Campaign("ramp_times", timing.work, target_tables),
}
