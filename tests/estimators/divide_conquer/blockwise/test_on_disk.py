"""Memory maps and Parquet files: read in blocks, equal to the rows in memory."""

import subprocess
import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import make_moons

from widemargin import SVC, DivideConquerSVC

ROWS, FEATURES = 100_000, 200
WITHIN = """
import resource, sys
import numpy as np
from widemargin import DivideConquerSVC

X = np.memmap(sys.argv[1], mode="r", dtype=np.float64, shape=({rows}, {features}))
y = np.load(sys.argv[2])
held = [line for line in open("/proc/self/status") if line.startswith("VmData")]
limit = int(held[0].split()[1]) * 1024 + 100_000_000
resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
try:
    np.array(X)
except MemoryError:
    pass
else:
    sys.exit("the limit does not hold")
model = DivideConquerSVC(gamma=0.01, cache_size=20, n_jobs=1).fit(X, y)
np.savez(sys.argv[3], rows=model.support_, values=model.decision_function(X[:2000]))
"""


def test_a_memory_map_larger_than_the_memory_of_the_process(tmp_path):
    rng = np.random.default_rng(0)
    path, labels = tmp_path / "rows", tmp_path / "labels.npy"
    X = np.memmap(path, mode="w+", dtype=np.float64, shape=(ROWS, FEATURES))
    y = rng.integers(0, 2, size=ROWS)
    for first in range(0, ROWS, 10_000):
        part = slice(first, first + 10_000)
        X[part] = 0.5 * rng.normal(size=(10_000, FEATURES)) + 0.5 * y[part, None]
    X.flush()
    np.save(labels, y)
    script = WITHIN.format(rows=ROWS, features=FEATURES)
    command = [sys.executable, "-c", script, path, labels, tmp_path / "model.npz"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found = np.load(tmp_path / "model.npz")
    plain = SVC(gamma=0.01).fit(np.asarray(X), y)
    assert_allclose(found["values"], plain.decision_function(X[:2000]), atol=3e-3)
    common = np.intersect1d(found["rows"], plain.support_)
    assert len(common) > 0.98 * len(plain.support_)


@pytest.fixture
def moons():
    X, y = make_moons(24_000, noise=0.15, random_state=0)
    return X.astype(np.float32), np.array(["left", "right"])[y]


def mapped(X, path):
    rows = np.memmap(path, mode="w+", dtype=X.dtype, shape=X.shape)
    rows[:] = X
    return rows


def test_a_map_is_read_in_blocks_and_gives_the_model_of_its_rows(moons, tmp_path):
    X, y = moons
    given = {"gamma": 2.0, "C": 5.0, "tol": 1e-4}
    model = DivideConquerSVC(**given).fit(mapped(X, tmp_path / "rows"), y)
    plain = SVC(**given).fit(X, y)
    assert model.history_[0]["stage"] == "survey" and model.fit_status_ == 0
    assert_allclose(model.decision_function(X), plain.decision_function(X), atol=2e-3)
    assert_array_equal(model.predict(X[:50]), plain.predict(X[:50]))
    assert model.shape_fit_ == X.shape


@pytest.mark.parametrize(
    "parameters", [{"prediction": "early"}, {"n_levels": 1}, {"gamma": 1.0}]
)
def test_few_rows_and_levels_take_a_map_as_memory(moons, tmp_path, parameters):
    X, y = moons
    rows = len(X) if len(parameters) and "gamma" not in parameters else 5000
    X, y = X[:rows], y[:rows]
    model = DivideConquerSVC(**parameters).fit(mapped(X, tmp_path / "rows"), y)
    same = DivideConquerSVC(**parameters).fit(X, y)
    assert_array_equal(model.dual_coef_, same.dual_coef_)


def table(X, y, **columns):
    pyarrow = pytest.importorskip("pyarrow")
    features = {f"feature {j}": X[:, j] for j in range(X.shape[1])}
    return pyarrow.table(features | {"side": y} | columns)


def test_parquet_files_by_row_groups(moons, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    X, y = (part[:6000] for part in moons)
    weights = np.random.default_rng(0).integers(0, 3, size=len(y))
    folder = tmp_path / "rows"
    folder.mkdir()
    for number, part in enumerate([slice(0, 3500), slice(3500, None)]):
        own = table(X[part], y[part], heavy=weights[part])
        parquet.write_table(own, folder / f"{number}.parquet", row_group_size=900)
    given = {"gamma": 2.0, "tol": 1e-5}
    model = DivideConquerSVC(**given).fit(folder, "side", sample_weight="heavy")
    plain = SVC(**given).fit(X, y, sample_weight=weights)
    assert model.history_[0]["blocks"] == 7
    assert list(model.feature_names_in_) == ["feature 0", "feature 1"]
    assert model.support_vectors_.dtype == np.float32
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=model.feature_names_in_)
    assert_allclose(
        model.decision_function(frame), plain.decision_function(X), atol=1e-3
    )
    again = DivideConquerSVC(**given).fit(folder / "0.parquet", "side")
    assert again.shape_fit_ == (3500, 3)  # the weights are a feature like any other


def test_files_that_are_no_rows(moons, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    X, y = (part[:300] for part in moons)
    path = tmp_path / "rows.parquet"
    parquet.write_table(table(X, y, colour=y), path)
    model = DivideConquerSVC()
    with pytest.raises(ValueError, match="has no column 'label'; it has feature 0"):
        model.fit(path, "label")
    with pytest.raises(ValueError, match="columns colour are not numbers"):
        model.fit(path, "side")
    numbers = tmp_path / "numbers.pq"
    parquet.write_table(table(X, y).drop_columns("side"), numbers)
    with pytest.raises(ValueError, match="y has 2 entries and X has 300 rows"):
        model.fit(numbers, [0, 1])
    with pytest.raises(ValueError, match="is not a Parquet file"):
        model.fit("nowhere", y)
    with pytest.raises(ValueError, match="no file that ends in"):
        (tmp_path / "empty").mkdir()
        model.fit(tmp_path / "empty", y)
    with pytest.raises(ValueError, match=r"dask\.dataframe\.read_parquet"):
        DivideConquerSVC(prediction="early").fit(path, "side")
    parquet.write_table(table(X, y), tmp_path / "more.parquet")
    with pytest.raises(ValueError, match="has other columns"):
        model.fit(tmp_path, "side")
    assert not hasattr(model, "support_")


def test_bad_rows_of_a_map(moons, tmp_path):
    X, y = moons
    rows = mapped(X, tmp_path / "rows")
    with pytest.raises(ValueError, match="y has 5 entries"):
        DivideConquerSVC().fit(rows, y[:5])
    with pytest.raises(ValueError, match="greater than one; got 1 class"):
        DivideConquerSVC().fit(rows, np.zeros(len(X)))
    rows[23_000, 1] = np.nan
    with pytest.raises(ValueError, match="X contains NaN"):
        DivideConquerSVC().fit(rows, y)
