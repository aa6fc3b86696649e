"""One level: every problem solved inside every cluster.

With the kernel between clusters ignored a problem splits into independent parts whose
solutions, concatenated, solve the whole with the block-diagonal kernel (Lemma 1 of
Hsieh, Si and Dhillon 2014). With an equality constraint the sum over each cluster must
be given: that of a feasible start, zero for a classifier (mathematics 4.5).
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from joblib.parallel import get_active_backend
from numpy.typing import NDArray

from widemargin.engine.batch_certificates import certify_batch
from widemargin.engine.bounds import gap_between, sum_above
from widemargin.engine.certificate import Certificate
from widemargin.engine.gram import Gram
from widemargin.engine.interrupted import Interrupted
from widemargin.engine.kernel_table import BatchOptions
from widemargin.engine.kernels import Kernel, Precomputed
from widemargin.engine.problem import DualProblem, only_point
from widemargin.engine.problem_batches import (
    batch_of,
    is_small,
    joined_terms,
    solve_together,
    start_of,
)
from widemargin.engine.solve import solve
from widemargin.engine.solve_options import SolveOptions
from widemargin.engine.status import Status
from widemargin.runtime.cancellation import CancellationScope, check_cancelled

from .partition import Partition
from .router import Samples, order_of

Vector = NDArray[np.float64]
Indices = NDArray[np.intp]
ClusterMonitor = Callable[[str, int, int], None]


@dataclass(frozen=True)
class Division:
    """Problems that are divided together: class pairs over one set of samples.

    Parameters
    ----------
    samples, kernel : Samples, Kernel
        What the clusters divide.
    problems : sequence of DualProblem
        The problems.
    rows : sequence of index arrays
        Samples of each problem, ascending.
    """

    samples: Samples
    kernel: Kernel
    problems: Sequence[DualProblem]
    rows: Sequence[Indices]

    @classmethod
    def of(cls, problem: DualProblem) -> Division:
        """One problem over all its samples."""
        gram = problem.gram
        return cls(gram.samples, gram.kernel, [problem], [np.arange(problem.n)])


@dataclass(frozen=True)
class Limits:
    """What the clusters of a level may use; time is a matter of the solves' options.

    Parameters
    ----------
    cache_mb : float
        Row cache of all clusters that are solved at a time.
    n_jobs : int or None
        Clusters solved at a time, through joblib (threads unless configured).
    threads : int
        Threads of all of them: fewer clusters have several each.
    """

    cache_mb: float = 200.0
    n_jobs: int | None = None
    threads: int = 1

    @classmethod
    def of(cls, gram: Gram) -> Limits:
        """Limits of a fit that has the memory and threads of its Gram."""
        return cls(gram.cache_mb, _jobs(gram.threads), gram.threads)

    def shared(self, clusters: int) -> dict[str, Any]:
        """Return what one of `clusters` clusters may use, as settings of its Gram."""
        at_once = max(1, min(clusters, self.threads))
        return {"cache_mb": self.cache_mb / at_once, "threads": self.threads // at_once}


def _jobs(threads: int) -> int | None:
    """Clusters at a time: as joblib is configured, else one for each thread."""
    backend, configured = get_active_backend()
    if configured is not None:
        return None
    name = type(backend).__name__
    known = ("LokyBackend", "ThreadingBackend", "SequentialBackend")
    return threads if name in known else -1


@dataclass(frozen=True)
class Part:
    """One problem restricted to one cluster.

    Parameters
    ----------
    rows : array of indices
        Which samples of the cluster take part (those of a class pair).
    linear, lower, upper : arrays
        The problem's vectors at those samples.
    total : float or None
        Required sum.
    start : array or None
        Where to start from.
    kink : array or None
        Price of the size of each variable, where there is one.
    """

    rows: Indices
    linear: Vector
    lower: Vector
    upper: Vector
    total: float | None
    start: Vector | None = None
    kink: Vector | None = None


@dataclass(frozen=True)
class PartSolution:
    """Solution of a part, with its share of the level's certificate."""

    beta: Vector
    intercept: float
    objective: float
    bound: float | None
    kkt_violation: float
    n_iter: int
    status: Status

    @classmethod
    def of(
        cls, beta: Vector, intercept: float, status: Status, certificate: Certificate
    ) -> PartSolution:
        """Take what a level needs from a certificate."""
        return cls(
            beta,
            intercept,
            certificate.objective,
            certificate.bound,
            float(certificate.kkt_violation or 0.0),
            certificate.n_iter,
            status,
        )

    @property
    def gap(self) -> float | None:
        """Objective less bound, where there is one."""
        return gap_between(self.objective, self.bound)


@dataclass(frozen=True)
class Level:
    """A solved level: for each problem the concatenated solution, as a model.

    Attributes
    ----------
    number : int
        Level; it has up to ``n_branches**number`` clusters.
    partition : Partition
        Its clusters, shared by all problems.
    betas : list of arrays
        Solution of each problem for the block kernel.
    intercepts : array of shape (n_clusters, n_problems)
        Intercept of each local model.
    present : array of shape (n_clusters, n_problems)
        Whether a cluster has a sample of a problem; where not, there is no local model.
    parts : list of lists of PartSolution
        For each problem the local solutions, with their certificates.
    """

    number: int
    partition: Partition
    betas: list[Vector]
    intercepts: Vector
    present: NDArray[np.bool_]
    parts: list[list[PartSolution]] = field(repr=False)


def solve_cluster(
    samples: Samples,
    kernel: Kernel,
    parts: Sequence[Part],
    options: SolveOptions,
    shared: Mapping[str, Any] | None = None,
) -> list[PartSolution]:
    """Solve every problem that has samples in one cluster; one Gram serves them all.

    Takes and returns plain data, so that it can run in a thread, a process or on
    another machine. `shared` is what its Gram may use (:meth:`Limits.shared`).
    """
    if options.monitor is not check_cancelled:
        options = replace(options, monitor=check_cancelled)
    constant = [_constant(part) for part in parts]
    left = [part for part, one in zip(parts, constant, strict=True) if one is None]
    if left:
        gram = Gram(samples, kernel, **(shared or {}))
        solved = _together(gram, left, options)
        if solved is None:
            solved = [_alone(gram, part, options) for part in left]
        others = iter(solved)
    return [next(others) if one is None else one for one in constant]


def _together(
    gram: Gram, parts: Sequence[Part], options: SolveOptions
) -> list[PartSolution] | None:
    """Solve the parts of a small cluster in one compiled call; None where one is open.

    Open are those that float32 entries or many pair steps did not solve.
    """
    if options.max_iter >= 0 or not is_small(gram, parts, options.tol):
        return None
    terms = joined_terms(parts)
    batch = None if terms is None else batch_of(parts, terms)
    if batch is None:
        return None
    own = BatchOptions(
        tol=options.tol, polish="always" if options.exact else "never",
        polish_limit=options.polish_limit, deadline=options.deadline,
        threads=gram.threads, monitor=options.monitor,
    )  # fmt: skip
    solved = solve_together(gram, batch, *start_of(parts, batch, own))
    if not all(status.solved for status in solved.status):
        return None
    intercepts, certificates = certify_batch(solved)
    betas = [solved.beta[batch.part(number)] for number in range(batch.count)]
    columns = betas, intercepts, solved.status, certificates
    return [PartSolution.of(*own) for own in zip(*columns, strict=True)]


def _alone(gram: Gram, part: Part, options: SolveOptions) -> PartSolution:
    """Solve one part by the engine's block solver."""
    own = gram if part.rows.size == gram.n else gram.subset(part.rows)
    terms = part.linear, part.lower, part.upper, part.total, part.kink
    try:
        found = solve(DualProblem(own, *terms), options, start=part.start)
    except Interrupted as stop:  # a point of this cluster only
        raise KeyboardInterrupt from stop
    return PartSolution.of(found.beta, found.intercept, found.status, found.certificate)


def _constant(part: Part) -> PartSolution | None:
    """The part whose only feasible point is 0: a constant, with no loss (0.2)."""
    decided = only_point(part.lower, part.upper, part.total)
    if decided is None or decided.any():
        return None
    beta = np.zeros(len(part.linear))
    at_lower = not part.lower.any()
    intercept = float(part.linear.max() if at_lower else part.linear.min())
    residual = part.linear - intercept
    losses = np.maximum(part.lower * residual, part.upper * residual)
    loss = sum_above(losses)
    return PartSolution(beta, intercept, loss, 0.0, 0.0, 0, Status.CONVERGED)


def solve_level(
    number: int,
    partition: Partition,
    division: Division,
    starts: Sequence[Vector],
    options: SolveOptions,
    limits: Limits,
    progress: ClusterMonitor | None = None,
) -> Level:
    """Solve each problem with the kernel cut to the clusters of a partition.

    Parameters
    ----------
    number : int
        Level, for the record.
    partition : Partition
        Clusters of all samples.
    division : Division
        The problems.
    starts : sequence of arrays
        Feasible point of each problem; its sums over the clusters are kept.
    options : SolveOptions
        Options of every solve.
    limits : Limits
        Memory, and clusters at a time.
    progress : callable, optional
        Called with (what, done, of) after each cluster.
    """
    problems, rows = division.problems, division.rows
    members = [_by_cluster(partition, chosen) for chosen in rows]
    betas = [np.zeros(problem.n) for problem in problems]
    intercepts = np.zeros((partition.n_clusters, len(problems)))
    present = np.zeros(intercepts.shape, dtype=bool)
    shared = limits.shared(partition.n_clusters)
    # large clusters first, so that none is left to a single worker at the end
    order = np.argsort(-partition.sizes, kind="stable")
    options = replace(options, monitor=check_cancelled)
    moved = [start if start.any() else None for start in starts]

    def job(cluster: int) -> tuple[Any, ...]:
        """Return the samples of a cluster, and of each problem its part of them."""
        inside = partition.members(cluster)
        parts = [
            _part(problem, start, own[cluster], chosen, inside)
            for problem, start, own, chosen in zip(
                problems, moved, members, rows, strict=True
            )
            if len(own[cluster])
        ]
        return _rows_of(division, inside), division.kernel, parts, options, shared

    done: list[list[PartSolution]] = [[] for _ in problems]
    with closing(solved_clusters(job, order, limits.n_jobs)) as found:
        for count, (cluster, solved) in enumerate(zip(order, found, strict=True)):
            own = [p for p in range(len(problems)) if len(members[p][cluster])]
            for p, part in zip(own, solved, strict=True):
                betas[p][members[p][cluster]] = part.beta
                intercepts[cluster, p] = part.intercept
                present[cluster, p] = True
                done[p].append(part)
            if progress is not None:
                progress(f"level {number}", count + 1, partition.n_clusters)
    return Level(number, partition, betas, intercepts, present, done)


def solved_clusters(
    job: Callable[[int], tuple[Any, ...]], order: Indices, n_jobs: int | None
) -> Generator[list[PartSolution]]:
    """Yield the solutions of clusters in order; each job is made when it starts.

    In threads of our own unless joblib is configured: it looks for results every 10 ms,
    in which several small clusters are solved.
    """
    if n_jobs == 1:
        yield from (solve_cluster(*job(cluster)) for cluster in order)
    elif n_jobs is None or n_jobs < 0:
        how: dict[str, Any] = {"return_as": "generator", "pre_dispatch": "n_jobs"}
        with CancellationScope() as scope:
            runs = (delayed(scope.run)(solve_cluster, *job(own)) for own in order)
            yield from Parallel(n_jobs, prefer="threads", **how)(runs)
    else:
        with ThreadPoolExecutor(n_jobs) as pool, CancellationScope() as scope:
            yield from pool.map(
                lambda cluster: scope.run(solve_cluster, *job(cluster)), order
            )


def _rows_of(division: Division, inside: Indices) -> Samples:
    """Samples of a cluster; of a kernel matrix its diagonal block."""
    square = isinstance(division.kernel, Precomputed)
    return division.samples[np.ix_(inside, inside) if square else inside]


def _by_cluster(partition: Partition, rows: Indices) -> list[Indices]:
    """For each cluster the positions within `rows` of its samples."""
    labels = partition.labels[rows]
    order = order_of(labels, partition.n_clusters)
    ends = np.cumsum(np.bincount(labels, minlength=partition.n_clusters))
    return np.split(order, ends[:-1])


def _part(
    problem: DualProblem,
    start: Vector | None,
    own: Indices,
    rows: Indices,
    inside: Indices,
) -> Part:
    """Restriction of a problem, at `start`, to the cluster with samples `inside`."""
    begun = None if start is None else start[own]
    total = 0.0 if begun is None else float(begun.sum())
    whole = own.size == inside.size
    return Part(
        np.arange(own.size) if whole else np.searchsorted(inside, rows[own]),
        problem.linear[own],
        problem.lower[own],
        problem.upper[own],
        None if problem.total is None else total,
        begun if begun is not None and begun.any() else None,
        None if problem.kink is None else problem.kink[own],
    )
