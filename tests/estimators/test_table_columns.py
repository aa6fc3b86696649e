"""Data frames with categories: the error has two lines to paste, and they work."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from widemargin import SVC, SVR, ChanceConstrainedSVC, OneClassSVM

pandas = pytest.importorskip("pandas")
RNG = np.random.default_rng(0)
CITIES = np.array(["Bern", "Graz", "Oslo"])[np.arange(40) % 3]
Y = np.where(CITIES == "Oslo", 1, 0)


def frame() -> Any:
    return pandas.DataFrame({"age": RNG.normal(40, 9, 40), "city": CITIES})


def pasted(message: str) -> Any:
    """Run the lines of a message that stand after the empty one."""
    names: dict[str, Any] = {"SVC": SVC, "SVR": SVR}
    exec(message.split("\n\n")[1], names)  # as a user does
    return names["model"]


@pytest.mark.parametrize("dtype", [object, "category", "string"])
def test_pandas(dtype: Any) -> None:
    table = frame().astype({"city": dtype})
    with pytest.raises(ValueError, match=r"not numbers: 'city'\. SVC needs") as caught:
        SVC().fit(table, Y)
    message = str(caught.value)
    assert len(message.split("\n\n")[1].strip().splitlines()) == 2
    model = pasted(message).fit(table, Y)
    assert_array_equal(model.predict(table), Y)
    unseen = table.assign(city="Rome").astype({"city": dtype})
    assert model.predict(unseen).shape == Y.shape


@pytest.mark.parametrize("estimator", [SVR(), OneClassSVM(), ChanceConstrainedSVC()])
def test_every_family(estimator: Any) -> None:
    with pytest.raises((ValueError, TypeError), match="not numbers: 'city'"):
        estimator.fit(frame(), Y)


def test_prediction_and_dates() -> None:
    table = frame()
    model = SVC().fit(table.assign(city=1.0), Y)
    with pytest.raises(ValueError, match="not numbers: 'city'"):
        model.predict(table)
    dated = table.assign(city=pandas.Timestamp("2020-01-01"))
    with pytest.raises((ValueError, TypeError), match="not numbers: 'city'") as caught:
        SVC().fit(dated, Y)
    assert "'city' hold dates or times: make numbers" in str(caught.value)
    assert "OneHotEncoder" not in str(caught.value)


def test_missing_values() -> None:
    """The columns are named, and the two lines work; an array has no names."""
    table = frame().assign(city=1.0)
    table.loc[3, "age"] = np.nan
    told = r"contains NaN\. Columns with missing values: 'age'\. These two lines"
    with pytest.raises(ValueError, match=told) as caught:
        SVC().fit(table, Y)
    assert pasted(str(caught.value)).fit(table, Y).predict(table).shape == Y.shape
    model = SVC().fit(table.fillna(0.0), Y)
    with pytest.raises(ValueError, match=told):
        model.predict(table)
    with pytest.raises(ValueError, match=r"contains NaN\.\nSVC does not accept"):
        SVC().fit(table.to_numpy(), Y)


def test_other_mistakes_keep_their_message() -> None:
    table = frame().assign(city=1.0)
    table.loc[3, "age"] = np.nan
    with pytest.raises(ValueError, match="contains NaN"):
        SVC().fit(table, Y)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        SVC().fit(frame().assign(city="1"), Y[:-1])


def test_numbers_in_other_frames_are_taken_as_they_are() -> None:
    table = frame().assign(city=np.arange(40) % 3)
    reference = SVC().fit(table, Y).decision_function(table)
    polars = pytest.importorskip("polars")
    other = polars.DataFrame({name: table[name].to_numpy() for name in table})
    model = SVC().fit(other, Y)
    assert_array_equal(model.decision_function(other), reference)
    assert list(model.feature_names_in_) == ["age", "city"]
    with pytest.raises(ValueError, match="not numbers: 'city'"):
        SVC().fit(other.with_columns(city=polars.Series(CITIES)), Y)


def test_arrow_tables_are_turned_into_frames() -> None:
    pyarrow = pytest.importorskip("pyarrow")
    table = pyarrow.table({"age": RNG.normal(40, 9, 40), "city": np.arange(40) % 3})
    reference = SVC().fit(table.to_pandas(), Y)
    model = SVC().fit(table, Y)
    assert_array_equal(model.predict(table), reference.predict(table.to_pandas()))
    with pytest.raises(ValueError, match="not numbers: 'city'"):
        SVC().fit(pyarrow.table({"age": np.arange(40.0), "city": CITIES}), Y)
