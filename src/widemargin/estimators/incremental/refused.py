"""Estimators without incremental updates, and the reason each one gives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

from widemargin.engine.kernels import Precomputed

Method = TypeVar("Method", bound=Callable[..., Any])

UPDATES = ("partial_fit", "forget", "update")


class Refused:
    """A method an estimator does not have, with the reason in one sentence.

    ``hasattr`` is False, as scikit-learn's conventions want it; using the method raises
    AttributeError with the reason.
    """

    def __init__(self, name: str, reason: str) -> None:
        self.name = name
        self.reason = reason

    def __get__(self, instance: Any, owner: type) -> Any:
        """Raise with the reason on instances; classes show the refusal itself."""
        if instance is None:
            return self
        raise AttributeError(f"{owner.__name__} has no {self.name}: {self.reason}")


def refuse_updates(estimator: type, reason: str) -> None:
    """Give an estimator class a reason for each of the updates it does not have."""
    for name in UPDATES:
        if not hasattr(estimator, name):
            setattr(estimator, name, Refused(name, reason))


def needs_rows(method: Method) -> Method:
    """Take a method away from an estimator that was fitted without keeping its rows.

    As with :class:`Refused` ``hasattr`` is then False, and the error has the remedy.
    """
    return cast(Method, _NeedsRows(method))


class _NeedsRows:
    def __init__(self, method: Any) -> None:
        self.method = method

    def __get__(self, instance: Any, owner: type) -> Any:
        """Return the method, or raise AttributeError where there are no rows."""
        if instance is None:
            return self.method
        if instance.__sklearn_is_fitted__() and not hasattr(instance, "_updates"):
            raise AttributeError(without_rows(instance))
        return self.method.__get__(instance, owner)


def without_rows(estimator: Any) -> str:
    """Return why a fitted estimator has no rows to update, and the remedy."""
    if isinstance(estimator._kernel, Precomputed):
        return (
            'kernel="precomputed" has no samples to keep, so the model can only be '
            "fitted anew; call fit, or use another kernel or a callable."
        )
    return (
        f"This {type(estimator).__name__} keeps its support vectors only; partial_fit, "
        "forget and update need all training rows. Fit with keep_rows=True or with "
        "ids=, or begin with partial_fit."
    )
