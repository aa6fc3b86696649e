"""One quantity, several contestants: bars with their values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from .canvas import COLOURS, axes_or_new

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class ComparisonDisplay:
    """Compare one quantity between models.

    Parameters
    ----------
    names : sequence of str
        The contestants, the first on top.
    values : sequence of float
        The quantity for each.
    errors : sequence of float, optional
        Half-widths of error bars.
    quantity : str, default=""
        What the values are, with their unit.
    emphasis : int, optional
        Index of the bar to emphasise; the last by default.

    Examples
    --------
    >>> from widemargin.display import ComparisonDisplay
    >>> display = ComparisonDisplay(["a", "b"], [0.86, 0.96], quantity="accuracy")
    >>> display.plot().ax_.get_xlabel()
    'accuracy'
    """

    ax_: Axes

    def __init__(
        self,
        names: Sequence[str],
        values: Sequence[float],
        *,
        errors: Sequence[float] | None = None,
        quantity: str = "",
        emphasis: int | None = None,
    ) -> None:
        if len(names) != len(values):
            raise ValueError(
                f"names and values must have the same length, got {len(names)} and "
                f"{len(values)}"
            )
        self.names = list(names)
        self.values = np.asarray(values, dtype=np.float64)
        self.errors = None if errors is None else np.asarray(errors, dtype=np.float64)
        self.quantity = quantity
        self.emphasis = len(self.names) - 1 if emphasis is None else emphasis

    def plot(self, *, ax: Axes | None = None, log: bool = False) -> ComparisonDisplay:
        """Draw the bars; returns the display itself.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; new axes by default.
        log : bool, default=False
            Logarithmic scale, for times and ratios.
        """
        ax = axes_or_new(ax)
        place = np.arange(len(self.names))[::-1]
        colours = [
            COLOURS[0] if i == self.emphasis else "#B8C4CE"
            for i in range(len(self.names))
        ]
        ax.barh(place, self.values, xerr=self.errors, color=colours, height=0.65)
        for at, value in zip(place, self.values, strict=True):
            ax.annotate(
                f"{value:.4g}",
                (value, at),
                xytext=(4, 0),
                textcoords="offset points",
                va="center",
            )
        ax.set_yticks(place, self.names)
        ax.set_xlabel(self.quantity)
        if log:
            ax.set_xscale("log")
        ax.margins(x=0.15)
        ax.spines[["top", "right"]].set_visible(False)
        self.ax_ = ax
        return self
