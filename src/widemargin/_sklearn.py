"""The only module that touches non-public names of scikit-learn.

Each is listed with what to do should it go away.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

# Parameter constraints: error messages as scikit-learn words them. Without them every
# estimator would check its parameters by hand.
from sklearn.base import _fit_context
from sklearn.utils._param_validation import Hidden, Interval, StrOptions

Method = TypeVar("Method", bound=Callable[..., Any])


def validated(fit: Method) -> Method:
    """Check the constructor parameters before a fit."""
    return cast(Method, _fit_context(prefer_skip_nested_validation=True)(fit))


__all__ = ["Hidden", "Interval", "StrOptions", "validated"]
