"""The workshop: what is missing is named together with the command that installs it."""

from __future__ import annotations

import importlib.util
import io
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SCRIPT = ROOT / "tools" / "prerequisites.sh"


def run_script(folder: Path, *arguments: str, **environment: str):
    """Run the script with nothing on PATH but what lies in ``folder``."""
    shell = shutil.which("sh")
    assert shell is not None
    return subprocess.run(
        [shell, str(SCRIPT), *arguments],
        env={"PATH": str(folder), **environment},
        capture_output=True,
        text=True,
    )


def place(folder: Path, name: str, body: str) -> None:
    """Put a small shell script called ``name`` into the folder."""
    path = folder / name
    path.write_text(f"#!{shutil.which('sh')}\n{body}\n")
    path.chmod(0o755)


def fake_python(folder: Path, version: str, *, venv: bool = True) -> None:
    """Put a python3 of the given version there, which knows what the script asks."""
    major, minor = (int(part) for part in version.split("."))
    old = (major, minor) < (3, 11)
    place(
        folder,
        "python3",
        f"""case "$2" in
*"sys.exit(sys.version_info"*) exit {int(old)} ;;
*"print("*) echo {version}.0 ;;
*"import ensurepip"*) exit {int(not venv)} ;;
*) exit 0 ;;
esac""",
    )


@pytest.fixture
def folder(tmp_path):
    place(tmp_path, "apt-get", "exit 0")
    return tmp_path


def test_all_there_is_silent(folder):
    fake_python(folder, "3.12")
    place(folder, "g++", "exit 0")
    done = run_script(folder)
    assert done.returncode == 0 and done.stderr == "" and done.stdout == ""


@pytest.mark.parametrize(
    ("python", "compiler", "missing", "remedy"),
    [
        ({"version": "3.12"}, False, "no C++ compiler", "sudo apt-get install g++"),
        (
            {"version": "3.9"},
            True,
            "Python 3.11 or newer is needed, 'python3' is 3.9.0",
            "sudo apt-get install python3",
        ),
        (
            {"version": "3.11", "venv": False},
            True,
            "no venv module",
            "sudo apt-get install python3-venv",
        ),
        (None, True, "no Python found", ""),
    ],
)
def test_what_is_missing_is_named_with_its_command(
    folder, python, compiler, missing, remedy
):
    if python is not None:
        fake_python(folder, **python)
    if compiler:
        place(folder, "g++", "exit 0")
    done = run_script(folder)
    assert done.returncode == 1
    assert missing in done.stderr and remedy in done.stderr


def test_compiler_named_by_CXX_must_exist(folder):
    fake_python(folder, "3.12")
    place(folder, "g++", "exit 0")
    done = run_script(folder, CXX="clang++-99")
    assert done.returncode == 1 and "'clang++-99', is not there" in done.stderr


def test_without_a_known_package_manager_the_remedy_is_still_named(tmp_path):
    fake_python(tmp_path, "3.11")
    done = run_script(tmp_path)
    assert done.returncode == 1 and "Debian: sudo apt-get install g++" in done.stderr


def test_ci_script_and_make_targets_are_there():
    assert os.access(ROOT / ".ci" / "run", os.X_OK)
    text = (ROOT / "Makefile").read_text()
    for target in "demo test check build bench sanitize campaign docs".split():
        assert f"\n{target}:" in text


def installing():
    """Load the tool, which is no part of a package."""
    path = ROOT / "tools" / "installing.py"
    spec = importlib.util.spec_from_file_location("installing", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_compiled_files_are_counted(tmp_path):
    tool = installing()
    assert tool.state(tmp_path, 0.0, 3.0) == "widemargin: preparing, 3 s"
    plan = tmp_path / "cp311" / "build.ninja"
    plan.parent.mkdir()
    names = ["a.cpp.o", "b.cpp.o", "c.cpp.o"]
    plan.write_text("".join(f"build {n}: CXX_COMPILER__core {n[:-2]}\n" for n in names))
    for name, written in zip(names, (10.0, 99.0, 101.0), strict=True):
        (plan.parent / name).touch()
        os.utime(plan.parent / name, (written, written))
    # one was compiled before this installation began
    assert tool.state(tmp_path, 50.0, 62.0) == "widemargin: 2 of 3 files compiled, 12 s"
    assert tool.state(tmp_path, 5.0, 62.0) == "widemargin: compiled; installing, 57 s"


def test_an_installation_shows_signs_of_life_and_its_exit_code(tmp_path):
    # the command lasts until a sign of life has been seen
    seen = tmp_path / "seen"
    wait = "import sys, time, pathlib\nwhile not pathlib.Path(sys.argv[1]).exists(): "
    wait += "time.sleep(0.01)\nsys.exit(3)"

    class Terminal(io.StringIO):
        def isatty(self):
            return True

        def write(self, text):
            seen.touch()
            return super().write(text)

    stream = Terminal()
    command = [sys.executable, "-c", wait, str(seen)]
    assert installing().main(command, tmp_path, stream) == 3
    assert "widemargin: preparing" in stream.getvalue()
    assert stream.getvalue().endswith("\r\x1b[2K")  # the line is taken away


def test_make_demo_tells_how_far_the_compiler_is():
    made = (ROOT / "Makefile").read_text()
    assert "INSTALL := $(BIN)/python tools/installing.py" in made
