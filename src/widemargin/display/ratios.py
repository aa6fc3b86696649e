"""How many times faster: a group of bars per problem, one bar per peer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from .canvas import COLOURS, axes_or_new

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_TICKS = (0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500)
_HEIGHT = 0.36  # of a bar; problems are 1 apart


class RatiosDisplay:
    """Show ratios of several problems to several peers, from equality on.

    Parameters
    ----------
    names : sequence of str
        The problems, the first on top.
    ratios : sequence of sequence of float
        For each problem the ratio to each peer.
    texts : sequence of sequence of str
        What stands beside each bar.
    peers : sequence of str
        Their names, for the legend.

    Examples
    --------
    >>> from widemargin.display.ratios import RatiosDisplay
    >>> display = RatiosDisplay(["iris"], [[2.0]], [["2x"]], ["than LIBSVM"])
    >>> display.plot().ax_.get_xscale()
    'log'
    """

    ax_: Axes

    def __init__(
        self,
        names: Sequence[str],
        ratios: Sequence[Sequence[float]],
        texts: Sequence[Sequence[str]],
        peers: Sequence[str],
    ) -> None:
        self.names = list(names)
        self.ratios = [list(row) for row in ratios]
        self.texts = [list(row) for row in texts]
        self.peers = list(peers)

    def plot(self, *, ax: Axes | None = None) -> RatiosDisplay:
        """Draw the bars on a logarithmic scale; returns the display itself.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; new axes by default.
        """
        ax = axes_or_new(ax)
        top = len(self.names) - 1
        for k, peer in enumerate(self.peers):
            at = [top - i + _HEIGHT * (0.5 - k) for i in range(top + 1)]
            ratios = [row[k] for row in self.ratios]
            lengths = [ratio - 1.0 for ratio in ratios]
            ax.barh(
                at, lengths, left=1.0, height=0.92 * _HEIGHT, color=COLOURS[k],
                label=peer,
            )  # fmt: skip
            for place, ratio, row in zip(at, ratios, self.texts, strict=True):
                ax.annotate(
                    row[k], (max(ratio, 1.0), place), xytext=(4, 0),
                    textcoords="offset points", va="center", fontsize=8.5,
                )  # fmt: skip
        ax.set_yticks(range(top, -1, -1), self.names)
        ax.set_xscale("log")
        every = [ratio for row in self.ratios for ratio in row]
        least, most = min([1.0, *(0.8 * ratio for ratio in every)]), 3.0 * max(every)
        ticks = [tick for tick in _TICKS if least <= tick <= most]
        ax.set_xlim(least, most)
        ax.set_xticks(ticks, [f"{tick:g}x" for tick in ticks])
        ax.minorticks_off()
        ax.spines[["top", "right"]].set_visible(False)
        ax.legend(loc="upper right", frameon=False)
        self.ax_ = ax
        return self
