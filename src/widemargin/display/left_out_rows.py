"""Decision values with and without each row: what leave-one-out found."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from widemargin.tuning.left_out import LeaveOneOut

from .canvas import axes_or_new

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class LeaveOneOutDisplay:
    """Each training row as the whole model sees it, and as the others would have.

    Rows on the diagonal are not support vectors. A row below the line y = 0 on the side
    of its own class was memorised: without it, the model gives it another label.

    Parameters
    ----------
    found : LeaveOneOut
        What :func:`widemargin.leave_one_out` returned, for two classes.

    Examples
    --------
    >>> from widemargin import SVC, leave_one_out
    >>> from widemargin.display import LeaveOneOutDisplay
    >>> model = SVC(keep_rows=True).fit([[0.0], [1.0], [3.0], [4.0]], [0, 0, 1, 1])
    >>> display = LeaveOneOutDisplay(leave_one_out(model)).plot()
    >>> display.ax_.get_xlabel()
    'by the model of all rows'
    """

    ax_: Axes

    def __init__(self, found: LeaveOneOut) -> None:
        if found.decision_values.ndim != 1:
            raise ValueError(
                "LeaveOneOutDisplay draws models of two classes; this one has "
                f"{found.decision_values.shape[1]} pairs of classes."
            )
        self.found = found

    def plot(self, *, ax: Axes | None = None) -> LeaveOneOutDisplay:
        """Draw the values; returns the display itself.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; new axes by default.
        """
        ax = axes_or_new(ax)
        found = self.found
        sizes = 12.0 + 60.0 * found.influence / max(1, int(found.influence.max()))
        for label in np.unique(found.targets):
            own = found.targets == label
            ax.scatter(
                found.full_values[own], found.decision_values[own], s=sizes[own],
                alpha=0.7, label=str(label),
            )  # fmt: skip
        ends = [float(found.full_values.min()), float(found.full_values.max())]
        ax.plot(ends, ends, color="0.6", linewidth=0.8)
        ax.axhline(0.0, color="0.3", linewidth=0.8)
        ax.axvline(0.0, color="0.3", linewidth=0.8)
        ax.set_xlabel("by the model of all rows")
        ax.set_ylabel("by the model without the row")
        ax.legend(title="class; size: influence", fontsize="small")
        self.ax_ = ax
        return self
