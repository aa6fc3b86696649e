"""The command with numbers to predict and outliers to find."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import dump_svmlight_file
from sklearn.metrics import roc_auc_score

from widemargin import SVR, NuSVC, NuSVR, OneClassSVM, QuantileSVR

from tests.cli.running import command

rng = np.random.default_rng(0)
X = rng.standard_normal((150, 3))
y = X[:, 0] + 0.3 * rng.standard_normal(150)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    dump_svmlight_file(X, y, str(tmp_path / "data"), zero_based=False)
    return tmp_path


def test_a_band_of_quantiles(folder: Path) -> None:
    flags = "--method quantile --quantile 0.1,0.9 --non-crossing true -c 2"
    done = command("train", *flags.split(), "data", "model", cwd=folder)
    assert done.returncode == 0, done.stderr
    done = command("predict", "data", "model", "out", cwd=folder)
    assert done.returncode == 0 and done.stdout == ""
    expected = QuantileSVR(quantile=[0.1, 0.9], C=2, non_crossing=True).fit(X, y)
    assert_allclose(np.loadtxt(folder / "out"), expected.predict(X), rtol=1e-8)
    scores = json.loads(
        command("evaluate", "data", "model", "--json", cwd=folder).stdout
    )
    low, high = expected.predict(X).T
    # some targets lie on a quantile, and the file has rounded them
    assert_allclose(scores["coverage"], np.mean((low <= y) & (y <= high)), atol=0.05)
    below = [one["share_below"] for one in scores["quantiles"]]
    assert_allclose(below, [np.mean(y <= low), np.mean(y <= high)], atol=0.05)
    shown = command("evaluate", "data", "model", cwd=folder).stdout
    assert "coverage" in shown and "pinball loss" in shown
    shown = command("info", "model", cwd=folder).stdout
    assert "QuantileSVR" in shown and "classes" not in shown


def assert_scores_of_flags(
    folder: Path, flags: str, expected: Any, rtol: float
) -> None:
    done = command("train", *flags.split(), "data", "model", cwd=folder)
    assert done.returncode == 0, done.stderr
    done = command("evaluate", "data", "model", "--json", cwd=folder)
    scores = json.loads(done.stdout)
    assert_allclose(scores["r2"], expected.score(X, y), rtol=rtol)
    error = np.mean(np.abs(expected.predict(X) - y))
    assert_allclose(scores["mean_absolute_error"], error, rtol=rtol)


def test_regression_by_the_flags_of_libsvm(folder: Path) -> None:
    expected = SVR(epsilon=0.2, C=2, gamma=0.5).fit(X, y)
    assert_scores_of_flags(folder, "-s 3 -p 0.2 -c 2 -g 0.5", expected, 1e-8)
    assert "R2" in command("evaluate", "data", "model", cwd=folder).stdout


def test_nu_by_the_flags_of_libsvm(folder: Path) -> None:
    expected = NuSVR(nu=0.3, C=2, gamma=0.5).fit(X, y)
    assert_scores_of_flags(folder, "-s 4 -n 0.3 -c 2 -g 0.5", expected, 1e-7)
    labels = np.where(y > 0, 1, -1)
    dump_svmlight_file(X, labels, str(folder / "signs"), zero_based=False)
    flags = "-s 1 -n 0.3 -g 0.5".split()
    done = command("train", *flags, "signs", "model", cwd=folder)
    assert done.returncode == 0, done.stderr
    done = command("evaluate", "signs", "model", "--json", cwd=folder)
    expected = NuSVC(nu=0.3, gamma=0.5).fit(X, labels)
    assert_allclose(json.loads(done.stdout)["accuracy"], expected.score(X, labels))
    done = command("train", "-s", "1", "-n", "0.999", "signs", "model", cwd=folder)
    assert done.returncode == 2 and "nu is infeasible" in done.stderr


def test_one_quantile_is_measured_as_a_regression(folder: Path) -> None:
    done = command("train", "--method", "quantile", "-v", "3", "data", cwd=folder)
    assert "Cross Validation Mean squared error = " in done.stdout
    assert "Cross Validation Squared correlation coefficient = " in done.stdout


def test_outliers_by_the_flags_of_libsvm(tmp_path: Path) -> None:
    labels = np.where(np.arange(150) < 10, 1, 0)
    samples = X + 4.0 * labels[:, None]
    table = np.column_stack([labels, samples])
    header = "fault,a,b,c"
    np.savetxt(tmp_path / "all.csv", table, delimiter=",", header=header, comments="")
    np.savetxt(
        tmp_path / "normal.csv",
        samples[10:],
        delimiter=",",
        header="a,b,c",
        comments="",
    )
    done = command(
        "train", "-s", "2", "-n", "0.05", "normal.csv", "model", cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    done = command(
        "evaluate", "all.csv", "model", "--label", "fault", "--json", cwd=tmp_path
    )
    scores = json.loads(done.stdout)
    model = OneClassSVM(nu=0.05).fit(samples[10:])
    values = model.decision_function(samples)
    assert_allclose(scores["auc"], roc_auc_score(labels, -values))
    assert scores["auc"] > 0.9 and scores["outlier_label"] == 1
    lowest = np.argsort(values)[:10]
    assert_allclose(scores["precision_at_top"], labels[lowest].mean())
    shown = command("evaluate", "all.csv", "model", "--label", "fault", cwd=tmp_path)
    assert "precision at top" in shown.stdout


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("train --method quantile words.csv model --label a", "needs numbers"),
        ("train --method quantile --quantile 1.5 data model", "not '1.5'"),
        ("train --method quantile --quantile 0.1,2 data model", "between 0 and 1"),
        ("train --method oneclass --nu 0 data model", "above 0 and at most 1, not '0'"),
        ("train -v 3 --method oneclass bare.csv", "needs labels"),
        ("train data model", "--method svr"),
    ],
)
def test_mistakes(folder: Path, words: str, message: str) -> None:
    (folder / "words.csv").write_text("a,b\nx,1\ny,2\n")
    (folder / "bare.csv").write_text("a,b\n1,1\n2,2\n3,1\n")
    done = command(*words.split(), cwd=folder)
    assert done.returncode == 2
    assert message in done.stderr
