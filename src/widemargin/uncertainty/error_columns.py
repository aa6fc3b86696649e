"""Error bars that stand beside their values: columns ``mass`` and ``mass_err``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.intp]

PATTERNS = ("*_err", "*_sd")


def paired_columns(
    names: Sequence[str], patterns: Sequence[str] = PATTERNS
) -> tuple[Integers, Integers]:
    """Return the positions of the features, and of the error column of each.

    In a pattern ``*`` stands for the name of the feature. Every feature must have one
    error column, and every error column its feature.
    """
    for pattern in patterns:
        if pattern.count("*") != 1 or pattern == "*":
            raise ValueError(
                f"the pattern {pattern!r} of error columns must hold one * in the "
                "place of the feature's name, as in '*_err'."
            )
    errors: dict[str, str] = {}
    for name in names:
        for pattern in patterns:
            before, after = pattern.split("*")
            fits = name.startswith(before) and name.endswith(after)
            feature = name[len(before) : len(name) - len(after)]
            if not fits or not feature:
                continue
            if feature not in names:
                raise ValueError(
                    f"the error column {name!r} belongs to a column {feature!r}, which "
                    "is not there."
                )
            if feature in errors:
                raise ValueError(
                    f"column {feature!r} has two error columns, {errors[feature]!r} "
                    f"and {name!r}: leave one out."
                )
            errors[feature] = name
    features = [name for name in names if name not in errors.values()]
    for feature in features:
        if feature not in errors:
            wanted = " or ".join(repr(p.replace("*", feature)) for p in patterns)
            raise ValueError(
                f"column {feature!r} has no error column: {wanted} expected; a column "
                "of zeros says that a value is exact."
            )
    place = {name: i for i, name in enumerate(names)}
    own = [place[feature] for feature in features]
    theirs = [place[errors[feature]] for feature in features]
    return np.array(own, dtype=np.intp), np.array(theirs, dtype=np.intp)


def variances_of(deviations: Any, names: Sequence[str]) -> Floats:
    """Return the squares of standard deviations, none of them negative or missing."""
    values = np.asarray(deviations, dtype=np.float64)
    wrong = ~(np.isfinite(values) & (values >= 0.0))
    if wrong.any():
        row, column = np.argwhere(wrong)[0]
        raise ValueError(
            f"the error column {names[column]!r} has {values[row, column]:g} in row "
            f"{row} (counted from 0): error bars are standard deviations, zero or "
            "more, and none may be missing."
        )
    return np.square(values)


def split_error_columns(
    frame: Any, patterns: Sequence[str] = PATTERNS
) -> tuple[Any, Floats]:
    """Split a data frame into its values and the variances of their error columns.

    A column ``mass`` has its standard deviations in ``mass_err`` or ``mass_sd``. What
    is returned goes to `ChanceConstrainedSVC.fit` and to its bounds.

    Parameters
    ----------
    frame : pandas.DataFrame of shape (n, 2 d)
        Values and their standard deviations, in any order of the columns.
    patterns : sequence of str
        Names of error columns; ``*`` stands for the name of the feature. By default
        ``*_err`` and ``*_sd``.

    Returns
    -------
    X : pandas.DataFrame of shape (n, d)
        The values.
    variances : ndarray of shape (n, d)
        Squares of the standard deviations, in the order of X's columns.

    Examples
    --------
    >>> import pandas as pd
    >>> from widemargin import split_error_columns
    >>> frame = pd.DataFrame({"mass": [1.0, 2.0], "mass_err": [0.1, 0.2]})
    >>> X, variances = split_error_columns(frame)
    >>> list(X.columns), variances.round(2).tolist()
    (['mass'], [[0.01], [0.04]])
    """
    patterns = (patterns,) if isinstance(patterns, str) else tuple(patterns)
    names = [str(name) for name in frame.columns]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"two columns are called {twice!r}: rename one of them.")
    features, errors = paired_columns(names, patterns)
    deviations = frame.iloc[:, errors].to_numpy(dtype=np.float64, na_value=np.nan)
    return frame.iloc[:, features], variances_of(deviations, [names[i] for i in errors])
