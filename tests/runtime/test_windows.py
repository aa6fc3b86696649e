"""What Windows lacks is not asked for there: locks, owners, renaming an open file."""

from __future__ import annotations

import subprocess
import sys

import pytest

from widemargin.runtime import atomic_file

#: loads the module as Windows would, where a rename of an open file is refused
CHILD = """
import importlib.util, os, pathlib, sys

source, target = sys.argv[1:]
sys.platform = "win32"
sys.modules["fcntl"] = None
for name in ("fchown", "fchmod", "geteuid", "O_NOFOLLOW"):
    delattr(os, name)
rename = os.replace

def replace(old, new):
    opened = map(os.path.realpath, pathlib.Path("/proc/self/fd").iterdir())
    assert os.path.realpath(old) not in opened, "renamed while it is open"
    rename(old, new)

os.replace = replace
spec = importlib.util.spec_from_file_location("atomic_file", source)
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
for text in (b"one\\n", b"two\\n"):
    with module.replacing(target) as file:
        file.write(text)
    assert pathlib.Path(target).read_bytes() == text
try:
    with module.replacing(target) as file:
        raise KeyboardInterrupt
except KeyboardInterrupt:
    pass
assert pathlib.Path(target).read_bytes() == b"two\\n"
assert len(os.listdir(pathlib.Path(target).parent)) == 1
"""


@pytest.mark.skipif(sys.platform != "linux", reason="looks at /proc/self/fd")
def test_files_are_replaced_without_what_windows_lacks(tmp_path):
    command = [sys.executable, "-c", CHILD, atomic_file.__file__, tmp_path / "model"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
