"""Support vector machines for data as it really is."""

from .certificate import Certificate
from .chance_constrained import ChanceConstrainedSVC
from .cost_sensitive import CostSensitiveSVC, total_cost_scorer
from .divide_conquer import DivideConquerSVC
from .dpwss import DPWSSClassifier
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
    "load",
    "privacy_audit",
    "save",
    "total_cost_scorer",
]
