"""Differentially private support vector machines, their report and their audit."""

from .audit import AuditResult, privacy_audit
from .estimator import PrivateSVC
from .features import PublicBoundsScaler
from .report import PrivacyReport, PrivacyWarning

__all__ = [
    "AuditResult",
    "PrivacyReport",
    "PrivacyWarning",
    "PrivateSVC",
    "PublicBoundsScaler",
    "privacy_audit",
]
