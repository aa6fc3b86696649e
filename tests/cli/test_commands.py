"""Every command from end to end, as a user runs it: messages, files and exit codes."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.compose import make_column_transformer
from sklearn.datasets import dump_svmlight_file, load_breast_cancer, load_iris
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.utils.estimator_checks import ignore_warnings

import widemargin
from widemargin.cli.estimator_names import METHODS, estimator_class
from widemargin.cli.hints import hints
from widemargin.cli.options import _HIDDEN
from widemargin.cli.parsed_data import Data
from widemargin_papers.dpwss import tasks as dpwss

from tests.cli.running import command, spawn

QUICK = {
    "private": ["--clip-norm", "3", "--random-state", "0", "--classes", "0,1"],
    "dpwss": ["--random-state", "0"],
}


@pytest.fixture(scope="module")
def cancer() -> tuple[np.ndarray, np.ndarray]:
    X, y = load_breast_cancer(return_X_y=True)
    return StandardScaler().fit_transform(X)[:200, :8].round(4), y[:200]


@pytest.fixture
def folder(tmp_path: Path, cancer: tuple[np.ndarray, np.ndarray]) -> Path:
    dump_svmlight_file(*cancer, str(tmp_path / "data"), zero_based=False)
    return tmp_path


@pytest.mark.parametrize("method", METHODS)
def test_train_and_predict_equal_the_library(
    folder: Path, cancer: tuple[np.ndarray, np.ndarray], method: str
) -> None:
    flags = QUICK.get(method, [])
    run = spawn if method == "svc" else command
    done = run("train", "data", "model", "--method", method, *flags, cwd=folder)
    assert done.returncode in (0, 1), done.stderr
    assert done.stdout == ""
    done = command("predict", "data", "model", "out", cwd=folder)
    assert done.returncode == 0, done.stderr
    parameters = {"random_state": 0} if method in ("private", "dpwss") else {}
    if method == "private":
        parameters |= {"clip_norm": 3, "classes": [0, 1]}
    X, y = cancer
    with ignore_warnings():
        model = estimator_class(method)(**parameters).fit(X, y)
    written = (folder / "out").read_text().split()
    assert_array_equal(written, model.predict(X).astype(str))
    if method in ("svr", "nusvr", "quantile"):
        error = np.mean((model.predict(X) - y) ** 2)
        assert f"Mean squared error = {error:.6g} (regression)" in done.stdout
    else:
        assert f"({np.sum(model.predict(X) == y)}/{len(y)})" in done.stdout


def test_a_kernel_that_libsvm_has_no_number_for(
    folder: Path, cancer: tuple[np.ndarray, np.ndarray]
) -> None:
    flags = "--kernel laplacian -g 0.05"
    done = command("train", *flags.split(), "data", "model", cwd=folder)
    assert done.returncode == 0, done.stderr
    X, y = cancer
    model = widemargin.SVC(kernel="laplacian", gamma=0.05).fit(X, y)
    loaded = widemargin.load(folder / "model")
    assert_array_equal(loaded.decision_function(X), model.decision_function(X))


def test_libsvm_flags_scaling_and_info(
    folder: Path, cancer: tuple[np.ndarray, np.ndarray]
) -> None:
    flags = "-s 0 -t 1 -d 2 -g 0.1 -r -0.5 -c 3 -m 50 -e 0.01 -h 0 -w1 2 -w0 0.5"
    done = command("train", *flags.split(), "--scale", "minmax", "data", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "written to data.model" in done.stderr
    X, y = cancer
    expected = widemargin.SVC(
        kernel="poly", degree=2, gamma=0.1, coef0=-0.5, C=3, cache_size=50, tol=0.01,
        shrinking=False, class_weight={1: 2.0, 0: 0.5},
    )  # fmt: skip
    loaded = widemargin.load(folder / "data.model")
    assert repr(loaded[-1].get_params()) == repr(expected.get_params())
    expected.fit(MinMaxScaler().fit_transform(X), y)
    assert_array_equal(
        loaded.predict(X), expected.predict(MinMaxScaler().fit_transform(X))
    )
    done = command("info", "data.model", cwd=folder)
    assert done.returncode == 0
    assert "TRAINING ROWS" in done.stdout
    assert "kernel=poly" in done.stdout
    facts = json.loads(command("info", "--json", "data.model", cwd=folder).stdout)
    assert facts["estimator"] == "SVC"
    assert facts["scaling"] == "MinMaxScaler"


@pytest.mark.parametrize("method", METHODS)
def test_every_parameter_of_every_estimator_has_an_option(
    folder: Path, method: str
) -> None:
    parameters = estimator_class(method)().get_params(deep=False)
    text = command("train", "--help", cwd=folder).stdout
    for name in parameters.keys() - _HIDDEN:
        assert f"--{name.replace('_', '-')} " in text, name


def test_cross_validation_writes_no_model(folder: Path) -> None:
    done = command("train", "-v", "3", "data", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("Cross Validation Accuracy = 9")
    assert sorted(p.name for p in folder.iterdir()) == ["data"]


def test_not_converged_is_exit_code_1(folder: Path) -> None:
    done = command("train", "--max-iter", "2", "data", "model", cwd=folder)
    assert done.returncode == 1
    assert "KKT violation" in done.stderr
    assert command("train", "--max-iter", "2", "-q", "data", cwd=folder).stderr == ""


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("train missing model", "missing: No such file"),
        ("train bad model", "bad:2:5: value 'abc' is not a finite number"),
        ("train data nowhere/model", "nowhere/model: No such file"),
        ("train -s 5 data", "only -s 0 (C-SVC), 1 (nu-SVC), 2 (one-class SVM)"),
        ("train -b 1 data", "CalibratedClassifierCV"),
        ("train -n 0.5 data", "--nu is not a parameter of --method svc"),
        ("train --C -1 data", "-c, --C must be above 0, not '-1'"),
        ("train --kernel magic data", "-t, --kernel must be 0 linear, 1 poly"),
        ("train --risk 0.2 data", "not a parameter of --method svc"),
        ("train --method nothing data", "'nothing' is not one of"),
        ("train one model", "class"),
        ("train --scale minmax --method private --clip-norm 1 data", "guarantee"),
        ("predict data data out", "not a widemargin file"),
        ("evaluate data missing", "missing: No such file"),
        ("info missing", "missing: No such file"),
        ("nonsense", "No such command"),
    ],
)
def test_bad_usage_and_bad_input_are_exit_code_2(
    folder: Path, arguments: str, message: str
) -> None:
    (folder / "bad").write_text("1 1:2\n0 1:abc\n")
    (folder / "one").write_text("1 1:2\n1 1:3\n")
    before = sorted(p.name for p in folder.iterdir())
    run = spawn if arguments == "predict data data out" else command
    done = run(*arguments.split(), cwd=folder)
    assert done.returncode == 2, done.stderr
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert sorted(p.name for p in folder.iterdir()) == before


def test_csv_with_names(folder: Path) -> None:
    X, y = load_iris(return_X_y=True)
    names = ["wide", "long", "broad", "tall"]
    kinds = np.array(["a", "b", "c"])[y]
    rows = [",".join([*map(str, x), k]) for x, k in zip(X, kinds, strict=True)]
    (folder / "iris.csv").write_text("\n".join([",".join([*names, "kind"]), *rows]))
    done = command("train", "iris.csv", "model", "--label", "kind", cwd=folder)
    assert done.returncode == 0, done.stderr
    # the columns in another order, without the label
    turned = [",".join(map(str, x[::-1])) for x in X]
    (folder / "new.csv").write_text("\n".join([",".join(names[::-1]), *turned]))
    done = command("predict", "new.csv", "model", "out", cwd=folder)
    assert done.returncode == 0, done.stderr
    model = widemargin.SVC().fit(X, kinds)
    assert_array_equal((folder / "out").read_text().split(), model.predict(X))
    (folder / "new.csv").write_text("wide,long\n1,2\n")
    done = command("predict", "new.csv", "model", "out", cwd=folder)
    assert done.returncode == 2
    assert "no column 'broad'" in done.stderr
    done = command(
        "evaluate", "iris.csv", "model", "--label", "kind", "--json", cwd=folder
    )
    scores = json.loads(done.stdout)
    assert scores["accuracy"] == np.mean(model.predict(X) == kinds)
    assert [c["label"] for c in scores["classes"]] == ["a", "b", "c"]


def test_a_cost_matrix_of_three_classes(folder: Path) -> None:
    X, y = load_iris(return_X_y=True)
    dump_svmlight_file(X, y, str(folder / "iris"), zero_based=False)
    costs = "[[0, 1, 1], [1, 0, 40], [1, 1, 0]]"  # no versicolor called virginica
    given = ("--method", "cost", "--cost-matrix", costs, "-c", "0.1")
    done = command("train", "iris", "model", *given, cwd=folder)
    assert done.returncode == 0, done.stderr
    model = widemargin.load(folder / "model")
    assert model.dual_coef_.shape[0] == 3
    assert np.all(model.predict(X)[y == 1] != 2)
    assert np.any(widemargin.SVC(C=0.1).fit(X, y).predict(X)[y == 1] == 2)
    costs = costs.replace("40", "-40")
    done = command("train", "iris", "model", *given[:3], costs, cwd=folder)
    assert done.returncode == 2 and "below 0" in done.stderr


def test_columns_by_name(folder: Path) -> None:
    pandas = pytest.importorskip("pandas")
    X, y = load_iris(return_X_y=True)
    frame = pandas.DataFrame(X, columns=["wide", "long", "broad", "tall"])
    columns = make_column_transformer(
        (StandardScaler(), ["long", "tall"]), (MinMaxScaler(), ["wide"])
    )
    model = make_pipeline(columns, widemargin.SVC()).fit(frame, y)
    widemargin.save(model, folder / "model")
    frame.iloc[:, ::-1].to_csv(folder / "iris.csv", index=False)
    done = command("predict", "iris.csv", "model", "out", cwd=folder)
    assert done.returncode == 0, done.stderr
    written = (folder / "out").read_text().split()
    assert_array_equal(written, model.predict(frame).astype(str))
    done = command("info", "model", cwd=folder)
    assert "ColumnTransformer" in done.stdout


def test_hints(folder: Path) -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 3)) * [1, 1000, 1]
    y = (np.arange(300) < 6).astype(int)
    dump_svmlight_file(X, y, str(folder / "odd"), zero_based=False)
    done = command("train", "odd", "model", cwd=folder)
    assert done.stderr.count("hint:") == 2
    assert "--scale" in done.stderr
    assert "98.0% of the labels are 0" in done.stderr
    assert "hint" not in command("train", "-q", "odd", "model", cwd=folder).stderr
    assert (
        "--scale"
        not in command(
            "train", "--scale", "standard", "odd", "model", cwd=folder
        ).stderr
    )


def test_hint_on_numbers_that_are_no_classes() -> None:
    X = np.arange(90.0).reshape(-1, 1)
    (hint,) = hints(Data(X, np.arange(90) // 3), "svc", None, {}, widemargin.SVC())
    assert "30 different numbers" in hint
    assert "--method svr" in hint
    few, strings = np.arange(90) // 5, (np.arange(90) // 3).astype(str)
    rare = Data(np.arange(900.0).reshape(-1, 1), np.arange(900) // 10)
    for data in (Data(X, few), Data(X, strings), rare):
        assert hints(data, "svc", None, {}, widemargin.SVC()) == []
    assert hints(Data(X, np.arange(90) // 3), "svr", None, {}, widemargin.SVR()) == []


def test_hint_on_early_prediction(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("widemargin.cli.hints._EARLY_PAYS", 5_000)
    rng = np.random.default_rng(0)
    X = rng.standard_normal((6_000, 2))
    noise = Data(X, rng.integers(0, 2, 6_000))  # nearly every row a support vector
    plain = Data(X, (X[:, 0] > 0).astype(int))
    model = widemargin.SVC()
    (hint,) = hints(noise, "svc", None, {}, model)
    assert "--method dc --prediction early" in hint
    assert "of 6000 rows about 6000 will be support vectors" in hint
    assert hints(plain, "svc", None, {}, model) == []
    assert hints(Data(X[:5_000], noise.y[:5_000]), "svc", None, {}, model) == []
    assert hints(noise, "svc", None, {"kernel": "linear"}, model) == []
    assert hints(noise, "dc", None, {"prediction": "early"}, model) == []
    assert hints(noise, "ramp", None, {}, model) == []
    scaled = make_pipeline(StandardScaler(), model)
    assert len(hints(noise, "svc", "standard", {}, scaled)) == 1
    one = Data(X, np.zeros(6_000, dtype=int))
    assert hints(one, "svc", None, {}, model) == []


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_progress_on_a_terminal_and_none_in_a_pipe(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    line = ["train", "--method", "dc", "--n-levels", "1", "data", "model"]
    assert "cluster/s" not in command(*line, cwd=folder).stderr
    monkeypatch.setattr(io, "StringIO", Terminal)
    assert "cluster/s" in command(*line, cwd=folder).stderr
    assert command(*line, "-q", cwd=folder).stderr == ""


def test_forget(folder: Path, cancer: tuple[np.ndarray, np.ndarray]) -> None:
    X, y = cancer
    command("train", "-g", "0.2", "--keep-rows", "data", "model", cwd=folder)
    (folder / "list").write_text("30\n31\n")
    done = command("forget", "model", "3", "5-7,9", "@list", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "7 rows forgotten, 193 live" in done.stderr
    keep = np.setdiff1d(np.arange(200), [3, 5, 6, 7, 9, 30, 31])
    again = widemargin.SVC(gamma=0.2).fit(X[keep], y[keep])
    values = widemargin.load(folder / "model").decision_function(X)
    np.testing.assert_allclose(values, again.decision_function(X), atol=1e-8)
    before = (folder / "model").read_bytes()
    done = command("forget", "model", "3", cwd=folder)
    assert done.returncode == 2
    assert (folder / "model").read_bytes() == before
    command("train", "--method", "chance", "data", "linear", cwd=folder)
    done = command("forget", "linear", "3", cwd=folder)
    assert done.returncode == 2
    assert "cannot forget" in done.stderr


def test_test_files_may_be_narrower_or_wider(folder: Path) -> None:
    (folder / "train").write_text("1 1:1 2:1\n0 1:-1 2:-1\n1 1:2 2:1\n0 1:-2 2:-1\n")
    (folder / "narrow").write_text("1 1:1\n0 1:-1\n")
    (folder / "wide").write_text("1 1:1 2:1 5:9\n0 1:-1\n")
    command("train", "train", "model", cwd=folder)
    for name in ("narrow", "wide"):
        done = command("predict", name, "model", "out", cwd=folder)
        assert done.returncode == 0, done.stderr
        assert (folder / "out").read_text().split() == ["1", "0"]
        assert ("unknown to the model" in done.stderr) == (name == "wide")


def test_precomputed_kernel(
    folder: Path, cancer: tuple[np.ndarray, np.ndarray]
) -> None:
    X, y = cancer
    K = X @ X.T
    lines = [
        f"{y[i]} 0:{i + 1} " + " ".join(f"{j + 1}:{v:.17g}" for j, v in enumerate(row))
        for i, row in enumerate(K)
    ]
    (folder / "kernel").write_text("\n".join(lines))
    done = command("train", "-t", "4", "kernel", "model", cwd=folder)
    assert done.returncode == 0, done.stderr
    command("predict", "kernel", "model", "out", cwd=folder)
    model = widemargin.SVC(kernel="precomputed").fit(K, y)
    assert_array_equal(
        (folder / "out").read_text().split(), model.predict(K).astype(str)
    )


def test_an_interrupted_prediction_leaves_the_old_output(folder: Path) -> None:
    command("train", "data", "model", cwd=folder)
    (folder / "out").mkdir()
    done = command("predict", "data", "model", "out", cwd=folder)
    assert done.returncode == 2
    assert sorted(p.name for p in folder.iterdir()) == ["data", "model", "out"]


def test_reproduce_names_the_files_that_are_missing(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WIDEMARGIN_DATA", "nowhere")  # put back what --data-dir sets
    # What needs no file is done: the audits, here with few runs.
    monkeypatch.setattr(dpwss, "audit", partial(dpwss.audit, runs=2, held_out=2))
    flags = ["--quick", "--summary", "--data-dir", folder, "--output", "out"]
    done = command("reproduce", "dpwss", *flags, cwd=folder)
    assert done.returncode == 1, done.stderr  # part of the work only
    assert "\n  heart_scale (270 x 13): https://" in done.stderr
    assert done.stdout.startswith("0 cells reproduced of 0 attempted")
    assert (folder / "out" / "index.html").is_file()


def test_a_closed_pipe_is_no_error(folder: Path) -> None:
    command("train", "data", "model", cwd=folder)
    line = f"{sys.executable} -m widemargin.cli info model | true"
    done = subprocess.run(line, shell=True, capture_output=True, text=True, cwd=folder)
    assert "Traceback" not in done.stderr


def test_bench_lists_and_measures(folder: Path, contestants_here: None) -> None:
    assert "synthetic 2000x20" in command("bench", "--list", cwd=folder).stdout
    done = command("bench", "data", "--threads", "1", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "scikit-learn" in done.stdout
    assert command("bench", "nowhere", cwd=folder).returncode == 2
