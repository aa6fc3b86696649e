"""A solved problem that certifies itself."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from .certificate import (
    Certificate,
    duality_gap,
    optimal_intercept,
    primal_objective,
    total_gap,
    violation,
)
from .cholesky import is_definite
from .kernels import CallableKernel, Gaussian, Linear, Precomputed
from .lazy import lazy_property
from .problem import DualProblem
from .products import inner

Vector = NDArray[np.float64]

PROBES = 100  # support vectors among which a matrix given by the user is looked at
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
        ``K @ beta``, the decision values without the intercept; where ``stale``, an
        older value on the same side of the margin.
    status : str
        How the solve ended.
    n_iter : int
        Pair steps taken.
    seconds : float
        Wall time.
    exact : bool
        Whether the values were summed in float64 throughout.
    stale : ndarray of bool, optional
        Members at zero whose value the solver did not bring up to date, since they
        provably violate nothing. They cost a good part of a fit, and no certificate
        needs them: :attr:`values` computes them when asked for.
    unseen : ndarray of bool, optional
        Those of the stale members that nobody has looked at when the time was up. Their
        value here is the worst that the norm of the solution allows, so that objective,
        gap and violation of the certificate are upper bounds.
    """

    problem: DualProblem
    beta: Vector
    known_values: Vector
    status: str
    n_iter: int = 0
    seconds: float = 0.0
    extras: dict[str, Any] = field(default_factory=dict)
    exact: bool = False
    stale: NDArray[np.bool_] | None = None
    unseen: NDArray[np.bool_] | None = None

    @lazy_property
    def values(self) -> Vector:
        """``K @ beta`` for all members."""
        if self.stale is None:
            return self.known_values
        values = self.known_values.copy()
        owing = np.flatnonzero(self.stale)
        values[owing] = self.problem.gram.times(self.beta, owing)
        return values

    @lazy_property
    def intercept(self) -> float:
        """Midpoint of the optimal intercepts; 0 when the problem has none."""
        p = self.problem
        values, linear, lower, upper = self.known_values, p.linear, p.lower, p.upper
        if self.unseen is not None:  # they are at zero, and nothing is known of them
            seen = ~self.unseen
            values, linear = values[seen], linear[seen]
            lower, upper = lower[seen], upper[seen]
        return optimal_intercept(values, linear, lower, upper, p.total)

    @property
    def support(self) -> NDArray[np.intp]:
        """Indices of the samples with a non-zero coefficient."""
        return np.flatnonzero(self.beta)

    @property
    def margin(self) -> NDArray[np.intp]:
        """Indices of the samples strictly inside their boxes."""
        return np.flatnonzero(self.problem.inside(self.beta))

    @property
    def converged(self) -> bool:
        """Whether the requested tolerance was reached."""
        return self.status in ("converged", "polished")

    @lazy_property
    def certificate(self) -> Certificate:
        """Objective, bound, gap and violation, from ``beta`` and its values alone.

        Stale members add exactly nothing to any of them: they are at zero, on the side
        of the margin where the loss is zero.
        """
        p = self.problem
        values = self.known_values
        residual = p.linear - values - self.intercept
        objective = primal_objective(
            self.beta, values, self.intercept, p.linear, p.lower, p.upper, p.total
        )
        if not np.isfinite(objective):  # kernel values too large for their numbers
            raise ValueError(NOT_FINITE)
        gap = bound = None
        if is_convex(p, self.beta, values):
            gap = duality_gap(self.beta, residual, p.lower, p.upper)
            bound = objective - gap
        return Certificate(
            status=self.status,
            objective=objective,
            bound=bound,
            gap=gap,
            kkt_violation=violation(p, self.beta, values),
            n_iter=self.n_iter,
            seconds=self.seconds,
            threads=p.gram.threads,
        )

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


def is_convex(problem: DualProblem, beta: Vector, values: Vector) -> bool:
    """Say whether the kernel is positive semidefinite, so that the gap is a proof.

    Of a matrix or a function that a user gave, whether nothing shows that it is not:
    neither the norm of the solution nor the eigenvalues among some support vectors.
    """
    kernel = problem.gram.kernel
    if not isinstance(kernel, Precomputed | CallableKernel):
        return kernel.semidefinite
    support = np.flatnonzero(beta)
    some = support[:: max(1, -(-support.size // PROBES))]
    block = problem.gram.rows(some, some)
    rounding = float(np.finfo(np.float32).eps) * float(np.abs(block).max(initial=0.0))
    norm, sizes = inner(beta, values), float(np.abs(beta).sum())
    if norm < -rounding * sizes * sizes:
        return False
    block = 0.5 * (block + block.T)
    block[np.diag_indices(some.size)] += rounding * some.size + np.finfo(float).tiny
    return is_definite(block)


class Certified(Protocol):
    """What a stage record sums: a certificate, or a cluster's share of one."""

    @property
    def objective(self) -> float:
        """Primal objective."""

    @property
    def gap(self) -> float | None:
        """Distance of the objective to a lower bound, where there is one."""


def stage_record(
    stage: str,
    size: int,
    seconds: float,
    certificates: Iterable[Certified],
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
        "objective": float(sum(c.objective for c in certificates)),
        "gap": total_gap(c.gap for c in certificates),
        **figures,
    }


def summary(solution: Solution, stage: str) -> dict[str, Any]:
    """Return the stage record of one solve."""
    return stage_record(
        stage,
        solution.problem.n,
        solution.seconds,
        [solution.certificate],
        kkt_violation=solution.certificate.kkt_violation,
        n_iter=solution.n_iter,
        n_support=int(solution.support.size),
        status=solution.status,
        **solution.extras,
    )


def assume_the_worst(
    problem: DualProblem, beta: Vector, gradient: Vector, stale: NDArray[np.bool_]
) -> NDArray[np.bool_] | None:
    """Fill in the gradients of members that were not looked at before the time was up.

    They are at zero, and by Cauchy-Schwarz no value exceeds ``||w|| sqrt(K_ii)``: the
    certificate then holds, as a bound. Where no such bound is known, they are computed.
    """
    unseen: NDArray[np.bool_] = np.isnan(gradient)
    if not unseen.any():
        return None
    known = np.flatnonzero(beta)
    values = gradient[known] + problem.linear[known]
    norm = np.sqrt(max(inner(beta[known], values), 0.0))
    worst = norm * np.sqrt(np.maximum(problem.gram.diagonal()[unseen], 0.0))
    grows, falls = problem.upper[unseen] > 0.0, problem.lower[unseen] < 0.0
    if (
        isinstance(problem.gram.kernel, (Linear, Gaussian))
        and not (grows & falls).any()
    ):
        gradient[unseen] = np.where(grows, -worst, worst) - problem.linear[unseen]
        return unseen
    where = np.flatnonzero(unseen)
    gradient[where] = problem.gram.times(beta, where) - problem.linear[where]
    stale[where] = False
    return None
