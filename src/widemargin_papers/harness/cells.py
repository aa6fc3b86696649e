"""A paper's tables as cells, and the tasks that fill them."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass

from .datasets import available

HEADER = ["row", "column", "ours", "paper", "agrees", "note"]


@dataclass(frozen=True)
class Cell:
    """One figure of a table: ours, the paper's, and whether they agree.

    Attributes
    ----------
    table : str
        Such as ``"Table 3"``.
    row, column : str
        Where in the table.
    ours : float or None
        Our figure; None when it could not be computed (``note`` says why).
    paper : float or None
        The printed figure; None where the paper has none.
    tolerance : float or None
        Largest difference that counts as reproduced; None for what cannot agree across
        machines (times), which is shown and not counted.
    note : str
        A word on the setting, or why the figures differ.
    """

    table: str
    row: str
    column: str
    ours: float | None
    paper: float | None = None
    tolerance: float | None = None
    note: str = ""

    @property
    def reproduced(self) -> bool | None:
        """Whether the figures agree; None if there is nothing to compare."""
        if self.paper is None or self.tolerance is None:
            return None
        return self.ours is not None and abs(self.ours - self.paper) <= self.tolerance


@dataclass(frozen=True)
class Task:
    """A piece of work that yields cells.

    Attributes
    ----------
    name : str
        Unique within the paper; progress shows it and results are stored under it.
    run : callable
        Returns the cells.
    needs : tuple of str
        Data files, by their names on LIBSVM's data page, without ``.xz``.
    cells : int
        How many cells it yields, for the count of those unavailable.
    """

    name: str
    run: Callable[[], Iterable[Cell]]
    needs: tuple[str, ...] = ()
    cells: int = 1

    def missing(self) -> list[str]:
        """Return the data files that are not there."""
        return [name for name in self.needs if not available(name)]


Figure = float | None | tuple[float | None, str]  # alone, or with a note


def row_cells(
    table: str, row: str, figures: Mapping[str, Figure], note: str = ""
) -> list[Cell]:
    """Return one row of our own figures, by column; `note` is of those without one."""
    cells = []
    for column, figure in figures.items():
        ours, own = figure if isinstance(figure, tuple) else (figure, note)
        cells.append(Cell(table, row, column, ours, note=own))
    return cells


def of_table(cells: Iterable[Cell], table: str) -> dict[tuple[str, str], Cell]:
    """Return the cells of tables whose names begin like this, by row and column."""
    return {(c.row, c.column): c for c in cells if c.table.startswith(table)}


def by_row(cells: Iterable[Cell], table: str = "") -> dict[str, dict[str, float]]:
    """Return row -> column -> our figure, of the tables whose names begin like this."""
    rows: dict[str, dict[str, float]] = {}
    for cell in cells:
        if cell.ours is not None and cell.table.startswith(table):
            rows.setdefault(cell.row, {})[cell.column] = cell.ours
    return rows


def by_table(cells: Iterable[Cell]) -> dict[str, list[list[str]]]:
    """Return the rows of text of each table, under `HEADER`."""
    tables: dict[str, list[list[str]]] = {}
    words = {True: "yes", False: "no", None: ""}
    for cell in cells:
        ours, paper = (
            "" if figure is None else f"{figure:.6g}"
            for figure in (cell.ours, cell.paper)
        )
        row = [cell.row, cell.column, ours, paper, words[cell.reproduced], cell.note]
        tables.setdefault(cell.table, []).append(row)
    return tables


def as_csv(cells: Iterable[Cell]) -> str:
    """Return the cells as a CSV file."""
    text = io.StringIO()
    names = ["table", "row", "column", "ours", "paper", "tolerance", "note"]
    writer = csv.DictWriter(text, names)
    writer.writeheader()
    writer.writerows(asdict(cell) for cell in cells)
    return text.getvalue()
