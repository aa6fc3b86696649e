"""Messages of the page, checked before anything is done.

Whatever comes (text that is no JSON, NaN, other types, far too many points) becomes a
`Refused` with one line for the page, and the session is as it was.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NoReturn

from .presets import PRESETS

MAX_POINTS = 1500
MAX_BYTES = 150_000  # of a message: 1,500 points are two thirds of it
EDGE = 1.2  # points lie within this square; the page shows -1 to 1
_IDS = 2**31


class Refused(ValueError):
    """A message that is not answered, and why."""


class Outdated(Exception):
    """The points have changed: the answer is not wanted any more."""


@dataclass(frozen=True)
class Point:
    """A sample: two features and a label, or one feature and a target."""

    x: float
    y: float
    label: int


@dataclass(frozen=True)
class Settings:
    """What the sliders say."""

    C: float = 1.0
    gamma: float = 4.0
    cost: float = 1.0
    band: float = 0.8


@dataclass(frozen=True)
class Change:
    """What becomes of the points and settings, all at once."""

    removed: tuple[int, ...] = ()
    added: dict[int, Point] = field(default_factory=dict)
    settings: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Reset:
    """Begin again with a preset."""

    preset: str


_LIMITS = {"C": (1e-3, 1e4), "gamma": (1e-2, 1e3), "cost": (0.05, 20.0)}
_LIMITS["band"] = (0.1, 0.98)


def parsed(body: bytes) -> dict[str, Any]:
    """Return the object a message holds."""
    if len(body) > MAX_BYTES:
        raise Refused(f"the message is longer than {MAX_BYTES:,} bytes")
    try:
        message = json.loads(body, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise Refused(f"the message is no JSON: {error}") from error
    if not isinstance(message, dict):
        raise Refused("the message is not a JSON object")
    return message


def command(message: dict[str, Any], points: dict[int, Point]) -> Change | Reset:
    """Return what a message asks for, given the points there are."""
    makers: dict[str, Callable[..., Change | Reset]] = {
        "reset": _reset,
        "add": _add,
        "move": _move,
        "forget": _forget,
        "flip": _flip,
        "set": _set,
    }
    word = message.get("op")
    if not isinstance(word, str) or word not in makers:
        raise Refused(f"op {word!r:.40} is none of {', '.join(makers)}")
    return makers[word](message, points)


def number(message: dict[str, Any], name: str, low: float, high: float) -> float:
    """Return a finite number of a message, within limits."""
    value = message.get(name)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise Refused(f"{name} is not a number")
    if not low <= value <= high:  # nor is NaN, and an integer may be of any size
        raise Refused(f"{name} is not between {low:g} and {high:g}")
    return float(value)


def price(message: dict[str, Any]) -> float:
    """Return the C of a message."""
    return number(message, "C", *_LIMITS["C"])


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")


def _reset(message: dict[str, Any], _: dict[int, Point]) -> Reset:
    preset = message.get("preset")
    if not isinstance(preset, str) or preset not in PRESETS:
        raise Refused(f"preset {preset!r:.40} is none of {', '.join(PRESETS)}")
    return Reset(preset)


def _add(message: dict[str, Any], points: dict[int, Point]) -> Change:
    listed = message.get("points")
    if not isinstance(listed, list) or not listed:
        raise Refused("points is not a list of points")
    if len(points) + len(listed) > MAX_POINTS:
        raise Refused(
            f"{len(points) + len(listed):,} points are more than the {MAX_POINTS:,} "
            "this page takes; forget some first"
        )
    added: dict[int, Point] = {}
    for entry in listed:
        if not isinstance(entry, dict):
            raise Refused("a point is not an object")
        own = _id(entry.get("id"))
        if own in points or own in added:
            raise Refused(f"there is a point {own} already")
        added[own] = _point(entry)
    return Change(added=added)


def _move(message: dict[str, Any], points: dict[int, Point]) -> Change:
    own = _known(message.get("id"), points)
    place = _point({**message, "label": points[own].label})
    return Change(removed=(own,), added={own: place})


def _forget(message: dict[str, Any], points: dict[int, Point]) -> Change:
    return Change(removed=_several(message, points))


def _flip(message: dict[str, Any], points: dict[int, Point]) -> Change:
    chosen = _several(message, points)
    flipped = {
        own: Point(points[own].x, points[own].y, -points[own].label) for own in chosen
    }
    return Change(removed=chosen, added=flipped)


def _set(message: dict[str, Any], _: dict[int, Point]) -> Change:
    settings = {
        name: number(message, name, *limits)
        for name, limits in _LIMITS.items()
        if name in message
    }
    if not settings:
        raise Refused(f"set names none of {', '.join(_LIMITS)}")
    return Change(settings=settings)


def _point(entry: dict[str, Any]) -> Point:
    label = entry.get("label")
    if isinstance(label, bool) or label not in (-1, 1):
        raise Refused("a label is -1 or 1")
    x, y = number(entry, "x", -EDGE, EDGE), number(entry, "y", -EDGE, EDGE)
    return Point(x, y, int(label))


def _id(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < _IDS:
        raise Refused("the id of a point is not a number from 0 on")
    return value


def _known(value: Any, points: dict[int, Point]) -> int:
    own = _id(value)
    if own not in points:
        raise Refused(f"there is no point {own}")
    return own


def _several(message: dict[str, Any], points: dict[int, Point]) -> tuple[int, ...]:
    listed = message.get("ids")
    if not isinstance(listed, list) or not 0 < len(listed) <= MAX_POINTS:
        raise Refused("ids is not a list of points")
    return tuple(dict.fromkeys(_known(value, points) for value in listed))
