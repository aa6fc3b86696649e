"""Interior-point solutions: the paper's SOCP (4) and SDP (3), by Clarabel.

Three formulations of one problem, all with the same optimum:

- ``shared_cones``: the loss is non-decreasing in the norm, so samples that share a
  covariance share one cone ``t_k >= ||L_k'w||``: two cones, whatever n is;
- ``sample_cones``: one cone for each sample, as published (4b);
- ``semidefinite``: the moment problem (3) with two (d+1) x (d+1) matrices per sample.

Clarabel solves ``min 1/2 x'Px + q'x`` subject to ``Ax + s = b`` with s in a cone.
"""

from __future__ import annotations

import time
from functools import partial
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from widemargin.engine.status import Status
from widemargin.numerics.row_blocks import dense_rows
from widemargin.runtime.deadline import NEVER, Deadline
from widemargin.uncertainty.covariance_tables import CovarianceTable, FactorTable

from .chance_problem import ChanceProblem
from .proven_solution import ChanceSolution, Dual, as_found

Floats = NDArray[np.float64]

_STATUS = {
    "Solved": Status.CONVERGED,
    "MaxIterations": Status.MAX_ITER,
    "MaxTime": Status.MAX_TIME,
}
SDP_LIMIT = 60_000  # entries of all matrix variables: beyond it memory and hours


def import_clarabel() -> ModuleType:
    """Return the solver; raise with the name of the extra if it is not installed."""
    try:
        import clarabel
    except ImportError as error:
        raise ImportError(
            "solver='socp' and solver='sdp' need Clarabel: install the extra with "
            "`pip install widemargin[robust]`, or use solver='newton', which needs "
            "nothing more and solves the same problem."
        ) from error
    module: ModuleType = clarabel
    return module


def orthogonal_factor(table: CovarianceTable, index: int) -> Floats:
    """Return L of shape (d, r) with ``L L'`` one covariance, without null columns."""
    (factor,) = table.factors(np.array([index]))
    if not isinstance(table, FactorTable):
        return np.asarray(factor[:, np.any(factor, axis=0)])
    left, values, _ = np.linalg.svd(factor, full_matrices=False)
    kept = values > 1e-14 * values.max(initial=0.0)
    return np.asarray(left[:, kept] * values[kept])


class _Program:
    """Rows of ``Ax + s = b``, cone by cone, over named parts of x.

    They are w, b (nothing where it is fixed), slack, and what a formulation adds.
    """

    def __init__(self, problem: ChanceProblem, **added: int) -> None:
        n, d = problem.shape
        b = int(problem.fit_intercept)
        self.problem = problem
        self.clarabel = import_clarabel()
        self.sizes = {"w": d, "b": b, "slack": n, **added}
        self.matrices: list[Any] = []
        self.rights: list[Floats] = []
        self.cones: list[Any] = []
        self.add(np.zeros(n), [self.clarabel.NonnegativeConeT(n)], slack=-_eye(n))

    def margins(self) -> dict[str, Any]:
        """Return the rows ``-(y_i (w'mu_i + b) + slack_i)``."""
        signs, b = self.problem.signs, self.sizes["b"]
        means = sparse.diags_array(signs) @ sparse.csr_array(self.problem.X)
        offsets = sparse.csr_array(np.repeat(-signs[:, None], b, axis=1))
        return {"w": -means, "b": offsets, "slack": -_eye(len(signs))}

    def rows(self, count: int, **parts: Any) -> Any:
        """Return ``count`` rows; the variables that are not named have zeros."""
        nothing = {k: sparse.csr_array((count, size)) for k, size in self.sizes.items()}
        return sparse.hstack(list((nothing | parts).values()), format="csr")

    def add(self, right: Floats, cones: list[Any], **parts: Any) -> None:
        """Add rows that lie in these cones."""
        self.matrices.append(self.rows(len(right), **parts))
        self.rights.append(right)
        self.cones.extend(cones)

    def add_norms(self, factors: list[Floats], right: Floats, **heads: Any) -> None:
        """Add the cones ``right - head x >= ||L'w||``, one for each factor L."""
        ranks = [factor.shape[1] for factor in factors]
        tails = sparse.csr_array(-np.vstack([factor.T for factor in factors]))
        count, below = len(ranks), tails.shape[0]
        # every head is followed by the rows of its factor
        owners = np.concatenate([np.arange(count), np.repeat(range(count), ranks)])
        order = np.argsort(owners, kind="stable")
        parts = [self.rows(count, **heads), self.rows(below, w=tails)]
        self.matrices.append(sparse.vstack(parts, format="csr")[order])
        self.rights.append(np.concatenate([right, np.zeros(below)])[order])
        self.cones.extend(self.clarabel.SecondOrderConeT(rank + 1) for rank in ranks)

    def solve(self, tol: float, deadline: Deadline) -> Any:
        """Return Clarabel's solution; its x and z are those of the program."""
        settings = self.clarabel.DefaultSettings()
        settings.verbose = False
        settings.tol_gap_rel = settings.tol_gap_abs = settings.tol_feas = tol
        settings.max_iter = 500
        if deadline.limited:
            settings.time_limit = deadline.seconds_left
        parts = {name: np.zeros(size) for name, size in self.sizes.items()}
        linear = np.concatenate(list((parts | {"slack": self.problem.costs}).values()))
        parts["w"] = np.ones(self.sizes["w"])
        solver = self.clarabel.DefaultSolver(
            sparse.csc_matrix(sparse.diags_array(np.concatenate(list(parts.values())))),
            linear,
            sparse.csc_matrix(sparse.vstack(self.matrices)),
            np.concatenate(self.rights),
            self.cones,
            settings,
        )
        return solver.solve()


def _eye(size: int) -> Any:
    return sparse.eye_array(size, format="csr")


def _factors(table: CovarianceTable) -> list[Floats]:
    return [orthogonal_factor(table, k) for k in range(len(table))]


def _tighter(tol: float) -> float:
    """Return the tolerance for the solver: the gap we prove is wider than its own."""
    return min(tol, max(0.1 * tol, 1e-9))


def shared_cones(
    problem: ChanceProblem, *, tol: float = 1e-8, deadline: Deadline = NEVER
) -> ChanceSolution:
    """Solve with one cone for each distinct covariance (mathematics 2.2a)."""
    started = time.perf_counter()
    n = problem.shape[0]
    factors = _factors(problem.uncertainty.table)
    count, samples = len(factors), np.arange(n)
    entries = problem.uncertainty.entries(samples)
    inflation = sparse.csr_array(
        (np.full(n, problem.kappa), (samples, entries)), shape=(n, count)
    )
    program = _Program(problem, spread=count)
    program.add_norms(factors, np.zeros(count), spread=-_eye(count))
    cone = program.clarabel.NonnegativeConeT(n)
    program.add(np.full(n, -1.0), [cone], **program.margins(), spread=inflation)
    found = program.solve(_tighter(tol), deadline)
    duals = np.asarray(found.z)[n:]
    by_cone = zip(factors, _split(duals, factors), strict=True)
    preimages = [_preimage(factor, dual) for factor, dual in by_cone]
    dual = Dual(np.maximum(duals[-n:], 0.0), np.stack(preimages))
    return _solution(problem, found, dual, started, tol)


def sample_cones(
    problem: ChanceProblem, *, tol: float = 1e-8, deadline: Deadline = NEVER
) -> ChanceSolution:
    """Solve with one cone for each sample: (4b) as the paper gave it to SeDuMi."""
    started = time.perf_counter()
    n, d = problem.shape
    uncertainty = problem.uncertainty
    groups, factors = uncertainty.entries(np.arange(n)), _factors(uncertainty.table)
    tails = [problem.kappa * factor for factor in factors]
    own = [tails[k] for k in groups]
    program = _Program(problem)
    program.add_norms(own, np.full(n, -1.0), **program.margins())
    found = program.solve(_tighter(tol), deadline)
    by_cone = _split(np.asarray(found.z)[n:], own)
    alpha = np.maximum([dual[0] for dual in by_cone], 0.0)
    preimages = np.zeros((len(factors), d))
    masses = uncertainty.collect(alpha)
    for i, k in enumerate(groups):  # a mixture of points of the ball lies in it
        if alpha[i] > 0.0:
            preimages[k] += alpha[i] / masses[k] * _preimage(factors[k], by_cone[i])
    return _solution(problem, found, Dual(alpha, preimages), started, tol)


def _split(duals: Floats, factors: list[Floats]) -> list[Floats]:
    """Return the duals of each cone, in the order in which they were added."""
    ends = np.cumsum([factor.shape[1] + 1 for factor in factors])
    return np.split(duals[: ends[-1]], ends[:-1])


def _preimage(factor: Floats, dual: Floats) -> Floats:
    """Return p with ``L L'p = L u``, ``u = -z_1 / z_0`` of a cone's dual.

    The columns of L are orthogonal.
    """
    if len(dual) == 1 or dual[0] <= 0.0:
        return np.zeros(len(factor))
    unit = -dual[1:] / dual[0]
    return np.asarray(factor @ (unit / np.square(factor).sum(axis=0)))


def semidefinite(
    problem: ChanceProblem, *, tol: float = 1e-8, deadline: Deadline = NEVER
) -> ChanceSolution:
    """Solve the moment problem (3); small problems only.

    ``risk`` enters as ``1 / (1 + kappa^2)``, which is the paper's epsilon for the
    moment bound.
    """
    n, d = problem.shape
    entries = n * (d + 1) * (d + 2) // 2
    if entries > SDP_LIMIT:
        raise ValueError(
            f"solver='sdp' is for tiny problems: {n} samples with {d} features need "
            f"{entries} matrix entries, more than {SDP_LIMIT}. solver='socp' and "
            "solver='newton' solve the same problem at any size."
        )
    started = time.perf_counter()
    columns, rows = np.tril_indices(d + 1)  # the upper triangle, column by column
    side, root = len(rows), np.where(rows == columns, 1.0, np.sqrt(2.0))
    moments = np.array([_moments(problem, i)[rows, columns] for i in range(n)])
    program = _Program(problem, matrix=n * side, alpha=n)
    # (3b): alpha >= <Omega, N> / risk, in the metric of the triangle
    products = sparse.block_diag((1.0 + problem.kappa**2) * root * moments[:, None, :])
    lines = [program.clarabel.NonnegativeConeT(n)]
    program.add(np.zeros(n), lines, alpha=-_eye(n), matrix=products)
    cones, matrix = [program.clarabel.PSDTriangleConeT(d + 1)] * n, -_eye(n * side)
    program.add(np.zeros(n * side), cones, matrix=matrix)
    # (3c): N plus what w and b have in its last column
    corner, border = np.zeros((side, 1)), np.zeros((side, d))
    corner[-1], border[-d - 1 : -1] = -1.0, -0.5 * np.sqrt(2.0) * np.eye(d)
    signs, each = problem.signs[:, None], _eye(n)
    program.add(
        np.tile(corner[:, 0], n),
        cones,
        w=sparse.kron(signs, border),
        b=sparse.kron(signs, corner[:, : program.sizes["b"]]),
        slack=sparse.kron(each, corner),
        alpha=sparse.kron(each, -corner),
        matrix=matrix,
    )
    return _solution(problem, program.solve(tol, deadline), None, started, tol)


def _moments(problem: ChanceProblem, i: int) -> Floats:
    """Return Omega_i, the second moments of (x, 1)."""
    (entry,) = problem.uncertainty.entries(np.array([i]))
    factor = orthogonal_factor(problem.uncertainty.table, int(entry))
    extended = np.append(dense_rows(problem.X, [i]), 1.0)
    moments = np.outer(extended, extended)
    moments[:-1, :-1] += factor @ factor.T
    return moments


def _solution(
    problem: ChanceProblem, found: Any, dual: Dual | None, started: float, tol: float
) -> ChanceSolution:
    """Prove objective and gap ourselves; the solver's report is not trusted."""
    d, x = problem.shape[1], np.asarray(found.x)
    w, b = x[:d], float(x[d]) if problem.fit_intercept else 0.0
    name = str(found.status).rpartition(".")[2]
    status = _STATUS.get(name, Status.STALLED)
    if name == "AlmostSolved" and dual is not None:
        status = Status.CONVERGED
    return ChanceSolution(
        w=w,
        b=b,
        dual=dual,
        evidence=partial(as_found, problem, w, b, dual),
        ended=status,
        n_iter=int(found.iterations),
        seconds=time.perf_counter() - started,
        tol=max(tol, 1e-6),  # a tighter one is passed on, not required
    )
