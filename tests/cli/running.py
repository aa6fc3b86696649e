"""The command, run as a user runs it: in this process, or in one of its own."""

from __future__ import annotations

import contextlib
import io
import os
import subprocess
import sys
from pathlib import Path
from unittest import mock

import pytest

from widemargin.cli.__main__ import main


def command(
    *arguments: object, cwd: Path, stdin: bytes = b""
) -> subprocess.CompletedProcess[str]:
    """Run the command's own entry point in this process: no start-up to wait for."""
    written, err = io.BytesIO(), io.StringIO()
    out = io.TextIOWrapper(written, write_through=True)
    argv = ["widemargin", *map(str, arguments)]
    with (
        contextlib.chdir(cwd),
        mock.patch.object(sys, "argv", argv),
        mock.patch.object(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin))),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        pytest.raises(SystemExit) as ended,
    ):
        main()
    code = ended.value.code
    assert isinstance(code, int)
    return subprocess.CompletedProcess(
        argv, code, written.getvalue().decode(), err.getvalue()
    )


def spawn(*arguments: object, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run the command as a user does, in a process of its own: two seconds each.

    Every module of commands is loaded so once, and every way to end is taken once.
    """
    return subprocess.run(
        [sys.executable, "-m", "widemargin.cli", *map(str, arguments)],
        capture_output=True,
        text=True,
        cwd=cwd,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        timeout=600,  # a guard, no limit
    )
