"""What the Display classes share: axes to draw on, and colours that stay apart."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis

#: distinguishable with colour-blind eyes and in grey (Okabe and Ito, 2008)
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#555555")


def plain_numbers(axis: Axis) -> None:
    """Label a logarithmic axis 6, 10, 20 rather than by powers of ten."""
    from .axis_numbers import PlainNumbers  # matplotlib is there by now

    axis.set_major_formatter(PlainNumbers())
    axis.set_minor_formatter(PlainNumbers())


def axes_or_new(ax: Axes | None) -> Axes:
    """Return ``ax``, or new axes of matplotlib's current figure manager."""
    if ax is not None:
        return ax
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise ImportError(
            "pictures need matplotlib: pip install 'widemargin[plot]'"
        ) from error
    new: Axes = pyplot.subplots()[1]
    return new
