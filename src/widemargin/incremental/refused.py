"""How an estimator says that it cannot do what others can."""

from __future__ import annotations

from typing import Any


class Refused:
    """A method an estimator does not have, with the reason in one sentence.

    ``hasattr`` is False, as scikit-learn's conventions want it; using the method raises
    AttributeError with the reason.
    """

    def __init__(self, reason: str) -> None:
        self.reason = reason

    def __set_name__(self, owner: type, name: str) -> None:
        """Remember which method this stands for."""
        self.name = name

    def __get__(self, instance: Any, owner: type) -> Any:
        """Raise with the reason on instances; classes show the refusal itself."""
        if instance is None:
            return self
        raise AttributeError(f"{owner.__name__} has no {self.name}: {self.reason}")
