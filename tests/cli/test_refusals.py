"""What the system refuses is one line and exit code 2, wherever it happens."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cli.running import command
from tests.unwritable_paths import as_root, bound_socket, device_node, small_disk

DATA = "1 1:1 2:2\n0 1:-1 2:-2\n1 1:2 2:1\n0 1:-2 2:-1\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "data").write_text(DATA)
    line = ["train", "--keep-rows", "data", "model"]
    assert command(*line, cwd=tmp_path).returncode == 0
    return tmp_path


def refused(*arguments: object, cwd: Path) -> str:
    """Return the one line with which a command is refused; no file changes."""
    before = {path: path.read_bytes() for path in cwd.iterdir() if path.is_file()}
    done = command(*arguments, cwd=cwd)
    assert done.returncode == 2, done.stderr
    after = {path: path.read_bytes() for path in cwd.iterdir() if path.is_file()}
    assert after == before
    (line,) = done.stderr.splitlines()
    return line


STEPS = {
    "reading data": ("train -q data other", "widemargin.cli.output.read"),
    "training": ("train -q data other", "widemargin.SVC.fit"),
    "writing a model": ("train -q data other", "widemargin.cli.output.save"),
    "cross-validation": ("train -q -v 2 data", "widemargin.SVC.fit"),
    "loading": ("predict data model out", "widemargin.cli.output.load"),
    "prediction": ("predict data model out", "widemargin.SVC.predict"),
    "evaluation": ("evaluate data model", "widemargin.SVC.decision_function"),
    "information": ("info model", "widemargin.cli.model_commands.model_facts"),
    "forgetting": ("forget -q model 1", "widemargin.SVC.forget"),
}
REFUSALS = {
    "no memory": (MemoryError(), "not enough memory"),
    "no memory, in C++": (MemoryError("std::bad_alloc"), "not enough memory"),
    "no memory, in NumPy": (
        MemoryError("Unable to allocate 26.1 GiB for an array"),
        "Unable to allocate 26.1 GiB for an array",
    ),
    "no space": (OSError(errno.ENOSPC, "No space left on device"), "No space left"),
    "no device": (OSError(errno.EIO, "Input/output error", "x"), "Input/output error"),
    "no permission": (PermissionError(errno.EACCES, "Permission denied"), "denied"),
    "no thread": (RuntimeError("can't start new thread"), "can't start new thread"),
}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.FitFailedWarning")
@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("kind", REFUSALS)
def test_at_every_step(
    folder: Path, monkeypatch: pytest.MonkeyPatch, step: str, kind: str
) -> None:
    line, where = STEPS[step]
    error, said = REFUSALS[kind]

    def fail(*_: Any, **__: Any) -> None:
        raise error

    monkeypatch.setattr(where, fail)
    message = refused(*line.split(), cwd=folder)
    assert message.startswith("Error: ")
    assert said in message
    assert ("not enough memory" in message) == isinstance(error, MemoryError)


def test_a_mistake_of_this_program_is_shown_whole(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> None:
        raise RuntimeError("a bug")

    monkeypatch.setattr("widemargin.cli.model_commands.model_facts", fail)
    with pytest.raises(RuntimeError, match="a bug"):
        command("info", "model", cwd=folder)


LIMITED = """
import resource, sys
import widemargin.cli.train_command
from widemargin.cli.__main__ import main
pages = int(open("/proc/self/statm").read().split()[0])
room = pages * resource.getpagesize() + (6 << 20)
resource.setrlimit(resource.RLIMIT_AS, (room, room))
main()
"""


@pytest.mark.skipif(sys.platform != "linux", reason="memory is read from /proc")
def test_memory_that_the_system_does_not_give(folder: Path) -> None:
    wide = " ".join(f"{i}:1" for i in range(1, 2001))
    (folder / "large").write_text(f"1 {wide}\n0 {wide}\n" * 200)
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, "train", "-q", "large", "other"],
        capture_output=True, text=True, cwd=folder,
    )  # fmt: skip
    assert done.returncode == 2, done.stderr
    assert done.stderr == "Error: large: not enough memory\n"
    assert not (folder / "other").exists()


@pytest.mark.parametrize("kind", ["fifo", "socket", "folder"])
@pytest.mark.parametrize("line", ["train data out", "forget model 1 --output out"])
def test_no_model_in_the_place_of_something_else(
    folder: Path, kind: str, line: str
) -> None:
    path = folder / "out"
    if kind == "fifo":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    else:
        with bound_socket(path):
            pass  # the node stays when the socket is closed
    before = os.lstat(path)
    message = refused(*line.split(), cwd=folder)
    assert "Is a directory" in message or "which must be a file" in message
    assert os.lstat(path).st_ino == before.st_ino


def test_predictions_to_a_socket(folder: Path) -> None:
    with bound_socket(folder / "out"):
        message = refused("predict", "data", "model", "out", cwd=folder)
    assert message == "Error: out: No such device or address"


@as_root
def test_devices(folder: Path) -> None:
    device_node(folder / "out")  # takes nothing
    before = os.lstat(folder / "out")
    message = refused("train", "data", "out", cwd=folder)
    assert "which must be a file" in message
    message = refused("predict", "data", "model", "out", cwd=folder)
    assert message == "Error: out: No space left on device"
    assert os.lstat(folder / "out").st_rdev == before.st_rdev


@as_root
@pytest.mark.parametrize(
    "line",
    [
        "train -q data disk/model",
        "predict data model disk/out",
        "forget -q model 1 --output disk/model",
        "train -q --method dc --n-levels 1 --checkpoint disk/levels data other",
    ],
)
def test_a_full_disk(folder: Path, line: str) -> None:
    (folder / "data").write_text(DATA * 100)
    (folder / "disk").mkdir()
    trained = ["train", "-q", "--keep-rows", "data", "model"]
    assert command(*trained, cwd=folder).returncode == 0
    with small_disk(folder / "disk") as disk:
        (disk / "ballast").write_bytes(bytes(64 << 10))
        message = refused(*line.split(), cwd=folder)
        assert message.startswith("Error: disk/")
        assert message.endswith("No space left on device")
        assert os.listdir(disk) == ["ballast"]


@as_root
@pytest.mark.parametrize("line", ["info model", "info missing"])
def test_streams_to_a_full_disk(folder: Path, line: str) -> None:
    (folder / "disk").mkdir()
    with small_disk(folder / "disk") as disk:
        (disk / "ballast").write_bytes(bytes(64 << 10))
        with open(disk / "out", "wb") as out:
            done = subprocess.run(
                [sys.executable, "-m", "widemargin.cli", *line.split()],
                stdout=out, stderr=out, cwd=folder,
            )  # fmt: skip
    assert done.returncode == 2
