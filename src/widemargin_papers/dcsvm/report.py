"""The measured part of the divide-and-conquer page, made of the stored results."""

from __future__ import annotations

from collections.abc import Sequence

from widemargin_papers.harness.cells import HEADER, Cell, by_table
from widemargin_papers.harness.results import ResultStore
from widemargin_papers.harness.text_tables import folded, layout, provenance

from . import printed as paper
from .figures import figures

__all__ = ["PICTURES", "STORE", "figures", "folded_tables", "parts"]

STORE = "dcsvm"
PAGE = "docs/systems/divide_conquer_measured.inc"
PICTURES = {
    f"docs/systems/figures/dcsvm_{stem}.png": stem
    for stem in ("figure1", "figure2", "figure2_time", "figure3", "figure3_objective",
                 "figure4", "figure4_objective")
}  # fmt: skip


def parts(store: ResultStore, cells: Sequence[Cell]) -> dict[str, str]:
    """Return every stored table, folded, then machine and commits."""
    text = folded_tables([*cells, *totals(cells)])
    machines = folded("Machines and commits", provenance(store) + "\n")
    return {PAGE: f"{text}\n{machines}"}


def folded_tables(cells: Sequence[Cell]) -> str:
    """Return the tables as the command prints them, each folded."""
    text = []
    for table, rows in by_table(cells).items():
        lines = layout(HEADER, rows).splitlines()
        literal = "".join(f"   {line}".rstrip() + "\n" for line in lines)
        text.append(folded(f"{table}: {len(rows)} figures", f"::\n\n{literal}"))
    return "\n".join(text)


def totals(cells: Sequence[Cell]) -> list[Cell]:
    """Table 4 from the points of the grids that were run: total processor seconds."""
    found = []
    for name, printed in paper.TABLE_4.items():
        grid = [cell for cell in cells if cell.table == f"grid {name}"]
        points = sorted({cell.row for cell in grid})
        for method, paper_seconds in zip(("early", "exact"), printed, strict=False):
            own = [cell.ours or 0.0 for cell in grid if cell.column == f"{method} s"]
            if own:
                _, *subset = points[0].split(",")  # "20000 rows", where it is one
                row = ",".join([name, f" {method}", *subset])
                note = f"{len(points)} of {len(paper.GRIDS[name])} points"
                seconds = sum(own), paper_seconds
                found.append(Cell("Table 4", row, "processor s", *seconds, note=note))
    return found
