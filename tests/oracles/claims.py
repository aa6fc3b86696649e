"""What a certificate claims, compared with what is true."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

OUTWARD = Fraction(1, 2**52)  # a difference of two floats, rounded once


@dataclass(frozen=True)
class FalseClaim:
    """A claim beyond what is true, and by how much."""

    field: str
    claimed: float
    true: float
    scale: float

    @property
    def excess(self) -> float:
        """Distance from the truth, in units of the objective (of 1 for a violation)."""
        distance = abs(self.claimed - self.true)
        return distance / self.scale if distance else 0.0


@dataclass
class Verdict:
    """The judgement of one certificate.

    Attributes
    ----------
    false : list of FalseClaim
        Claims that are false beyond the error of the judge.
    unproven : bool
        Whether the bound is above the dual value of ``beta``, and no model known
        refutes it.
    missing : bool
        Whether the certificate has no bound.
    ratio : float or None
        Claimed gap over true gap, where both are there and the true one is not 0.
    share : float or None
        True gap over ``1 + |objective|``, where there is a ratio.
    """

    false: list[FalseClaim] = field(default_factory=list)
    unproven: bool = False
    missing: bool = False
    ratio: float | None = None
    share: float | None = None


def judge(certificate: Any, truth: Any) -> Verdict:
    """Compare every claim of a certificate with the truth.

    ``objective`` is at least the objective of the model, ``bound`` at most the optimum,
    ``gap`` at least their difference and ``kkt_violation`` at least the violation. A
    claim closer than the judge can see is looked at with more digits, if it is small.
    """
    verdict = _compared(certificate, truth)
    if verdict.false or verdict.missing:
        return verdict
    blur = truth.primal.high - truth.primal.low
    if math.isfinite(certificate.gap) and Fraction(certificate.gap) < blur:
        sharper = truth.sharper()
        verdict = verdict if sharper is None else _compared(certificate, sharper)
    return verdict


def _compared(certificate: Any, truth: Any) -> Verdict:
    verdict = Verdict(missing=certificate.bound is None)
    known, primal = certificate.kkt_violation, truth.primal
    if not _at_least(certificate.objective, primal.low):
        _convict(verdict, "objective", certificate.objective, primal.low, float(primal))
    if known is not None and not _at_least(known, truth.violation.low):
        _convict(verdict, "kkt_violation", known, truth.violation.low)
    if (certificate.bound is None) != (certificate.gap is None):
        _convict(verdict, "bound or gap", math.nan, Fraction(0))
    elif certificate.bound is not None:
        _judge_bound(verdict, certificate, truth)
        _judge_gap(verdict, certificate, truth)
    return verdict


def _convict(
    verdict: Verdict, name: str, claimed: float, true: Fraction, scale: float = 1.0
) -> None:
    scale = abs(scale) or 1.0
    verdict.false.append(FalseClaim(name, claimed, float(true), scale))


def _judge_bound(verdict: Verdict, certificate: Any, truth: Any) -> None:
    """No optimum is below the dual value of a feasible point, nor above a model's."""
    bound = certificate.bound
    if bound == -math.inf:
        return
    if truth.dual is not None and _at_least(float(-bound), -truth.dual.high):
        return
    verdict.unproven = True
    optimum = truth.optimum_at_most
    if optimum is not None and not _at_least(float(-bound), -optimum):
        _convict(verdict, "bound", bound, optimum, float(truth.primal))


def _judge_gap(verdict: Verdict, certificate: Any, truth: Any) -> None:
    objective, bound, gap = certificate.objective, certificate.bound, certificate.gap
    if not all(map(math.isfinite, (objective, bound, gap))):
        if math.isnan(gap):
            _convict(verdict, "gap", gap, Fraction(0))
        return
    difference = Fraction(objective) - Fraction(bound)
    if Fraction(gap) < difference * (1 - OUTWARD):
        _convict(verdict, "gap", gap, difference, objective)
    elif verdict.unproven or any(c.field == "objective" for c in verdict.false):
        # Where both others hold, this follows from them.
        optimum = truth.optimum_at_most
        distance = truth.primal.low - optimum if optimum is not None else Fraction(0)
        if Fraction(gap) < distance:
            _convict(verdict, "gap", gap, distance, objective)
    if truth.dual is not None:
        # No two floats of this size are closer than the second of these.
        true = max(float(truth.primal) - float(truth.dual), 2.0**-53 * abs(objective))
        verdict.ratio = gap / true if true > 0.0 else 1.0
        verdict.share = true / (1.0 + abs(objective))


def _at_least(claim: float, truth: Fraction) -> bool:
    if math.isnan(claim) or claim == -math.inf:
        return False
    return claim == math.inf or Fraction(claim) >= truth


def assert_claims_hold(
    certificate: Any, truth: Any, *, may_lack_bound: bool = False
) -> None:
    """Assert that no claim of a certificate is false.

    ``may_lack_bound`` is for problems of which nothing can be proved.
    """
    verdict = judge(certificate, truth)
    assert not verdict.false, (verdict.false, certificate)
    assert may_lack_bound or not verdict.missing, certificate
