"""What reproduces the column of Table 4: scalings, C, epochs and both partitions.

The paper does not say how MAGIC was scaled nor which C was used for it. Each setting is
run with the published method; the one nearest to the printed accuracies of all epochs
and both partitions is named on the page.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import product

import numpy as np
from numpy.typing import NDArray

from widemargin_papers.chance.methods import dense_data, mean_accuracy
from widemargin_papers.chance.printed import EPOCHS, PAPER
from widemargin_papers.harness.cells import Cell, Task
from widemargin_papers.harness.datasets import scale_to_interval, standardise
from widemargin_papers.harness.text_tables import list_table

Floats = NDArray[np.float64]

TABLE, GRID = "Table 4", "Table 4 grid"
RUNS = 5
SHOWN = 6  # nearest settings on the page
NAME = "magic04"
SHARES = (0.2, 0.8)
COSTS = (0.01, 0.1, 1.0, 10.0, 100.0)
SCALINGS: Mapping[str, Callable[[Floats], Floats]] = {
    "as it is": lambda X: X,
    "[0, 1]": scale_to_interval,
    "[-1, 1]": lambda X: 2.0 * scale_to_interval(X) - 1.0,
    "standardised": standardise,
    "rows of length 1": lambda X: X / np.linalg.norm(X, axis=1, keepdims=True),
}


def tasks() -> list[Task]:
    """Return one task for each scaling and number of epochs."""
    return [
        Task(f"{GRID}, {scaling}, {epochs}m", partial(over_settings, scaling, epochs),
             (NAME,), len(COSTS) * len(SHARES))
        for scaling, epochs in product(SCALINGS, EPOCHS)
    ]  # fmt: skip


def over_settings(scaling: str, epochs: int) -> Iterable[Cell]:
    """Test accuracy by C and partition, beside the printed one of that many epochs."""
    X, y = dense_data(NAME)
    samples, method = SCALINGS[scaling](X), f"SSGD {epochs}m"
    for share, cost in product(SHARES, COSTS):
        printed = PAPER[TABLE][1][share][method].accuracy
        mean, note = mean_accuracy(method, samples, y, share, cost, RUNS)
        row, column = f"{scaling}, C = {cost:g}", f"{share:.0%}, {epochs}m"
        yield Cell(GRID, row, column, mean, printed, note=note)


def nearest(cells: Iterable[Cell]) -> list[tuple[str, float]]:
    """Return the settings and their largest distance to the paper, nearest first."""
    apart: dict[str, list[float]] = {}
    for cell in cells:
        if cell.table == GRID and cell.ours is not None and cell.paper is not None:
            apart.setdefault(cell.row, []).append(abs(cell.ours - cell.paper))
    most = max(map(len, apart.values()), default=0)
    whole = {row: max(found) for row, found in apart.items() if len(found) == most}
    return sorted(whole.items(), key=lambda item: item[1])


def nearest_table(cells: Sequence[Cell]) -> str:
    """Return the printed column and the settings that come nearest to it."""
    own = [cell for cell in cells if cell.table == GRID]
    if not own:
        return "Not measured yet.\n"
    columns = list(dict.fromkeys(cell.column for cell in own))
    printed = {cell.column: cell.paper for cell in own}
    rows = [("paper", *(f"{printed[column]:.2f}" for column in columns), "")]
    for setting, distance in nearest(own)[:SHOWN]:
        mine = {cell.column: cell for cell in own if cell.row == setting}
        figures = (f"{mine[column].ours:.2f} {mine[column].note.split(',')[0]}"
                   for column in columns)  # fmt: skip
        rows.append((setting, *figures, f"{distance:.1f}"))
    return list_table(("setting", *columns, "farthest"), rows)
