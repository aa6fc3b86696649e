"""Input of data and output of predictions: files, pipes, and ``-``.

The problem: at a shell a path may be a pipe, which has neither a size nor a way back,
or a device, which must be written to and never be replaced by a file.
"""

from __future__ import annotations

import bz2
import contextlib
import errno
import gzip
import lzma
import os
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any, TextIO

from widemargin.runtime.atomic_file import replacing

#: the path that means standard input or standard output
STANDARD = "-"
#: what a compressed file is called, how it begins, and what opens it
_COMPRESSED: list[tuple[str, bytes, Callable[..., Any]]] = [
    (".xz", rb"\xfd7zXZ\0", lzma.open),
    (".bz2", rb"BZh[1-9]1AY&SY", bz2.open),
    (".gz", rb"\x1f\x8b", gzip.open),
]


def inner_suffix(path: str) -> str:
    """Return the suffix of what is inside: ``.csv`` for ``data.csv.xz``."""
    name = Path(path)
    packed = any(name.suffix == suffix for suffix, _, _ in _COMPRESSED)
    return (name.with_suffix("") if packed else name).suffix.lower()


def is_stream(path: str) -> bool:
    """Whether the path is no file of its own but a pipe, a device or ``-``."""
    return path == STANDARD or (
        os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path)
    )


class Counted:
    """A stream that knows how much was taken from it: pipes cannot tell."""

    def __init__(self, raw: IO[bytes]) -> None:
        self._raw = raw
        self.taken = 0
        self.size = 0  # unknown for a pipe
        with contextlib.suppress(OSError):
            self.size = os.fstat(raw.fileno()).st_size

    def read(self, size: int = -1) -> bytes:
        """Read as many bytes, fewer only at the end."""
        block = self._raw.read(size)
        self.taken += len(block)
        return block


@contextlib.contextmanager
def reading(path: str) -> Iterator[tuple[IO[bytes], Counted]]:
    """Open data, decompressed, together with the count of what was read of the file."""
    with contextlib.ExitStack() as stack:
        if path == STANDARD:
            raw: Any = _opened(sys.stdin).buffer
        else:
            raw = stack.enter_context(open(path, "rb"))
        counted = Counted(raw)
        file: Any = counted
        start = raw.peek(16) if hasattr(raw, "peek") else b""
        for suffix, magic, opener in _COMPRESSED:
            if Path(path).suffix == suffix or re.match(magic, start):
                file = stack.enter_context(opener(counted, "rb"))
                break
        yield file, counted


def is_standard_output(path: str) -> bool:
    """Whether the path is what stdout writes to, as ``/dev/stdout`` is."""
    if path == STANDARD:
        return True
    try:
        written = os.fstat(_opened(sys.stdout).fileno())
        return os.path.samestat(os.stat(path), written)
    except OSError:
        return False


@contextlib.contextmanager
def writing(path: str) -> Iterator[IO[bytes]]:
    """Open an output: a file is replaced when all is written, a stream goes on.

    The file that stdout was sent to must not be replaced either: what has been written
    to it, and what will be, would be lost.
    """
    if is_standard_output(path):
        stream = _opened(sys.stdout)
        stream.flush()  # output written so far comes first
        yield stream.buffer
        stream.flush()
    elif os.path.exists(path) and not os.path.isfile(path):
        with open(path, "wb") as device:
            yield device
    else:
        with replacing(path) as file:
            yield file


def _opened(stream: TextIO | None) -> TextIO:
    """The stream, unless the shell has closed it, as ``>&-`` does."""
    if stream is None:
        raise OSError(errno.EBADF, os.strerror(errno.EBADF))
    return stream
