"""Which arguments are dask's: dask itself is imported by what then needs it."""

from __future__ import annotations

from typing import Any


def is_dask(*collections: Any) -> bool:
    """Whether any of the arguments is a dask collection, without importing dask."""
    return any(
        type(item).__module__.partition(".")[0] in ("dask", "dask_expr")
        for item in collections
    )
