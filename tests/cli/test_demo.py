"""The demo: nothing stands still, every act plays, and the report is written."""

from __future__ import annotations

import importlib
import io
import subprocess
import sys
import time
from pathlib import Path

import pytest

from widemargin.cli.demo import ACTS
from widemargin.cli.demo.photograph import pixels
from widemargin.cli.demo.stage import Act, Picture, Stage, Table, plain_table


class Clocked(io.StringIO):
    """A stream that remembers when it was written to."""

    def __init__(self, terminal: bool) -> None:
        super().__init__()
        self.terminal = terminal
        self.times: list[float] = []

    def isatty(self) -> bool:
        return self.terminal

    def write(self, text: str) -> int:
        self.times.append(time.monotonic())
        return super().write(text)


@pytest.mark.parametrize("terminal", [False, True])
def test_nothing_stands_still_for_a_second(terminal: bool) -> None:
    stream = Clocked(terminal)
    with Stage(Act("a", "T", "Q"), stream).working("thinking") as work:
        time.sleep(1.7)
    pauses = [b - a for a, b in zip(stream.times, stream.times[1:], strict=False)]
    assert max(pauses) < 1.0
    assert 1.7 <= work.seconds < 3.0
    assert "thinking" in stream.getvalue()


def test_the_line_ends_even_when_the_work_fails() -> None:
    stream = io.StringIO()
    with (
        pytest.raises(RuntimeError),
        Stage(Act("a", "T", "Q"), stream).working("trying"),
    ):
        raise RuntimeError
    assert stream.getvalue().endswith(" s\n")


def test_what_is_shown_is_kept() -> None:
    act = Act("a", "Title", "Q")
    stage = Stage(act, io.StringIO())
    stage.say("hello")
    stage.table(["model", "cost"], [["plain", 1.23456], ["ours", 2]])
    with stage.axes(caption="c") as ax:
        ax.plot([0, 1])
    assert [type(part).__name__ for part in act.parts] == [
        "Paragraph",
        "Table",
        "Picture",
    ]
    assert isinstance(act.parts[1], Table)
    assert act.parts[1].rows == [["plain", "1.235"], ["ours", "2"]]
    assert isinstance(act.parts[2], Picture)
    assert act.parts[2].png.startswith("iVBOR")


def test_plain_table() -> None:
    text = plain_table(["a", "b"], [["xx", "1"], ["y", "22"]])
    assert text == "a    b\n--  --\nxx   1\ny   22\n"


@pytest.mark.parametrize("name", ACTS)
def test_every_act_has_what_the_protocol_asks(name: str) -> None:
    module = importlib.import_module(ACTS[name])
    assert module.TITLE
    assert module.QUESTION
    assert callable(module.run)


def test_pixels_are_nested_and_apart() -> None:
    small, _ = pixels(10)
    large, labels = pixels(1000)
    unseen, _ = pixels(1000, unseen=True)
    assert (small == large[:10]).all()
    assert 0.4 < labels.mean() < 0.6
    seen = {tuple(row) for row in large}
    assert not any(tuple(row) in seen for row in unseen)


def test_one_act_alone_through_a_process(tmp_path: Path) -> None:
    started = time.monotonic()
    with subprocess.Popen(
        [sys.executable, "-m", "widemargin.cli", "demo", "mislabelled"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        cwd=tmp_path,
    ) as process:
        assert process.stdout is not None
        first = process.stdout.readline()
        waited = time.monotonic() - started
        rest = process.stdout.read()
    assert process.returncode == 0, rest
    assert first.startswith("widemargin")
    assert waited < 2
    page = (tmp_path / "widemargin-demo.html").read_text()
    assert "Who is mislabelled?" in page
    assert "widemargin-demo.html" in rest
