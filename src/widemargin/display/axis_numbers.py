"""Numbers at a logarithmic axis as one writes them: 0.4, 6, 20, 1e-05."""

from __future__ import annotations

from matplotlib.ticker import LogFormatter


class PlainNumbers(LogFormatter):
    """Labels the ticks that matplotlib would label by powers of ten, and no others."""

    def __call__(self, x: float, pos: int | None = None) -> str:
        """Return the label of a tick, empty where there is no room for one."""
        return f"{x:g}" if super().__call__(x, pos) else ""
