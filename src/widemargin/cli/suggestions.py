"""Suggestions for an unknown name: known names close to it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches

_SHOWN = 12


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return ``"; did you mean 'NAME'?"``, or nothing where no name is near.

    Capitals count as near: they are what differs between two exports of one table.
    """
    names = list(known)
    near = get_close_matches(word, names, n=1)
    if not near:
        folded = {name.lower(): name for name in names}
        near = [folded[found] for found in get_close_matches(word.lower(), folded, n=1)]
    return f"; did you mean {near[0]!r}?" if near else ""


def listed_names(names: Sequence[str]) -> str:
    """Return names separated by commas; a long list is cut and its rest counted."""
    more = len(names) - _SHOWN
    shown = ", ".join(names[:_SHOWN])
    return f"{shown} and {more} more" if more > 0 else shown
