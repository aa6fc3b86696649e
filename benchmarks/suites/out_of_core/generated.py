"""Generated rows of which a per cent or two are support vectors, block by block.

Ten blobs in 20 dimensions, every other one of the second class, and two labels in a
thousand flipped: no process needs to have all rows, and a block is the same for the
same number.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from suites.dask_workers import block_lengths, generated_rows

FEATURES = 20
BLOBS = 10
SPREAD = 0.2
FLIPPED = 0.002
HELD = 10**6  # number of the block that no fit sees
SETTINGS: dict[str, Any] = {"C": 1.0, "gamma": 0.3}


def make_block(number: int, rows: int) -> NDArray[np.float32]:
    """Rows of one block, the last column its label."""
    centres = np.random.default_rng(0).uniform(size=(BLOBS, FEATURES))
    rng = np.random.default_rng([1, number])
    blob = rng.integers(BLOBS, size=rows)
    samples = centres[blob] + rng.normal(scale=SPREAD, size=(rows, FEATURES))
    label = (blob % 2 == 1) ^ (rng.random(rows) < FLIPPED)
    return np.column_stack([samples, label]).astype(np.float32)


def as_dask(n: int) -> tuple[Any, Any]:
    """Rows and labels as dask arrays."""
    return generated_rows(make_block, n, FEATURES)


def write_map(folder: Path, n: int) -> None:
    """Write rows and labels to files, a block at a time."""
    shape = (n, FEATURES)
    rows = np.memmap(folder / "rows", mode="w+", dtype=np.float32, shape=shape)
    labels = np.empty(n, dtype=np.float32)
    first = 0
    for number, length in enumerate(block_lengths(n)):
        block = make_block(number, length)
        rows[first : first + length] = block[:, :FEATURES]
        labels[first : first + length] = block[:, FEATURES]
        first += length
    rows.flush()
    np.save(folder / "labels.npy", labels)
