"""Files written whole or not at all: what is replaced, and what is left behind."""

from __future__ import annotations

import errno
import fcntl
import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from widemargin import SVC, load, save
from widemargin.runtime import model_file_format
from widemargin.runtime.atomic_file import replacing

from tests.unwritable_paths import as_root, bound_socket, device_node, small_disk

X = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 3.0], [3.0, 2.5]])
y = [0, 0, 1, 1]
MODEL = SVC().fit(X, y)


def assert_not_replaced(path: Path, kind: str) -> None:
    before = os.lstat(path)
    with pytest.raises(OSError, match=kind) as caught:
        save(MODEL, path)
    assert caught.value.filename == str(path)
    assert os.lstat(path).st_mode == before.st_mode
    assert os.lstat(path).st_ino == before.st_ino
    assert os.listdir(path.parent) == [path.name]


def test_a_fifo_is_not_replaced(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "model")
    assert_not_replaced(tmp_path / "model", "a FIFO, not a regular file")


def test_a_socket_is_not_replaced(tmp_path: Path) -> None:
    with bound_socket(tmp_path / "model"):
        assert_not_replaced(tmp_path / "model", "a socket, not a regular file")


def test_a_folder_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "model").mkdir()
    assert_not_replaced(tmp_path / "model", "Is a directory")


@as_root
@pytest.mark.parametrize("kind", [stat.S_IFCHR, stat.S_IFBLK])
def test_a_device_is_not_replaced(tmp_path: Path, kind: int) -> None:
    device_node(tmp_path / "model", kind)
    assert_not_replaced(tmp_path / "model", "device, not a regular file")


def test_what_a_link_points_to_counts(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("pipe")
    with pytest.raises(FileExistsError, match=r"a FIFO.*link'$"):
        save(MODEL, tmp_path / "link")
    (tmp_path / "pipe").unlink()
    save(MODEL, tmp_path / "link")  # a link to nothing yet
    assert (tmp_path / "pipe").is_file()


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o444, 0o755])
def test_the_mode_is_kept(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "model"
    save(SVC(), path)
    path.chmod(mode)
    save(MODEL, path)
    assert stat.S_IMODE(path.stat().st_mode) == mode
    assert_array_equal(load(path).predict(X), MODEL.predict(X))


def test_a_closed_file_is_closed_while_it_is_written(tmp_path: Path) -> None:
    path = tmp_path / "model"
    path.touch(mode=0o600)
    with replacing(path) as file:
        assert stat.S_IMODE(os.fstat(file.fileno()).st_mode) == 0o600


def test_a_new_file_has_the_mode_of_the_mask(tmp_path: Path) -> None:
    mask = os.umask(0o027)
    try:
        save(MODEL, tmp_path / "model")
    finally:
        os.umask(mask)
    assert stat.S_IMODE((tmp_path / "model").stat().st_mode) == 0o640


@as_root
def test_owner_and_group_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "model"
    path.touch(mode=0o640)
    os.chown(path, 12345, 23456)
    save(MODEL, path)
    found = path.stat()
    assert (found.st_uid, found.st_gid) == (12345, 23456)
    assert stat.S_IMODE(found.st_mode) == 0o640


def test_another_group_does_not_get_what_the_group_had(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "model"
    path.touch(mode=0o640)
    real = os.stat

    def elsewhere(name: object, **options: object) -> os.stat_result:
        found = list(real(name, **options))  # type: ignore[arg-type,call-overload]
        found[stat.ST_GID] += name == path
        return os.stat_result(found)

    def forbidden(*_: object) -> None:
        raise PermissionError(errno.EPERM, "Operation not permitted")

    with monkeypatch.context() as patch:
        patch.setattr(os, "stat", elsewhere)
        patch.setattr(os, "fchown", forbidden)
        model_file_format.write(path, "model", {}, {})
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


KILLED = """
import os, signal, sys
from widemargin.runtime.atomic_file import replacing
with replacing(sys.argv[1]) as file:
    file.write(b"half")
    file.flush()
    print("writing", flush=True)
    sys.stdin.read()  # until this process is killed, or may go on
"""


def writer(path: Path) -> subprocess.Popen[bytes]:
    """A process in the middle of a write."""
    process = subprocess.Popen(
        [sys.executable, "-c", KILLED, str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"writing\n"
    return process


def test_what_a_killed_process_leaves_is_removed(tmp_path: Path) -> None:
    path = tmp_path / "model"
    save(SVC(), path)
    with writer(path) as process:
        (left,) = {entry.name for entry in tmp_path.iterdir()} - {"model"}
        process.send_signal(signal.SIGKILL)
    assert len(os.listdir(tmp_path)) == 2
    save(MODEL, tmp_path / "other")
    assert left in os.listdir(tmp_path)  # of another file: not looked for
    save(MODEL, path)
    assert sorted(os.listdir(tmp_path)) == ["model", "other"]


def test_a_write_under_way_elsewhere_is_let_be(tmp_path: Path) -> None:
    path = tmp_path / "model"
    with writer(path) as process:
        save(MODEL, path)
        assert len(os.listdir(tmp_path)) == 2
        process.communicate(b"")
        assert process.returncode == 0
    assert path.read_bytes() == b"half"  # the last to end
    assert os.listdir(tmp_path) == ["model"]


def test_a_write_under_way_in_this_process_is_let_be(tmp_path: Path) -> None:
    path = tmp_path / "model"
    with replacing(path) as file:
        save(MODEL, path)
        file.write(b"last")
    assert path.read_bytes() == b"last"
    assert os.listdir(tmp_path) == ["model"]


def test_a_file_removed_before_it_was_locked_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, removed = fcntl.flock, []

    def late(descriptor: int, operation: int) -> None:
        if not removed:  # another process has just taken it for a stale one
            removed.extend(tmp_path.iterdir())
            removed[0].unlink()
        real(descriptor, operation)

    monkeypatch.setattr(fcntl, "flock", late)
    save(MODEL, tmp_path / "model")
    assert len(removed) == 1
    assert os.listdir(tmp_path) == ["model"]


def temporary_name(path: Path) -> str:
    with replacing(path):
        (name,) = os.listdir(path.parent)
    path.unlink()
    return name


@pytest.mark.parametrize(
    "change",
    [
        lambda name: name.removeprefix("."),
        lambda name: name.replace("model", "modem"),
        lambda name: name + "x",
        lambda name: name.replace("tmp", "old"),
        lambda name: ".model.swp",
        lambda name: ".model.tmp",
    ],
)
def test_files_of_other_names_are_let_be(tmp_path: Path, change: object) -> None:
    name = change(temporary_name(tmp_path / "model"))  # type: ignore[operator]
    (tmp_path / name).write_bytes(b"mine")
    save(MODEL, tmp_path / "model")
    assert (tmp_path / name).read_bytes() == b"mine"


def test_no_link_is_followed_or_removed(tmp_path: Path) -> None:
    name = temporary_name(tmp_path / "model")
    (tmp_path / "precious").write_bytes(b"mine")
    (tmp_path / name).symlink_to("precious")
    save(MODEL, tmp_path / "model")
    assert sorted(os.listdir(tmp_path)) == sorted([name, "model", "precious"])


@as_root
def test_files_of_other_people_are_let_be(tmp_path: Path) -> None:
    name = temporary_name(tmp_path / "model")
    (tmp_path / name).touch()
    os.chown(tmp_path / name, 12345, -1)
    save(MODEL, tmp_path / "model")
    assert name in os.listdir(tmp_path)


def test_a_long_name_in_any_script(tmp_path: Path) -> None:
    path = tmp_path / ("模" * 80)  # 240 bytes of at most 255
    save(MODEL, path)
    save(MODEL, path)
    assert os.listdir(tmp_path) == [path.name]


@as_root
def test_a_full_disk_leaves_the_old_file(tmp_path: Path) -> None:
    rows = np.random.default_rng(0).standard_normal((2000, 20))
    large = SVC().fit(rows, rows[:, 0] > 0)
    with small_disk(tmp_path) as folder:
        path = folder / "model"
        save(MODEL, path)
        before = path.read_bytes()
        with pytest.raises(OSError, match="No space left on device") as caught:
            save(large, path)
        assert caught.value.errno == errno.ENOSPC
        assert caught.value.filename == str(path)
        assert path.read_bytes() == before
        assert os.listdir(folder) == ["model"]
