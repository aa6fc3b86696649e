"""Model files: what comes back is what was saved, and nothing hostile gets through."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_iris
from sklearn.decomposition import PCA
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, RandomizedSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MinMaxScaler,
    OneHotEncoder,
    StandardScaler,
)

import widemargin
from widemargin import SVC
from widemargin.persistence import load, save, training_rows
from widemargin.persistence.allowed_classes import ESTIMATORS
from widemargin.runtime import model_file_format
from widemargin.runtime.model_file_format import StorageError

from tests.saving import data, decisions, fitted


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


@pytest.mark.parametrize("kernel", ["linear", "poly", "rbf", "laplacian", "sigmoid"])
def test_every_kernel_and_its_updates(kernel: str, tmp_path: Path) -> None:
    X, y = data()
    model = SVC(kernel=kernel, gamma=0.2, coef0=0.1, keep_rows=True).fit(X, y)
    save(model, tmp_path / "model")
    back = load(tmp_path / "model")
    assert_array_equal(decisions(back, X), decisions(model, X))
    assert_array_equal(
        decisions(back.forget([3, 5]), X), decisions(model.forget([3, 5]), X)
    )


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_a_precomputed_kernel(form: Any, tmp_path: Path) -> None:
    X, y = data(3)
    K = form(X @ X.T)
    model = SVC(kernel="precomputed").fit(K, y)
    save(model, tmp_path / "model")
    assert_array_equal(decisions(load(tmp_path / "model"), K), decisions(model, K))


@pytest.mark.parametrize("steps", [0, 1])
def test_more_features_than_memory_has_room_for(steps: int, tmp_path: Path) -> None:
    X = sparse.csr_matrix(([1.0, 2.0, 3.0], [0, 7, 30_000_000], [0, 1, 2, 3]))
    model = make_pipeline(*["passthrough"] * steps, SVC(gamma=0.1)).fit(X, [0, 1, 1])
    save(model, tmp_path / "model")
    assert_array_equal(load(tmp_path / "model").predict(X), model.predict(X))


def test_a_model_that_has_forgotten_all_rows(tmp_path: Path) -> None:
    X, y = data()
    model = SVC(gamma=0.2, keep_rows=True).fit(X, y)
    model.forget(model.ids_)
    save(model, tmp_path / "model")
    back = load(tmp_path / "model").partial_fit(X, y)
    assert_array_equal(decisions(back, X), decisions(model.partial_fit(X, y), X))


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
        (make_column_transformer((PCA(), [0])), "PCA"),
        (make_column_transformer((StandardScaler(), [0]), remainder=PCA()), "PCA"),
        (
            make_column_transformer((FunctionTransformer(np.log1p), [0])),
            "func is a fun",
        ),
        (make_column_transformer((StandardScaler(), len)), "ColumnTransformer.trans"),
        (SVC(kernel=np.dot), "SVC.kernel is a function"),
        (SVC(random_state=np.random.RandomState(0)), "SVC.random_state"),
    ],
)
def test_strangers_are_refused_by_name(model: Any, named: str, tmp_path: Path) -> None:
    with pytest.raises(TypeError, match=named) as caught:
        save(model, tmp_path / "model")
    assert "skops or pickle" in str(caught.value)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("search", [GridSearchCV, RandomizedSearchCV])
@pytest.mark.parametrize("ready", [False, True])
@pytest.mark.parametrize("inside", [False, True])
def test_a_search_names_what_to_save(
    search: Any, ready: bool, inside: bool, tmp_path: Path
) -> None:
    X, y = data()
    options = {"n_iter": 1} if search is RandomizedSearchCV else {}
    model = search(SVC(), {"C": [1.0]}, cv=2, **options)
    model = make_pipeline(StandardScaler(), model) if inside else model
    if ready:
        model.fit(X, y)
    with pytest.raises(TypeError, match=r"SearchCV .* save search\.best_estimator_"):
        save(model, tmp_path / "model")
    assert list(tmp_path.iterdir()) == []
    if ready and not inside:
        save(model.best_estimator_, tmp_path / "model")
        assert_array_equal(decisions(load(tmp_path / "model"), X), decisions(model, X))


def test_a_subclass_is_a_stranger(tmp_path: Path) -> None:
    class SVC(widemargin.SVC):
        pass

    with pytest.raises(TypeError, match="cannot be saved"):
        save(SVC(), tmp_path / "model")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    X, y = load_iris(return_X_y=True)
    save(SVC().fit(X, y), tmp_path / "model")
    return tmp_path / "model"


def test_another_kind_of_file_is_refused(tmp_path: Path) -> None:
    model_file_format.write(tmp_path / "a", "checkpoint", {}, {})
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

    monkeypatch.setattr(model_file_format.os, "fsync", crash)
    with pytest.raises(OSError, match="No space"):
        save(SVC(), path)
    assert path.read_bytes() == before
    assert [p.name for p in path.parent.iterdir()] == ["model"]


def test_a_folder_that_is_not_there_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"make the folder.*nowhere.model'$"):
        save(SVC(), tmp_path / "nowhere" / "model")
