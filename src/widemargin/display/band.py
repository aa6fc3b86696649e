"""Predicted numbers along one feature: a curve, or a band of quantiles."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from widemargin.estimators.nu_svr import NuSVR
from widemargin.estimators.svr import SVR

from .canvas import COLOURS, axes_or_new

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Vector = NDArray[np.float64]


def _tint(k: int) -> tuple[float, ...]:
    """Colour of the k-th band from outside: opaque, so that the legend shows it too."""
    white = 0.8 ** (k + 1)
    parts = (int(COLOURS[0][i : i + 2], 16) / 255 for i in (1, 3, 5))
    return tuple(white + (1 - white) * part for part in parts)


def _tube(model: Any) -> float:
    """Half width of the tube of `SVR` and `NuSVR`; other models have none."""
    if isinstance(model, NuSVR):
        return float(model.epsilon_)
    return float(model.epsilon) if isinstance(model, SVR) else 0.0


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
    tube : float, default=0.0
        Half width of the tube around a single curve, within which errors are free.
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
        tube: float = 0.0,
        axis_labels: tuple[str, str] = ("", ""),
    ) -> None:
        self.along = along
        self.curves = curves
        self.points = points
        self.names = names
        self.tube = tube
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

        `SVR` and `NuSVR` are drawn with their tube.

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
        model = steps[-1][1] if steps else estimator
        quantiles = getattr(model, "quantiles_", None)
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
            tube=_tube(model),
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
            ax.scatter(across, up, s=small, color="#777777", linewidths=0, zorder=2)
        if self.tube:
            edges = self.curves[:, 0] - self.tube, self.curves[:, 0] + self.tube
            ax.fill_between(self.along, *edges, color=_tint(0), linewidth=0)
        for k in range(count // 2):
            low, high = self.curves[:, k], self.curves[:, count - 1 - k]
            label = None
            if self.names is not None:
                label = f"{self.names[k]} to {self.names[count - 1 - k].split()[-1]}"
            colour = _tint(k)
            ax.fill_between(
                self.along, low, high, color=colour, linewidth=0, label=label
            )
        if count % 2:
            middle = count // 2
            name = None if self.names is None else self.names[middle]
            ax.plot(
                self.along,
                self.curves[:, middle],
                color=COLOURS[1],
                linewidth=1.6,
                zorder=3,
                label=name,
            )
        if self.names is not None:
            ax.legend(fontsize=8)
        ax.set_xlabel(self.axis_labels[0])
        ax.set_ylabel(self.axis_labels[1])
        ax.spines[["top", "right"]].set_visible(False)
        self.ax_ = ax
        return self
