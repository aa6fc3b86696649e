"""LIBSVM's model file: what ``svm-train`` writes and ``svm-predict`` reads.

A header of ``name value ...`` lines, then ``SV`` and one line per support vector: its
coefficients, and its features as ``index:value`` counted from 1. Numbers are written
with as many digits as it takes to read back the same float64.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from widemargin.engine.kernels import (
    Gaussian,
    Kernel,
    Linear,
    Polynomial,
    Precomputed,
    Sigmoid,
    numeric_gamma,
)
from widemargin.runtime.atomic_file import replacing

from .libsvm_form import LibsvmModel, SvmType, kernel_name

Vector = NDArray[np.float64]

_KERNELS = {  # scikit-learn's name -> LIBSVM's
    "linear": "linear",
    "poly": "polynomial",
    "rbf": "rbf",
    "sigmoid": "sigmoid",
    "precomputed": "precomputed",
}
_IGNORED = {"probA", "probB", "prob_density_marks"}  # calibration: labels need none
_KNOWN = _IGNORED | set(
    "svm_type kernel_type degree gamma coef0 nr_class total_sv rho label nr_sv".split()
)
_LARGEST = 2**31 - 1  # LIBSVM's indices and labels are ints
_DENSE = 1 / 3  # share of stored entries from which a dense table is smaller


# ---- writing -----------------------------------------------------------------


def write(model: LibsvmModel, path: str | os.PathLike[str]) -> None:
    """Write a model file, whole or not at all.

    Raises
    ------
    ValueError
        If LIBSVM has no such kernel, or labels are not integers.
    OSError
        If the system refuses; ``path`` is as it was.
    """
    header = list(_header(model))
    with replacing(path) as file:
        file.write("\n".join([*header, "SV", ""]).encode("ascii"))
        for line in _vector_lines(model):
            file.write(line.encode("ascii"))


def _header(model: LibsvmModel) -> Iterator[str]:
    kernel, name = model.kernel, kernel_name(model.kernel)
    yield f"svm_type {model.svm_type}"
    yield f"kernel_type {_KERNELS[name]}"
    if isinstance(kernel, Polynomial):
        yield f"degree {kernel.degree}"
    if isinstance(kernel, Gaussian | Polynomial | Sigmoid):
        yield f"gamma {numeric_gamma(kernel)!r}"
    if isinstance(kernel, Polynomial | Sigmoid):
        yield f"coef0 {kernel.coef0!r}"
    yield f"nr_class {2 if model.classes is None else len(model.classes)}"
    yield f"total_sv {model.n_vectors}"
    yield f"rho {_words(model.rho)}"
    if model.classes is not None and model.n_support is not None:
        yield f"label {' '.join(map(str, integer_labels(model.classes)))}"
        yield f"nr_sv {' '.join(map(str, model.n_support.tolist()))}"


def integer_labels(classes: NDArray[Any]) -> list[int]:
    """Return labels as LIBSVM's integers; refuse any other."""
    numbers = classes.dtype.kind in "iuf"
    if not numbers or np.any(classes != np.trunc(classes)):
        raise ValueError(
            f"LIBSVM's labels are integers, and classes_ has {classes.tolist()[0]!r}. "
            "Fit with the labels numbered, as by sklearn.preprocessing.LabelEncoder."
        )
    if np.abs(classes).max(initial=0) > _LARGEST:
        raise ValueError(f"LIBSVM's labels end at {_LARGEST}; classes_ has larger.")
    return [int(label) for label in classes.tolist()]


def _vector_lines(model: LibsvmModel) -> Iterator[str]:
    """Yield a line for each support vector."""
    table = model.coefficients.T
    if isinstance(model.kernel, Precomputed):
        for coefficients, row in zip(table, model.support.tolist(), strict=True):
            yield f"{_words(coefficients)} 0:{row + 1} \n"
        return
    vectors = sparse.csr_matrix(model.support_vectors, dtype=np.float64)
    for number, coefficients in enumerate(table):
        own = slice(vectors.indptr[number], vectors.indptr[number + 1])
        places, values = vectors.indices[own], vectors.data[own]
        order = np.argsort(places, kind="stable")
        stored = zip(places[order].tolist(), values[order].tolist(), strict=True)
        features = " ".join(f"{place + 1}:{value!r}" for place, value in stored)
        yield f"{_words(coefficients)} {features} \n"


def _words(values: Vector) -> str:
    return " ".join(map(repr, values.tolist()))


# ---- reading -----------------------------------------------------------------


class _Refused(Exception):
    """Why a file is not a model, and the offending line if there is one."""

    def __init__(self, why: str, line: int | None = None) -> None:
        super().__init__(why if line is None else f"line {line}: {why}")


def read(path: str | os.PathLike[str], n_features: int | None = None) -> LibsvmModel:
    """Read a model file.

    Parameters
    ----------
    path : path-like
        What ``svm-train`` wrote, of any kind and kernel.
    n_features : int, optional
        Features of a sample; else the largest index in the file. For a precomputed
        kernel the number of rows it was trained on.

    Raises
    ------
    ValueError
        If it is no such file, or damaged: with the line where that shows.
    """
    lines = Path(path).read_bytes().decode("latin-1").splitlines()
    try:
        return _model(lines, n_features)
    except _Refused as refusal:
        raise ValueError(f"{os.fspath(path)}: no LIBSVM model: {refusal}") from refusal


def _model(lines: list[str], n_features: int | None) -> LibsvmModel:
    fields, start = _read_header(lines)
    svm_type = SvmType(_one_of(fields, "svm_type", list(SvmType)))
    kernel = _read_kernel(fields)
    n_vectors = _integers(fields, "total_sv", 1)[0]
    classes = n_support = None
    outputs = 1
    if svm_type.classifies:
        n_classes = _integers(fields, "nr_class", 1)[0]
        if not 1 <= n_classes <= 2**15:
            _refuse("nr_class is not a number of classes")
        classes = np.array(_integers(fields, "label", n_classes))
        n_support = np.array(_integers(fields, "nr_sv", n_classes), dtype=np.int64)
        if len(set(classes.tolist())) < n_classes:
            _refuse("label names a class twice")
        if n_support.min() < 0 or n_support.sum() != n_vectors:
            _refuse("nr_sv does not sum to total_sv")
        outputs = n_classes - 1
    rho = _numbers(fields, "rho", max(1, outputs * (outputs + 1) // 2))
    body = lines[start:]
    while body and not body[-1].strip():
        body.pop()
    if len(body) != n_vectors:
        _refuse(f"total_sv is {n_vectors}, but {len(body)} support vectors follow")
    coefficients, vectors = _read_vectors(body, max(1, outputs), start)
    support, width = np.arange(n_vectors), vectors.shape[1]
    if isinstance(kernel, Precomputed):
        serial = np.asarray(vectors[:, [0]].toarray()).ravel()
        if np.any(serial != np.trunc(serial)) or np.any(serial < 1):
            _refuse("a support vector of a precomputed kernel is 0:number, from 1")
        support, width = serial.astype(np.int64) - 1, int(serial.max(initial=1))
        kept: Any = np.empty((0, 0))
    else:
        if vectors[:, [0]].nnz:
            _refuse("features are numbered from 1")
        kept, width = vectors[:, 1:], max(width - 1, 1)
    if n_features is not None and n_features < width:
        raise ValueError(f"n_features={n_features}, but the model has {width}.")
    width = width if n_features is None else n_features
    if not isinstance(kernel, Precomputed):
        kept = _compact(kept, width)
    return LibsvmModel(
        svm_type, kernel, width, support, kept, coefficients, rho,
        classes, None if n_support is None else n_support.astype(np.int32),
    )  # fmt: skip


def _read_header(lines: list[str]) -> tuple[dict[str, list[str]], int]:
    """Return the words of each header line by name, and where the vectors begin."""
    fields: dict[str, list[str]] = {}
    for number, line in enumerate(lines, start=1):
        name, *words = line.split() or [""]
        if name == "SV":
            return fields, number
        if name not in _KNOWN or name in fields:
            _refuse(f"{name!r:.40} is not expected here", number)
        fields[name] = words
    _refuse("there is no line 'SV'")


def _read_kernel(fields: dict[str, list[str]]) -> Kernel:
    name = _one_of(fields, "kernel_type", list(_KERNELS.values()))
    if name == "linear":
        return Linear()
    if name == "precomputed":
        return Precomputed()
    gamma = float(_numbers(fields, "gamma", 1)[0])
    if gamma < 0.0:
        _refuse("gamma is negative")
    if name == "rbf":
        return Gaussian(gamma)
    coef0 = float(_numbers(fields, "coef0", 1)[0])
    if name == "sigmoid":
        return Sigmoid(gamma, coef0)
    try:
        return Polynomial(_integers(fields, "degree", 1)[0], gamma, coef0)
    except ValueError as error:
        _refuse(str(error))


def _read_vectors(body: list[str], n_coef: int, start: int) -> tuple[Vector, Any]:
    """Return coefficients, and the vectors with column 0 for the index 0."""
    stored = np.array([line.count(":") for line in body], dtype=np.int64)
    words = " ".join(body).replace(":", " ").split()
    if len(words) != body.__len__() * n_coef + 2 * int(stored.sum()):
        _refuse_line(body, n_coef, start)
    try:
        numbers = np.array(words, dtype=np.float64)
    except ValueError:
        _refuse_line(body, n_coef, start)
    if not np.isfinite(numbers).all():
        _refuse("a coefficient or feature is not a finite number")
    lengths = n_coef + 2 * stored
    begins = np.cumsum(lengths) - lengths
    coefficients = numbers[begins[:, None] + np.arange(n_coef)].T
    rest = np.ones(len(numbers), dtype=bool)
    rest[(begins[:, None] + np.arange(n_coef)).ravel()] = False
    places, values = numbers[rest][::2], numbers[rest][1::2]
    if np.any(places != np.trunc(places)) or not np.all(
        (places >= 0) & (places < _LARGEST)
    ):
        _refuse("a feature's index is not a number from 1 on")
    starts = np.concatenate([[0], np.cumsum(stored)])
    within = np.ones(places.size, dtype=bool)
    within[starts[:-1][stored > 0]] = False
    if np.any(np.diff(places, prepend=0)[within] <= 0):
        _refuse("the indices of a support vector do not ascend")
    width = int(places.max(initial=0)) + 1
    columns = places.astype(np.int32)
    vectors = sparse.csr_matrix((values, columns, starts), shape=(len(body), width))
    return np.ascontiguousarray(coefficients), vectors


def _refuse_line(body: list[str], n_coef: int, start: int) -> NoReturn:
    """Name the line that is not `n_coef` numbers and pairs ``index:value``."""
    for number, line in enumerate(body, start=start + 1):
        words = line.split()
        numbers = words[:n_coef] + [
            part for word in words[n_coef:] for part in word.split(":", 1)
        ]
        paired = len(numbers) == n_coef + 2 * (len(words) - n_coef)
        if len(words) < n_coef or not paired or not all(map(_is_number, numbers)):
            _refuse(f"not {n_coef} coefficients and index:value pairs", number)
    _refuse("support vectors are not coefficients and index:value pairs")


def _compact(vectors: Any, width: int) -> Any:
    """Return rows of `width` features, dense where that is smaller."""
    vectors = sparse.csr_matrix(
        (vectors.data, vectors.indices, vectors.indptr), (vectors.shape[0], width)
    )
    dense = vectors.nnz >= _DENSE * vectors.shape[0] * width
    return vectors.toarray() if dense else vectors


# ---- fields of the header ----------------------------------------------------


def _refuse(why: str, line: int | None = None) -> NoReturn:
    raise _Refused(why, line)


def _is_number(word: str) -> bool:
    try:
        return bool(np.isfinite(float(word)))
    except ValueError:
        return False


def _words_of(fields: dict[str, list[str]], name: str, count: int) -> list[str]:
    words = fields.get(name)
    if words is None or len(words) != count:
        found = "missing" if words is None else f"{len(words)} values"
        _refuse(f"{name}: {count} expected, {found}")
    return words


def _one_of(fields: dict[str, list[str]], name: str, known: list[str]) -> str:
    word = _words_of(fields, name, 1)[0]
    if word not in known:
        _refuse(f"{name} {word!r:.40} is none of {', '.join(known)}")
    return word


def _integers(fields: dict[str, list[str]], name: str, count: int) -> list[int]:
    words = _words_of(fields, name, count)
    try:
        numbers = [int(word) for word in words]
    except ValueError:
        _refuse(f"{name} is not made of integers")
    if any(abs(number) > _LARGEST for number in numbers):
        _refuse(f"{name} has a number beyond {_LARGEST}")
    return numbers


def _numbers(fields: dict[str, list[str]], name: str, count: int) -> Vector:
    words = _words_of(fields, name, count)
    if not all(map(_is_number, words)):
        _refuse(f"{name} is not made of finite numbers")
    return np.array(words, dtype=np.float64)
