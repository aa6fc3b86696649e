"""``train`` ends with how well the model fits the rows it was trained on."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import dump_svmlight_file

import widemargin
from widemargin.cli import scores

from tests.cli.running import command


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 3))
    y = np.where(X[:, 0] + rng.normal(size=90) > 0, 1, -1)
    dump_svmlight_file(X, y, str(tmp_path / "data"), zero_based=False)
    return tmp_path


def trained(folder: Path, *options: str) -> tuple[str, np.ndarray, np.ndarray]:
    """Return what train said, the true labels and the model's."""
    done = command("train", *options, "data", "model", cwd=folder)
    assert done.returncode == 0, done.stderr
    X, y = _read(folder / "data")
    model = widemargin.load(folder / "model")
    return done.stderr, y, model.predict(X)


def _read(path: Path) -> tuple[np.ndarray, np.ndarray]:
    rows = [line.split() for line in path.read_text().splitlines()]
    X = [[float(pair.split(":")[1]) for pair in row[1:]] for row in rows]
    return np.array(X), np.array([float(row[0]) for row in rows])


@pytest.mark.parametrize("options", [[], ["--scale", "standard"], ["--method", "dc"]])
def test_accuracy(folder: Path, options: list[str]) -> None:
    said, truth, predicted = trained(folder, *options)
    share = 100 * np.mean(truth == predicted)
    assert 50 < share < 100
    assert f"training accuracy {share:.6g}% (on all 90 rows" in said


def test_r2_and_quantiles(folder: Path) -> None:
    said, truth, predicted = trained(folder, "--method", "svr")
    residual = np.sum((truth - predicted) ** 2) / np.sum((truth - truth.mean()) ** 2)
    assert f"training R2 {1 - residual:.4f} " in said
    said, truth, predicted = trained(
        folder, "--method", "quantile", "--quantile", "0.2,0.8"
    )
    low, high = np.mean(truth[:, None] <= predicted, axis=0)
    assert f"share below each quantile {low:.4g}, {high:.4g} " in said


def test_of_many_rows_some(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scores, "_MOST_ROWS", 40)
    said, truth, predicted = trained(folder)
    drawn = np.random.default_rng(0).permutation(90)[:40]
    share = 100 * np.mean(truth[drawn] == predicted[drawn])
    assert f"training accuracy {share:.6g}% (on 40 of the 90 rows" in said


def test_nothing_where_it_would_tell_or_mean_nothing(folder: Path) -> None:
    assert command("train", "-q", "data", "model", cwd=folder).stderr == ""
    private = ["--method", "private", "--classes", "1,-1", "--clip-norm", "3"]
    for options in (private, ["--method", "oneclass"]):
        done = command("train", *options, "data", "model", cwd=folder)
        assert done.returncode in (0, 1), done.stderr
        assert "written to model" in done.stderr
        assert "training accuracy" not in done.stderr
