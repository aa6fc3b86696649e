"""Tables of Parquet and Arrow files, by pyarrow where it is installed.

Their columns have types, so nothing is guessed: numbers and truth values are numbers,
text and dictionaries are categories, and what is neither is refused by name.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .mixed_tables import Mixed
from .parsed_data import (
    Data,
    DataError,
    TableOptions,
    as_integers,
    check_size,
    label_values,
    no_label,
    numbered_column,
)

#: how the names of such files end
PARQUET, ARROW = (".parquet", ".pq"), (".arrow", ".feather", ".ipc")


def load_table(path: str) -> Any:
    """Return the table in a file; ValueError says what is wrong with it."""
    try:
        import pyarrow
        from pyarrow import ipc, parquet
    except ImportError as error:
        raise ValueError(
            "Parquet and Arrow files need pyarrow: pip install 'widemargin[parquet]'"
        ) from error
    try:
        with open(path, "rb") as file:
            if path.lower().endswith(PARQUET):
                return parquet.ParquetFile(file).read()
            try:
                return ipc.open_file(file).read_all()
            except pyarrow.ArrowInvalid:  # a stream has no table of contents
                file.seek(0)
                return ipc.open_stream(file).read_all()
    except pyarrow.ArrowException as error:
        reason = str(error).splitlines()[0]
        raise ValueError(f"damaged, or not what its name says: {reason}") from error


def is_text(column: Any) -> bool:
    """Whether a column holds categories by its type."""
    from pyarrow import types

    kind = column.type
    return bool(
        types.is_string(kind)
        or types.is_large_string(kind)
        or types.is_string_view(kind)
        or types.is_dictionary(kind)
    )


def numbers(name: str, column: Any) -> NDArray[np.float64]:
    """Return a column as numbers, NaN where there is none."""
    import pyarrow
    from pyarrow import compute, types

    kind = column.type
    number = types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind)
    if not (number or types.is_boolean(kind) or types.is_null(kind)):
        raise ValueError(
            f"column {name!r} is of type {kind}, and only numbers, truth values and "
            "text can be used: leave it out or make numbers of it"
        )
    rounded = compute.cast(column, pyarrow.float64(), safe=False)
    values = np.array(rounded.to_numpy(), dtype=np.float64)
    infinite = np.flatnonzero(np.isinf(values))
    if len(infinite):
        raise ValueError(
            f"column {name!r}, row {infinite[0] + 1}: not a finite number; where there "
            "is no value, write a null"
        )
    return values


def categories(name: str, column: Any) -> tuple[NDArray[np.float64], list[str]]:
    """Return which category each row has, NaN for none, and the categories."""
    import pyarrow
    from pyarrow import compute, types

    if types.is_dictionary(column.type):
        column = compute.cast(column, column.type.value_type)
    if not is_text(column):
        numbers(name, column)  # refuses what cannot be used
    text = compute.cast(column, pyarrow.large_string()).combine_chunks()
    if isinstance(text, pyarrow.ChunkedArray):
        text = pyarrow.concat_arrays(text.chunks)
    coded = text.dictionary_encode()
    codes = compute.cast(coded.indices, pyarrow.float64())
    return np.array(codes.to_numpy(zero_copy_only=False)), coded.dictionary.to_pylist()


def features(
    table: Any, columns: Sequence[int], categorical: Collection[str | int]
) -> tuple[NDArray[np.float64], Mixed]:
    """Return samples of some columns, and what these hold beside numbers.

    Columns named as ``categorical`` are categories even if their type is numeric.
    """
    X, mixed = np.empty((table.num_rows, len(columns))), Mixed()
    for i, position in enumerate(columns):
        name, column = table.column_names[position], table.column(position)
        if is_text(column) or name in categorical:
            X[:, i], mixed.categories[i] = categories(name, column)
            if is_text(column):
                mixed.text[i] = f" column {name!r} holds text"
        else:
            X[:, i] = numbers(name, column)
        missing = np.flatnonzero(np.isnan(X[:, i]))
        if len(missing):
            mixed.missing[i] = f" row {missing[0] + 1}: no value"
    return X, mixed


def read_arrow(path: str, options: TableOptions) -> Data:
    """Read a Parquet or Arrow file."""
    mixed = options.mixed
    try:
        table = load_table(path)
        names: list[str] = table.column_names
        label = options.label_among(names)
        if len(set(names)) < len(names):
            twice = sorted({name for name in names if names.count(name) > 1})
            raise ValueError(f"two columns are called {twice[0]!r}: rename one")
        column = numbered_column(label, len(names))
        column = names.index(label) if label in names else column
        if column is None and options.label_required:
            raise DataError(no_label(path, label, names, named=True))
        chosen = [i for i in range(len(names)) if i != column]
        check_size(path, table.num_rows, len(chosen))
        X, kinds = features(table, chosen, mixed or ())
        y = None
        if column is not None:
            y = _label_column(path, table, column, options.text_labels)
    except DataError:
        raise
    except ValueError as error:
        raise DataError(f"{path}: {error}") from error
    columns = [names[i] for i in chosen]
    if mixed is not None:
        return Data(X, y, columns, True, kinds)
    for place in kinds.text.values():
        raise DataError(f"{path}:{place}")
    for i, place in kinds.missing.items():
        raise DataError(f"{path}: column {columns[i]!r},{place}")
    return Data(X, y, columns, True)


def _label_column(path: str, table: Any, column: int, text: bool) -> NDArray[Any]:
    """Return the labels of a column, as integers, floats or text."""
    name, values = table.column_names[column], table.column(column)
    if is_text(values) or text or _has_long_integers(values):
        codes, texts = categories(name, values)
    else:
        codes, texts = numbers(name, values), None
    missing = np.flatnonzero(np.isnan(codes))
    if len(missing):
        raise DataError(f"{path}: row {missing[0] + 1}: empty label")
    if texts is None:
        return as_integers(codes)
    distinct = [one.encode() for one in texts]
    return label_values(distinct, path, text)[codes.astype(np.intp)]


def _has_long_integers(column: Any) -> bool:
    """Whether a column has integers of more digits than a float holds."""
    from pyarrow import compute, types

    if not types.is_integer(column.type):
        return False
    ends = compute.min_max(column).as_py().values()
    return any(end is not None and abs(end) >= 2**53 for end in ends)
