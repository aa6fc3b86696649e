"""Data sets by name: files, compression, cache of what was parsed, generated data."""

from __future__ import annotations

import bz2
import gzip
import lzma

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from widemargin_papers import PAPERS
from widemargin_papers.harness import datasets
from widemargin_papers.harness.missing_runs import paper_modules
from widemargin_papers.harness.published import data_file, data_files

TEXT = b"+1 1:0.5 3:2\n-1 2:-1.5\n+1 1:1 2:1 3:1\n"
EXPECTED = np.array([[0.5, 0, 2], [0, -1.5, 0], [1, 1, 1]])


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "data").mkdir()
    monkeypatch.setenv("WIDEMARGIN_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "data"


@pytest.mark.parametrize(
    ("suffix", "compress"),
    [
        ("", bytes),
        (".xz", lzma.compress),
        (".bz2", bz2.compress),
        (".gz", gzip.compress),
    ],
)
def test_libsvm_files_compressed_or_not(folder, suffix, compress):
    (folder / f"toy{suffix}").write_bytes(compress(TEXT))
    X, y = datasets.load_libsvm("toy")
    assert_array_equal(X.toarray(), EXPECTED)
    assert_array_equal(y, [1, -1, 1])
    wide, _ = datasets.load_dense("toy", n_features=5)
    assert wide.shape == (3, 5) and wide.flags.c_contiguous


def test_what_was_parsed_is_not_parsed_again(folder, monkeypatch):
    (folder / "toy").write_bytes(TEXT)
    first, _ = datasets.load_libsvm("toy")

    def fail(*_):
        raise AssertionError("parsed again")

    monkeypatch.setattr(datasets, "load_svmlight_file", fail)
    again, _ = datasets.load_libsvm("toy")
    assert_array_equal(first.toarray(), again.toarray())
    (folder / "toy").write_bytes(TEXT + b"-1 1:9\n")  # another file: parse
    with pytest.raises(AssertionError, match="parsed again"):
        datasets.load_libsvm("toy")


def test_a_damaged_cache_is_replaced(folder):
    (folder / "toy").write_bytes(TEXT)
    datasets.load_libsvm("toy")
    (cached,) = datasets.cache_directory().glob("toy-*.npz")
    cached.write_bytes(b"not a zip file")
    X, _ = datasets.load_libsvm("toy")
    assert_array_equal(X.toarray(), EXPECTED)


def test_a_missing_file_is_named_with_where_it_is_published(folder, monkeypatch):
    with pytest.raises(
        datasets.MissingDataError, match=r"'ijcnn1'.*libsvmtools/datasets/binary"
    ):
        datasets.load_libsvm("ijcnn1")
    with pytest.raises(datasets.MissingDataError, match=r"archive\.ics\.uci\.edu"):
        datasets.load_libsvm("magic04")
    assert not datasets.available("ijcnn1")
    monkeypatch.delenv("WIDEMARGIN_DATA")
    with pytest.raises(datasets.MissingDataError, match="set WIDEMARGIN_DATA"):
        datasets.load_libsvm("ijcnn1")


def test_every_file_of_a_task_is_in_the_table():
    needed = {
        name
        for paper in PAPERS
        for quick in (True, False)
        for task in paper_modules(paper)[0].tasks(quick)
        for name in task.needs
    }
    assert needed <= set(data_files())
    assert str(data_file("heart_scale")).startswith("heart_scale (270 x 13): https://")


def test_census_is_encoded(folder):
    rows = [
        f"{age}, {'Private' if age % 2 else '?'}, {'50000+.' if age > 80 else '-'}"
        for age in range(10, 90)
    ]
    text = "\n".join(rows).encode()
    (folder / "census-income.data.csv.xz").write_bytes(lzma.compress(text))
    X, y = datasets.load_census()
    assert X.shape == (80, 3)  # age as a number, two categories one-hot
    assert X.min() == 0.0 and X.max() == 1.0
    assert_allclose(X[:, 0].toarray().ravel(), np.linspace(0, 1, 80))
    assert_array_equal(np.unique(y), [-1, 1])
    assert (y > 0).sum() == 9


def test_scaling():
    X = np.array([[0.0, 5, 1], [10, 5, 3], [5, 5, 2]])
    scaled = datasets.scale_to_interval(X)
    assert_allclose(scaled, [[0, 0, 0], [1, 0, 1], [0.5, 0, 0.5]])
    standard = datasets.standardise(X)
    assert_allclose(standard.mean(axis=0), 0, atol=1e-15)
    assert_allclose(standard.std(axis=0), [1, 0, 1])


def test_subsamples_and_generated_data_are_reproducible():
    X, y = datasets.generated(200, 12, seed=3)
    again, _ = datasets.generated(200, 12, seed=3)
    assert_array_equal(X, again)
    assert set(y) == {-1.0, 1.0} and X.shape == (200, 12)
    part, labels = datasets.subsample(X, y, 50)
    assert part.shape == (50, 12) and labels.shape == (50,)
    assert_array_equal(part, datasets.subsample(X, y, 50)[0])
    thin, _ = datasets.generated(100, 40, density=0.1)
    assert 0 < thin.nnz < 100 * 40 * 0.12
    assert datasets.generated(30, 2)[0].shape == (30, 2)
