"""Places on a disk where a file cannot be written as usual."""

from __future__ import annotations

import contextlib
import os
import socket
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

as_root = pytest.mark.skipif(
    os.geteuid() != 0, reason="only root makes device nodes and mounts file systems"
)


@contextlib.contextmanager
def bound_socket(path: Path) -> Iterator[None]:
    """A socket at ``path``, which must be short: 100 bytes are a socket's limit."""
    with socket.socket(socket.AF_UNIX) as server, contextlib.chdir(path.parent):
        server.bind(path.name)
        yield


def device_node(path: Path, kind: int = stat.S_IFCHR) -> None:
    """Make a node of our own: character 1, 7 is full; block 7, 250 is nothing here."""
    major, minor = (1, 7) if kind == stat.S_IFCHR else (7, 250)
    try:
        os.mknod(path, 0o600 | kind, os.makedev(major, minor))
    except PermissionError:
        pytest.skip("this root may not make device nodes")


@contextlib.contextmanager
def small_disk(folder: Path, kilobytes: int = 64) -> Iterator[Path]:
    """A file system of so many kilobytes in ``folder``."""
    options = f"size={kilobytes}k,mode=0700"
    command = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)]
    mounted = subprocess.run(command, capture_output=True, text=True)
    if mounted.returncode != 0:
        pytest.skip(f"this root may not mount a file system: {mounted.stderr.strip()}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)
