"""Work in a process of its own, whose memory is its own and can be limited."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from collections.abc import Callable
from typing import Any

from widemargin_papers.harness.worker import status_megabytes

_SCRIPT = """
import json, sys
from importlib import import_module
module, name, given = json.loads(sys.argv[1])
print(json.dumps(getattr(import_module(module), name)(*given)))
"""


def in_child(function: Callable[..., Any], *given: Any) -> Any:
    """Return what a function of a module returns in a new process.

    Arguments and result go through JSON; what goes wrong there is raised here.
    """
    call = json.dumps([function.__module__, function.__name__, given])
    path = os.pathsep.join(sys.path)  # a benchmark's own folder is among these
    done = subprocess.run(
        [sys.executable, "-c", _SCRIPT, call],
        env=os.environ | {"PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(done.stderr)
    return json.loads(done.stdout.splitlines()[-1])


def limit_data(megabytes: float, *, more: bool = False) -> None:
    """Limit the data of this process to `megabytes`, or to that much more than now."""
    used = (status_megabytes("VmData") or 0.0) if more else 0.0
    limit = int((used + megabytes) * 1e6)
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
