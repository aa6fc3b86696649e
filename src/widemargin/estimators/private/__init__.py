"""Differentially private support vector machines, their report and their audit."""

from widemargin.estimators.incremental import refuse_updates

from .audit import privacy_audit
from .audit_result import AuditResult
from .estimator import PrivateSVC
from .features import PublicBoundsScaler
from .ledger import PrivacyBudgetError, PrivacyLedger
from .report import NoiseWarning, PrivacyReport, PrivacyWarning

__all__ = [
    "AuditResult",
    "NoiseWarning",
    "PrivacyBudgetError",
    "PrivacyLedger",
    "PrivacyReport",
    "PrivacyWarning",
    "PrivateSVC",
    "PublicBoundsScaler",
    "privacy_audit",
]

refuse_updates(
    PrivateSVC,
    "every release spends privacy budget, and none can be taken back.",
)
