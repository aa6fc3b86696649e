"""Support vector machines for data as it really is.

The public names are imported when they are first used, so that the command says its
first word long before scikit-learn is loaded.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .certificate import Certificate
    from .chance_constrained import ChanceConstrainedSVC
    from .cost_sensitive import CostSensitiveSVC, total_cost_scorer
    from .divide_conquer import DivideConquerSVC
    from .dpwss import DPWSSClassifier
    from .feature_scales import ScaleWarning
    from .persistence import load, save
    from .private import PrivacyWarning, PrivateSVC, PublicBoundsScaler, privacy_audit
    from .ramp import RampSVC
    from .svc import SVC

__version__ = "0.1.0"

__all__ = [
    "SVC",
    "Certificate",
    "ChanceConstrainedSVC",
    "CostSensitiveSVC",
    "DPWSSClassifier",
    "DivideConquerSVC",
    "PrivacyWarning",
    "PrivateSVC",
    "PublicBoundsScaler",
    "RampSVC",
    "ScaleWarning",
    "load",
    "privacy_audit",
    "save",
    "total_cost_scorer",
]

_HOMES = {
    "SVC": "svc",
    "Certificate": "certificate",
    "ChanceConstrainedSVC": "chance_constrained",
    "CostSensitiveSVC": "cost_sensitive",
    "DPWSSClassifier": "dpwss",
    "DivideConquerSVC": "divide_conquer",
    "PrivacyWarning": "private",
    "PrivateSVC": "private",
    "PublicBoundsScaler": "private",
    "RampSVC": "ramp",
    "ScaleWarning": "feature_scales",
    "load": "persistence",
    "privacy_audit": "private",
    "save": "persistence",
    "total_cost_scorer": "cost_sensitive",
}


def __getattr__(name: str) -> Any:
    """Import a public name when it is asked for (PEP 562)."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f".{_HOMES[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """List the public names, imported or not."""
    return sorted({*globals(), *__all__})
