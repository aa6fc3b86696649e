"""``widemargin train --suspects``: the list, its file, and what is refused."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import StandardScaler

import widemargin
from widemargin import RampSVC

from tests.cli.running import command

NAMES = np.array(["malignant", "benign"])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A CSV file with one label in ten wrong."""
    X, y = load_breast_cancer(return_X_y=True)
    X, y = X[:200, :5].round(3), y[:200].copy()
    wrong = np.random.default_rng(0).choice(200, size=20, replace=False)
    y[wrong] = 1 - y[wrong]
    with (tmp_path / "data.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["a", "b", "c", "d", "e", "label"])
        writer.writerows([*row, NAMES[k]] for row, k in zip(X, y, strict=True))
    np.savez(tmp_path / "arrays.npz", X=X, y=y, wrong=wrong)
    return tmp_path


def train(folder: Path, *arguments: str) -> tuple[int, str]:
    data = ("train", "data.csv", "model", "--label", "label", "--scale", "standard")
    done = command(*data, *arguments, cwd=folder)
    return done.returncode, done.stderr


def test_the_file_is_what_the_estimator_says(folder: Path) -> None:
    code, said = train(folder, "--method", "ramp", "--suspects", "suspects.csv")
    assert code == 0, said
    with np.load(folder / "arrays.npz") as arrays:
        X, y, wrong = arrays["X"], NAMES[arrays["y"]], arrays["wrong"]
    X = StandardScaler().fit_transform(X)
    model = RampSVC().fit(X, y)
    with (folder / "suspects.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == ["row", "given", "predicted", "score"]
    found = np.array([int(row["row"]) for row in rows])
    assert_array_equal(found, model.suspects_)
    assert np.isin(found, wrong).mean() > 0.7
    assert_array_equal([row["given"] for row in rows], y[found])
    assert_array_equal([row["predicted"] for row in rows], model.predict(X[found]))
    scores = [float(row["score"]) for row in rows]
    assert_allclose(scores, model.suspect_scores_, rtol=1e-5)
    assert f"; {len(rows)} suspected labels; " in said


def test_the_number_of_suspects_is_shown_by_info(folder: Path) -> None:
    _, said = train(folder, "--method", "ramp")
    shown = command("info", "model", cwd=folder).stdout
    stored = widemargin.load(folder / "model")[-1]
    text = f"{len(stored.outliers_)} suspected labels"
    assert len(stored.outliers_) > 0
    assert text in said
    assert text in shown
    assert_array_equal(np.sort(stored.suspects_), stored.outliers_)
    assert np.all(np.diff(stored.suspect_scores_) <= 0.0)


def test_without_scaling_no_library_speaks(folder: Path) -> None:
    data = ("train", "data.csv", "model", "--label", "label", "--method", "ramp")
    done = command(*data, "--suspects", "out.csv", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "UserWarning" not in done.stderr


def test_no_suspects_is_a_file_with_a_header(folder: Path) -> None:
    code, said = train(folder, "--method", "ramp", "--s=-inf", "--suspects", "out.csv")
    assert code == 0, said
    assert (folder / "out.csv").read_text().split() == ["row,given,predicted,score"]
    assert "0 suspected labels" in said


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--suspects", "out.csv"], "needs --method ramp, not svc"),
        (["--method", "ramp", "--suspects", "out.csv", "-v", "3"], "--folds makes"),
        (["--method", "ramp", "--suspects", "model"], "is the model's file"),
        (["--method", "ramp", "--suspects", "data.csv"], "would overwrite"),
        (["--method", "ramp", "--suspects", "none/out.csv"], "none/out.csv"),
        (["--method", "ramp", "--suspects", "-"], "not a name for a list of suspects"),
    ],
)
def test_mistakes_are_refused_before_training(
    folder: Path, arguments: list[str], message: str
) -> None:
    code, said = train(folder, *arguments)
    assert code == 2
    assert message in said
    assert not (folder / "model").exists()
