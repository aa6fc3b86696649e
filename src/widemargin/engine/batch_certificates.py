"""Certificates of a batch of solutions, from the figures that their solve proved."""

from __future__ import annotations

from .certificate import Certificate
from .kernel_table import BatchSolution
from .kernels import CallableKernel, Precomputed
from .solution import NOT_FINITE


def certify_batch(solved: BatchSolution) -> tuple[list[float], list[Certificate]]:
    """Return the intercept and the certificate of each solution, all verified."""
    kernel = solved.gram.kernel
    if isinstance(kernel, Precomputed | CallableKernel):  # convex or not: one by one
        alone = [solved.solution(p) for p in range(solved.batch.count)]
        return [s.intercept for s in alone], [s.certificate for s in alone]
    seconds, threads = solved.seconds / solved.batch.count, solved.gram.threads
    intercepts, certificates = [], []
    columns = (solved.figures.tolist(), solved.status, solved.n_iter.tolist())
    for number, (figures, status, n_iter) in enumerate(zip(*columns, strict=True)):
        intercept, objective, bound, gap, violation = figures
        if not objective < float("inf"):  # kernel values overflow
            raise ValueError(NOT_FINITE)
        if not kernel.semidefinite:
            bound = gap = None
        intercepts.append(intercept)
        certificates.append(
            Certificate(
                status.value, objective, bound, gap, violation, n_iter, seconds, threads
            )
            if solved.repaired[number] or bound is None
            else solved.solution(number).certificate  # it takes several members
        )
    return intercepts, certificates
