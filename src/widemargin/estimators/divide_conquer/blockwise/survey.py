"""What one pass over all rows tells, before anything is solved."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.multiclass import check_classification_targets

from widemargin.engine.kernels import Moments
from widemargin.estimators.base.labels import refuse_odd_labels
from widemargin.estimators.base.validation import check_weights, plain_labels

from .block_source import RowBlocks, samples_of_block, stacked

Vector = NDArray[np.float64]


@dataclass(frozen=True)
class Survey:
    """What one pass over the blocks tells.

    Attributes
    ----------
    n : int
    classes : array
        Distinct labels, ascending.
    masses : array of shape (n_blocks, n_classes)
        Weight of each class in each block (rows, when there are no sample weights).
    variance : float
        Weighted variance of all entries of the samples, for ``gamma="scale"``.
    rows, sample, codes, weights : arrays
        Some rows: a random share of each block, and one of each class that it has.
    widest : array or CSR of shape (1, n_features)
        The row of largest norm.
    digest : str
        Digest of all rows, labels and weights, if requested.
    """

    n: int
    classes: NDArray[Any]
    masses: Vector
    variance: float
    rows: NDArray[np.intp]
    sample: Any
    codes: NDArray[np.intp]
    weights: Vector
    widest: Any
    digest: str

    @property
    def mass(self) -> Vector:
        """Weight of each class."""
        return np.asarray(self.masses.sum(axis=0))


@dataclass(frozen=True)
class _Look:
    n_features: int
    share: float
    seed: int
    digest: bool


def survey(
    blocks: RowBlocks, sample_size: int, seed: int, *, digest: bool = False
) -> Survey:
    """Look at every block once."""
    share = sample_size / max(1, blocks.n)
    look = _Look(blocks.n_features, share, seed, digest)
    seen = blocks.each(_survey_block, look)
    classes = np.unique(np.concatenate([item["classes"] for item in seen]))
    masses = np.zeros((len(seen), len(classes)))
    for block, item in enumerate(seen):
        masses[block, np.searchsorted(classes, item["classes"])] = item["mass"]
    if len(classes) < 2:
        raise ValueError(
            "The number of classes has to be greater than one; got "
            f"{len(classes)} class"
        )
    moments = reduce(Moments.join, [item["moments"] for item in seen])
    labels = np.concatenate([item["labels"] for item in seen])
    widest = max(seen, key=lambda item: item["norm"])["widest"]
    whole = hashlib.sha256("".join(item["digest"] for item in seen).encode())
    return Survey(
        blocks.n,
        classes,
        masses,
        moments.variance,
        np.concatenate([item["rows"] for item in seen]),
        stacked([item["sample"] for item in seen]),
        np.searchsorted(classes, labels),
        np.concatenate([item["weights"] for item in seen]),
        widest,
        whole.hexdigest() if digest else "",
    )


def _survey_block(X: Any, y: Any, w: Any, offset: int, look: _Look) -> dict[str, Any]:
    X, y = samples_of_block(X), np.asarray(y)
    if X.shape != (len(y), look.n_features):
        raise ValueError(
            f"the block of X from row {offset} on has shape {X.shape}; with "
            f"{len(y)} labels and {look.n_features} features it must be "
            f"{(len(y), look.n_features)}."
        )
    if not np.isfinite(X.data if sparse.issparse(X) else X).all():
        raise ValueError(
            "X contains NaN or infinity: impute or drop those rows before fit."
        )
    if len(y) and not plain_labels(y):
        refuse_odd_labels(y)
        check_classification_targets(y)
    checked = check_weights(w, X.shape[0])
    w = np.ones(X.shape[0]) if checked is None else checked
    digest = _digest(X, y, w) if look.digest else ""
    kept = np.flatnonzero(w > 0)  # rows without weight are as if absent
    if len(kept) < len(w):
        X, y, w = X[kept], y[kept], w[kept]
    classes, first, codes = np.unique(y, return_index=True, return_inverse=True)
    with np.errstate(over="ignore", invalid="ignore"):  # the variance says so
        moments = Moments.of(X, w)
    order = np.random.default_rng([look.seed, offset]).permutation(len(y))
    some = order[: int(np.ceil(look.share * len(y)))]
    absent = ~np.isin(np.arange(len(classes)), codes[some])
    chosen = np.sort(np.concatenate([some, first[absent]]))
    norms = _squared_norms(X)
    largest = int(norms.argmax()) if len(norms) else 0
    return {
        "classes": classes,
        "mass": np.bincount(codes, weights=w, minlength=len(classes)),
        "moments": moments,
        "rows": offset + kept[chosen],
        "sample": X[chosen],
        "labels": y[chosen],
        "weights": w[chosen],
        "norm": float(norms.max(initial=-1.0)),
        "widest": X[largest : largest + 1],
        "digest": digest,
    }


def _squared_norms(X: Any) -> Vector:
    if sparse.issparse(X):
        return np.asarray(X.multiply(X).sum(axis=1), dtype=np.float64).ravel()
    return np.asarray(np.einsum("ij,ij->i", X, X, dtype=np.float64))


def _digest(X: Any, y: NDArray[Any], w: Vector) -> str:
    digest = hashlib.sha256()
    pieces = [X.data, X.indices, X.indptr] if sparse.issparse(X) else [X]
    text = y.astype(str) if y.dtype == object else y
    for piece in [*pieces, text, w]:
        digest.update(f"{piece.dtype.str}{piece.shape}".encode())
        digest.update(np.ascontiguousarray(piece).view(np.uint8).data)
    return digest.hexdigest()
