"""``widemargin train --error-columns``: error bars from the columns of a CSV file."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from widemargin.cli.parsed_data import Data
from widemargin.uncertainty.error_columns import paired_columns, variances_of

from .output import InputError


def check_error_columns(method: str, scale: str | None) -> None:
    """Refuse error columns where no method takes them, or a scaler would miss them."""
    if method != "chance":
        raise InputError(
            "--error-columns needs --method chance: no other method uses error bars"
        )
    if scale is not None:
        raise InputError(
            "--scale with --error-columns would scale the values and not their error "
            "bars: use --standardize true"
        )


def split_errors(
    path: str, content: Data, patterns: str
) -> tuple[Data, NDArray[np.float64]]:
    """Return the data without its error columns, and the variances that they state."""
    if content.names is None:
        raise InputError(
            f"{path}: --error-columns needs CSV whose first line names the columns"
        )
    names = content.names
    try:
        features, errors = paired_columns(names, patterns.split(","))
        variances = variances_of(content.X[:, errors], [names[i] for i in errors])
    except ValueError as error:
        raise InputError(f"{path}: {str(error).rstrip('.')}") from error
    kept = np.ascontiguousarray(content.X[:, features])
    return replace(content, X=kept, names=[names[i] for i in features]), variances
