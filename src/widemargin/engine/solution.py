"""A solved problem that certifies itself."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from widemargin.numerics.cholesky import is_definite
from widemargin.numerics.products import inner
from widemargin.runtime.lazy import lazy_property

from .bounded_values import CURRENT, UNKNOWN, BoundedValues, Evidence, KnownPoint
from .bounds import dual_bound, gap_between, objective_bound, violation_bound
from .certificate import (
    Certificate,
    duality_gap,
    primal_objective,
    total_gap,
    violation,
)
from .intercept import optimal_intercept
from .kernels import CallableKernel, Precomputed
from .problem import DualProblem
from .status import Status
from .verification import verify, verify_closely

Vector = NDArray[np.float64]

PROBES = 1000  # support vectors among which a user's matrix is tested
NOT_FINITE = (  # in scikit-learn's words
    "The dual coefficients or intercepts are not finite. The input data may contain "
    "large values and need to be preprocessed."
)


@dataclass(frozen=True, eq=False)
class Solution:
    """A feasible point of a :class:`DualProblem`, and how good it is.

    Parameters
    ----------
    problem : DualProblem
        What was solved.
    beta : ndarray of shape (n,)
        Signed dual variables: the coefficients of the model.
    known_values : ndarray of shape (n,)
        ``K @ beta``, the decision values without the intercept; where ``stale``, of an
        earlier point.
    status : Status
        How the solve ended.
    n_iter : int
        Pair steps taken.
    seconds : float
        Wall time.
    exact : bool
        Whether the values were summed in float64 throughout.
    evidence : Evidence, optional
        What the solver knows of its values: rounding, and the point each belongs to.
        Values of members at zero that lie far beyond the margin are not brought up to
        date; they would cost a good part of a fit.
    checked : BoundedValues, optional
        The values with bounds on their rounding, once :meth:`verified`.
    screened : list of dict, optional
        What a screening rule found at each of its checks, if there was one.
    kept_intercept : float, optional
        The intercept where it is known already, as of a model that is updated.
    near : KnownPoint, optional
        Where the solve began, if ``K`` times that point is known with its rounding.
    """

    problem: DualProblem
    beta: Vector
    known_values: Vector
    status: Status
    n_iter: int = 0
    seconds: float = 0.0
    exact: bool = False
    evidence: Evidence | None = None
    checked: BoundedValues | None = None
    screened: list[dict[str, float]] | None = None
    kept_intercept: float | None = None
    near: KnownPoint | None = None

    @property
    def stale(self) -> NDArray[np.bool_] | None:
        """Mask of members whose known value is not that of ``beta``; None if none."""
        if self.evidence is None:
            return None
        mask: NDArray[np.bool_] = self.evidence.anchors != CURRENT
        if self.checked is not None:
            mask |= np.isinf(self.evidence.errors)
            mask &= ~self.checked.summed
        return mask if mask.any() else None

    @lazy_property
    def values(self) -> Vector:
        """``K @ beta`` for all members."""
        stale = self.stale
        if stale is None:
            return self.known_values
        values = self.known_values.copy()
        outdated = np.flatnonzero(stale)
        values[outdated] = self.problem.gram.times(self.beta, outdated)
        return values

    @lazy_property
    def intercept(self) -> float:
        """Midpoint of the optimal intercepts; 0 when the problem has none."""
        if self.kept_intercept is not None:
            return self.kept_intercept
        p = self.problem
        if self.checked is not None and not self.exact:
            return self.checked.intercept(p)
        values, linear, lower, upper = self.known_values, p.linear, p.lower, p.upper
        kink = p.kink
        if self.evidence is not None and (self.evidence.anchors == UNKNOWN).any():
            known = self.evidence.anchors != UNKNOWN
            values, linear = values[known], linear[known]
            lower, upper = lower[known], upper[known]
            kink = None if kink is None else kink[known]
        return optimal_intercept(values, linear, lower, upper, p.total, kink)

    def known_point(self) -> KnownPoint | None:
        """Return the point with its verified values, if all of them are."""
        if self.checked is None or not self.checked.summed.all():
            return None
        return KnownPoint(self.beta, self.checked)

    @property
    def support(self) -> NDArray[np.intp]:
        """Indices of the samples with a non-zero coefficient."""
        return np.flatnonzero(self.beta != 0.0)

    @property
    def margin(self) -> NDArray[np.intp]:
        """Indices of the free support vectors: strictly between their bounds."""
        return np.flatnonzero(self.problem.free(self.beta))

    @property
    def converged(self) -> bool:
        """Whether the requested tolerance was reached."""
        return self.status.solved

    def verified(self) -> Solution:
        """Return the same point with bounds on the rounding of its values."""
        if self.checked is not None:
            return self
        late = self.status in (Status.MAX_TIME, Status.INTERRUPTED)
        checked = verify(
            self.problem, self.beta, self.known_values, self.evidence,
            near=self.near, late=late,
        )  # fmt: skip
        return self.checked_by(checked)

    def checked_by(self, checked: BoundedValues) -> Solution:
        """Return the same point with values that were verified."""
        # Exact values are as good, and some of the others are float32 sums.
        values = self.known_values if self.exact else checked.values
        return replace(self, known_values=values, checked=checked)

    def verified_closely(self) -> Solution:
        """Return the same point with narrower bounds, where there is a way to them."""
        checked = verify_closely(self.problem, self.beta)
        if checked is None:
            return self
        return replace(self, known_values=checked.values, checked=checked)

    @lazy_property
    def proved_violation(self) -> float:
        """Upper bound on the KKT violation, rounding included."""
        checked = self.verified().checked
        assert checked is not None
        return violation_bound(self.problem, self.beta, checked.values, checked.errors)

    @property
    def figures(self) -> Figures:
        """Objective, gap and violation: proved, or else as the solver saw them."""
        if self.checked is not None:
            return self.certificate
        p, values = self.problem, self.known_values
        box = p.linear, p.lower, p.upper
        objective = primal_objective(
            self.beta, values, self.intercept, *box, p.total, p.kink
        )
        gap = None
        if is_convex(p, self.beta, values):
            residual = p.linear - values - self.intercept
            gap = duality_gap(self.beta, residual, p.lower, p.upper, p.kink)
        return Estimate(objective, gap, violation(p, self.beta, values))

    @lazy_property
    def certificate(self) -> Certificate:
        """Objective, bound, gap and violation of the stored point, rounding included.

        A point that was not verified is verified here; its intercept stays as it was.
        """
        return certify(self.verified(), self.intercept)

    def knowing(self, intercept: float, certificate: Certificate) -> Self:
        """Return this solution with figures that its solve has proved already.

        Kept as lazy properties are: a copy with other values computes its own.
        """
        violation = certificate.kkt_violation
        known = {"intercept": intercept, "proved_violation": violation}
        vars(self).update(known, certificate=certificate)
        return self

    def recomputed(self) -> Solution:
        """Return the same point with ``K @ beta`` evaluated afresh in float64.

        Nothing the solver computed is trusted: this is the independent check.
        """
        return Solution(
            self.problem,
            self.beta,
            self.problem.gram.times(self.beta),
            self.status,
            self.n_iter,
            self.seconds,
        )


def certify(solution: Solution, intercept: float) -> Certificate:
    """Return the certificate of a verified point with any intercept."""
    p, beta, checked = solution.problem, solution.beta, solution.checked
    assert checked is not None
    values, errors = checked.values, checked.errors
    objective = objective_bound(p, beta, intercept, values, errors)
    if not np.isfinite(objective):  # kernel values overflow
        raise ValueError(NOT_FINITE)
    bound = None
    if is_convex(p, beta, values):
        bound = dual_bound(p, beta, values, errors)
    return certificate_of(solution, objective, bound)


def certificate_of(
    solution: Solution, objective: float, bound: float | None
) -> Certificate:
    """Return the record of a verified point with these proved figures."""
    return Certificate(
        status=solution.status.value,
        objective=objective,
        bound=bound,
        gap=gap_between(objective, bound),
        kkt_violation=solution.proved_violation,
        n_iter=solution.n_iter,
        seconds=solution.seconds,
        threads=solution.problem.gram.threads,
    )


def is_convex(problem: DualProblem, beta: Vector, values: Vector) -> bool:
    """Whether the kernel is positive semidefinite, so that the gap is a proof.

    For a user's matrix or function: whether nothing shows that it is not,
    neither the norm of the solution nor the eigenvalues among some support vectors.
    """
    kernel = problem.gram.kernel
    if not isinstance(kernel, Precomputed | CallableKernel):
        return kernel.semidefinite
    support = np.flatnonzero(beta != 0.0)
    some = support[:: max(1, -(-support.size // PROBES))]
    block = problem.gram.rows(some, some)
    rounding = float(np.finfo(np.float32).eps) * float(np.abs(block).max(initial=0.0))
    norm, sizes = inner(beta, values), float(np.abs(beta).sum())
    if norm < -rounding * sizes * sizes:
        return False
    block = 0.5 * (block + block.T)
    block[np.diag_indices(some.size)] += rounding * some.size + np.finfo(float).tiny
    return is_definite(block)


class Figures(Protocol):
    """What a stage record sums: a certificate, or an estimate on the way to one."""

    @property
    def objective(self) -> float:
        """Primal objective."""

    @property
    def gap(self) -> float | None:
        """Distance of the objective to a lower bound, where there is one."""

    @property
    def kkt_violation(self) -> float | None:
        """Violation of the optimality conditions."""


@dataclass(frozen=True)
class Estimate:
    """Figures of a point whose values were not verified: unproved estimates."""

    objective: float
    gap: float | None
    kkt_violation: float | None


def stage_record(
    stage: str,
    size: int,
    seconds: float,
    certificates: Iterable[Figures],
    **figures: Any,
) -> dict[str, Any]:
    """Return an entry of ``history_``: what all of them have, then its own `figures`.

    Objective and gap are summed over what the stage solved side by side: class pairs,
    clusters. The gap is None where one of them has none.
    """
    certificates = list(certificates)
    return {
        "stage": stage,
        "size": size,
        "seconds": seconds,
        "objective": float(sum([c.objective for c in certificates])),
        "gap": total_gap([c.gap for c in certificates]),
        **figures,
    }


def solve_record(
    stage: str,
    size: int,
    seconds: float,
    figures: Figures,
    n_iter: int,
    n_support: int,
    status: str,
) -> dict[str, Any]:
    """Return the stage record of one problem: with its violation, steps and status."""
    return {
        "stage": stage,
        "size": size,
        "seconds": seconds,
        "objective": figures.objective,
        "gap": figures.gap,
        "kkt_violation": figures.kkt_violation,
        "n_iter": n_iter,
        "n_support": n_support,
        "status": status,
    }


def summary(solution: Solution, stage: str) -> dict[str, Any]:
    """Return the stage record of one solve; proved figures if it was verified."""
    record = solve_record(
        stage, solution.problem.n, solution.seconds, solution.figures, solution.n_iter,
        int(solution.support.size), solution.status.value,
    )  # fmt: skip
    if solution.screened is not None:
        record["screened"] = solution.screened
    return record
