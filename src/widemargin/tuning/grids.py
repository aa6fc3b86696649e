"""Grids over C and gamma: where they begin, how they widen, how they get finer."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]

LEAST_C, MOST_C = 0.1, 1000.0
# around gamma="scale"
LEAST_SHARE, MOST_SHARE = 0.02, 20.0
WIDENED_BY = 2  # values by which a grid widens at a time
ROUNDS = 2  # times that it may widen
MOST_RATIO = 10.0  # ratio of neighbours beyond the border, at most
TOLERANCES = 10.0  # scores tie within this many ``tol``, in units of their spread
ANSWERS = 2  # changed answers that count as a tie, too
ROUNDING = 1e-7  # rounding in the scores of exact fits
FINER = 5  # values between the neighbours of the winner, it included


def values_or_grid(given: Any, least: float, most: float, name: str) -> Vector:
    """Return the values of a parameter: as given, or that many on a geometric grid."""
    if isinstance(given, int | np.integer) and not isinstance(given, bool):
        if given < 1:
            raise ValueError(
                f"{name}={given!r} must be at least 1, the number of values to try, or "
                "an array of values."
            )
        return (
            np.geomspace(least, most, int(given)) if given > 1 else _middle(least, most)
        )
    try:
        values = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):  # no numbers
        values = np.empty(0)
    positive = np.isfinite(values) & (values > 0)
    if values.ndim != 1 or values.size == 0 or not positive.all():
        raise ValueError(
            f"{name}={given!r} must be a number of values to try, or an array of "
            "positive numbers."
        )
    return np.unique(values)


def default_gammas(given: Any, scale: float) -> Vector:
    """Return the values of gamma: as given, or a number around the data's scale."""
    return values_or_grid(given, LEAST_SHARE * scale, MOST_SHARE * scale, "gammas")


def default_Cs(given: Any, least: float = LEAST_C, most: float = MOST_C) -> Vector:
    """Return the values of C: as given, or a number on a range."""
    return values_or_grid(given, least, most, "Cs")


def _middle(least: float, most: float) -> Vector:
    return np.array([np.sqrt(least * most)])


def widened(values: Vector, best: float) -> Vector:
    """Return values beyond the border at which the best one lies, if it does."""
    if values.size < 2:
        return np.empty(0)
    ratio = values[-1] / values[-2] if best >= values[-1] else values[1] / values[0]
    ratio = min(float(ratio), MOST_RATIO)
    steps = ratio ** np.arange(1.0, WIDENED_BY + 1)
    if best >= values[-1]:
        return np.asarray(values[-1] * steps)
    if best <= values[0]:
        return np.asarray(values[0] / steps[::-1])
    return np.empty(0)


def finer(values: Vector, best: float) -> Vector:
    """Return values between the neighbours of the best one, on a geometric grid."""
    place = int(np.argmin(np.abs(np.log(values / best))))
    if values.size < 2:
        return values
    below = values[place - 1] if place > 0 else best * best / values[1]
    above = values[place + 1] if place + 1 < values.size else best * best / values[-2]
    lower = np.geomspace(below, best, FINER // 2 + 2)[1:-1]
    upper = np.geomspace(best, above, FINER // 2 + 2)[1:-1]
    return np.concatenate([lower, [best], upper])


def near_the_best(scores: Vector, tol: float, n: int) -> NDArray[np.intp]:
    """Return the settings that fits to ``tol`` cannot tell from the best.

    Parameters
    ----------
    scores : ndarray
        Mean scores; NaN where a setting failed.
    tol : float
        KKT violation of the fits.
    n : int
        Rows: a few answers more or fewer count as a tie, too.
    """
    best = float(np.nanmax(scores))
    spread = best - float(np.nanmedian(scores))
    window = max(TOLERANCES * tol * spread, ANSWERS / n)
    return np.flatnonzero(scores >= best - window)


def first_of_the_best(scores: Vector, best: int) -> int:
    """Return the first setting that only rounding tells from the best."""
    if not np.isfinite(scores[best]):
        return best
    return int(np.argmax(scores >= scores[best] - ROUNDING))
