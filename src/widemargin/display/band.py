"""Predicted numbers along one feature: a curve, or a band of quantiles."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .canvas import COLOURS, axes_or_new

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Vector = NDArray[np.float64]


class BandDisplay:
    """Show a regression along one feature; quantiles are filled in pairs.

    Parameters
    ----------
    along : ndarray of shape (m,)
        Values of the feature, increasing.
    curves : ndarray of shape (m, k)
        Predictions there, one column each, from the lowest to the highest.
    points : ndarray of shape (n, 2), optional
        Samples: feature and target.
    names : list of str, optional
        What each column is.
    axis_labels : pair of str, default=("", "")
        Feature and target.

    Examples
    --------
    >>> import numpy as np
    >>> from widemargin import QuantileSVR
    >>> from widemargin.display import BandDisplay
    >>> X = np.linspace(0, 1, 30)[:, None]
    >>> model = QuantileSVR(quantile=[0.1, 0.5, 0.9]).fit(X, X[:, 0] ** 2)
    >>> BandDisplay.from_estimator(model, X, X[:, 0] ** 2).curves.shape
    (200, 3)
    """

    ax_: Axes

    def __init__(
        self,
        *,
        along: Vector,
        curves: Vector,
        points: Vector | None = None,
        names: list[str] | None = None,
        axis_labels: tuple[str, str] = ("", ""),
    ) -> None:
        self.along = along
        self.curves = curves
        self.points = points
        self.names = names
        self.axis_labels = axis_labels

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: ArrayLike,
        y: ArrayLike | None = None,
        *,
        grid_resolution: int = 200,
        axis_labels: tuple[str, str] = ("", ""),
        ax: Axes | None = None,
    ) -> BandDisplay:
        """Compute and draw what a regressor predicts over the range of its feature.

        Parameters
        ----------
        estimator : fitted regressor
            Model of one feature: ours, a Pipeline, or any other.
        X : array-like of shape (n, 1)
            Samples whose range is covered.
        y : array-like of shape (n,), optional
            Their targets; the samples are drawn if they are given.
        grid_resolution : int, default=200
            Points along the feature.
        axis_labels : pair of str, default=("", "")
            Feature and target.
        ax : matplotlib Axes, optional
            Where to draw; new axes by default.

        Returns
        -------
        BandDisplay
        """
        samples = np.asarray(X, dtype=np.float64)
        if samples.ndim != 2 or samples.shape[1] != 1:
            raise ValueError("X must have one feature to draw a band along it")
        along = np.linspace(samples.min(), samples.max(), grid_resolution)
        curves = np.asarray(estimator.predict(along[:, None])).reshape(along.size, -1)
        steps = getattr(estimator, "steps", None)
        quantiles = getattr(steps[-1][1] if steps else estimator, "quantiles_", None)
        names = None
        if quantiles is not None:
            order = np.argsort(quantiles)
            curves = curves[:, order]
            names = [f"quantile {q:g}" for q in quantiles[order]]
        points = None
        if y is not None:
            points = np.column_stack([samples[:, 0], np.asarray(y, dtype=np.float64)])
        display = cls(
            along=along,
            curves=curves,
            points=points,
            names=names,
            axis_labels=axis_labels,
        )
        return display.plot(ax=ax)

    def plot(self, *, ax: Axes | None = None) -> BandDisplay:
        """Draw; returns the display itself.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; new axes by default.
        """
        ax = axes_or_new(ax)
        count = self.curves.shape[1]
        if self.points is not None:
            small = 12 if len(self.points) < 1000 else 4
            across, up = self.points.T
            ax.scatter(across, up, s=small, color="#777777", linewidths=0)
        for k in range(count // 2):
            low, high = self.curves[:, k], self.curves[:, count - 1 - k]
            label = None
            if self.names is not None:
                label = f"{self.names[k]} to {self.names[count - 1 - k].split()[-1]}"
            ax.fill_between(
                self.along, low, high, color=COLOURS[0], alpha=0.2, label=label
            )
        if count % 2:
            middle = count // 2
            name = None if self.names is None else self.names[middle]
            ax.plot(
                self.along,
                self.curves[:, middle],
                color=COLOURS[1],
                linewidth=1.6,
                label=name,
            )
        if self.names is not None:
            ax.legend(fontsize=8)
        ax.set_xlabel(self.axis_labels[0])
        ax.set_ylabel(self.axis_labels[1])
        ax.spines[["top", "right"]].set_visible(False)
        self.ax_ = ax
        return self
