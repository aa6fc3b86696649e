"""Properties that are computed when first read, without a lock."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, Self, TypeVar, overload

Value = TypeVar("Value")


class lazy_property(Generic[Value]):
    """A method read as an attribute: computed once per instance, then kept in it.

    As ``functools.cached_property`` of Python 3.12. That of Python 3.11 has one lock
    for all instances: threads compute one after the other, and a process forked while
    another thread holds it waits for ever. Here two threads may both compute a value
    that is not there yet; the first one stored is what both return.
    """

    def __init__(self, compute: Callable[[Any], Value]) -> None:
        self._compute = compute
        self._name = compute.__name__
        self.__doc__ = compute.__doc__

    @overload
    def __get__(self, instance: None, owner: type) -> Self: ...

    @overload
    def __get__(self, instance: object, owner: type) -> Value: ...

    def __get__(self, instance: object | None, owner: type) -> Self | Value:
        if instance is None:
            return self
        # Found before this descriptor the next time: it has no ``__set__``.
        kept: Value = vars(instance).setdefault(self._name, self._compute(instance))
        return kept
