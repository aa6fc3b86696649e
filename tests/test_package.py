"""The package itself: the names it has, and what it says of those it has not."""

from __future__ import annotations

import subprocess
import sys

import pytest
from sklearn import svm

import widemargin


def test_names_of_scikit_learns_module():
    """``import widemargin as svm`` in a script that had ``from sklearn import svm``."""
    missing = {name for name in svm.__all__ if not hasattr(widemargin, name)}
    assert missing == {"LinearSVC", "LinearSVR", "l1_min_c"}


@pytest.mark.parametrize("name", ["LinearSVC", "LinearSVR"])
def test_linear_models_name_what_to_use(name):
    with pytest.raises(AttributeError) as raised:
        getattr(widemargin, name)
    words = str(raised.value)
    (ours,) = [part for part in words.split() if "kernel='linear'" in part]
    assert name.endswith(ours[:3])
    assert eval(ours.rstrip(","), vars(widemargin)).kernel == "linear"
    assert words.endswith(f"or sklearn.svm.{name}")
    with pytest.raises(AttributeError, match=r"no attribute 'Linear'$"):
        widemargin.Linear  # noqa: B018


def test_completion_shows_what_is_meant_for_users():
    names = {name for name in dir(widemargin) if not name.startswith("_")}
    assert set(widemargin.__all__) <= names
    parts = names - set(widemargin.__all__)
    assert all(type(getattr(widemargin, name)) is type(widemargin) for name in parts)


def test_an_estimator_does_not_wait_for_what_it_may_never_need():
    """Searches, scores and other models take a fifth of the time of the import."""
    asked = "import sys, widemargin; widemargin.SVC; print(*sys.modules)"
    run = [sys.executable, "-c", asked]
    loaded = subprocess.run(run, capture_output=True, text=True, check=True).stdout
    assert "widemargin.estimators.svc" in loaded.split()
    late = {"svm", "metrics", "model_selection", "linear_model"}
    assert not {f"sklearn.{name}" for name in late} & set(loaded.split())


def test_a_command_does_not_wait_for_what_only_tables_and_reports_need():
    """Imputation, calibration and their neighbours are a sixth of the time."""
    asked = (
        "import sys; from widemargin.cli.__main__ import main\n"
        "sys.argv = ['widemargin', 'train', '--help']\n"
        "try: main()\n"
        "except SystemExit: print(*sys.modules)"
    )
    run = [sys.executable, "-c", asked]
    loaded = subprocess.run(run, capture_output=True, text=True, check=True).stdout
    assert "widemargin.cli.train_command" in loaded.split()
    late = {"calibration", "covariance", "decomposition", "impute", "neighbors"}
    assert not {f"sklearn.{name}" for name in late} & set(loaded.split())
