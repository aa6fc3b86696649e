"""The classes a model file may name, and where they live.

The table is the whole of it: a name that is not here is refused, and a file never makes
Python import anything else.
"""

from __future__ import annotations

import dataclasses
import importlib
from typing import Any

from ..storage import StorageError

ESTIMATORS = {
    "SVC": "widemargin.svc",
    "DivideConquerSVC": "widemargin.divide_conquer",
    "RampSVC": "widemargin.ramp",
    "CostSensitiveSVC": "widemargin.cost_sensitive",
    "ChanceConstrainedSVC": "widemargin.chance_constrained",
    "DPWSSClassifier": "widemargin.dpwss",
    "PrivateSVC": "widemargin.private",
}
TRANSFORMERS = {
    "Pipeline": "sklearn.pipeline",
    "ColumnTransformer": "sklearn.compose",
    "StandardScaler": "sklearn.preprocessing",
    "MinMaxScaler": "sklearn.preprocessing",
    "OneHotEncoder": "sklearn.preprocessing",
    # what a fitted ColumnTransformer has for "passthrough"; one with a function cannot
    # be stored, since a file holds no functions
    "FunctionTransformer": "sklearn.preprocessing",
    "SimpleImputer": "sklearn.impute",
}
RECORDS = {
    "Certificate": "widemargin.certificate",
    "Linear": "widemargin.kernels",
    "Polynomial": "widemargin.kernels",
    "Gaussian": "widemargin.kernels",
    "Sigmoid": "widemargin.kernels",
    "Precomputed": "widemargin.kernels",
    "PrivacyReport": "widemargin.private.report",
    "EarlyModel": "widemargin.divide_conquer.early",
    "InputRouter": "widemargin.routing",
    "KernelRouter": "widemargin.routing",
    "LiveRows": "widemargin.incremental.rows",
    "PairCosts": "widemargin.cost_sensitive.costs",
    "PairState": "widemargin.incremental.pairs",
    "RandomRouter": "widemargin.routing",
}


def known_class(name: str, *, record: bool) -> Any:
    """Return the class of that name; `StorageError` if there is none."""
    table = RECORDS if record else ESTIMATORS | TRANSFORMERS
    if name not in table:
        raise StorageError(
            f"names {name!r:.60}, which is no class a model file may hold"
        )
    cls = getattr(importlib.import_module(table[name]), name)
    if dataclasses.is_dataclass(cls) != record:
        raise StorageError(f"names {name!r:.60} in the wrong place")
    return cls


def name_of(cls: type) -> str | None:
    """Return the name under which a file may hold this class, None if it may not."""
    name = cls.__name__
    module = (ESTIMATORS | TRANSFORMERS | RECORDS).get(name)
    if module is None:
        return None
    if cls.__module__ == module or cls.__module__.startswith(f"{module}."):
        return name
    # scikit-learn's classes live in private modules and are exported from public ones
    return name if getattr(importlib.import_module(module), name, None) is cls else None
