"""The baseline routines pass the same tests as the dispatched ones."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from widemargin import _core

ROOT = Path(__file__).resolve().parents[2]
# What takes long, or is about memory and time; the others: CONTRIBUTING.md
SHORT = (
    "not creep and not (tolerance_holds and 100.0) and not too_large and not mapped "
    "and not monitor and not max_time and not (large_enough and (1.0 or 400.0))"
)


def run(code_or_arguments, **environment):
    return subprocess.run(
        [sys.executable, *code_or_arguments],
        cwd=ROOT,
        env=os.environ | environment,
        capture_output=True,
        text=True,
    )


def test_the_environment_turns_the_dispatch_off():
    code = "from widemargin import _core; print(_core.target())"
    done = run(["-c", code], WIDEMARGIN_TARGET="baseline")
    assert done.stdout.strip() == "baseline"


def test_the_baseline_passes_the_engine_tests():
    if _core.target() == "baseline":
        pytest.skip("the baseline is what all tests here ran on already")
    done = run(
        ["-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist",
         "tests/engine/test_gram.py", "tests/engine/test_solve_invariants.py",
         "tests/engine/test_problem.py", "tests/engine/test_solve.py",
         "tests/engine/test_solve_looks.py",
         "tests/estimators/svc/test_parity.py", "-k", SHORT],
        WIDEMARGIN_TARGET="baseline",
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-3000:]
    assert int(re.search(r"(\d+) passed", done.stdout)[1]) > 500
