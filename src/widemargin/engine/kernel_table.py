"""Many small dual problems over one kernel matrix, in one compiled call.

Pairs of classes, folds, costs: problems over the same few samples share a matrix that
is evaluated once, in float32. Each is solved to the tolerance by pair steps on blocks
that stay in the processor's cache; then, as asked, the exact polish (see
:mod:`widemargin.engine.polish`) and ``K beta`` in float64 with bounds on its rounding,
for the members near the margin. Of the others float32 sums with their bounds prove
that they lie beyond it.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from widemargin import _core
from widemargin.runtime.deadline import NEVER, Deadline

from .bounded_values import CURRENT, BoundedValues, Evidence
from .gram import Gram
from .problem import DualProblem, SecondSum
from .shared_rows import RowSegments
from .solution import Solution
from .solve_options import POLISH_LIMIT, Monitor
from .status import Status

Vector = NDArray[np.float64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class ProblemBatch:
    """Dual problems over rows of one kernel matrix, one behind the other.

    Problem ``p`` has the entries ``offsets[p]`` to ``offsets[p + 1]`` of all arrays but
    ``totals``; see :class:`widemargin.engine.problem.DualProblem`.

    Parameters
    ----------
    offsets : ndarray of int64, shape (n_problems + 1,)
        From 0 to the number of all members.
    members : ndarray of int32
        Rows of the matrix, none twice in a problem.
    linear, lower, upper : ndarray
        Linear terms and boxes.
    totals : ndarray of shape (n_problems,) or None
        Required sums of ``beta``; None without intercepts.
    kink : ndarray, optional
        Prices of ``|beta|``.
    second_sum : SecondSum, optional
        Where the sums of ``|beta|`` that a start has are kept too. Of nu-SVC every box
        is on one side of zero, the linear terms are plus and minus the margins found,
        and the tolerance is counted in these; of nu-SVR the kinks are found.
    budgets : ndarray of shape (n_problems,), optional
        What the sums of ``|beta|`` are.
    """

    offsets: NDArray[np.int64]
    members: NDArray[np.int32]
    linear: Vector
    lower: Vector
    upper: Vector
    totals: Vector | None
    kink: Vector | None = None
    second_sum: SecondSum | None = None
    budgets: Vector | None = None

    @property
    def count(self) -> int:
        """Number of problems."""
        return self.offsets.size - 1

    @property
    def holds_origin(self) -> bool:
        """Whether the origin lies within every box, and costs are finite."""
        return _core.hold_origin(self.lower, self.upper)

    @property
    def pinned(self) -> bool:
        """Whether each problem has a single feasible point, as one class alone has."""
        totals = [0.0] * self.count if self.totals is None else self.totals.tolist()
        first = self.offsets[:-1]
        lowest = np.add.reduceat(self.lower, first).tolist()
        highest = np.add.reduceat(self.upper, first).tolist()
        return any(
            not low < total < high
            for low, total, high in zip(lowest, totals, highest, strict=True)
        )

    def parts(self) -> list[slice]:
        """Return where the entries of each problem are."""
        offsets = self.offsets.tolist()
        return list(map(slice, offsets, offsets[1:]))

    def part(self, number: int) -> slice:
        """Return where the entries of a problem are."""
        return slice(int(self.offsets[number]), int(self.offsets[number + 1]))


@dataclass(frozen=True)
class BatchOptions:
    """Options of :meth:`KernelTable.solve`.

    Parameters
    ----------
    tol : float
        Largest KKT violation of a converged solution.
    polish : {"auto", "always", "never"}
        Whether to go on to about 1e-10; "auto": where that takes at most a quarter of
        the work of the solve, by count.
    polish_limit : int
        Most free support vectors of a problem that is polished.
    max_iter : int
        Limit of the pair steps of each problem; -1 for a hundred a member.
    deadline : Deadline
        When to end.
    certify : bool
        Whether ``K beta`` is verified. Without, it is what float32 entries say, there
        is no polish, and a solve takes the least time.
    threads : int
        Problems solved at a time. Results do not depend on it.
    monitor : callable, optional
        ``monitor(n_iter, 0.0, members)``, a few times a second; False stops.
    from_vertex : bool
        Whether each problem first goes from its start to the vertex of the same sums
        that the gradient points to: where the origin is not feasible, from a centre.
    """

    tol: float = 1e-3
    polish: str = "auto"
    polish_limit: int = POLISH_LIMIT
    max_iter: int = -1
    deadline: Deadline = NEVER
    certify: bool = True
    threads: int = 1
    monitor: Monitor | None = None
    from_vertex: bool = False


DEFAULTS = BatchOptions()
STATUSES = {status.value: status for status in Status}


@dataclass(frozen=True, eq=False)
class BatchSolution:
    """The solutions of a batch; arrays are laid out as in the batch.

    Attributes
    ----------
    gram, batch : Gram, ProblemBatch
        What was solved.
    beta : ndarray
        The points; verified ones of nu-SVC are in units of their margins, and so are
        their values.
    values, errors : ndarray
        ``K beta`` and bounds on its rounding; the bounds are infinite where a point was
        not verified: it was not to be, the solve did not converge, or it is too large.
    summed : ndarray of bool
        Whether a value is of float64 entries; the others are certain to lie beyond the
        margin.
    status : list of Status
        How each solve ended: "polished" where it is exact, "stalled" where float32
        leaves more than the tolerance, "max_iter" where pair steps creep.
    n_iter : ndarray
        Pair steps of each.
    figures : ndarray of shape (n_problems, 5)
        Intercept, objective, bound, gap and KKT violation of each verified problem.
    repaired : ndarray of bool
        Whether the bound holds: members had room to make the sum exact.
    multipliers : ndarray of shape (n_problems,)
        Multipliers of second sums, as the solves found them.
    seconds : float
        Wall time of all.
    """

    gram: Gram
    batch: ProblemBatch
    beta: Vector
    values: Vector
    errors: Vector
    summed: Mask
    status: list[Status]
    n_iter: NDArray[np.int64]
    figures: NDArray[np.float64]
    repaired: Mask
    multipliers: Vector
    seconds: float

    def problem(self, number: int) -> DualProblem:
        """Return one of the problems by itself, on a view of the samples."""
        batch, part = self.batch, self.batch.part(number)
        members = batch.members[part]
        whole = members.size == self.gram.n
        return DualProblem(
            self.gram if whole else self.gram.subset(members),
            batch.linear[part],
            batch.lower[part],
            batch.upper[part],
            None if batch.totals is None else float(batch.totals[number]),
            None if batch.kink is None else batch.kink[part],
        )

    def solution(self, number: int) -> Solution:
        """Return the solution of one problem, with all that is known of its values."""
        part = self.batch.part(number)
        values, errors, summed = self.values[part], self.errors[part], self.summed[part]
        verified = bool(np.isfinite(errors).all())
        known = np.full(errors.size, CURRENT, dtype=np.int32)
        return Solution(
            self.problem(number),
            self.beta[part],
            values,
            self.status[number],
            int(self.n_iter[number]),
            self.seconds / self.batch.count,
            exact=bool(summed.all()),
            evidence=Evidence(errors, known, []),
            checked=BoundedValues(values, errors, summed) if verified else None,
        )


class KernelTable:
    """A float32 kernel matrix: whole for few samples (4 n^2 bytes), else by rows.

    Parameters
    ----------
    gram : Gram
        Samples and kernel. Float32 must do for them
        (``gram.single_precision_suffices``).
    order : ndarray, optional
        Order of the samples in the matrix: where those with the same problems stand
        together, a problem reads whole pieces of its rows.
    segments : RowSegments, optional
        Segments of a batch, and their order: rows are then evaluated as its problems
        need them, each entry once, and the matrix is for this batch alone.
    """

    def __init__(
        self,
        gram: Gram,
        order: NDArray[np.intp] | None = None,
        segments: RowSegments | None = None,
    ) -> None:
        self.gram = gram
        if segments is not None:
            order = segments.order
        self._ordered = gram if order is None else gram.subset(order, known=True)
        self._core = (
            _core.KernelTable(self._ordered._core) if segments is None
            else _core.KernelTable(
                self._ordered._core, segments.starts, segments.capacity
            )
        )  # fmt: skip
        self._places: NDArray[np.int32] | None = None
        if order is not None:
            self._places = np.empty(order.size, dtype=np.int32)
            self._places[order] = np.arange(order.size, dtype=np.int32)

    @property
    def entries(self) -> dict[str, int]:
        """Kernel entries computed so far, by purpose: see :attr:`Gram.entries`."""
        return self._ordered.entries

    def solve(
        self,
        batch: ProblemBatch,
        options: BatchOptions = DEFAULTS,
        start: Vector | None = None,
    ) -> BatchSolution:
        """Solve the problems of a batch, each from its part of a feasible start.

        Parameters
        ----------
        batch : ProblemBatch
            The problems.
        options : BatchOptions
            Tolerance, limits, threads.
        start : ndarray, optional
            A feasible point of each problem, one behind the other; by default the
            origin, which must then be feasible.

        Raises
        ------
        KeyboardInterrupt
            On Ctrl-C.
        """
        begun = time.perf_counter()
        n, count = batch.members.size, batch.count
        beta = np.zeros(n) if start is None else np.array(start, dtype=np.float64)
        values, errors, summed = np.empty(n), np.empty(n), np.empty(n, dtype=np.bool_)
        exact, n_iter = np.empty(count, dtype=np.bool_), np.empty(count, dtype=np.int64)
        figures, repaired = np.empty((count, 5)), np.empty(count, dtype=np.bool_)
        multipliers = np.empty(count)
        totals = np.zeros(count) if batch.totals is None else batch.totals
        members, second = batch.members, "none"
        if batch.second_sum is not None:
            second = "margin" if batch.second_sum.has_margin else "tube"
        if self._places is not None:
            members = self._places[members]
        status, raised = self._core.solve(
            batch.offsets, members, batch.linear, batch.lower, batch.upper, totals,
            batch.totals is not None, beta, values, errors, summed, exact, n_iter,
            figures, repaired, batch.budgets, multipliers, batch.kink,
            tolerance=options.tol, max_steps=options.max_iter,
            max_seconds=options.deadline.seconds_left, polish=options.polish,
            polish_limit=options.polish_limit, certify=options.certify,
            threads=options.threads, monitor=options.monitor, second_sum=second,
            from_vertex=options.from_vertex,
        )  # fmt: skip
        if raised is not None:
            raise raised
        ends = [
            Status.POLISHED if polished else STATUSES[word]
            for word, polished in zip(status, exact.tolist(), strict=True)
        ]
        seconds = time.perf_counter() - begun
        return BatchSolution(
            self.gram, batch, beta, values, errors, summed, ends, n_iter, figures,
            repaired, multipliers, seconds,
        )  # fmt: skip
