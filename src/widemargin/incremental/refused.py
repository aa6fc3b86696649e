"""How an estimator says that it cannot learn and forget as others can."""

from __future__ import annotations

from typing import Any

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
