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
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from widemargin.numerics.row_blocks import dense_rows
from widemargin.runtime.deadline import NEVER, Deadline
from widemargin.uncertainty.covariance_tables import CovarianceTable, FactorTable

from .chance_problem import ChanceProblem
from .proven_solution import ChanceSolution, Dual, as_found

Floats = NDArray[np.float64]

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


@dataclass
class _Program:
    """Rows of ``Ax + s = b`` collected cone by cone."""

    matrices: list[Any] = field(default_factory=list)
    rights: list[Floats] = field(default_factory=list)
    cones: list[Any] = field(default_factory=list)

    def add(self, matrix: Any, right: Floats, *cones: Any) -> None:
        self.matrices.append(sparse.csc_array(matrix))
        self.rights.append(right)
        self.cones.extend(cones)


def _solve(
    program: _Program, quadratic: Any, linear: Floats, tol: float, deadline: Deadline
) -> tuple[Floats, Floats, Any]:
    """Run Clarabel and return the primal point, the duals and its report."""
    clarabel = import_clarabel()
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_rel = settings.tol_gap_abs = settings.tol_feas = tol
    settings.max_iter = 500
    if deadline.limited:
        settings.time_limit = deadline.seconds_left
    matrix = sparse.csc_array(sparse.vstack(program.matrices, format="csc"))
    solver = clarabel.DefaultSolver(
        sparse.csc_matrix(quadratic),
        linear,
        sparse.csc_matrix(matrix),
        np.concatenate(program.rights),
        program.cones,
        settings,
    )
    result = solver.solve()
    return np.asarray(result.x), np.asarray(result.z), result


def _layout(problem: ChanceProblem, extra: int) -> tuple[Any, Floats, int, int]:
    """Return P, q and the positions of b and the slacks in x = (w, b, slack, ...)."""
    n, d = problem.shape
    slack = d + int(problem.fit_intercept)
    size = slack + n + extra
    quadratic = sparse.diags_array(
        np.concatenate((np.ones(d), np.zeros(size - d))), format="csc"
    )
    linear = np.zeros(size)
    linear[slack : slack + n] = problem.costs
    return quadratic, linear, d, slack


def _margin_matrix(problem: ChanceProblem, extra: Any) -> Any:
    """Return the rows ``-(y_i (w'mu_i + b) + slack_i)`` with ``extra`` columns."""
    n = problem.shape[0]
    signs = sparse.diags_array(problem.signs)
    parts = [-(signs @ sparse.csr_array(problem.X))]
    if problem.fit_intercept:
        parts.append(sparse.csr_array(-problem.signs[:, None]))
    parts.append(-sparse.eye_array(n))
    if extra is not None:
        parts.append(extra)
    return sparse.hstack(parts, format="csr")


def _slack_rows(program: _Program, n: int, slack: int, size: int) -> None:
    """Add ``slack >= 0``."""
    clarabel = import_clarabel()
    rows = -sparse.eye_array(n, size, k=slack)
    program.add(rows, np.zeros(n), clarabel.NonnegativeConeT(n))


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
    quadratic, linear, _, slack = _layout(problem, count)
    entries = problem.uncertainty.entries(samples)
    inflation = sparse.csr_array(
        (np.full(n, problem.kappa), (samples, entries)), shape=(n, count)
    )
    program = _Program()
    cone = import_clarabel().NonnegativeConeT(n)
    program.add(_margin_matrix(problem, inflation), np.full(n, -1.0), cone)
    _slack_rows(program, n, slack, len(linear))
    heads = -sparse.eye_array(count, len(linear), k=slack + n)
    _add_cones(program, heads, np.zeros(count), factors)
    x, duals, report = _solve(program, quadratic, linear, _tighter(tol), deadline)
    preimages = [
        _preimage(factor, dual)
        for factor, dual in zip(factors, _split(duals[2 * n :], factors), strict=True)
    ]
    dual = Dual(np.maximum(duals[:n], 0.0), np.stack(preimages))
    return _solution(problem, x, dual, report, started, tol)


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
    quadratic, linear, _, slack = _layout(problem, 0)
    program = _Program()
    _add_cones(program, _margin_matrix(problem, None), np.full(n, -1.0), own)
    _slack_rows(program, n, slack, len(linear))
    x, duals, report = _solve(program, quadratic, linear, _tighter(tol), deadline)
    by_cone = _split(duals, own)
    alpha = np.maximum([dual[0] for dual in by_cone], 0.0)
    preimages = np.zeros((len(factors), d))
    masses = uncertainty.collect(alpha)
    for i, k in enumerate(groups):  # a mixture of points of the ball lies in it
        if alpha[i] > 0.0:
            preimages[k] += alpha[i] / masses[k] * _preimage(factors[k], by_cone[i])
    return _solution(problem, x, Dual(alpha, preimages), report, started, tol)


def _add_cones(
    program: _Program, heads: Any, right: Floats, factors: list[Floats]
) -> None:
    """Add the cones ``right - head x >= ||L'w||``, one for each factor L."""
    cone = import_clarabel().SecondOrderConeT
    ranks = [factor.shape[1] for factor in factors]
    tails = sparse.csr_array(-np.vstack([factor.T for factor in factors]))
    tails.resize(tails.shape[0], heads.shape[1])
    # every head is followed by the rows of its factor
    owners = np.concatenate(
        [np.arange(len(ranks)), np.repeat(range(len(ranks)), ranks)]
    )
    order = np.argsort(owners, kind="stable")
    matrix = sparse.vstack([sparse.csr_array(heads), tails], format="csr")[order]
    rights = np.concatenate([right, np.zeros(tails.shape[0])])[order]
    program.add(matrix, rights, *(cone(rank + 1) for rank in ranks))


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
    clarabel = import_clarabel()
    side = (d + 1) * (d + 2) // 2
    quadratic, linear, b_at, slack = _layout(problem, n * (side + 1))
    first_matrix, first_alpha = slack + n, slack + n + n * side
    upper = [(row, column) for column in range(d + 1) for row in range(column + 1)]
    root = np.array([1.0 if r == c else np.sqrt(2.0) for r, c in upper])
    risk = 1.0 / (1.0 + problem.kappa**2)
    X, size = dense_rows(problem.X, slice(None)), len(linear)
    program = _Program()
    for i in range(n):
        matrix_at = slice(first_matrix + i * side, first_matrix + (i + 1) * side)
        alpha_at, slack_at = first_alpha + i, slack + i
        moments = _moments(problem, X, i)
        rows = sparse.lil_array((2, size))  # (3b): alpha >= <Omega, N> / risk
        rows[0, alpha_at] = -1.0
        inner = np.array([moments[r, c] for r, c in upper])
        rows[0, matrix_at] = root * inner / risk
        rows[1, slack_at] = -1.0
        program.add(rows, np.zeros(2), clarabel.NonnegativeConeT(2))
        rows = sparse.lil_array((side, size))
        rows[:, matrix_at] = -np.eye(side)
        program.add(rows.copy(), np.zeros(side), clarabel.PSDTriangleConeT(d + 1))
        sign, right = problem.signs[i], np.zeros(side)
        for k, (r, c) in enumerate(upper):  # (3c), scaled to the triangle's metric
            if c == d and r < d:
                rows[k, r] = -root[k] * 0.5 * sign
            elif c == d and r == d:
                if problem.fit_intercept:
                    rows[k, b_at] = -sign
                rows[k, slack_at], rows[k, alpha_at] = -1.0, 1.0
                right[k] = -1.0
        program.add(rows, right, clarabel.PSDTriangleConeT(d + 1))
    x, _, report = _solve(program, quadratic, linear, tol, deadline)
    return _solution(problem, x, None, report, started, tol)


def _moments(problem: ChanceProblem, X: Floats, i: int) -> Floats:
    """Return Omega_i, the second moments of (x, 1)."""
    entry = int(problem.uncertainty.entries(np.array([i]))[0])
    factor = orthogonal_factor(problem.uncertainty.table, entry)
    extended = np.append(X[i], 1.0)
    moments = np.outer(extended, extended)
    moments[:-1, :-1] += factor @ factor.T
    return moments


def _solution(
    problem: ChanceProblem,
    x: Floats,
    dual: Dual | None,
    report: Any,
    started: float,
    tol: float,
) -> ChanceSolution:
    """Prove objective and gap ourselves; the solver's report is not trusted."""
    d = problem.shape[1]
    w, b = x[:d], float(x[d]) if problem.fit_intercept else 0.0
    status = str(report.status).rpartition(".")[2]
    if status == "Solved" or (status == "AlmostSolved" and dual is not None):
        status = "converged"
    return ChanceSolution(
        w=w,
        b=b,
        dual=dual,
        evidence=as_found(problem, w, b, dual),
        ended=status,
        n_iter=int(report.iterations),
        seconds=time.perf_counter() - started,
        tol=max(tol, 1e-6),  # a tighter one is passed on, not required
    )
