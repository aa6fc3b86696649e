"""Updates of tasks: to other rows and other prices, along a path or by a solve.

`IncrementalMachine` makes ``partial_fit``, ``forget`` and ``update`` of it.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from widemargin.engine import updates
from widemargin.engine.gram import Gram
from widemargin.engine.held_columns import HeldColumns
from widemargin.engine.kernel_table import ProblemBatch
from widemargin.engine.path import accurate, has_one_point
from widemargin.engine.problem import DualProblem
from widemargin.engine.problem_batches import is_small, whole_matrix
from widemargin.engine.solution import Solution
from widemargin.engine.solve import proved
from widemargin.engine.status import Status
from widemargin.engine.update_routes import (
    BASE,
    CLEARLY,
    CREDIT,
    SURELY,
    Route,
    credit_left,
    refit_seconds,
    stored_features,
)
from widemargin.engine.updates import PathAccount
from widemargin.estimators.base.fitted_model import remove_model
from widemargin.estimators.base.kernel_machine import KernelMachine
from widemargin.estimators.base.small_fit import answers_together
from widemargin.estimators.base.task import Task
from widemargin.estimators.base.training_data import TrainingData
from widemargin.estimators.base.validation import demanded
from widemargin.runtime.deadline import NEVER, Deadline, DeadlinePassedError

from .chunk import Chunk, Given
from .columns_of_rows import ColumnsOfRows, columns_for
from .live_rows import LiveRows
from .record import Update, after_update, recent, update_record
from .row_change import RowChange
from .task_state import TaskState
from .update_state import UpdateState

Vector = NDArray[np.float64]
Indices = NDArray[np.intp]

Data = TypeVar("Data", bound=TrainingData)
AnyTask = TypeVar("AnyTask", bound=Task)


class TaskUpdatingMachine(KernelMachine[Data, AnyTask], Generic[Data, AnyTask]):
    """A kernel estimator whose tasks can be brought from their solution to another.

    Kinds of it add :meth:`_checked_chunk`, :meth:`_targets` and :meth:`_training`.
    """

    keep_rows: bool
    exact_updates: bool | str
    gamma: float | str
    fit_intercept: bool
    tol: float
    max_time: float | None
    history_: list[dict[str, Any]]
    _updates: UpdateState  # where rows are kept

    # ---- what a kind of estimator adds ---------------------------------------

    @abstractmethod
    def _checked_chunk(self, given: Given, former: UpdateState | None) -> Chunk:
        """Return new rows, checked as ``fit`` would; None as `former` for the first."""

    @abstractmethod
    def _targets(self, data: Data) -> NDArray[Any] | None:
        """Return what is kept beside the samples: labels, numbers, nothing."""

    @abstractmethod
    def _training(self, rows: LiveRows) -> Data:
        """Return rows as ``fit`` would have validated them, with their ids."""

    def _every_row_counts(self) -> bool:
        """Whether the terms of a row depend on which others are there."""
        return False

    def _answer_costs(self, data: Data) -> NDArray[np.float64] | None:
        """Return the costs of every answer, where rows come with costs of their own."""
        return None

    # ---- the move ------------------------------------------------------------

    def _keep_rows(self, state: UpdateState) -> None:
        self._updates = state.under(self)

    def _move(
        self,
        state: UpdateState,
        keep: Indices | None,
        fresh: LiveRows,
        update: Update,
        anew: float,
        moving: int = 0,
    ) -> None:
        """Bring every task to the rows that stay and enter, at the present parameters.

        Parameters
        ----------
        state : UpdateState
            The former model.
        keep : ndarray or None
            Which of its live rows stay, in ascending order; None for all.
        fresh : LiveRows
            Rows that enter, behind them.
        update : Update
            What was asked for: for ``history_``, and for the time it may take.
        anew : float
            Estimate of a refit (:meth:`_seconds_anew`); infinite where nothing moves.
        moving : int
            How many of the rows that enter or leave are likely to be support vectors.
        """
        history, before, kernel = list(self.history_), state.live, state.kernel
        live = before.joined(fresh) if keep is None else before.exchanged(keep, fresh)
        n = live.n
        if n == 0:
            self._become_empty(state, live, update)
            return
        data = self._training(live)
        gram = self._make_gram(data, kernel)
        tasks = self._tasks(data, gram, kernel)
        in_time = Deadline(update.begun + (self.max_time or np.inf))
        # forgetting has no time limit
        deadline = NEVER if update.stage == "forget" else in_time
        for task in tasks:
            task.deadline = deadline

        try:
            moved = self._refitted_at_once(state, data, gram, tasks, anew, moving)
            if moved is None:
                change = self._row_change(state, gram, keep, fresh)
                moved = self._move_tasks(tasks, state.tasks, change)
                moved = self._with_refits(data, gram, tasks, moved)
        except DeadlinePassedError:
            raise TimeoutError(self._too_late(update.stage)) from None
        solutions = [proved(m.solution, self.tol) for m in moved]
        late = Status.MAX_TIME in [solution.status for solution in solutions]
        if late and before.n > 0:  # a first fit leaves what it reached
            raise TimeoutError(self._too_late(update.stage))
        solved = [
            TaskState.of(
                solution, task.rows, m.age,
                ColumnsOfRows.of(m.columns, solution), m.credit,
            )
            for solution, task, m in zip(solutions, tasks, moved, strict=True)
        ]  # fmt: skip
        accounts = [m.account for m in moved]
        margin = max([task.margin for task in solved])
        record = update_record(update, n, solutions, accounts, margin)
        self._model(data, kernel, tasks, solutions).store(self)
        self.history_ = recent([*history, record])
        self._keep_rows(state.moved(live, solved))
        self._warn_unless_converged(solutions)

    def _become_empty(self, state: UpdateState, live: LiveRows, update: Update) -> None:
        """Drop the model of rows that have all left; what is kept can begin anew."""
        history = list(self.history_)
        if self.__sklearn_is_fitted__():
            remove_model(self)
        self._keep_rows(state.moved(live, []))
        self.history_ = recent([*history, update_record(update, 0, [], [])])

    def _row_change(
        self, state: UpdateState, gram: Gram, keep: Indices | None, fresh: LiveRows
    ) -> RowChange:
        """Return which of all rows, those that leave included, are there afterwards.

        `gram` is that of the rows afterwards.
        """
        before = state.live
        if keep is None:
            return RowChange(gram, before.n, np.arange(before.n + fresh.n))
        joined = before.joined(fresh)
        whole = self._make_gram(self._training(joined), state.kernel)
        staying = np.concatenate([keep, np.arange(before.n, joined.n)])
        return RowChange(whole, before.n, staying)

    def _seconds_anew(self, state: UpdateState, n: int) -> float:
        """Estimate a refit of n rows; infinite where it is not one compiled call."""
        together = self._may_solve_together() and not self._own_way()
        if not (together and whole_matrix(state.kernel, self.tol)):
            return math.inf
        features = stored_features(state.live.X)
        return refit_seconds(
            n, state.support, 0, exact=False, compiled=True, features=features
        )

    def _refitted_at_once(
        self,
        state: UpdateState,
        data: Data,
        gram: Gram,
        tasks: list[AnyTask],
        anew: float,
        moving: int,
    ) -> list[Moved] | None:
        """Refit where no path can be shorter, by its least estimate; None elsewhere."""
        again = after_update(self.history_)
        least = sum([task.least_seconds(moving, again) for task in state.tasks])
        if math.isinf(anew) or (state.tasks and least < SURELY * anew):
            return None
        batch = self._small_batch(gram, tasks)
        warm = bool(state.tasks) and anew > BASE  # else it is no less
        if batch is None or (warm and not self._ends_exactly(tasks[0])):
            if not self._only_cold(state, tasks, moving):
                return None
        elif batch.pinned:
            return None
        account = PathAccount(route=Route.REFIT.value)
        solutions = self._refitted(data, gram, tasks, batch)
        left = min([credit_left(task.credit, 1.0) for task in state.tasks] or [CREDIT])
        return [Moved(solution, account, credit=left) for solution in solutions]

    def _only_cold(self, state: UpdateState, tasks: list[AnyTask], moving: int) -> bool:
        """Whether a task of many rows is refitted, by what is known before it is begun.

        No warm solve can begin where K beta is not known, and a path has to sum it
        first. That is worth it where more updates come.
        """
        if len(tasks) != 1 or len(state.tasks) != 1 or after_update(self.history_):
            return False
        [former], [task] = state.tasks, tasks
        if former.trusted:
            return False
        n, least = task.rows.size, former.least_seconds(moving, in_a_row=False)
        anew = refit_seconds(n, former.support, former.margin, exact=False)
        return least >= CLEARLY * anew and not has_one_point(self._moved_problem(task))

    def _move_tasks(
        self, tasks: list[AnyTask], formers: list[TaskState], change: RowChange
    ) -> list[Moved]:
        """Move each task to its new problem, from its former solution if it has one."""
        same = len(formers) == len(tasks)
        known = formers if same else [None] * len(tasks)
        former = {id(task): state for task, state in zip(tasks, known, strict=True)}

        def run(task: AnyTask) -> Moved:
            return self._move_task(task, former[id(task)], change, len(tasks))

        return self._side_by_side(tasks, run)

    def _with_refits(
        self,
        data: Data,
        gram: Gram,
        tasks: list[AnyTask],
        moved: list[Moved],
    ) -> list[Moved]:
        """Refit the remaining tasks as ``fit`` does, all together."""
        left = [k for k, m in enumerate(moved) if m.solution.status == Status.START]
        if not left:
            return moved
        answers = self._refitted(data, gram, [tasks[number] for number in left])
        for number, solved in zip(left, answers, strict=True):
            moved[number] = replace(moved[number], solution=solved)
        return moved

    def _refitted(
        self,
        data: Data,
        gram: Gram,
        tasks: list[AnyTask],
        batch: ProblemBatch | None = None,
    ) -> list[Solution]:
        """Solve tasks as ``fit`` does, and on to the exact solution if that is asked.

        `batch` is what ``_small_batch`` makes of them, where that is there already.
        """
        machine = self
        if not self.exact_updates:
            machine = self._shadow()
            machine.polish = False
        if batch is None:
            answers, complete = machine._solve_all(data, gram, tasks)
        else:
            answers, complete = machine._solve_recordless(gram, tasks, batch)
        if not complete:
            raise KeyboardInterrupt
        if not demanded(self.exact_updates) or not gram.kernel.semidefinite:
            return answers
        return [
            updates.exact(solved, updates.UpdateOptions(deadline=task.deadline))[0]
            if solved.status == Status.CONVERGED else solved
            for task, solved in zip(tasks, answers, strict=True)
        ]  # fmt: skip

    def _solve_recordless(
        self, gram: Gram, tasks: list[AnyTask], batch: ProblemBatch
    ) -> tuple[list[Any], bool]:
        """Solve tasks in one compiled call; the update has a record of its own."""
        threads, deadline = gram.threads, tasks[0].deadline
        options = self._batch_options(deadline, threads)
        answers = answers_together(gram, batch, tasks, options, keep=True, record=False)
        return self._solve_open(tasks, answers)

    def _too_late(self, stage: str) -> str:
        name = {"add": "partial_fit"}.get(stage, stage)
        return (
            f"{name} did not end within max_time={self.max_time} seconds. The model "
            "stays as it was before the call. Increase max_time, or give fewer rows."
        )

    def _moved_problem(self, task: AnyTask) -> DualProblem:
        """Return the problem of a task whose rows come and go."""
        return self._problem(task)

    def _ends_exactly(self, task: AnyTask) -> bool:
        """Whether a new solution of a task is exact."""
        if not self.exact_updates or demanded(self.exact_updates):
            return bool(self.exact_updates)
        return self._solve_options(task.rows.size, task).exact

    def _update_options(
        self, target: DualProblem, task: AnyTask, change: RowChange
    ) -> updates.UpdateOptions:
        """Return what the update of a task has to reach, and how it may.

        A solve is that of ``fit``. It may begin at the former point unless rows leave:
        within the tolerance it depends on them. What is to begin at nothing waits for
        the other tasks.
        """
        options = self._solve_options(target.n, task)
        plain = target.kink is None and not target.total
        options = replace(options, exact=options.exact and bool(self.exact_updates))

        def solver(problem: DualProblem, start: Solution | None) -> Solution:
            if start is None:
                return waiting(problem)
            return self._solve(problem, options, start)

        return updates.UpdateOptions(
            solver=solver,
            polishes=options.exact,
            exact=demanded(self.exact_updates),
            warm=not change.forgets,
            compiled=plain and is_small(task.gram, [task], self.tol),
            deadline=task.deadline if change.places.size else NEVER,
        )

    def _move_task(
        self, task: AnyTask, state: TaskState | None, change: RowChange, tasks: int
    ) -> Moved:
        """Move a task, one of `tasks`, to its new problem."""
        target = self._moved_problem(task)
        options = self._update_options(target, task, change)
        convex = target.gram.kernel.semidefinite  # otherwise there is no path to follow
        known = state is not None and state.beta.size > 0
        if state is None or not (known and convex and state.leads_to(target)):
            return Moved(*updates.fresh(target, options, convex=convex))
        origin = state.origin(task.rows, change.places)
        age = state.age if state.trusted else 0
        old = state.solution(change.gram.subset(state.members))
        if state.solves(target, origin):
            kept = replace(accurate(old), problem=target, status=Status.POLISHED)
            return Moved(kept, PathAccount(route="unchanged"), age)
        columns = columns_for(state.columns, state.beta.size, target, tasks)
        leavers = partial(change.with_leavers, task.rows, state.members)
        more = state.moving_share(origin) if after_update(self.history_) else 0.0
        options = replace(options, columns=columns, credit=state.credit, to_come=more)
        solution, account = updates.change(old, origin, target, leavers, options)
        age = 1 + age if account.route == Route.PATH else 0
        left = credit_left(state.credit, account.refits)
        return Moved(solution, account, age, columns, left)


@dataclass(frozen=True, eq=False)
class Moved:
    """A task's new solution, what it took, and what is kept for the next update.

    `age` counts the moves since its values were computed afresh; `credit` is what the
    next one may cost beyond its own.
    """

    solution: Solution
    account: PathAccount
    age: int = 0
    columns: HeldColumns | None = None
    credit: float = CREDIT


def waiting(problem: DualProblem) -> Solution:
    """Return a placeholder for a solution still to be computed."""
    nothing = np.zeros(problem.n)
    return Solution(problem, nothing, nothing, Status.START)
