"""Do what the README says, literally, as a newcomer would: python tools/newcomer.py.

The committed files are copied to a fresh folder with a fresh virtual environment. Each
line of each shell block is run there, then each Python block, in the order of the
README. Commands given as arguments are left out and named; any other that fails ends
the run with its output and exit code 1.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def blocks(readme: str) -> list[tuple[str, str]]:
    """Return language and text of the shell and Python blocks, in their order."""
    return re.findall(r"^```(sh|python)\n(.*?)^```", readme, re.DOTALL | re.MULTILINE)


def commands(shell: str) -> list[str]:
    """Return the commands of a shell block, without what is said of them."""
    lines = (re.sub(r"\s+#.*", "", line).strip() for line in shell.splitlines())
    return [line for line in lines if line]


def follow(readme: str, folder: Path, left_out: list[str]) -> str:
    """Run all blocks in the folder; return the command that failed, "" if none did."""
    environment = dict(os.environ)
    for name in ("PYTHONPATH", "PYTHONHOME", "WIDEMARGIN_DATA"):
        environment.pop(name, None)
    environment["VIRTUAL_ENV"] = str(folder / "newcomer")
    environment["PATH"] = (
        f"{folder / 'newcomer' / 'bin'}{os.pathsep}{os.environ['PATH']}"
    )
    for language, text in blocks(readme):
        for command in commands(text) if language == "sh" else [text]:
            shown = command if language == "sh" else "the Python block"
            if command in left_out:
                print(f"left out: {shown}", flush=True)
                continue
            print(f"$ {shown}", end="", flush=True)
            started = time.monotonic()
            arguments = ["sh", "-c"] if language == "sh" else ["python", "-c"]
            done = subprocess.run(
                [*arguments, command],
                cwd=folder,
                env=environment,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
            )
            print(f"   {time.monotonic() - started:.0f} s", flush=True)
            if done.returncode or "Traceback" in done.stdout:
                print(done.stdout)
                return shown
    return ""


def main() -> None:
    """Copy, make the environment, follow."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory(prefix="widemargin-newcomer-") as name:
        folder = Path(name)
        archive = ["git", "-C", str(ROOT), "archive", "HEAD"]
        files = subprocess.run(archive, check=True, capture_output=True).stdout
        subprocess.run(["tar", "-x", "-C", name], input=files, check=True)
        environment = [sys.executable, "-m", "venv", str(folder / "newcomer")]
        subprocess.run(environment, check=True)
        failed = follow(readme, folder, sys.argv[1:])
    print(f"failed: {failed}" if failed else "all that was run went well")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
