"""One quantity over two parameters: a table as colours."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from .canvas import axes_or_new

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class GridDisplay:
    """A quantity at every point of a grid of two parameters, such as C and gamma.

    Parameters
    ----------
    values : array-like of shape (n_up, n_across)
        The quantity; not a number where it is not known.
    across, up : sequence of str
        The values of the two parameters.
    x_label, y_label : str
        What they are.
    quantity : str, default=""
        What the values are, with their unit.

    Examples
    --------
    >>> from widemargin.display import GridDisplay
    >>> right = [[0.81, 0.90], [0.84, 0.95]]
    >>> display = GridDisplay(right, ["0.1", "1"], ["1", "10"], "gamma", "C")
    >>> display.plot().ax_.get_ylabel()
    'C'
    """

    ax_: Axes

    def __init__(
        self,
        values: ArrayLike,
        across: Sequence[str],
        up: Sequence[str],
        x_label: str = "",
        y_label: str = "",
        *,
        quantity: str = "",
    ) -> None:
        self.values = np.asarray(values, dtype=np.float64)
        if self.values.shape != (len(up), len(across)):
            raise ValueError(
                f"values must have shape ({len(up)}, {len(across)}), a row for each of "
                f"`up` and a column for each of `across`, got {self.values.shape}"
            )
        self.across, self.up = list(across), list(up)
        self.x_label, self.y_label = x_label, y_label
        self.quantity = quantity

    def plot(self, *, ax: Axes | None = None, cmap: str = "viridis") -> GridDisplay:
        """Draw the grid with its scale of colours; returns the display itself.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; new axes by default.
        cmap : str, default="viridis"
            Colour map.
        """
        ax = axes_or_new(ax)
        image = ax.imshow(self.values, origin="lower", cmap=cmap)
        ax.set_xticks(range(len(self.across)), self.across)
        ax.set_yticks(range(len(self.up)), self.up)
        ax.set_xlabel(self.x_label)
        ax.set_ylabel(self.y_label)
        if ax.figure is not None:
            ax.figure.colorbar(image, ax=ax, label=self.quantity)
        self.ax_ = ax
        return self
