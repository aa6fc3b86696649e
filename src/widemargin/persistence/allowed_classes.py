"""The classes a model file may name, and where they live.

The table is the whole of it: a name that is not here is refused, and a file never makes
Python import anything else.
"""

from __future__ import annotations

import dataclasses
import importlib
from typing import Any

from widemargin.runtime.model_file_format import StorageError

ESTIMATORS = {
    "SVC": "widemargin.estimators.svc",
    "DivideConquerSVC": "widemargin.estimators.divide_conquer",
    "RampSVC": "widemargin.estimators.ramp",
    "CostSensitiveSVC": "widemargin.estimators.cost_sensitive",
    "ChanceConstrainedSVC": "widemargin.estimators.chance_constrained",
    "DPWSSClassifier": "widemargin.estimators.dpwss",
    "PrivateSVC": "widemargin.estimators.private",
    "SVR": "widemargin.estimators.svr",
    "QuantileSVR": "widemargin.estimators.quantile_svr",
    "NuSVC": "widemargin.estimators.nu_svc",
    "NuSVR": "widemargin.estimators.nu_svr",
    "OneClassSVM": "widemargin.estimators.one_class_svm",
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
    "MissingIndicator": "sklearn.impute",
}
PARAMETERS = {  # objects that estimators hold as a parameter
    "PrivacyLedger": "widemargin.estimators.private.ledger",
}
RECORDS = {
    "Certificate": "widemargin.engine.certificate",
    "Linear": "widemargin.engine.kernels",
    "Polynomial": "widemargin.engine.kernels",
    "Gaussian": "widemargin.engine.kernels",
    "Laplacian": "widemargin.engine.kernels",
    "Sigmoid": "widemargin.engine.kernels",
    "Precomputed": "widemargin.engine.kernels",
    "PrivacyReport": "widemargin.estimators.private.report",
    "EarlyModel": "widemargin.estimators.divide_conquer.early",
    "InputRouter": "widemargin.multilevel.router",
    "KernelRouter": "widemargin.multilevel.router",
    "LiveRows": "widemargin.estimators.incremental.live_rows",
    "PairCosts": "widemargin.estimators.cost_sensitive.costs",
    "TaskState": "widemargin.estimators.incremental.task_state",
    "UpdateState": "widemargin.estimators.incremental.update_state",
    "RandomRouter": "widemargin.multilevel.router",
}


def known_class(name: str, *, record: bool) -> Any:
    """Return the class of that name; `StorageError` if there is none."""
    table = RECORDS if record else ESTIMATORS | TRANSFORMERS | PARAMETERS
    if name not in table:
        raise StorageError(
            f"names {name!r:.60}, which is not a class that a model file may hold"
        )
    cls = getattr(importlib.import_module(table[name]), name)
    if dataclasses.is_dataclass(cls) != record:
        raise StorageError(f"names {name!r:.60} in the wrong place")
    return cls


def name_of(cls: type) -> str | None:
    """Return the name under which a file may hold this class, None if it may not."""
    name = cls.__name__
    module = (ESTIMATORS | TRANSFORMERS | PARAMETERS | RECORDS).get(name)
    if module is None:
        return None
    if cls.__module__ == module or cls.__module__.startswith(f"{module}."):
        return name
    # scikit-learn's classes live in private modules and are exported from public ones
    return name if getattr(importlib.import_module(module), name, None) is cls else None
