"""What a command shows on the terminal, kept for the HTML report afterwards.

Nothing stands still for more than a second: work of unknown length runs under
`TerminalReport.working`, whose line carries a clock on a terminal and grows by a dot
otherwise.
"""

from __future__ import annotations

import base64
import contextlib
import io
import numbers
import shutil
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_BEAT = 0.5  # seconds between two signs of life
_SPINNER = "|/-\\"


@dataclass(frozen=True)
class Paragraph:
    """A line that was printed."""

    text: str


@dataclass(frozen=True)
class Table:
    """Rows of text under a header."""

    header: list[str]
    rows: list[list[str]]
    caption: str


@dataclass(frozen=True)
class Picture:
    """Panels beside each other, each already a PNG in base64."""

    panels: list[str]
    caption: str
    columns: int = 1


@dataclass
class Act:
    """What is kept of one act for the report."""

    name: str
    title: str
    question: str
    summary: str = ""
    limit: str = ""
    seconds: float = 0.0
    parts: list[Paragraph | Table | Picture] = field(default_factory=list)

    @property
    def lead(self) -> str:
        """The title, ready for the summary to follow."""
        return self.title if self.title.endswith("?") else f"{self.title}:"


@dataclass
class Work:
    """A stretch of work; ``seconds`` is filled in when it ends."""

    started: float
    seconds: float = 0.0
    note: str = ""


class TerminalReport:
    """Print what an act shows and keep it for the report.

    Parameters
    ----------
    act : Act
        The record that is filled.
    stream : file, optional
        Where to print; standard output by default.
    """

    def __init__(self, act: Act, stream: TextIO | None = None) -> None:
        self.act = act
        self._stream = sys.stdout if stream is None else stream
        self._lock = threading.Lock()

    def say(self, text: str) -> None:
        """Print a line and keep it."""
        self.act.parts.append(Paragraph(text))
        self._print(wrapped(text, "  ") + "\n")

    def limit(self, text: str) -> None:
        """Print where the method of the act does not win."""
        self.act.limit = text
        self.say(f"the limit: {text}")

    def table(
        self, header: Sequence[str], rows: Sequence[Sequence[Any]], caption: str = ""
    ) -> None:
        """Print a table; floats are shown with four significant digits."""
        texts = [[_cell(value) for value in row] for row in rows]
        self.act.parts.append(Table(list(header), texts, caption))
        if caption:
            self._print(f"  {caption}\n")
        self._print(plain_table(list(header), texts, indent="    "))

    @contextlib.contextmanager
    def working(self, text: str, *, fleeting: bool = False) -> Iterator[Work]:
        """Keep a line alive while the block works; yields a `Work` with its time.

        Set ``note`` on it to say something about the state of the work. A ``fleeting``
        line leaves no trace on a terminal.
        """
        work = Work(time.perf_counter())
        ended = threading.Event()
        heart = threading.Thread(
            target=self._beat, args=(text, work, ended), daemon=True
        )
        heart.start()
        try:
            yield work
        finally:
            work.seconds = time.perf_counter() - work.started
            ended.set()
            heart.join()
            end = f"{work.seconds:.1f} s\n"
            if not self._terminal:
                self._print(f" {end}")
            else:
                self._print("\r\x1b[2K" + ("" if fleeting else f"  {text}: {end}"))

    def picture(
        self,
        draw: Callable[[Any], object],
        rows: int = 1,
        columns: int = 1,
        *,
        size: tuple[float, float] | None = None,
        caption: str = "",
    ) -> None:
        """Let ``draw`` fill axes (an array if several); nothing without matplotlib.

        Each panel is a picture of its own, so that a narrow screen can stack them.
        """
        if not can_draw():
            return
        import numpy as np
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure

        width, height = size or (4.2 * columns, 3.4 * rows)
        figures = [
            Figure(figsize=(width / columns, height / rows), layout="constrained")
            for _ in range(rows * columns)
        ]
        for figure in figures:
            FigureCanvasAgg(figure)
        with self.working("drawing", fleeting=True):
            axes = np.array([figure.subplots() for figure in figures], dtype=object)
            draw(np.squeeze(axes.reshape(rows, columns))[()])
            panels = [_png(figure) for figure in figures]
            self.act.parts.append(Picture(panels, caption, columns))

    @property
    def _terminal(self) -> bool:
        return self._stream.isatty()

    def _beat(self, text: str, work: Work, ended: threading.Event) -> None:
        if not self._terminal:
            self._print(f"  {text} ")
        count = 0
        while not ended.wait(_BEAT if count else 0.0):
            passed = time.perf_counter() - work.started
            note = f" ({work.note})" if work.note else ""
            if self._terminal:
                sign = _SPINNER[count % len(_SPINNER)]
                self._print(f"\r\x1b[2K  {sign} {text}{note} {passed:.1f} s")
            else:
                self._print(".")
            count += 1

    def _print(self, text: str) -> None:
        with self._lock:
            self._stream.write(text)
            self._stream.flush()


def wrapped(text: str, indent: str, hanging: str = "") -> str:
    """Return the text in lines of the terminal's width, at most 100 characters."""
    return textwrap.fill(
        text,
        min(100, shutil.get_terminal_size().columns),
        initial_indent=indent,
        subsequent_indent=indent + hanging,
        break_long_words=False,
        break_on_hyphens=False,
    )


def can_draw() -> bool:
    """Whether matplotlib is installed."""
    return find_spec("matplotlib") is not None


def _png(figure: Figure) -> str:
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=130)
    return base64.b64encode(buffer.getvalue()).decode()


def plain_table(header: list[str], rows: list[list[str]], indent: str = "") -> str:
    """Return the table as text: the first column to the left, others to the right."""
    widths = [max(len(row[i]) for row in [header, *rows]) for i in range(len(header))]
    lines = []
    for row in [header, ["-" * width for width in widths], *rows]:
        cells = [
            text.ljust(width) if i == 0 else text.rjust(width)
            for i, (text, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append(indent + "  ".join(cells).rstrip() + "\n")
    return "".join(lines)


def _cell(value: Any) -> str:
    if not isinstance(value, numbers.Real) or isinstance(value, numbers.Integral):
        return str(value)
    return f"{float(value):.4g}"
