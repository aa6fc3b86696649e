"""Data sets by name: files in LIBSVM's format, the census table, generated stand-ins.

Files are looked for in the folder named by the environment variable ``WIDEMARGIN_DATA``
(names as on LIBSVM's data page; also compressed, ``.xz .bz2 .gz``). What was parsed
once is kept in the user's cache folder, so that loading the 581,012 rows of covtype
again takes a moment. Nothing is ever downloaded.
"""

from __future__ import annotations

import bz2
import csv
import gzip
import hashlib
import io
import lzma
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.datasets import load_svmlight_file, make_classification

from widemargin.runtime.atomic_file import replacing

from .published import data_file

Samples = Any  # a dense (n, d) array or a CSR matrix
Vector = NDArray[np.float64]

OPENERS: dict[str, Callable[..., Any]] = {
    "": open,
    ".xz": lzma.open,
    ".bz2": bz2.open,
    ".gz": gzip.open,
}


class MissingDataError(FileNotFoundError):
    """A data file is not there; the message says where it is published."""


def data_directory() -> Path | None:
    """Return the folder named by ``WIDEMARGIN_DATA``, None when it is not set."""
    named = os.environ.get("WIDEMARGIN_DATA")
    return Path(named).expanduser() if named else None


def cache_directory() -> Path:
    """Return widemargin's folder in the user's cache (it may not exist yet)."""
    if sys.platform == "darwin":
        default = Path.home() / "Library" / "Caches"
    elif sys.platform == "win32":
        default = Path(os.environ.get("LOCALAPPDATA", str(Path.home())))
    else:
        default = Path.home() / ".cache"
    return Path(os.environ.get("XDG_CACHE_HOME") or default) / "widemargin"


def find(name: str) -> Path:
    """Return the path of the data file called ``name``, compressed or not.

    Raises
    ------
    MissingDataError
        When there is no such file; the message names where it is published.
    """
    folder = data_directory()
    if folder is None:
        raise MissingDataError(
            f"Data set {name!r} is needed: set WIDEMARGIN_DATA to the folder that "
            f"holds it (published at {data_file(name).published})."
        )
    path = found_in(folder, name)
    if path is None:
        raise MissingDataError(
            f"Data set {name!r} was not found in {folder} (nor as .xz, .bz2 or .gz). "
            f"It is published at {data_file(name).published}."
        )
    return path


def found_in(folder: Path, name: str) -> Path | None:
    """Return the path of a data file in that folder, compressed or not, or None."""
    paths = (folder / (name + suffix) for suffix in OPENERS)
    return next((path for path in paths if path.is_file()), None)


def available(name: str) -> bool:
    """Whether the data file called ``name`` is there."""
    folder = data_directory()
    return folder is not None and found_in(folder, name) is not None


def open_data(path: Path) -> IO[bytes]:
    """Open a data file for reading bytes, whatever its compression."""
    opener = OPENERS.get(path.suffix, open)
    stream: IO[bytes] = opener(path, "rb")
    return stream


def load_libsvm(
    name: str, *, n_features: int | None = None
) -> tuple[sparse.csr_matrix, Vector]:
    """Load a LIBSVM file by name as CSR samples and labels, float64, file order.

    ``n_features`` widens the samples (a test file whose last features never occur).
    """
    X, y = _parsed(find(name), _load_svmlight)
    if n_features is not None:
        arrays = X.data, X.indices, X.indptr
        X = sparse.csr_matrix(arrays, shape=(len(y), n_features))
    return X, y


def _load_svmlight(stream: IO[bytes]) -> tuple[sparse.csr_matrix, Vector]:
    """Parse a file in LIBSVM's format."""
    X, y = load_svmlight_file(io.BytesIO(stream.read()))
    return X, y


def load_dense(name: str, *, n_features: int | None = None) -> tuple[Vector, Vector]:
    """Load a LIBSVM file by name as dense C-ordered float64 samples and labels."""
    X, y = load_libsvm(name, n_features=n_features)
    return np.ascontiguousarray(X.toarray()), y


def load_census() -> tuple[sparse.csr_matrix, Vector]:
    """Load the KDD census-income table: numbers in [0, 1], categories one-hot, CSR.

    A column of numbers with more than 60 distinct values is taken as numeric, any other
    as categorical ("?" is a category). +1 stands for an income over 50,000.
    """

    def parse(stream: IO[bytes]) -> tuple[sparse.csr_matrix, Vector]:
        text = io.TextIOWrapper(stream, encoding="utf-8", newline="")
        rows = list(csv.reader(text, skipinitialspace=True))
        columns = list(zip(*(row for row in rows if row), strict=True))
        y = np.array([1.0 if "50000+" in label else -1.0 for label in columns[-1]])
        return sparse.hstack([_encode(column) for column in columns[:-1]]).tocsr(), y

    return _parsed(find("census-income.data.csv"), parse)


def _encode(column: Sequence[str]) -> sparse.csr_matrix:
    """Encode one column of text: numbers to [0, 1], categories one-hot."""
    values, codes = np.unique(np.asarray(column), return_inverse=True)
    try:
        numbers = values.astype(np.float64)
    except ValueError:
        numbers = np.empty(0)
    if len(numbers) > 60:
        scaled = (numbers - numbers.min()) / np.ptp(numbers)
        return sparse.csr_matrix(scaled[codes][:, None])
    ones = np.ones(len(codes))
    return sparse.csr_matrix(
        (ones, (np.arange(len(codes)), codes)), shape=(len(codes), len(values))
    )


def _parsed(
    path: Path, parse: Callable[[IO[bytes]], tuple[sparse.csr_matrix, Vector]]
) -> tuple[sparse.csr_matrix, Vector]:
    """Return what ``parse`` makes of a file, from the cache when it is unchanged."""
    state = path.stat()
    identity = f"{path.resolve()} {state.st_size} {state.st_mtime_ns} 1"
    key = hashlib.sha256(identity.encode()).hexdigest()[:20]
    cached = cache_directory() / f"{path.name}-{key}.npz"
    if cached.is_file():
        try:
            with np.load(cached, allow_pickle=False) as part:
                arrays = part["data"], part["indices"], part["indptr"]
                shape = (len(part["y"]), int(part["width"]))
                return sparse.csr_matrix(arrays, shape=shape), part["y"]
        except (OSError, ValueError, EOFError):
            pass  # a damaged cache file is as good as none: parse and replace it
    with open_data(path) as stream:
        X, y = parse(stream)
    X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    named = {"data": X.data, "indices": X.indices, "indptr": X.indptr, "y": y}
    try:
        cached.parent.mkdir(parents=True, exist_ok=True)
        with replacing(cached) as file:
            np.savez(file, width=np.array(X.shape[1]), **named)
    except OSError:
        pass  # no place for a cache: the data were parsed all the same
    return X, y


def signs(y: Vector, positive: Callable[[Vector], NDArray[np.bool_]]) -> Vector:
    """Turn labels into -1 and +1; ``positive`` says which labels are +1."""
    return np.where(positive(y), 1.0, -1.0)


def scale_to_interval(X: Samples) -> Vector:
    """Scale each column to [0, 1]."""
    dense = _dense(X)
    least, width = dense.min(axis=0), np.ptp(dense, axis=0)
    scaled: Vector = (dense - least) / np.where(width > 0, width, 1.0)
    return scaled


def standardise(X: Samples) -> Vector:
    """Give each column mean 0 and variance 1."""
    dense = _dense(X)
    spread = dense.std(axis=0)
    standard: Vector = (dense - dense.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    return standard


def _dense(X: Samples) -> Vector:
    return np.asarray(X.toarray() if sparse.issparse(X) else X, dtype=np.float64)


def subsample(
    X: Samples, y: Vector, size: int | None, seed: int = 0
) -> tuple[Samples, Vector]:
    """Return ``size`` rows drawn without replacement (all, in file order, for None)."""
    if size is None or size >= len(y):
        return X, y
    rows = np.random.default_rng(seed).permutation(len(y))[:size]
    return X[rows], y[rows]


def generated(
    n: int,
    d: int,
    *,
    seed: int = 0,
    density: float | None = None,
    noise: float = 0.02,
    classes: int = 2,
) -> tuple[Samples, Vector]:
    """Generate a problem of n rows and d features, CSR given a density.

    Two clusters per class in a few informative features, the rest redundant or noise.
    """
    informative = min(d, max(2, min(10, d // 2 + 1)))
    X, y = make_classification(
        n_samples=n,
        n_features=d,
        n_informative=informative,
        n_redundant=min(d - informative, 2),
        n_clusters_per_class=2 if informative > 2 else 1,
        n_classes=classes,
        flip_y=noise,
        random_state=seed,
    )
    y = np.where(y > 0, 1.0, -1.0) if classes == 2 else y.astype(np.float64)
    if density is None:
        return np.ascontiguousarray(X), y
    kept = np.random.default_rng(seed).random(X.shape) < density
    return sparse.csr_matrix(np.where(kept, (X > 0).astype(np.float64), 0.0)), y
