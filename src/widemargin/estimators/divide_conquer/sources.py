"""Where the rows of a fit are, and the kind of fit that follows from it."""

from __future__ import annotations

from typing import Any

from widemargin.runtime.dask_collections import is_dask

from .blockwise.exact_fit import fit_blocks
from .blockwise.on_disk import blocks_on_disk


def fit_elsewhere(estimator: Any, X: Any, y: Any, sample_weight: Any) -> bool | None:
    """Fit on dask collections or rows on disk; None for rows in memory.

    False where Ctrl-C ended the fit at a point that it keeps.
    """
    if is_dask(X, y, sample_weight):
        from .dask.fitting import fit_collections

        return fit_collections(estimator, X, y, sample_weight)
    blocks = blocks_on_disk(X, y, sample_weight, estimator)
    return None if blocks is None else fit_blocks(estimator, blocks)
