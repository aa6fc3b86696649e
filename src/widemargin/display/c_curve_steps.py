"""The exact cross-validation error as a function of C, drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from widemargin.tuning.c_curve import CPath

from .canvas import axes_or_new

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class CPathDisplay:
    """Cross-validation error as a step function of C, with the best interval.

    Parameters
    ----------
    curve : CPath
        What :func:`widemargin.c_path` returned.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from widemargin import SVC, c_path
    >>> from widemargin.display import CPathDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> curve = c_path(SVC(gamma=0.5), X, y, 0.1, 100, cv=3)
    >>> CPathDisplay(curve).plot().ax_.get_xscale()
    'log'
    """

    ax_: Axes

    def __init__(self, curve: CPath) -> None:
        self.curve = curve

    def plot(self, *, ax: Axes | None = None) -> CPathDisplay:
        """Draw the curve; returns the display itself.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; new axes by default.
        """
        ax = axes_or_new(ax)
        curve = self.curve
        edges = np.concatenate([[curve.C_min], curve.steps, [curve.C_max]])
        ax.stairs(curve.errors, edges, baseline=None, linewidth=1.2)
        ax.axvspan(*curve.best_interval, alpha=0.2, label="best interval of C")
        ax.set_xscale("log")
        ax.set_xlabel("C")
        ax.set_ylabel("cross-validation error")
        ax.legend(fontsize="small")
        self.ax_ = ax
        return self
