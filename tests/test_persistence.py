"""Model files: what comes back is what was saved, and nothing hostile gets through."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.datasets import load_iris, make_classification
from sklearn.decomposition import PCA
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder, StandardScaler
from sklearn.utils.estimator_checks import ignore_warnings

import widemargin
from widemargin import SVC, storage
from widemargin.persistence import load, save, training_rows
from widemargin.persistence.known import ESTIMATORS, known_class
from widemargin.storage import StorageError

SETTINGS: dict[str, dict[str, Any]] = {
    "PrivateSVC": {"clip_norm": 3.0, "random_state": 0},
    "DPWSSClassifier": {"random_state": 0},
    "DivideConquerSVC": {"random_state": 0},
}


def data(classes: int = 2) -> tuple[np.ndarray, np.ndarray]:
    X, y = make_classification(
        120,
        6,
        n_informative=5,
        n_redundant=0,
        n_classes=classes,
        class_sep=1.0,
        random_state=3,
    )
    return X, np.array(["ant", "bee", "cow"])[y]


def fitted(name: str, classes: int = 2, **parameters: Any) -> tuple[Any, np.ndarray]:
    X, y = data(classes)
    model = known_class(name, record=False)(**SETTINGS.get(name, {}) | parameters)
    with ignore_warnings():
        return model.fit(X, y), X


def decisions(model: Any, X: Any) -> Any:
    return np.asarray(model.decision_function(X))


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("name", ESTIMATORS)
def test_round_trip_of_every_estimator(name: str, classes: int, tmp_path: Path) -> None:
    model, X = fitted(name, classes)
    save(model, tmp_path / "model")
    back = load(tmp_path / "model")
    assert type(back) is type(model)
    assert_array_equal(decisions(back, X), decisions(model, X))
    assert_array_equal(back.predict(X), model.predict(X))
    assert repr(back.get_params()) == repr(model.get_params())
    assert sorted(vars(back)) == sorted(vars(model))


@pytest.mark.parametrize("prediction", ["exact", "early"])
def test_round_trip_of_divide_and_conquer(prediction: str, tmp_path: Path) -> None:
    settings = {"n_levels": 1, "early_level": 1} if prediction == "early" else {}
    model, X = fitted("DivideConquerSVC", 3, prediction=prediction, **settings)
    save(model, tmp_path / "model")
    assert_array_equal(decisions(load(tmp_path / "model"), X), decisions(model, X))


def test_round_trip_of_sparse_rows_and_float32(tmp_path: Path) -> None:
    X, y = data()
    X[X < 0.5] = 0
    for rows in (sparse.csr_matrix(X), X.astype(np.float32)):
        model = SVC().fit(rows, y)
        save(model, tmp_path / "model")
        back = load(tmp_path / "model")
        assert_array_equal(decisions(back, rows), decisions(model, rows))
        assert back.support_vectors_.dtype == model.support_vectors_.dtype


def test_forgetting_goes_on_after_loading(tmp_path: Path) -> None:
    X, y = data()
    model = SVC(gamma=0.2, keep_rows=True).fit(X, y)
    save(model, tmp_path / "model")
    back = load(tmp_path / "model")
    assert_array_equal(
        decisions(back.forget([3, 5]), X), decisions(model.forget([3, 5]), X)
    )


def test_pipeline_keeps_feature_names(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    X, y = data()
    frame = pandas.DataFrame(X, columns=list("abcdef"))
    model = make_pipeline(StandardScaler(), SVC()).fit(frame, y)
    save(model, tmp_path / "model")
    back = load(tmp_path / "model")
    assert_array_equal(back.feature_names_in_, list("abcdef"))
    assert_array_equal(decisions(back, frame), decisions(model, frame))


def test_pipeline_of_every_transformer(tmp_path: Path) -> None:
    X = np.array([["a", "x"], ["b", "y"], ["a", "y"], [None, "x"]] * 8, dtype=object)
    y = np.arange(32) % 2
    model = make_pipeline(
        SimpleImputer(missing_values=None, strategy="most_frequent"),
        OneHotEncoder(sparse_output=False),
        MinMaxScaler(),
        SVC(),
    ).fit(X, y)
    save(model, tmp_path / "model")
    back = load(tmp_path / "model")
    assert_array_equal(decisions(back, X), decisions(model, X))


def test_an_unfitted_model_keeps_its_parameters(tmp_path: Path) -> None:
    save(SVC(C=3.0, class_weight={"a": 2.0, 1: 3.0}), tmp_path / "model")
    assert (
        load(tmp_path / "model").get_params()
        == SVC(C=3.0, class_weight={"a": 2.0, 1: 3.0}).get_params()
    )


def test_public_names() -> None:
    assert widemargin.save is save
    assert widemargin.load is load


@pytest.mark.parametrize(
    ("model", "named"),
    [
        (LogisticRegression(), "LogisticRegression"),
        (make_pipeline(PCA(), SVC()), "PCA"),
        (SVC(kernel=np.dot), "SVC.kernel is a function"),
        (SVC(random_state=np.random.RandomState(0)), "SVC.random_state"),
    ],
)
def test_strangers_are_refused_by_name(model: Any, named: str, tmp_path: Path) -> None:
    with pytest.raises(TypeError, match=named) as caught:
        save(model, tmp_path / "model")
    assert "skops or pickle" in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_a_subclass_is_a_stranger(tmp_path: Path) -> None:
    class SVC(widemargin.SVC):
        pass

    with pytest.raises(TypeError, match="cannot be saved"):
        save(SVC(), tmp_path / "model")


def altered(path: Path, change: Any) -> None:
    """Change the stored tree and seal it again: the checksum does not protect."""
    stored = storage.read(path)
    tree = json.loads(json.dumps(stored.header["model"]))
    change(tree, stored.arrays)
    storage.write(path, stored.kind, {**stored.header, "model": tree}, stored.arrays)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    X, y = load_iris(return_X_y=True)
    save(SVC().fit(X, y), tmp_path / "model")
    return tmp_path / "model"


def set_state(name: str, value: Any) -> Any:
    return lambda tree, arrays: tree["state"].__setitem__(name, value)


def set_array(name: str, change: Any) -> Any:
    def apply(tree: Any, arrays: Any) -> None:
        key = tree["state"][name]["array"]
        arrays[key] = change(arrays[key])

    return apply


@pytest.mark.parametrize(
    "change",
    [
        lambda tree, arrays: tree.__setitem__("class", "PCA"),
        lambda tree, arrays: tree.__setitem__("class", "os.system"),
        lambda tree, arrays: tree.__setitem__("class", "Certificate"),
        lambda tree, arrays: tree.__setitem__("$", "tuple"),
        lambda tree, arrays: tree.pop("$"),
        lambda tree, arrays: tree["state"].pop("C"),
        set_state("C", -1.0),
        set_state("C", "many"),
        set_state("kernel", "magic"),
        set_state("predict", 1),
        set_state("__class__", 1),
        set_state("n_features_in_", 10**12),
        set_state("n_features_in_", "4"),
        set_state("classes_", None),
        set_state("_kernel", {"$": "record", "class": "Gaussian", "fields": {}}),
        set_state("intercept_", {"$": "array", "array": "a999"}),
        set_array("dual_coef_", lambda a: a[:, :-1]),
        set_array("dual_coef_", lambda a: a[:1]),
        set_array("support_vectors_", lambda a: a[:, :2]),
        set_array("support_vectors_", lambda a: a * np.nan),
        set_array("intercept_", lambda a: a[:1]),
        set_array("classes_", lambda a: a[:2]),
    ],
)
def test_hostile_models_are_refused(path: Path, change: Any) -> None:
    altered(path, change)
    with pytest.raises(StorageError):
        load(path)


def test_a_sparse_matrix_that_points_outside_is_refused(tmp_path: Path) -> None:
    X, y = load_iris(return_X_y=True)
    model = SVC().fit(sparse.csr_matrix(X), y)
    for part, value in [("indices", 10**6), ("indices", -1), ("indptr", 10**6)]:
        save(model, tmp_path / "model")

        def change(
            tree: Any, arrays: Any, part: str = part, value: int = value
        ) -> None:
            arrays[tree["state"]["support_vectors_"][part]][1] = value

        altered(tmp_path / "model", change)
        with pytest.raises(StorageError, match="sparse matrix"):
            load(tmp_path / "model")


def test_deep_nesting_is_refused(path: Path) -> None:
    value: Any = 1
    for _ in range(200):
        value = [value]
    altered(path, set_state("history_", value))
    with pytest.raises(StorageError, match="nested"):
        load(path)


def test_loading_imports_nothing_the_file_names(path: Path) -> None:
    altered(path, lambda tree, arrays: tree.__setitem__("class", "antigravity"))
    code = (
        "import sys, widemargin\n"
        "try:\n    widemargin.load(sys.argv[1])\n"
        "except ValueError:\n    print('antigravity' in sys.modules)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(path)], capture_output=True, text=True
    )
    assert done.stdout.strip() == "False", done.stderr


def test_another_kind_of_file_is_refused(tmp_path: Path) -> None:
    storage.write(tmp_path / "a", "checkpoint", {}, {})
    with pytest.raises(StorageError, match="not a 'model'"):
        load(tmp_path / "a")


def test_training_rows_are_counted() -> None:
    X, y = data()
    model = SVC().fit(X, y)
    assert training_rows(model) >= len(model.support_)
    assert training_rows(make_pipeline(StandardScaler(), SVC()).fit(X, y)) > 0
    assert training_rows(fitted("ChanceConstrainedSVC")[0]) == 0
    assert training_rows(fitted("PrivateSVC")[0]) == 0


def test_a_crash_while_saving_leaves_the_old_file(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = path.read_bytes()

    def crash(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(storage.os, "fsync", crash)
    with pytest.raises(OSError, match="No space"):
        save(SVC(), path)
    assert path.read_bytes() == before
    assert [p.name for p in path.parent.iterdir()] == ["model"]


def test_a_folder_that_is_not_there_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"make the folder.*nowhere.model'$"):
        save(SVC(), tmp_path / "nowhere" / "model")
