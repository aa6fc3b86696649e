"""Rows on disk that a fit reads in blocks: memory maps and Parquet files."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .block_source import (
    FROM_ROWS,
    LocalBlocks,
    MappedBlocks,
    one_label_a_row,
    sample_dtype,
)

ENDINGS = (".parquet", ".pq")


def blocks_on_disk(
    X: Any, y: Any, sample_weight: Any, estimator: Any
) -> LocalBlocks | None:
    """Return the blocks of rows on disk; None for rows in memory.

    A memory map of few rows, one that early prediction divides into clusters, and a
    precomputed matrix are data in memory: the system reads their pages when used.
    """
    if isinstance(X, str | os.PathLike):
        if estimator.prediction == "early":
            raise ValueError(
                f"{type(estimator).__name__}: early prediction takes rows in memory or "
                "dask collections; read the file by dask.dataframe.read_parquet, or "
                "fit with prediction='exact'."
            )
        return ParquetBlocks(X, y, sample_weight)
    mapped = isinstance(X, np.memmap) and X.ndim == 2 and len(X) >= FROM_ROWS
    early = estimator.prediction == "early" or estimator.n_levels not in ("auto", 0)
    if not mapped or early or estimator.kernel == "precomputed":
        return None
    return MappedBlocks(X, y, sample_weight)


@dataclass
class ParquetBlocks(LocalBlocks):
    """Rows of a Parquet file, or of all files of a folder; a block is a row group.

    Attributes
    ----------
    path : path-like
        The file or folder.
    label, weight : str or array
        Names of the columns of labels and, if any, of weights; or the values, one a
        row. All other columns are features.
    """

    path: Any
    label: Any
    weight: Any = None
    names: Sequence[str] | None = None
    groups: list[tuple[str, int]] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Read the schemas; the values are checked block by block."""
        parquet = _pyarrow()
        schema, self.lengths = None, []
        for name in _files(self.path):
            file = parquet.ParquetFile(name)
            if schema is not None and not schema.equals(file.schema_arrow):
                raise ValueError(f"{name} has other columns than the files before it.")
            schema = file.schema_arrow
            for group in range(file.num_row_groups):
                self.groups.append((name, group))
                self.lengths.append(file.metadata.row_group(group).num_rows)
        assert schema is not None
        apart = [name for name in (self.label, self.weight) if isinstance(name, str)]
        for name in apart:
            if name not in schema.names:
                raise ValueError(
                    f"{os.fspath(self.path)} has no column {name!r}; it has "
                    f"{', '.join(schema.names)}."
                )
        self.names = [name for name in schema.names if name not in apart]
        self.n_features = len(self.names)
        self.dtype = _common_dtype(schema, self.names)
        if not isinstance(self.label, str):
            self.label = one_label_a_row(self.label, self.n, "y")
        if not isinstance(self.weight, str | None):
            self.weight = one_label_a_row(self.weight, self.n, "sample_weight")

    def load(self, number: int) -> tuple[Any, Any, Any]:
        """Read a row group."""
        name, group = self.groups[number]
        table = _pyarrow().ParquetFile(name).read_row_group(group)
        first = self.offsets[number]
        part = slice(first, first + self.lengths[number])

        def column(named: Any) -> NDArray[Any]:
            if isinstance(named, str):
                return np.asarray(table[named].to_numpy())
            return np.asarray(named[part])

        X = np.empty((table.num_rows, self.n_features), dtype=self.dtype)
        for j, feature in enumerate(self.names or []):
            X[:, j] = table[feature].to_numpy()
        weights = None if self.weight is None else column(self.weight)
        return X, column(self.label), weights


def _pyarrow() -> Any:
    try:
        from pyarrow import parquet
    except ImportError as error:
        raise ImportError(
            "Parquet files need pyarrow: pip install 'widemargin[parquet]'"
        ) from error
    return parquet


def _files(path: Any) -> list[str]:
    """Return a file, or the Parquet files of a folder by name."""
    place = Path(path)
    if place.is_dir():
        names = sorted(str(own) for own in place.iterdir() if own.suffix in ENDINGS)
        if not names:
            raise ValueError(f"{place} has no file that ends in .parquet or .pq.")
        return names
    if place.suffix not in ENDINGS or not place.is_file():
        raise ValueError(
            f"X={os.fspath(path)!r} is not a Parquet file, nor a folder of such. Give "
            "a path that ends in .parquet or .pq, or the rows themselves."
        )
    return [str(place)]


def _common_dtype(schema: Any, names: Sequence[str]) -> np.dtype[Any]:
    """Return the type of the samples; refuse columns that are not numbers."""
    from pyarrow import types

    kinds = [schema.field(name).type for name in names]
    odd = [
        name
        for name, kind in zip(names, kinds, strict=True)
        if not (types.is_integer(kind) or types.is_floating(kind))
    ]
    if odd or not names:
        raise ValueError(
            f"columns {', '.join(odd) or '(none)'} are not numbers: features must be. "
            "Encode them, or write a file without them."
        )
    single = all(types.is_float32(kind) for kind in kinds)
    return sample_dtype(np.float32 if single else np.float64)
