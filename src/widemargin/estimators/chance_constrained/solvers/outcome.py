"""What every solver of this system returns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from widemargin.engine.certificate import Certificate
from widemargin.estimators.chance_constrained.data.chance_problem import ChanceProblem
from widemargin.estimators.chance_constrained.data.samples import Scaling
from widemargin.runtime.lazy import lazy_property

from .proof import Dual, Proof, prove

Floats = NDArray[np.float64]
Stage = dict[str, Any]

GOOD = ("polished", "converged")


@dataclass(frozen=True)
class ChanceSolution:
    """A model with its dual point; it proves how good it is when asked.

    Parameters
    ----------
    w, b : ndarray of shape (d,) and float
        The model.
    dual : Dual or None
        Multipliers and directions; None for solvers without a dual.
    evidence : callable
        Returns the proof.
    ended : str
        "polished", "converged", or why the solver stopped early: its own account.
    n_iter : int
        Newton or interior-point steps, or subgradient steps.
    seconds : float
        Wall time.
    history : list of dict
        Stage records.
    tol : float
        Relative gap up to which the problem counts as solved.
    """

    w: Floats
    b: float
    dual: Dual | None
    evidence: Callable[[], Proof]
    ended: str
    n_iter: int
    seconds: float
    history: list[Stage] = field(default_factory=list)
    tol: float = np.inf

    @lazy_property
    def proof(self) -> Proof:
        """Objective, bound and gap, rounding included."""
        return self.evidence()

    @property
    def objective(self) -> float:
        """Upper bound of the primal objective."""
        return self.proof.objective

    @property
    def status(self) -> str:
        """How the solver ended, as far as it is proved.

        One that ended well has "stalled" if rounding leaves the relative gap above
        ``tol``; beyond floating point nothing is proved, which is "overflow".
        """
        proof = self.proof
        if proof.objective == np.inf or (self.dual and proof.bound is None):
            return "overflow"
        relative = proof.relative
        if self.ended in GOOD and relative is not None and relative > self.tol:
            return "stalled"
        return self.ended

    def restored(self, problem: ChanceProblem, scaling: Scaling) -> ChanceSolution:
        """Return the solution in the units of X, where it is proved once more."""
        w, b = scaling.restore(self.w, self.b)
        dual = self.dual and self.dual.restored(scaling)
        evidence = partial(prove, problem, scaling, w, b, dual)
        return replace(self, w=w, b=b, dual=dual, evidence=evidence)

    @property
    def certificate(self) -> Certificate:
        """The record every estimator of the package reports."""
        return Certificate(
            status=self.status,
            objective=self.proof.objective,
            bound=self.proof.bound,
            gap=self.proof.gap,
            kkt_violation=None,
            n_iter=self.n_iter,
            seconds=self.seconds,
            threads=1,
        )


def as_found(problem: ChanceProblem, w: Floats, b: float, dual: Dual | None) -> Any:
    """Return the evidence for a model in the units in which it was found."""
    return partial(prove, problem, Scaling.identity(problem.shape[1]), w, b, dual)
