"""Which levels a fit solves."""

from __future__ import annotations

from typing import Any

from widemargin.multilevel.driver import automatic_levels

SKIPPED = "levels save no time here: few rows, or a kernel that reaches across clusters"


def check_levels(n_levels: int | str, early_level: int | str) -> None:
    """Refuse an `early_level` above `n_levels`, whichever way one will predict."""
    if isinstance(n_levels, str) or isinstance(early_level, str):
        return
    if early_level > n_levels:
        raise ValueError(
            f"early_level={early_level} is above n_levels={n_levels}: lower "
            "early_level, raise n_levels, or leave n_levels='auto'."
        )


def early_levels(
    n: int, n_levels: int | str, early_level: int | str, n_branches: int
) -> tuple[int, int]:
    """Finest level to solve and the one to stop at, for early prediction."""
    finest = automatic_levels(n, n_branches)
    if isinstance(n_levels, str):
        stop = finest if isinstance(early_level, str) else int(early_level)
        return stop, stop
    if isinstance(early_level, str):
        return int(n_levels), min(finest, int(n_levels))
    return int(n_levels), int(early_level)


def exact_levels(
    n: int, n_levels: int | str, n_branches: int, wanted: bool
) -> tuple[int, int]:
    """Finest level to solve and the one to stop at before the whole problem.

    ``(0, 1)`` means none. "auto" solves one level where it is `wanted`: it pays, or the
    fit is to be resumed.
    """
    if not isinstance(n_levels, str):
        return int(n_levels), 1
    finest = automatic_levels(n, n_branches)
    return (finest, finest) if finest > 0 and wanted else (0, 1)


def skipped_stage(size: int) -> dict[str, Any]:
    """Return the stage record of levels that were left out."""
    return _stage("levels", size, 0.0) | {"skipped": SKIPPED}


def clustering_stage(size: int, seconds: float) -> dict[str, Any]:
    """Return the stage record of clusters that are made before a level is chosen."""
    return _stage("clustering", size, seconds)


def _stage(name: str, size: int, seconds: float) -> dict[str, Any]:
    return {
        "stage": name, "size": size, "seconds": seconds, "objective": None, "gap": None,
    }  # fmt: skip
