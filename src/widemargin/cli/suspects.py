"""``widemargin train --suspects``: a list of the labels that need to be checked."""

from __future__ import annotations

import csv
import io
import os
from typing import Any

import click
import numpy as np

from widemargin.cli.parsed_data import Data
from widemargin.cli.system_errors import refusal
from widemargin.runtime.atomic_file import replacing

from .output import InputError, catching_warnings, check_model_path

HEADER = ("row", "given", "predicted", "score")


def check_suspects_path(
    path: str, data: str, model: str, method: str, folds: int | None
) -> None:
    """Raise, before any work, if there will be no suspects or no place for them."""
    if method != "ramp":
        raise click.UsageError(f"--suspects needs --method ramp, not {method}")
    if folds is not None:
        raise click.UsageError("--suspects needs a model, and --folds makes none")
    if os.path.realpath(path) == os.path.realpath(model):
        raise click.UsageError(f"{path}: is the model's file, too")
    check_model_path(path, data, what="a list of suspects")


def write_suspects(path: str, estimator: Any, content: Data) -> None:
    """Write row number (from 0, in the order of the data), labels and score as CSV.

    The score is how far the margin is below the cut ``s``; the rows are ranked by it.
    """
    rows = estimator.suspects_
    given = np.asarray(content.y)[rows]
    with catching_warnings(quiet=True):
        predicted = estimator.predict(content.X[rows]) if len(rows) else given
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow(HEADER)
    writer.writerows(
        (row, label, other, f"{score:.6g}")
        for row, label, other, score in zip(
            rows.tolist(),
            given.tolist(),
            predicted.tolist(),
            estimator.suspect_scores_.tolist(),
            strict=True,
        )
    )
    try:
        with replacing(path) as file:
            file.write(text.getvalue().encode())
    except OSError as error:
        raise InputError(f"{path}: {refusal(error)}") from error
