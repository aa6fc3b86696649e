"""``widemargin tune``: the table, the picture, the best model, LIBSVM's flags."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import dump_svmlight_file, load_breast_cancer, load_diabetes
from sklearn.model_selection import GridSearchCV, KFold, StratifiedKFold
from sklearn.preprocessing import scale

from widemargin import SVC, SVR, load
from widemargin.cli.tune_command import parsed_grid, powers_of_two

from tests.cli.running import command


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    X, y = load_breast_cancer(return_X_y=True)
    dump_svmlight_file(
        scale(X)[:150], y[:150], str(tmp_path / "data"), zero_based=False
    )
    X, y = load_diabetes(return_X_y=True)
    dump_svmlight_file(
        scale(X)[:90], scale(y)[:90], str(tmp_path / "numbers"), zero_based=False
    )
    return tmp_path


def read(folder: Path, name: str = "data"):
    from sklearn.datasets import load_svmlight_file

    X, y = load_svmlight_file(str(folder / name))
    return X.toarray(), y


def test_the_table_and_the_model(folder: Path) -> None:
    grid = "C=0.1,1,10,gamma=0.001:0.1:3"
    flags = ["--grid", grid, "-v", 3, "--plot", "scores.png"]
    done = command("tune", *flags, "data", "model", cwd=folder)
    assert done.returncode == 0, done.stderr
    X, y = read(folder)
    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    expected = GridSearchCV(SVC(), parsed_grid(grid), cv=folds).fit(X, y)
    shown = [float(word) for word in re.findall(r"0\.\d{4}\b", done.stdout)][:9]
    # columns are gammas, rows are Cs, as the settings are ordered
    assert_allclose(shown, expected.cv_results_["mean_test_score"], atol=1e-4)
    best = expected.best_params_
    assert f"best: C={best['C']}, gamma={best['gamma']:.4g}:" in done.stdout
    model = load(folder / "model")
    assert (model.C, model.gamma) == (best["C"], best["gamma"])
    assert (folder / "scores.png").stat().st_size > 1000
    assert "9 settings" not in done.stderr and "27 fits" in done.stderr


def test_the_flags_of_grid_py(folder: Path) -> None:
    flags = "-log2c -1,3,2 -log2g -6,-4,1 -v 2".split()
    done = command("tune", *flags, "data", "model", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "18 fits" in done.stderr
    assert load(folder / "model").C in (0.5, 2.0, 8.0)


def test_a_scaler_a_score_and_one_parameter(folder: Path) -> None:
    flags = "--scale standard --grid C=0.1,1 --scoring roc_auc -v 2 -g 0.01".split()
    done = command("tune", *flags, "data", "model", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "deviation" in done.stdout
    assert load(folder / "model")[-1].gamma == 0.01


def test_regression(folder: Path) -> None:
    flags = "--method svr --grid C=0.1,1,epsilon=0.1,0.3,gamma=0.01 -v 3 --scoring r2"
    done = command("tune", *flags.split(), "numbers", "model", cwd=folder)
    assert done.returncode == 0, done.stderr
    X, y = read(folder, "numbers")
    grid = {"C": [0.1, 1], "epsilon": [0.1, 0.3], "gamma": [0.01]}
    folds = KFold(3, shuffle=True, random_state=0)
    expected = GridSearchCV(SVR(), grid, cv=folds).fit(X, y)
    assert load(folder / "model").C == expected.best_params_["C"]


def test_the_default_grid(folder: Path) -> None:
    done = command("tune", "-v", 2, "data", "model", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "200 fits" in done.stderr


def test_out_of_time(folder: Path) -> None:
    done = command("tune", "--max-time", 1e-9, "data", "model", cwd=folder)
    assert done.returncode == 2 and "time was not enough" in done.stderr


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        ("--grid gamma", "NAME=VALUE"),
        ("--grid C=1:2", "FROM:TO:HOW_MANY"),
        ("--grid colour=1", "colour is not a parameter of SVC"),
        ("-log2c 1,2", "BEGIN,END,STEP"),
        ("-log2g 1,2,0", "BEGIN,END,STEP"),
        ("--method private --clip-norm 1", "has no kernel to share"),
        ("--max-time never", "not a number of seconds"),
        ("--grid C=1 --plot x.png", "two parameters"),
        ("--grid C=1 --scoring nonsense", "nonsense"),
    ],
)
def test_mistakes(folder: Path, flags: str, words: str) -> None:
    done = command("tune", *flags.split(), "data", "model", cwd=folder)
    assert done.returncode == 2
    assert words in done.stderr


def test_grids_of_the_command_line() -> None:
    assert parsed_grid("C=1,kernel=linear,rbf") == {
        "C": [1],
        "kernel": ["linear", "rbf"],
    }
    assert powers_of_two("C", "-5,15,2") == [2.0**k for k in range(-5, 16, 2)]
    assert np.all(np.diff(parsed_grid("C=0.1:10:4")["C"]) > 0)


def test_train_says_how_well_it_fits(folder: Path) -> None:
    done = command("train", "data", "model", cwd=folder)
    X, y = read(folder)
    right = 100 * SVC().fit(X, y).score(X, y)
    assert f"training accuracy {right:.6g}% (on all" in done.stderr
    done = command("train", "-v", 3, "data", cwd=folder)
    assert "standard deviation of the folds" in done.stderr
