"""The only module that touches non-public names of scikit-learn.

Each is listed with what to do should it go away.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, wraps
from inspect import signature
from typing import Any, TypeVar, cast

from sklearn import get_config

# Parameter constraints: error messages as scikit-learn words them. Without them every
# estimator would check its parameters by hand.
from sklearn.base import _fit_context
from sklearn.utils._param_validation import (
    Hidden,
    Interval,
    StrOptions,
    make_constraint,
)
from sklearn.utils.metaestimators import _safe_split as safe_split
from sklearn.utils.validation import _check_method_params as indexed_params

from widemargin.runtime.fork_lock import ForkLock

# Callbacks (1.9 and later, experimental): progress bars and early stops of the user's
# choice, ``SVC().set_callbacks(ProgressBar())``. Without them ``verbose`` shows a bar.
try:
    from sklearn.callback import CallbackSupportMixin
except ImportError:

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Stands in where scikit-learn has no callbacks yet."""


# One cell of a search whose fit is not shared, and what a search says of failed cells:
# the same errors, warnings and scores as GridSearchCV, verbatim. Without them the
# search would split, fit, score and word failures by hand.
fit_and_score: Any
insert_error_scores: Any
model_scores: Any
warn_of_failed_fits: Any

Method = TypeVar("Method", bound=Callable[..., Any])
_OPENING = ForkLock()  # class pairs may be solved side by side


def __getattr__(name: str) -> Any:
    """Return what searches use; an estimator alone does not wait for its import."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from sklearn.model_selection import _validation

    parts = {
        "fit_and_score": _validation._fit_and_score,
        "insert_error_scores": _validation._insert_error_scores,
        "model_scores": _validation._score,
        "warn_of_failed_fits": _validation._warn_or_raise_about_fit_failures,
    }
    return parts[name]


def validated(fit: Method) -> Method:
    """Check the constructor parameters before a fit, close its callbacks after it."""

    @wraps(fit)
    def fit_and_close(estimator: Any, *args: Any, **kwargs: Any) -> Any:
        result = fit(estimator, *args, **kwargs)
        context = getattr(estimator, "_callback_fit_ctx", None)
        if context is not None:
            context.call_on_fit_task_end(estimator=estimator)
        return result

    followed = _fit_context(prefer_skip_nested_validation=True)(fit_and_close)

    @wraps(fit)
    def checked(estimator: Any, *args: Any, **kwargs: Any) -> Any:
        if has_callbacks(estimator):
            return followed(estimator, *args, **kwargs)
        # Without callbacks scikit-learn's context does no more than this, in the time
        # that it takes to solve a small problem.
        if not get_config()["skip_parameter_validation"]:
            estimator._validate_params()
        return fit_and_close(estimator, *args, **kwargs)  # warnings count the frames

    return cast(Method, checked)


class QuickParameters:
    """Names and constraints of parameters made once a class, not with every fit.

    A fifth of a small fit. Should the methods go away, so may this class.
    """

    @classmethod
    @cache
    def _get_param_names(cls) -> list[str]:
        names: list[str] = super()._get_param_names()  # type: ignore[misc]
        return names

    @classmethod
    @cache
    def _constraints(cls) -> dict[str, list[Any]]:
        listed: dict[str, Any] = cls._parameter_constraints  # type: ignore[attr-defined]
        return {
            name: [make_constraint(constraint) for constraint in listed[name]]
            for name in cls._get_param_names()
            if name in listed and listed[name] != "no_validation"
        }

    @classmethod
    @cache
    def _defaults(cls) -> dict[str, Any]:
        parameters = signature(cls.__init__).parameters.values()
        return {one.name: one.default for one in parameters}

    def _validate_params(self) -> None:
        defaults, present = self._defaults(), vars(self)
        for name, constraints in self._constraints().items():
            value = present[name]
            if value is defaults[name]:  # it satisfies them
                continue
            if not any(constraint.is_satisfied_by(value) for constraint in constraints):
                super()._validate_params()  # type: ignore[misc]  # words the error


def has_callbacks(estimator: Any) -> bool:
    """Whether a user has set callbacks that follow a fit."""
    return bool(getattr(estimator, "_skl_callbacks", None))


class CallbackTask:
    """One solve as a task of scikit-learn's callback API, of a stated number of steps.

    Does nothing without the API or without callbacks.
    """

    def __init__(self, estimator: Any, name: str, steps: int) -> None:
        self._estimator = estimator
        self._context: Any = None
        if not has_callbacks(estimator):
            return
        if not hasattr(estimator, "_init_callback_context"):
            return
        with _OPENING:
            if not hasattr(estimator, "_callback_fit_ctx"):
                root = estimator._init_callback_context(max_subtasks=None)
                root.call_on_fit_task_begin(estimator=estimator)
            root = estimator._callback_fit_ctx
            self._context = root.subcontext(task_name=name, max_subtasks=steps)
        self._context.call_on_fit_task_begin(estimator=estimator)

    @property
    def has_callbacks(self) -> bool:
        """Whether a callback receives the steps."""
        return self._context is not None

    def step(self) -> bool:
        """Report one more step done; returns whether a callback asks to stop."""
        step = self._context.subcontext(task_name="step")
        step.call_on_fit_task_begin(estimator=self._estimator)
        return bool(step.call_on_fit_task_end(estimator=self._estimator))

    def close(self) -> None:
        """Report the end of the task."""
        if self._context is not None:
            self._context.call_on_fit_task_end(estimator=self._estimator)


__all__ = [
    "CallbackSupportMixin",
    "CallbackTask",
    "Hidden",
    "Interval",
    "StrOptions",
    "fit_and_score",
    "indexed_params",
    "insert_error_scores",
    "model_scores",
    "safe_split",
    "validated",
    "warn_of_failed_fits",
]
