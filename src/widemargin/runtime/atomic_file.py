"""Files that are written whole or not at all.

The problem: a crash, a full disk or Ctrl-C while a file is written must leave the old
file as it was, and nothing else behind. `replacing` writes a temporary file beside the
target and renames it when it is complete and on disk.

- Only a regular file is replaced: a rename would turn a FIFO, socket or device into
  a file, and its reader would receive nothing.
- The new file has the mode of the old one, also while it is written: a model holds
  training rows, and what its owner has closed stays closed.
- A process that is killed leaves its temporary file. The next write to the same target
  removes it: it is known by its name, its owner, and a lock that the kernel gives back
  when the writer dies, so that the file of a write under way is never taken for one.
  (Windows has no such locks: there it stays.)
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import secrets
import stat
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

if sys.platform != "win32":
    import fcntl

_KINDS = {
    stat.S_IFIFO: "a FIFO",
    stat.S_IFSOCK: "a socket",
    stat.S_IFBLK: "a block device",
    stat.S_IFCHR: "a character device",
}
_SUFFIX = "widemargin-tmp"


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a temporary file that replaces ``path`` once the block has ended well.

    Whatever goes wrong inside the block, an interrupt included, ``path`` stays as it
    was and the temporary file is removed.

    Raises
    ------
    OSError
        If ``path`` exists and is not a regular file, or if the system refuses (no such
        folder, no permission, no space); ``filename`` is ``path``.
    """
    try:
        refuse_lost(path)
        target = Path(os.path.realpath(path))
        old = _regular(path)
        _remove_stale(target)
        with _temporary(target, 0o666 if old is None else 0o600) as (name, file):
            yield file
            file.flush()
            os.fsync(file.fileno())
            if sys.platform == "win32":
                file.close()  # an open file cannot be renamed there
            elif old is not None:
                _make_alike(file.fileno(), old)
            os.replace(name, target)
        _sync_directory(target.parent)
    except OSError as error:
        if error.filename is None or str(error.filename).endswith(_SUFFIX):
            error.filename, error.filename2 = os.fspath(path), None
        raise


def refuse_lost(path: str | os.PathLike[str], parameter: str = "") -> None:
    """Refuse to write into a folder that does not exist; the error names the file."""
    if not Path(os.path.realpath(path)).parent.is_dir():
        why = f"{os.strerror(errno.ENOENT)} (make the folder first)"
        why = f"{parameter}: {why}" if parameter else why
        raise FileNotFoundError(errno.ENOENT, why, os.fspath(path))


def _regular(path: str | os.PathLike[str]) -> os.stat_result | None:
    """Return the state of the file to replace, None if there is none."""
    try:
        found = os.stat(path)
    except FileNotFoundError:
        return None
    if stat.S_ISDIR(found.st_mode):
        why = os.strerror(errno.EISDIR)
        raise IsADirectoryError(errno.EISDIR, why, os.fspath(path))
    if not stat.S_ISREG(found.st_mode):
        kind = _KINDS.get(stat.S_IFMT(found.st_mode), "no file")
        raise FileExistsError(
            errno.EEXIST,
            f"This is {kind}, not a regular file, and is not replaced (give another "
            "path)",
            os.fspath(path),
        )
    return found


@contextlib.contextmanager
def _temporary(target: Path, mode: int) -> Iterator[tuple[Path, BinaryIO]]:
    """Make a locked file beside the target; it is removed if the block fails."""
    name, descriptor = _locked(target, mode)
    try:
        with open(descriptor, "wb") as file:  # renamed before it is closed and unlocked
            yield name, file
    except BaseException:
        name.unlink(missing_ok=True)
        raise


def _locked(target: Path, mode: int) -> tuple[Path, int]:
    while True:
        name = target.with_name(f"{_stem(target)}.{secrets.token_hex(6)}.{_SUFFIX}")
        binary = getattr(os, "O_BINARY", 0)  # else Windows changes ends of lines
        descriptor = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | binary, mode)
        if sys.platform != "win32":
            with contextlib.suppress(OSError):  # a file system without locks
                fcntl.flock(descriptor, fcntl.LOCK_EX)
        if os.fstat(descriptor).st_nlink:
            return name, descriptor
        os.close(descriptor)  # another process took it for a stale one before the lock


def _stem(target: Path) -> str:
    # bytes, not characters: names are limited to 255 bytes
    return "." + os.fsdecode(os.fsencode(target.name)[:100])


def _make_alike(descriptor: int, old: os.stat_result) -> None:
    """Give a file the owner, group and mode of the file that it replaces."""
    for owner, group in ((old.st_uid, -1), (-1, old.st_gid)):
        with contextlib.suppress(OSError):  # only root can change the owner
            os.fchown(descriptor, owner, group)
    mode = stat.S_IMODE(old.st_mode)
    if os.fstat(descriptor).st_gid != old.st_gid:
        mode &= ~stat.S_IRWXG  # group permissions must not pass to another group
    os.fchmod(descriptor, mode)


def _remove_stale(target: Path) -> None:
    """Remove temporary files of writes to this target whose process has died."""
    pattern = re.compile(rf"{re.escape(_stem(target))}\.[0-9a-f]{{12}}\.{_SUFFIX}")
    with contextlib.suppress(OSError), os.scandir(target.parent) as entries:
        for entry in entries:
            if pattern.fullmatch(entry.name) and entry.is_file(follow_symlinks=False):
                _remove_unlocked(entry.path)


def _remove_unlocked(path: str) -> None:
    if sys.platform == "win32":
        return
    with contextlib.suppress(OSError):
        descriptor = os.open(path, os.O_RDWR | os.O_NOFOLLOW)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.fstat(descriptor).st_uid == os.geteuid():
                os.unlink(path)
        finally:
            os.close(descriptor)


def _sync_directory(folder: Path) -> None:
    # the rename itself is durable only when the directory is; not every system has it
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
