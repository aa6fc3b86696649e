"""Samples that are pictures, shown as pictures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from .canvas import axes_or_new

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class ImageDisplay:
    """Show rows of a data matrix, or one whole picture, as images in a strip.

    Parameters
    ----------
    rows : array-like of shape (n_images, height * width)
        The samples.
    shape : tuple of two int
        Height and width of each image.
    titles : sequence of str, optional
        A title above each image.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from widemargin.display import ImageDisplay
    >>> ImageDisplay(load_digits().data[:5], (8, 8)).plot().strip.shape
    (8, 44)
    """

    ax_: Axes

    def __init__(
        self,
        rows: ArrayLike,
        shape: tuple[int, int],
        *,
        titles: Sequence[str] | None = None,
    ) -> None:
        images = np.asarray(rows, dtype=np.float64)
        if images.ndim != 2 or images.shape[1] != shape[0] * shape[1]:
            raise ValueError(
                f"rows must have shape (n_images, {shape[0] * shape[1]}) for images of "
                f"shape {shape}, got {images.shape}"
            )
        self.shape = shape
        self.titles = titles
        gap = np.full((shape[0], 1), np.nan)
        parts: list[Any] = []
        for row in images:
            parts += [row.reshape(shape), gap]
        self.strip = np.hstack(parts[:-1]) if parts else np.empty((shape[0], 0))

    def plot(self, *, ax: Axes | None = None, cmap: str = "gray") -> ImageDisplay:
        """Draw the strip; returns the display itself.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; new axes by default.
        cmap : str, default="gray"
            Colour map.
        """
        ax = axes_or_new(ax)
        ax.imshow(self.strip, cmap=cmap, interpolation="nearest")
        for i, title in enumerate(self.titles or ()):
            centre = i * (self.shape[1] + 1) + self.shape[1] / 2 - 0.5
            ax.annotate(
                title,
                (centre, -0.5),
                xytext=(0, 3),
                textcoords="offset points",
                ha="center",
                va="bottom",
            )
        ax.set_axis_off()
        self.ax_ = ax
        return self
