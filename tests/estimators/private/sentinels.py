"""Look for a training value in everything that a fitted object can reach."""

from __future__ import annotations

import pickle
import struct

import numpy as np
from scipy import sparse


def reachable(thing, seen=None):
    """Yield every object that attributes, items and cells lead to, once each."""
    seen = set() if seen is None else seen
    if id(thing) in seen:
        return
    seen.add(id(thing))
    yield thing
    parts = []
    if isinstance(thing, dict):
        parts += [*thing.keys(), *thing.values()]
    elif isinstance(thing, list | tuple | set | frozenset):
        parts += list(thing)
    elif sparse.issparse(thing):
        parts += [thing.data]
    if isinstance(thing, np.ndarray) and thing.base is not None:
        parts.append(thing.base)  # a view keeps the whole array alive
    if callable(thing) and getattr(thing, "__closure__", None):
        parts += [cell.cell_contents for cell in thing.__closure__]
    parts += list(getattr(thing, "__dict__", {}).values())
    for part in parts:
        if not isinstance(part, type) and type(part).__name__ != "module":
            yield from reachable(part, seen)


def holds(fitted, values) -> bool:
    """Whether any of the training values is reachable from the object or its pickle."""
    values = np.asarray(values, dtype=np.float64)
    for thing in reachable(fitted):
        if isinstance(thing, np.ndarray) and thing.dtype.kind in "fiu":
            if np.isin(values, thing.astype(np.float64)).any():
                return True
        elif isinstance(thing, float) and (values == thing).any():
            return True
    stored = pickle.dumps(fitted)
    return any(struct.pack("<d", value) in stored for value in values.ravel())


def chain(error):
    """Yield an exception and whatever is chained to it, shown or suppressed."""
    waiting, seen = [error], set()
    while waiting:
        error = waiting.pop()
        if error is None or id(error) in seen:
            continue
        seen.add(id(error))
        yield error
        waiting += [error.__cause__, error.__context__]


def quotes(error, *values) -> bool:
    """Whether an exception, or one chained to it, tells one of the values."""
    told = [f"{link} {link!r} {link.args!r} {vars(link)!r}" for link in chain(error)]
    return any(str(value) in text for value in values for text in told)
