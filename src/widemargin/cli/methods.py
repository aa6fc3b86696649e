"""The methods of the command: their names and the estimators behind them."""

from __future__ import annotations

import importlib
from typing import Any

import click

#: ``--method`` -> module, class
METHODS: dict[str, tuple[str, str]] = {
    "svc": ("widemargin.svc", "SVC"),
    "dc": ("widemargin.divide_conquer", "DivideConquerSVC"),
    "ramp": ("widemargin.ramp", "RampSVC"),
    "cost": ("widemargin.cost_sensitive", "CostSensitiveSVC"),
    "chance": ("widemargin.chance_constrained", "ChanceConstrainedSVC"),
    "private": ("widemargin.private", "PrivateSVC"),
    "dpwss": ("widemargin.dpwss", "DPWSSClassifier"),
}


def estimator_class(method: str) -> Any:
    """Return the estimator of a method."""
    module, name = METHODS[method]
    try:
        return getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError) as error:  # an optional dependency
        raise click.UsageError(
            f"--method {method} is not available: {error}"
        ) from error


def available_methods() -> dict[str, Any]:
    """Return the methods that can be imported here, with their estimators."""
    found = {}
    for method in METHODS:
        try:
            found[method] = estimator_class(method)
        except click.UsageError:
            continue
    return found
