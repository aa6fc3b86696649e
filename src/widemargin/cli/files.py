"""Data files of every format, compressed or not, read within bounded memory.

A file is read in pieces of a few megabytes, each parsed by compiled code into arrays
that grow in place, so that the peak stays well below twice the parsed size. The first
error is reported with file, line and column.
"""

from __future__ import annotations

import gzip
import lzma
import os
import zlib
from collections.abc import Callable, Collection, Iterator
from typing import IO

import numpy as np

from widemargin import _core
from widemargin.cli.streams import STANDARD, Counted, inner_suffix, reading
from widemargin.cli.system_errors import file_refusal

from .arrow_tables import ARROW, PARQUET, read_arrow
from .csv_tables import read_csv
from .parsed_data import Data, DataError, TableOptions, as_integers, check_parsed
from .sample_collector import Growing, Samples

_PIECE = 1 << 22
_MAX_LINE = 1 << 28
_MAX_FEATURES = 50_000_000  # a larger index is taken for a typing error


def read(
    path: str | os.PathLike[str],
    *,
    label: str | None = None,
    label_required: bool = True,
    serial_numbers: bool = False,
    text_labels: bool = False,
    mixed: Collection[str | int] | None = None,
    features: Collection[str] = (),
    watch: Callable[[int, int], None] | None = None,
) -> Data:
    """Read a data file.

    Parameters
    ----------
    path : path-like
        LIBSVM's format, or CSV if ``label`` is given or the name ends in ``.csv`` or
        ``.tsv``; either may be compressed with xz, bz2 or gzip, and a pipe. ``-`` is
        standard input. Parquet and Arrow files are known by their names.
    label : str, optional
        CSV: name or number (counted from 1) of the column that holds the label.
    label_required : bool, default=True
        Whether a CSV file without that column is refused. Otherwise all of its columns
        are features.
    serial_numbers : bool, default=False
        LIBSVM's precomputed kernels: each row starts with ``0:serial``, dropped here.
    text_labels : bool, default=False
        CSV: leave labels as the text they are, also where all of them are numbers: a
        model whose labels are text tells "1.0" from "1".
    mixed : collection of str or int, optional
        CSV: take columns of categories and missing values as well. These columns hold
        categories whatever they look like: names, or numbers of features from 0 where
        columns have no names.
    features : collection of str, optional
        Where no ``label`` is given, the only column that is none of these is the label.
    watch : callable, optional
        Called, every few megabytes, with the bytes of the file read so far and its
        size, which is 0 for a pipe.
    """
    given = os.fspath(path)
    shown = "stdin" if given == STANDARD else given
    table = TableOptions(label, label_required, text_labels, mixed, features)
    try:
        if given.lower().endswith(PARQUET + ARROW):
            return read_arrow(given, table)
        with reading(given) as (file, counted):
            pieces = _watched(_unmarked(_pieces(file, shown)), counted, watch)
            if label is not None or inner_suffix(given) in (".csv", ".tsv"):
                return read_csv(pieces, shown, table)
            return _read_svmlight(pieces, shown, serial_numbers)
    except (EOFError, lzma.LZMAError, zlib.error, gzip.BadGzipFile) as error:
        raise DataError(f"{shown}: damaged archive: {error}") from error
    except OSError as error:
        if error.errno is None:  # bz2 reports damage as an OSError of its own
            raise DataError(f"{shown}: damaged archive: {error}") from error
        raise DataError(file_refusal(shown, error)) from error


def _pieces(file: IO[bytes], path: str) -> Iterator[bytes]:
    """Whole lines, a few megabytes at a time."""
    rest = b""
    while block := file.read(_PIECE):
        end = block.rfind(b"\n") + 1
        if not end:
            rest += block
            if len(rest) > _MAX_LINE:
                raise DataError(f"{path}: a line longer than {_MAX_LINE} bytes")
            continue
        yield rest + block[:end]
        rest = block[end:]
    if rest:
        yield rest


def _unmarked(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Without the byte-order mark that spreadsheets and editors put at the start."""
    first = next(pieces, b"").removeprefix(b"\xef\xbb\xbf")
    if first:
        yield first
    yield from pieces


def _watched(
    pieces: Iterator[bytes], counted: Counted, watch: Callable[[int, int], None] | None
) -> Iterator[bytes]:
    for piece in pieces:
        if watch is not None:
            watch(counted.taken, counted.size)
        yield piece


def _read_svmlight(pieces: Iterator[bytes], path: str, serial_numbers: bool) -> Data:
    labels = Growing(np.float64)
    samples = Samples()
    line = 1
    for piece in pieces:
        found, counts, indices, values, lines, error = _core.parse_svmlight(
            piece, line, serial_numbers
        )
        check_parsed(path, error)
        if not serial_numbers:
            indices -= 1
        features = int(indices.max(initial=-1)) + 1
        if features > _MAX_FEATURES:
            raise DataError(
                f"{path}: feature number {features} is beyond the {_MAX_FEATURES} "
                "supported"
            )
        samples.extend(counts, indices, values)
        labels.extend(found)
        line += lines
    y = labels.finish()
    if len(y) == 0:
        raise DataError(f"{path}: no samples in the file")
    X = samples.finish()
    return Data(X[:, 1:] if serial_numbers else X, as_integers(y))
