"""ColumnTransformers in model files: every way to name columns comes back."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder, StandardScaler

from widemargin import SVC
from widemargin.persistence import load, save
from widemargin.persistence.encoding import Encoder
from widemargin.runtime import model_file_format
from widemargin.runtime.model_file_format import StorageError

from tests.saving import data, decisions


def frame() -> tuple[Any, np.ndarray]:
    """Numbers, some missing, and text: what a ColumnTransformer is for."""
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    table = pandas.DataFrame(
        {
            "age": np.where(rng.random(60) < 0.1, np.nan, rng.normal(40, 9, 60)),
            "income": rng.lognormal(size=60),
            "city": np.array(["Bern", "Graz", "Oslo"], dtype=object)[np.arange(60) % 3],
            "child": rng.integers(0, 2, 60),
        }
    )
    return table, rng.integers(0, 2, 60)


def numeric() -> Any:
    return make_pipeline(SimpleImputer(), StandardScaler())


COLUMNS: dict[str, Any] = {
    "names": lambda: make_column_transformer(
        (numeric(), ["age", "income"]), (OneHotEncoder(), ["city"])
    ),
    "a remainder": lambda: make_column_transformer(
        (OneHotEncoder(drop="first", handle_unknown="ignore"), ["city"]),
        (numeric(), slice("age", "income")),
        remainder="passthrough",
    ),
    "a remainder that is transformed": lambda: make_column_transformer(
        (OneHotEncoder(), ["city"]), ("drop", ["child"]), remainder=numeric()
    ),
    "numbers": lambda: make_column_transformer(
        (numeric(), [0, 1]), (OneHotEncoder(), [2]), ("passthrough", [-1])
    ),
    "a mask": lambda: make_column_transformer(
        (numeric(), [True, True, False, True]), sparse_threshold=0
    ),
    "dtypes": lambda: make_column_transformer(
        (numeric(), make_column_selector(dtype_include=np.number)),
        (OneHotEncoder(), make_column_selector(dtype_exclude=np.number)),
    ),
    "a pattern": lambda: make_column_transformer(
        (numeric(), make_column_selector(pattern="^[ai]", dtype_include=[float, int])),
    ),
    "one in another": lambda: make_column_transformer(
        (make_column_transformer((numeric(), ["age"])), ["age", "child"]),
        remainder="drop",
    ),
    "one that is imputed by a constant": lambda: make_column_transformer(
        (
            make_pipeline(
                SimpleImputer(strategy="constant", fill_value="none"), OneHotEncoder()
            ),
            ["city"],
        ),
        (MinMaxScaler(), ["income"]),
    ),
}


def shown(model: Any) -> str:
    return re.sub(" at 0x[0-9a-f]+", "", repr(model))


@pytest.mark.parametrize("case", COLUMNS)
def test_round_trip_of_columns(case: str, tmp_path: Path) -> None:
    table, y = frame()
    model = make_pipeline(COLUMNS[case](), SVC()).fit(table, y)
    save(model, tmp_path / "model")
    back = load(tmp_path / "model")
    assert_array_equal(decisions(back, table), decisions(model, table))
    assert shown(back[0]) == shown(model[0])
    again = clone(back).fit(table, y)  # the parameters are all there
    assert_array_equal(decisions(again, table), decisions(model, table))
    rows = table.iloc[:, ::-1] if case != "numbers" else table
    names = model[0].get_feature_names_out()
    assert_array_equal(back[0].get_feature_names_out(), names)
    assert_array_equal(back.predict(rows), model.predict(rows))


def test_columns_of_an_array(tmp_path: Path) -> None:
    X, y = data()
    columns = make_column_transformer((StandardScaler(), [0, 2]), remainder="drop")
    model = make_pipeline(columns, SVC()).fit(X, y)
    save(model, tmp_path / "model")
    assert_array_equal(decisions(load(tmp_path / "model"), X), decisions(model, X))
    save(columns, tmp_path / "columns")  # alone
    alone = load(tmp_path / "columns").transform(X)
    assert_array_equal(alone, model[0].transform(X))


def test_columns_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    table, y = frame()
    for change in (
        lambda columns: vars(columns).update(transformers_=[("a", "drop")]),
        lambda columns: columns._transformer_to_input_indices.update(onehotencoder=[9]),
        lambda columns: columns._transformer_to_input_indices.clear(),
        lambda columns: columns.transformers_[0][2].append("nothing"),
        lambda columns: columns.transformers_[1][1].categories_.clear(),
        lambda columns: vars(columns.transformers_[0][1][1]).update(mean_=np.ones(9)),
    ):
        model = make_pipeline(COLUMNS["names"](), SVC()).fit(table, y)
        change(model[0])
        encoder = Encoder()
        tree = encoder.encode(model, "model")
        model_file_format.write(
            tmp_path / "model", "model", {"model": tree}, encoder.arrays
        )
        with pytest.raises(StorageError, match="model"):
            load(tmp_path / "model")
