"""Pipes, devices and the standard streams in the place of files."""

from __future__ import annotations

import bz2
import contextlib
import gzip
import lzma
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from numpy.testing import assert_array_equal

from widemargin.cli import files
from widemargin.cli.files import read
from widemargin.cli.parsed_data import DataError
from widemargin.cli.streams import writing

from tests.cli.running import command

DATA = b"1 1:1 2:2\n0 1:-1 2:-2\n1 1:2 2:1\n0 1:-2 2:-1\n"
LABELS = "1\n0\n1\n0\n"

Pipe = Callable[[bytes], str]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "data").write_bytes(DATA)
    assert command("train", "data", "model", cwd=tmp_path).returncode == 0
    return tmp_path


@pytest.fixture
def pipe() -> Iterator[Pipe]:
    """Make pipes that hold so much, and return their paths, as ``<(...)`` does."""
    with contextlib.ExitStack() as stack:

        def holding(content: bytes) -> str:
            reader, writer = os.pipe()
            stack.callback(os.close, reader)
            os.write(writer, content)
            os.close(writer)
            return f"/dev/fd/{reader}"

        yield holding


def test_data_from_a_pipe(folder: Path, pipe: Pipe) -> None:
    done = command("train", pipe(DATA), "other", cwd=folder)
    assert done.returncode == 0, done.stderr
    done = command("predict", pipe(DATA), "other", "out", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert (folder / "out").read_text() == LABELS
    done = command("evaluate", pipe(DATA), "model", cwd=folder)
    assert "accuracy           1.0000" in done.stdout
    table = DATA.replace(b" 1:", b",").replace(b" 2:", b",")
    done = command("evaluate", pipe(table), "model", "--label", "1", cwd=folder)
    assert "accuracy           1.0000" in done.stdout, done.stderr


def test_a_pipe_gives_the_model_no_name(folder: Path, pipe: Pipe) -> None:
    for data in (pipe(DATA), "-"):
        done = command("train", data, cwd=folder, stdin=DATA)
        assert done.returncode == 2
        assert "say where to write MODEL" in done.stderr
    done = command("train", "-v", "2", "-", cwd=folder, stdin=DATA)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("packing", [lzma, bz2, gzip])
def test_a_compressed_pipe(pipe: Pipe, packing: Any) -> None:
    whole = packing.compress(DATA)
    assert_array_equal(read(pipe(whole)).y, [1, 0, 1, 0])
    with pytest.raises(DataError, match="damaged archive"):
        read(pipe(whole[:-7]))


def test_how_far_the_reading_of_a_pipe_is(
    pipe: Pipe, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "_PIECE", 10)
    seen: list[tuple[int, int]] = []
    read(pipe(DATA), watch=lambda *state: seen.append(state))
    assert seen[-1] == (len(DATA), 0)
    assert seen == sorted(set(seen))


def test_standard_input_and_output(folder: Path) -> None:
    done = command("predict", "-", "model", "-", cwd=folder, stdin=DATA)
    assert done.returncode == 0, done.stderr
    assert done.stdout == LABELS
    assert "Accuracy = 100%" in done.stderr
    done = command("predict", "-", "model", "-", cwd=folder, stdin=b"1 1:1\n1 x\n")
    assert done.returncode == 2
    assert "stdin:2:3: " in done.stderr
    assert sorted(path.name for path in folder.iterdir()) == ["data", "model"]


def test_the_file_behind_stdout_is_written_on(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with open(log, "w") as file, contextlib.redirect_stdout(file):
        print("before")
        with writing(str(log)) as out:
            out.write(b"between\n")
        print("after")
    assert log.read_text() == "before\nbetween\nafter\n"


def test_what_is_no_file_is_written_to_and_not_replaced(folder: Path) -> None:
    os.mkfifo(folder / "fifo")
    reader = os.open(folder / "fifo", os.O_RDONLY | os.O_NONBLOCK)
    done = command("predict", "data", "model", "fifo", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert (folder / "fifo").is_fifo()
    with open(reader) as file:
        assert file.read() == LABELS


def test_standard_streams_that_the_shell_has_closed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", None)
    with pytest.raises(DataError, match="stdin: Bad file descriptor"):
        read("-")
    monkeypatch.setattr("sys.stdout", None)
    with pytest.raises(OSError, match="Bad file descriptor"), writing("-"):
        pass
    with writing(str(tmp_path / "out")) as file:
        file.write(b"written")
    assert (tmp_path / "out").read_bytes() == b"written"
