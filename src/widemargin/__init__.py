"""Support vector machines for data as it really is.

The public names are imported when they are first used, so that the command prints its
first line long before scikit-learn is loaded.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from widemargin.engine.certificate import Certificate
    from widemargin.estimators.base.feature_scales import ScaleWarning
    from widemargin.estimators.chance_constrained import ChanceConstrainedSVC
    from widemargin.estimators.cost_sensitive import (
        CostReport,
        CostSensitiveSVC,
        total_cost_scorer,
    )
    from widemargin.estimators.divide_conquer import DivideConquerSVC
    from widemargin.estimators.dpwss import DPWSSClassifier
    from widemargin.estimators.nu_svc import NuSVC
    from widemargin.estimators.nu_svr import NuSVR
    from widemargin.estimators.one_class_svm import OneClassSVM
    from widemargin.estimators.private import (
        NoiseWarning,
        PrivacyBudgetError,
        PrivacyLedger,
        PrivacyWarning,
        PrivateSVC,
        PublicBoundsScaler,
        privacy_audit,
    )
    from widemargin.estimators.quantile_svr import QuantileSVR
    from widemargin.estimators.ramp import RampSVC
    from widemargin.estimators.svc import SVC
    from widemargin.estimators.svr import SVR
    from widemargin.tuning import (
        SVCCV,
        SVRCV,
        QuantileSVRCV,
        SharedGridSearchCV,
        c_path,
        leave_one_out,
    )
    from widemargin.uncertainty.conditional_gaussian import ConditionalGaussian
    from widemargin.uncertainty.error_columns import split_error_columns

    from .persistence import load, save
    from .persistence.libsvm_models import from_libsvm

__version__ = "0.1.0"

__all__ = [
    "SVC",
    "SVCCV",
    "SVR",
    "SVRCV",
    "Certificate",
    "ChanceConstrainedSVC",
    "ConditionalGaussian",
    "CostReport",
    "CostSensitiveSVC",
    "DPWSSClassifier",
    "DivideConquerSVC",
    "NoiseWarning",
    "NuSVC",
    "NuSVR",
    "OneClassSVM",
    "PrivacyBudgetError",
    "PrivacyLedger",
    "PrivacyWarning",
    "PrivateSVC",
    "PublicBoundsScaler",
    "QuantileSVR",
    "QuantileSVRCV",
    "RampSVC",
    "ScaleWarning",
    "SharedGridSearchCV",
    "c_path",
    "from_libsvm",
    "leave_one_out",
    "load",
    "privacy_audit",
    "save",
    "split_error_columns",
    "total_cost_scorer",
]

_HOMES = {
    "SVC": "estimators.svc",
    "SVCCV": "tuning",
    "SVR": "estimators.svr",
    "SVRCV": "tuning",
    "Certificate": "engine.certificate",
    "ChanceConstrainedSVC": "estimators.chance_constrained",
    "ConditionalGaussian": "uncertainty.conditional_gaussian",
    "CostReport": "estimators.cost_sensitive",
    "CostSensitiveSVC": "estimators.cost_sensitive",
    "DPWSSClassifier": "estimators.dpwss",
    "DivideConquerSVC": "estimators.divide_conquer",
    "NuSVC": "estimators.nu_svc",
    "NuSVR": "estimators.nu_svr",
    "NoiseWarning": "estimators.private",
    "OneClassSVM": "estimators.one_class_svm",
    "PrivacyBudgetError": "estimators.private",
    "PrivacyLedger": "estimators.private",
    "PrivacyWarning": "estimators.private",
    "PrivateSVC": "estimators.private",
    "PublicBoundsScaler": "estimators.private",
    "QuantileSVR": "estimators.quantile_svr",
    "QuantileSVRCV": "tuning",
    "RampSVC": "estimators.ramp",
    "ScaleWarning": "estimators.base.feature_scales",
    "SharedGridSearchCV": "tuning",
    "from_libsvm": "persistence.libsvm_models",
    "c_path": "tuning",
    "leave_one_out": "tuning",
    "load": "persistence",
    "privacy_audit": "estimators.private",
    "save": "persistence",
    "split_error_columns": "uncertainty.error_columns",
    "total_cost_scorer": "estimators.cost_sensitive",
}

# linear models of scikit-learn's svm, and whose linear kernel serves here
_LINEAR = {"LinearSVC": "SVC", "LinearSVR": "SVR"}


def __getattr__(name: str) -> Any:
    """Import a public name when it is asked for (PEP 562)."""
    if name not in _HOMES:
        words = f"module {__name__!r} has no attribute {name!r}"
        if name in _LINEAR:
            ours = f"{_LINEAR[name]}(kernel='linear')"
            words += f": use {ours}, which is fast here, or sklearn.svm.{name}"
        raise AttributeError(words)
    value = getattr(import_module(f".{_HOMES[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """List the public names, imported or not."""
    return sorted({*globals(), *__all__} - {"Any", "TYPE_CHECKING", "import_module"})
