"""What an estimator solves: one task, or several side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from widemargin.engine.certificate import Certificate
from widemargin.engine.gram import Gram
from widemargin.engine.interrupted import Interrupted
from widemargin.engine.problem import DualProblem
from widemargin.engine.solution import Solution
from widemargin.engine.status import Status
from widemargin.runtime.deadline import NEVER, Deadline

Vector = NDArray[np.float64]
Indices = NDArray[np.intp]


class Answer(Protocol):
    """The answer to a task: a solution of the engine, or one derived from it."""

    @property
    def beta(self) -> Vector:
        """Coefficients of the rows of the task."""

    @property
    def intercept(self) -> float:
        """Constant of the decision function."""

    @property
    def n_iter(self) -> int:
        """Iterations of the solver."""

    @property
    def status(self) -> Status:
        """How the solve ended."""

    @property
    def converged(self) -> bool:
        """Whether the tolerance was reached."""

    @property
    def certificate(self) -> Certificate:
        """How good it provably is."""


@dataclass
class Task:
    """One dual problem of a fit, and its solution.

    Attributes
    ----------
    gram : Gram
        View of the rows that take part.
    rows : ndarray
        Which rows of the training data they are.
    seed : int
        Seed of all random numbers of the solve.
    start : ndarray or None
        Coefficients of a former solution, for a warm start.
    history : list of dict
        Stage records; a system appends its own.
    deadline : Deadline
        When the fit must end.
    solution : Answer or None
        The answer, once it is there.
    stopped : Interrupted or None
        The point at which Ctrl-C met the solve.
    vertex : Solution or None
        A start with its kernel products, instead of the origin.
    proved_later : bool
        Whether the fit verifies the solutions of its tasks together.
    """

    gram: Gram
    rows: Indices
    seed: int = field(default=0, kw_only=True)
    start: Vector | None = field(default=None, kw_only=True)
    history: list[dict[str, Any]] = field(default_factory=list, kw_only=True)
    deadline: Deadline = field(default=NEVER, kw_only=True)
    solution: Answer | None = field(default=None, kw_only=True)
    stopped: Interrupted | None = field(default=None, kw_only=True)
    vertex: Solution | None = field(default=None, kw_only=True)
    proved_later: bool = field(default=False, kw_only=True)

    @property
    def begin(self) -> Vector | Solution | None:
        """Where the solve begins; None for the origin."""
        return self.start if self.vertex is None else self.vertex


@dataclass
class BoxTask(Task):
    """A dual problem given by its terms: of a regressor, or a one-class model.

    Attributes
    ----------
    linear, lower, upper : ndarray
        Linear term and box, one entry per row.
    total : float or None
        Required sum of the coefficients; None without an intercept.
    kink : ndarray or None
        Price of the size of each coefficient, where there is one.
    """

    linear: Vector
    lower: Vector
    upper: Vector
    total: float | None
    kink: Vector | None = None

    def problem(self) -> DualProblem:
        """Return the problem over the present Gram matrix."""
        return DualProblem(
            self.gram, self.linear, self.lower, self.upper, self.total, self.kink
        )


def memory_shares(tasks: Sequence[Task]) -> int:
    """Return how many tasks at a time have memory for all of their entries.

    At least one. A task with more memory than that is solved in the same way, with less
    in another: which one does not depend on the number of threads.
    """
    n = max(task.gram.n for task in tasks)
    return max(1, int(tasks[0].gram.cache_mb // (4e-6 * n * (n + 16))))


def not_converged(name: str, tol: float, answers: Sequence[Answer]) -> str | None:
    """Return the warning for an answer that did not reach the tolerance."""
    worst = max(
        (answer for answer in answers if not answer.converged),
        key=lambda answer: answer.certificate.kkt_violation or 0.0,
        default=None,
    )
    if worst is None:
        return None
    return (
        f"{name} stopped before tol={tol} was reached "
        f"(status {worst.certificate.status!r}, KKT violation "
        f"{worst.certificate.kkt_violation:.2e}). Increase max_iter or "
        "max_time, or scale the features with StandardScaler or MinMaxScaler."
    )
