"""Suggestions for an unknown name: known names close to it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence

_SHOWN = 12


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return ``"; did you mean 'NAME'?"``, or nothing where no name is near."""
    near = _nearest(word, list(known))
    return f"; did you mean {near!r}?" if near else ""


def nearby_file(path: str) -> str:
    """Return `did_you_mean` of a file that is not there, whatever its suffix."""
    folder, name = os.path.split(path)
    try:
        stems = {
            os.path.splitext(found)[0]: found for found in os.listdir(folder or ".")
        }
    except OSError:
        return ""
    near = _nearest(os.path.splitext(name)[0], list(stems))
    return f"; did you mean {os.path.join(folder, stems[near])!r}?" if near else ""


def _nearest(word: str, names: list[str]) -> str | None:
    """Return the name that is most like a word.

    Capitals count as near: they are what differs between two exports of one table.
    """
    from difflib import get_close_matches  # only after a mistake

    near = get_close_matches(word, names, n=1)
    if not near:
        folded = {name.lower(): name for name in names}
        near = [folded[found] for found in get_close_matches(word.lower(), folded, n=1)]
    return near[0] if near else None


def listed_names(names: Sequence[str]) -> str:
    """Return names separated by commas; a long list is cut and its rest counted."""
    more = len(names) - _SHOWN
    shown = ", ".join(names[:_SHOWN])
    return f"{shown} and {more} more" if more > 0 else shown
