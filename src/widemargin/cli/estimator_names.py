"""The methods of the command: their names and the estimators behind them."""

from __future__ import annotations

import importlib
from typing import Any

import click

#: ``--method`` -> module, class
METHODS: dict[str, tuple[str, str]] = {
    "svc": ("widemargin.estimators.svc", "SVC"),
    "dc": ("widemargin.estimators.divide_conquer", "DivideConquerSVC"),
    "ramp": ("widemargin.estimators.ramp", "RampSVC"),
    "cost": ("widemargin.estimators.cost_sensitive", "CostSensitiveSVC"),
    "chance": ("widemargin.estimators.chance_constrained", "ChanceConstrainedSVC"),
    "private": ("widemargin.estimators.private", "PrivateSVC"),
    "svr": ("widemargin.estimators.svr", "SVR"),
    "quantile": ("widemargin.estimators.quantile_svr", "QuantileSVR"),
    "nusvc": ("widemargin.estimators.nu_svc", "NuSVC"),
    "nusvr": ("widemargin.estimators.nu_svr", "NuSVR"),
    "oneclass": ("widemargin.estimators.one_class_svm", "OneClassSVM"),
    "dpwss": ("widemargin.estimators.dpwss", "DPWSSClassifier"),
}

#: LIBSVM's ``-s`` -> ``--method``
LIBSVM_KINDS = {
    "0": "svc",
    "1": "nusvc",
    "2": "oneclass",
    "3": "svr",
    "4": "nusvr",
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
