"""Refusal of labels that cannot be told apart or sorted, with the remedy."""

from __future__ import annotations

from typing import Any

import numpy as np


def refuse_odd_labels(y: Any) -> None:
    """Refuse missing labels, and labels of several types.

    Sorting them would end in Python's words about a comparison. No label is quoted: it
    may be private.
    """
    try:
        labels = np.asarray(y)
    except ValueError:  # rows of different lengths, which scikit-learn words
        return
    if labels.dtype != object or labels.ndim == 0:
        return
    labels = labels.ravel()
    missing = [row for row, label in enumerate(labels) if _is_missing(label)]
    if missing:
        raise ValueError(
            f"y has {len(missing)} missing labels (None or NaN), the first in row "
            f"{missing[0]}. Leave those rows out of X and y, or give them a label of "
            "their own."
        )
    kinds = sorted({_kind(label) for label in labels})
    if len(kinds) > 1:
        raise ValueError(
            f"y mixes labels of different types ({', '.join(kinds)}), which have no "
            "order. Give labels of one type, as in y = [str(label) for label in y]."
        )


def _is_missing(label: Any) -> bool:
    nan = isinstance(label, float | np.floating) and np.isnan(label)
    return label is None or nan or type(label).__name__ in ("NAType", "NaTType")


def _kind(label: Any) -> str:
    return "str" if isinstance(label, str) else type(label).__name__
