"""The boundary, its margins and the samples that hold it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import is_outlier_detector

from widemargin.engine.sample_layout import refuse_damaged

from .canvas import COLOURS, axes_or_new
from .plane import Plane, grid

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class MarginDisplay:
    """The decision boundary of a classifier with its margins and samples.

    With two features the picture is the plane of the features; with more it is the
    section through the plane of most variance, onto which the samples are projected.

    Parameters
    ----------
    across, up : ndarray of shape (r, r)
        Coordinates of the grid.
    values : ndarray of shape (r, r)
        Decision values (two classes) or class numbers (more).
    points : ndarray of shape (n, 2)
        The samples in the plane.
    classes : ndarray of shape (n,), optional
        Class number of each sample.
    support : ndarray of shape (m, 2), optional
        Support vectors in the plane.
    suspects : ndarray of int, optional
        Samples believed to be mislabelled: crossed out.
    covariances : ndarray of shape (n, 2, 2), optional
        Uncertainty of each sample: drawn as ellipses.
    clusters : ndarray of shape (r, r), optional
        Cluster of each point of the grid: their borders are drawn.
    labels : list of str
        Names of the classes.
    margins : tuple of two float
        Decision values at the margins of the two classes.
    axis_labels : tuple of two str
        Names of the two coordinates.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from sklearn.svm import SVC
    >>> from widemargin.display import MarginDisplay
    >>> X, y = make_moons(40, noise=0.2, random_state=0)
    >>> display = MarginDisplay.from_estimator(SVC().fit(X, y), X, y)
    >>> display.points.shape
    (40, 2)
    """

    ax_: Axes

    def __init__(
        self,
        *,
        across: NDArray[np.float64],
        up: NDArray[np.float64],
        values: NDArray[np.float64],
        points: NDArray[np.float64],
        classes: NDArray[np.intp] | None,
        labels: list[str],
        support: NDArray[np.float64] | None = None,
        suspects: NDArray[np.intp] | None = None,
        covariances: NDArray[np.float64] | None = None,
        clusters: NDArray[np.intp] | None = None,
        margins: tuple[float, float] | None = (-1.0, 1.0),
        axis_labels: tuple[str, str] = ("", ""),
    ) -> None:
        self.across = across
        self.up = up
        self.values = values
        self.points = points
        self.classes = classes
        self.labels = labels
        self.support = support
        self.suspects = suspects
        self.covariances = covariances
        self.clusters = clusters
        self.margins = margins
        self.axis_labels = axis_labels

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: ArrayLike,
        y: ArrayLike | None = None,
        *,
        suspects: ArrayLike | None = None,
        covariances: ArrayLike | None = None,
        clusters: Callable[[Any], ArrayLike] | None = None,
        around: ArrayLike | None = None,
        grid_resolution: int = 160,
        plot_support: bool = True,
        ax: Axes | None = None,
    ) -> MarginDisplay:
        """Compute and draw the boundary of a fitted model around some samples.

        Parameters
        ----------
        estimator : fitted classifier or outlier detector
            Ours, a Pipeline, or any with `decision_function` or `predict`.
        X : array-like of shape (n, d)
            Samples to draw, in the space the estimator takes.
        y : array-like of shape (n,), optional
            Their labels; predicted ones by default.
        suspects : array-like, optional
            Indices or a boolean mask of samples to cross out.
        covariances : array-like of shape (n, d) or (n, d, d), optional
            Variances or covariance of each sample, drawn as one-sigma ellipses.
        clusters : callable, optional
            Says to which cluster each of some points belongs, such as
            ``model.early_.assign``: the borders of the clusters are drawn.
        around : array-like of shape (m, d), optional
            Samples that lie within the picture without being drawn: with the same ones
            several pictures show the same part of the plane.
        grid_resolution : int, default=160
            Points per side of the grid.
        plot_support : bool, default=True
            Whether to ring the support vectors, where the estimator has them.
        ax : matplotlib Axes, optional
            Where to draw; new axes by default.

        Returns
        -------
        MarginDisplay
        """
        names = getattr(X, "columns", None)
        samples = _dense(X)
        plane = Plane.through(samples)
        points = plane.coordinates(samples)
        others = samples[:0] if around is None else _dense(around)
        within = np.vstack([points, plane.coordinates(others)])
        across, up = grid(within, grid_resolution)
        section = plane.points(np.column_stack([across.ravel(), up.ravel()]))
        present = _classes(estimator)
        known = estimator.predict(_like(X, samples)) if y is None else np.asarray(y)
        support = getattr(estimator, "support_vectors_", None)
        display = cls(
            across=across,
            up=up,
            values=_values(estimator, _like(X, section)).reshape(across.shape),
            points=points,
            classes=np.searchsorted(present, known).astype(np.intp),
            labels=_labels(estimator, present),
            support=(
                plane.coordinates(_dense(support))
                if plot_support and support is not None and np.size(support)
                else None
            ),
            suspects=None if suspects is None else _indices(suspects, len(samples)),
            covariances=(
                None
                if covariances is None
                else np.array([plane.covariance(c) for c in np.asarray(covariances)])
            ),
            clusters=(
                None
                if clusters is None
                else np.asarray(clusters(section), dtype=np.intp).reshape(across.shape)
            ),
            margins=_margins(estimator),
            axis_labels=_axis_labels(names, samples.shape[1]),
        )
        return display.plot(ax=ax)

    def plot(self, *, ax: Axes | None = None) -> MarginDisplay:
        """Draw; returns the display itself.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; new axes by default.
        """
        ax = axes_or_new(ax)
        self._draw_regions(ax)
        if self.clusters is not None:
            borders = np.arange(self.clusters.max()) + 0.5
            where = (self.across, self.up, self.clusters)
            ax.contour(*where, borders, colors="#555555", linewidths=0.4)
        self._draw_points(ax)
        ax.set_xlabel(self.axis_labels[0])
        ax.set_ylabel(self.axis_labels[1])
        ax.set_xlim(self.across[0, 0], self.across[0, -1])
        ax.set_ylim(self.up[0, 0], self.up[-1, 0])
        self.ax_ = ax
        return self

    def _draw_regions(self, ax: Axes) -> None:
        grid_points = (self.across, self.up)
        count = len(self.labels)
        if count == 2:
            fills = [COLOURS[0], COLOURS[1]]
            levels = [-np.inf, 0.0, np.inf]
            ax.contourf(*grid_points, self.values, levels, colors=fills, alpha=0.13)
            edges = self.margins is not None
            low, high = self.margins or (0.0, 0.0)
            ax.contour(
                *grid_points,
                self.values,
                levels=[low, 0.0, high] if edges else [0.0],
                colors="#333333",
                linewidths=[0.8, 1.6, 0.8] if edges else [1.6],
                linestyles=["dashed", "solid", "dashed"] if edges else ["solid"],
            )
            return
        colours = [COLOURS[i % len(COLOURS)] for i in range(count)]
        levels = list(np.arange(count + 1) - 0.5)
        ax.contourf(*grid_points, self.values, levels, colors=colours, alpha=0.2)

    def _draw_points(self, ax: Axes) -> None:
        small = 14 if len(self.points) < 1000 else 5
        if self.covariances is not None:
            from matplotlib.patches import Ellipse

            for centre, covariance in zip(self.points, self.covariances, strict=True):
                width, height, angle = _ellipse(covariance)
                ax.add_patch(
                    Ellipse(
                        (float(centre[0]), float(centre[1])),
                        width,
                        height,
                        angle=angle,
                        fill=False,
                        color="#777777",
                        linewidth=0.5,
                    )
                )
        for code, label in enumerate(self.labels):
            chosen = self.points[self.classes == code]
            colour = COLOURS[code % len(COLOURS)]
            ax.scatter(
                chosen[:, 0],
                chosen[:, 1],
                s=small,
                color=colour,
                label=label,
                linewidths=0,
            )
        if self.support is not None:
            ax.scatter(
                self.support[:, 0],
                self.support[:, 1],
                s=small * 2.6,
                facecolors="none",
                edgecolors="#333333",
                linewidths=0.5,
            )
        if self.suspects is not None:
            crossed = self.points[self.suspects]
            ax.scatter(
                crossed[:, 0],
                crossed[:, 1],
                s=small * 3.5,
                marker="x",
                color="black",
                linewidths=1.2,
                label="suspect",
            )


def _dense(X: Any) -> NDArray[np.float64]:
    if sparse.issparse(X):
        refuse_damaged(X)
        X = X.toarray()
    return np.asarray(X, dtype=np.float64)


def _like(X: Any, rows: NDArray[np.float64]) -> Any:
    """Give the rows the column names of X, so that no estimator warns."""
    columns = getattr(X, "columns", None)
    return rows if columns is None else type(X)(rows, columns=columns)


def _values(estimator: Any, section: Any) -> NDArray[np.float64]:
    classes = _classes(estimator)
    if len(classes) == 2 and hasattr(estimator, "decision_function"):
        return np.asarray(estimator.decision_function(section), dtype=np.float64)
    codes = np.searchsorted(classes, estimator.predict(section))
    if len(classes) == 2:
        codes = 2 * codes - 1
    return np.asarray(codes, dtype=np.float64)


def _classes(estimator: Any) -> NDArray[Any]:
    """Return the labels that are predicted; an outlier detector has two."""
    if is_outlier_detector(estimator):
        return np.array([-1, 1])
    return np.asarray(estimator.classes_)


def _labels(estimator: Any, classes: NDArray[Any]) -> list[str]:
    if is_outlier_detector(estimator):
        return ["outlier", "inside"]
    return [str(label) for label in classes]


def _margins(estimator: Any) -> tuple[float, float] | None:
    """Decision values at the two margins: costs move that of the cheap class.

    None where there are none, as around the samples of one class.
    """
    if is_outlier_detector(estimator):
        return None
    steps = getattr(estimator, "steps", None)
    costs: Any = getattr(steps[-1][1] if steps else estimator, "pair_costs_", ())
    if len(costs) != 1:
        return -1.0, 1.0
    moved = 1 / (2 * costs[0].cost_negative - 1)
    return (-moved, 1.0) if costs[0].positive == 1 else (-1.0, moved)


def _indices(chosen: ArrayLike, n: int) -> NDArray[np.intp]:
    array = np.asarray(chosen)
    if array.dtype == bool:
        if array.shape != (n,):
            raise ValueError(f"suspects as a mask must have shape ({n},)")
        array = np.flatnonzero(array)
    return array.astype(np.intp)


def _axis_labels(names: Any, features: int) -> tuple[str, str]:
    if features > 2:
        return "first principal axis", "second principal axis"
    return ("", "") if names is None else (str(names[0]), str(names[1]))


def _ellipse(covariance: NDArray[np.float64]) -> tuple[float, float, float]:
    """Width, height and angle in degrees of the one-sigma ellipse."""
    variances, directions = np.linalg.eigh(covariance)
    width, height = 2.0 * np.sqrt(np.maximum(variances, 0.0))
    angle = np.degrees(np.arctan2(directions[1, 0], directions[0, 0]))
    return float(width), float(height), float(angle)
