"""``widemargin doctor``: what is installed, and a self-test that can fail."""

from __future__ import annotations

import re

import numpy as np

import widemargin
from widemargin.cli import doctor_command

from tests.cli.running import command


def test_versions_hardware_and_agreement(tmp_path):
    result = command("doctor", cwd=tmp_path)
    assert result.returncode == 0
    for word in ("widemargin", "scikit-learn", "instructions", "[plot]", "threads"):
        assert word in result.stdout
    assert re.search(r"^memory +\d+\.\d GiB$", result.stdout, re.MULTILINE)
    assert f"needs           numpy {np.__version__}, scipy" in result.stdout
    lines = [line for line in result.stdout.splitlines() if "with scikit-learn" in line]
    assert len(lines) == 5 and all("agrees" in line for line in lines)


def test_a_wrong_model_is_seen(monkeypatch, tmp_path):
    values = widemargin.SVR.predict
    monkeypatch.setattr(
        widemargin.SVR, "predict", lambda self, X: values(self, X) + 1e-2
    )
    result = command("doctor", cwd=tmp_path)
    assert result.returncode == 1
    assert "DIFFERS" in result.stdout and "report" in result.stderr


def test_missing_extras_come_with_the_line_that_installs_them(monkeypatch):
    monkeypatch.setitem(doctor_command.EXTRAS, "plot", ("no-such-package",))
    found = dict(doctor_command.versions())
    assert found["[plot]"] == "not installed: pip install 'widemargin[plot]'"
    assert np.isfinite(float(found["needs"].split("numpy ")[1][0]))
