"""Ctrl-C for a script that runs in a process of its own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest

needs_signals = pytest.mark.skipif(
    os.name == "nt", reason="signals are sent otherwise on Windows"
)

HEARD = """
import sys, time
import numpy as np
{before}
print("ready", flush=True)
try:
    {work}
except KeyboardInterrupt:
    print("stopped", time.monotonic(), flush=True)
    sys.exit(7)
print("finished", flush=True)
"""


def seconds_to_stop(before: str, work: str, delay: float) -> float:
    """Send Ctrl-C to long work after a delay; return how long it went on.

    Parameters
    ----------
    before : str
        Lines that come before the delay is counted: imports and data.
    work : str
        One line that takes much longer than the delay.
    delay : float
        Seconds.
    """
    script = HEARD.format(before=before, work=work)
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen([sys.executable, "-c", script], **pipes) as child:
        try:
            assert child.stdout is not None
            assert child.stdout.readline().strip() == "ready"
            time.sleep(delay)
            sent = time.monotonic()
            child.send_signal(signal.SIGINT)
            output, errors = child.communicate(timeout=600)  # a guard, no limit
        finally:
            child.kill()  # where it did not hear
    assert child.returncode == 7 and errors == "", output + errors
    word, stopped = output.split()
    assert word == "stopped"
    return float(stopped) - sent
