"""Model files that are well formed and describe no model: refused at `load`."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_iris
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from widemargin import SVC
from widemargin.persistence import load, save
from widemargin.runtime import model_file_format
from widemargin.runtime.model_file_format import StorageError

from tests.saving import data


def altered(path: Path, change: Any) -> None:
    """Change the stored tree and seal it again: the checksum does not protect."""
    stored = model_file_format.read(path)
    tree = json.loads(json.dumps(stored.header["model"]))
    change(tree, stored.arrays)
    model_file_format.write(
        path, stored.kind, {**stored.header, "model": tree}, stored.arrays
    )


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
        set_state("_kernel", {"$": "record", "class": "Laplacian", "fields": {}}),
        set_state("intercept_", {"$": "array", "array": "a999"}),
        set_array("dual_coef_", lambda a: a[:, :-1]),
        set_array("dual_coef_", lambda a: a[:1]),
        set_array("support_vectors_", lambda a: a[:, :2]),
        set_array("support_vectors_", lambda a: a * np.nan),
        set_array("intercept_", lambda a: a[:1]),
        set_array("classes_", lambda a: a[:2]),
        set_array("n_support_", lambda a: a[:2]),
        set_array("n_support_", lambda a: a - 1),
        set_array("n_support_", lambda a: a.astype(float)),
        set_array("support_", lambda a: a[1:]),
        set_array("support_", lambda a: -a - 1),
        set_state("degree", 2**31 - 1),
        set_state("n_features_in_", 2**31),
        set_state("classes_", {"$": "objects", "shape": [3], "items": [[], [1], [2]]}),
        set_state("gamma", {"$": "slice", "items": [1, 2, [3]]}),
        set_state("gamma", {"$": "type", "name": "complex"}),
        set_state("gamma", {"$": "selector", "fields": {"pattern": "a"}}),
    ],
)
def test_hostile_models_are_refused(path: Path, change: Any) -> None:
    altered(path, change)
    with pytest.raises(StorageError):
        load(path)


@pytest.mark.parametrize("content", [None, "SVC", 3, [], {"$": "tuple", "items": []}])
def test_a_file_without_a_model_is_refused(content: Any, tmp_path: Path) -> None:
    model_file_format.write(tmp_path / "model", "model", {"model": content}, {})
    with pytest.raises(StorageError, match="model'"):
        load(tmp_path / "model")


@pytest.mark.parametrize("degree", [2**31 - 1, 1001, 2**40, -1, 2.5, "3"])
@pytest.mark.parametrize("named", [False, True])
def test_a_polynomial_degree_beyond_reason_is_refused(
    degree: Any, named: bool, tmp_path: Path
) -> None:
    """In the parameters, and in the kernel, which the parameters only made."""
    X, y = load_iris(return_X_y=True)
    model = SVC(kernel="poly").fit(X, y)
    if named:
        model.feature_names_in_ = np.array(list("abcd"), dtype=object)
    for place in (("degree",), ("_kernel", "fields", "degree")):
        save(model, tmp_path / "model")

        def change(tree: Any, arrays: Any, place: tuple[str, ...] = place) -> None:
            below = tree["state"]
            for step in place[:-1]:
                below = below[step]
            assert below[place[-1]] == 3
            below[place[-1]] = degree

        altered(tmp_path / "model", change)
        with pytest.raises(StorageError, match="degree"):
            load(tmp_path / "model")


@pytest.mark.parametrize(
    ("step", "name", "value"),
    [
        ("standardscaler", "mean_", np.zeros(3)),
        ("standardscaler", "scale_", np.array(["a"] * 6)),
        ("standardscaler", "scale_", np.zeros(6)),
        ("standardscaler", "n_features_in_", 5),
        ("standardscaler", "with_mean", "often"),
        ("standardscaler", "feature_names_in_", np.array(["a", "b"])),
        ("minmaxscaler", "min_", np.ones((6, 6))),
        ("simpleimputer", "statistics_", np.zeros(7)),
        ("svc", "_kernel", None),
    ],
)
@pytest.mark.parametrize("named", [False, True])
def test_a_pipeline_whose_steps_do_not_fit_is_refused(
    step: str, name: str, value: Any, named: bool, tmp_path: Path
) -> None:
    X, y = data()
    rows: Any = X
    if named:
        rows = pytest.importorskip("pandas").DataFrame(X, columns=list("abcdef"))
    steps = (SimpleImputer(), StandardScaler(), MinMaxScaler(), SVC())
    model = make_pipeline(*steps).fit(rows, y)
    vars(model.named_steps[step])[name] = value
    save(model, tmp_path / "model")
    with pytest.raises(StorageError, match="model"):
        load(tmp_path / "model")


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


def reversed_bounds(state: Any) -> None:
    state.lower[:], state.upper[:] = state.upper.copy(), state.lower.copy()


def changed(model: Any, **fields: Any) -> None:
    model._updates = replace(model._updates, **fields)


@pytest.mark.parametrize(
    "change",
    [
        lambda model: model._updates.live.ids.__setitem__(
            0, model._updates.live.ids[1]
        ),
        lambda model: model._updates.live.targets.__setitem__(0, 3),
        lambda model: model._updates.live.targets.__setitem__(0, 1),
        lambda model: model._updates.live.targets.__setitem__(0, -1),
        lambda model: model._updates.live.weights.__setitem__(0, 0.0),
        lambda model: model._updates.live.weights.__setitem__(0, np.nan),
        lambda model: model._updates.live.X.__setitem__((0, 0), np.inf),
        lambda model: changed(model, live=None),
        lambda model: changed(model, next_id="many"),
        lambda model: changed(model, kernel="rbf"),
        lambda model: changed(model, tasks=model._updates.tasks[1:]),
        lambda model: changed(model, tasks=model._updates.tasks[::-1]),
        lambda model: model._updates.tasks[1].beta.__setitem__(0, 1e9),
        lambda model: model._updates.tasks[1].linear.__setitem__(0, np.nan),
        lambda model: reversed_bounds(model._updates.tasks[2]),
    ],
)
def test_rows_to_forget_that_do_not_fit_are_refused(
    change: Any, tmp_path: Path
) -> None:
    X, y = load_iris(return_X_y=True)
    rows = np.r_[0:20, 50:75, 100:130]
    model = SVC(gamma=0.2, keep_rows=True)
    model.fit(X[rows], y[rows], sample_weight=np.linspace(1, 2, rows.size))
    live = model._updates.live
    own = {  # not read-only
        k: None if v is None else np.array(v) for k, v in vars(live).items()
    }
    changed(model, live=type(live)(**own))
    save(model, tmp_path / "model")
    assert load(tmp_path / "model").forget([3]).ids_.size == rows.size - 1
    change(model)
    save(model, tmp_path / "model")
    with pytest.raises(StorageError, match="model'"):
        load(tmp_path / "model")
