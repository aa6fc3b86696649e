"""What happened during a fit, or between fits, as curves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .canvas import COLOURS, axes_or_new, plain_numbers

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_WORDS = {
    "seconds": "seconds",
    "gap": "duality gap",
    "size": "samples",
    "kkt_violation": "KKT violation",
    "n_support": "support vectors",
}


class HistoryDisplay:
    """Curves of what ``history_`` recorded, or of any named series.

    Parameters
    ----------
    series : mapping of str to (x, y)
        The curves by label.
    x_label, y_label : str
        What the axes show.

    Attributes
    ----------
    series_ : dict of str to (ndarray, ndarray)
        The curves as they are drawn.

    Examples
    --------
    >>> from widemargin.display import HistoryDisplay
    >>> curves = {"early": ([1, 2], [0.9, 0.95])}
    >>> display = HistoryDisplay(curves, "seconds", "accuracy")
    >>> display.plot().ax_.get_ylabel()
    'accuracy'
    """

    ax_: Axes

    def __init__(
        self,
        series: Mapping[str, tuple[ArrayLike, ArrayLike]],
        x_label: str = "",
        y_label: str = "",
    ) -> None:
        self.series_: dict[str, tuple[NDArray[Any], NDArray[Any]]] = {
            label: (np.asarray(x), np.asarray(y, dtype=np.float64))
            for label, (x, y) in series.items()
        }
        self.x_label = x_label
        self.y_label = y_label

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        *,
        x: str = "stage",
        y: str | Sequence[str] = "objective",
        ax: Axes | None = None,
        log: bool = False,
    ) -> HistoryDisplay:
        """Draw what a fitted estimator recorded.

        Parameters
        ----------
        estimator : fitted estimator
            Anything with ``history_``, a list of stage records.
        x : str, default="stage"
            The key along the horizontal axis. ``"seconds"`` is summed up: time passed.
        y : str or sequence of str, default="objective"
            One curve per key. Stages without a value for it are left out.
        ax : matplotlib Axes, optional
            Where to draw; new axes by default.
        log : bool, default=False
            Logarithmic vertical axis.

        Returns
        -------
        HistoryDisplay
        """
        history = getattr(estimator, "history_", None)
        if not history:
            raise ValueError(
                f"{type(estimator).__name__} has no history_ to draw: fit it first"
            )
        keys = [y] if isinstance(y, str) else list(y)
        known = sorted({key for record in history for key in record})
        for key in [x, *keys]:
            if key not in known:
                raise ValueError(
                    f"history_ has no {key!r}; it has {', '.join(map(repr, known))}"
                )
        series = {_word(key): _curve(history, x, key) for key in keys}
        label = "seconds passed" if x == "seconds" else _word(x)
        display = cls(series, label, _word(keys[0]) if len(keys) == 1 else "")
        return display.plot(ax=ax, log=log)

    def plot(
        self,
        *,
        ax: Axes | None = None,
        log: bool = False,
        log_x: bool = False,
        styles: Mapping[str, Mapping[str, Any]] | None = None,
        legend: bool = True,
    ) -> HistoryDisplay:
        """Draw the curves; returns the display itself.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; new axes by default.
        log : bool, default=False
            Logarithmic vertical axis.
        log_x : bool, default=False
            Logarithmic horizontal axis.
        styles : mapping of str to mapping, optional
            By label: properties of its line (``color``, ``marker``, ``linestyle``).
        legend : bool, default=True
            Whether several curves are told apart by a legend.
        """
        ax = axes_or_new(ax)
        for i, (label, (x, y)) in enumerate(self.series_.items()):
            style: dict[str, Any] = {"marker": "o", "markersize": 4}
            style["color"] = COLOURS[i % len(COLOURS)]
            ax.plot(x, y, label=label, **style | dict((styles or {}).get(label, {})))
        ax.set_xlabel(self.x_label)
        ax.set_ylabel(self.y_label)
        if log:
            ax.set_yscale("log")
            plain_numbers(ax.yaxis)
        if log_x:
            ax.set_xscale("log")
            plain_numbers(ax.xaxis)
        if legend and len(self.series_) > 1:
            ax.legend(frameon=False)
        ax.spines[["top", "right"]].set_visible(False)
        ax.grid(alpha=0.25)
        self.ax_ = ax
        return self


def _word(key: str) -> str:
    return _WORDS.get(key, key.replace("_", " "))


def _curve(
    history: Sequence[Mapping[str, Any]], x: str, y: str
) -> tuple[list[Any], list[float]]:
    passed = 0.0
    places: list[Any] = []
    values: list[float] = []
    for number, record in enumerate(history):
        passed += float(record.get("seconds") or 0.0)
        if record.get(y) is None or record.get(x) is None:
            continue
        # stages repeat their names (one per class pair or chunk), so they are numbered
        place = f"{number} {record[x]}" if isinstance(record[x], str) else record[x]
        places.append(passed if x == "seconds" else place)
        values.append(float(record[y]))
    return places, values
