"""Run an installation and say how far it is: python tools/installing.py COMMAND...

pip is silent while the core compiles, which takes a minute. Ninja writes its plan
(``build.ninja``) and its objects below ``build``: the files compiled so far are counted
there. On a terminal one line is kept up to date, elsewhere a line comes every ten
seconds; the command's own words and its exit code are left as they are.
"""

from __future__ import annotations

import re
import subprocess
import sys
import time
from pathlib import Path
from typing import TextIO


def compiled(folder: Path, since: float) -> tuple[int, int]:
    """Files compiled since then, and all that the newest plan below folder has."""
    plans = sorted(folder.glob("*/build.ninja"), key=lambda plan: plan.stat().st_mtime)
    if not plans or not any(plans[-1].parent.rglob("*.o")):
        return 0, 0
    objects = re.findall(r"^build (\S+\.o): CXX_COMP", plans[-1].read_text(), re.M)
    ages = [plans[-1].parent / name for name in objects]
    fresh = sum(path.exists() and path.stat().st_mtime >= since for path in ages)
    return fresh, len(objects)


def state(folder: Path, started: float, now: float) -> str:
    """Return one line on how far the installation is."""
    done, planned = compiled(folder, started)
    what = f"{done} of {planned} files compiled" if done else "preparing"
    if done and done == planned:
        what = "compiled; installing"
    return f"widemargin: {what}, {now - started:.0f} s"


def main(command: list[str], folder: Path, stream: TextIO) -> int:
    """Run the command with signs of life; return its exit code."""
    started = time.time()
    terminal = stream.isatty()
    process = subprocess.Popen(command)
    while True:
        try:
            code = process.wait(timeout=1.0 if terminal else 10.0)
        except subprocess.TimeoutExpired:
            line = state(folder, started, time.time())
            stream.write(f"\r\x1b[2K{line}" if terminal else f"{line}\n")
            stream.flush()
        except KeyboardInterrupt:  # pip has got it, too, and ends by itself
            continue
        else:
            break
    if terminal:
        stream.write("\r\x1b[2K")
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], Path("build"), sys.stdout))
