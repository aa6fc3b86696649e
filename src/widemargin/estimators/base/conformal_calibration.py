"""Conformal calibration: quantiles shifted to cover their share of held-out rows.

A band has adapted to the rows it was fitted to and is too narrow for others. Fits to
folds say by how much: each intercept moves to where the pinball loss of the held-out
rows is least, which is where the share q of them lies below (after Romano, Patterson
and Candes, Conformalized quantile regression, NeurIPS 2019).
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from widemargin.engine.gram import Gram
from widemargin.engine.kernels import Precomputed
from widemargin.engine.warm_start_chain import several_times
from widemargin.runtime.deadline import Deadline

from .row_folds import held_out
from .task import Answer, BoxTask
from .training_data import TargetData, restricted
from .vertex_solves import begin_near

Vector = NDArray[np.float64]
Indices = NDArray[np.intp]


def calibration_moves(
    machine: Any,
    data: TargetData,
    gram: Gram,
    tasks: Sequence[BoxTask],
    answers: Sequence[Answer],
) -> Vector | None:
    """Return by how much each quantile has to move; None if the time was not enough.

    Parameters
    ----------
    machine : QuantileSVR
        One that does not calibrate; C a number, so that folds have the same price.
    data : TargetData
        All rows.
    gram : Gram
        Their kernel values.
    tasks : sequence of BoxTask
        Tasks of the fit to all rows; the calibration is recorded in the last one.
    answers : sequence of Answer
        Their answers: a fit to most of the rows begins there.
    """
    begun, deadline = time.perf_counter(), tasks[0].deadline
    named = data.X.ndim == 1 or isinstance(gram.kernel, Precomputed)
    numbers = None if named else data.X
    weights = np.ones(data.rows.size) if data.weights is None else data.weights
    solved = [answer.beta for answer in answers]
    residuals, counts, out_of_time = [], [], False
    for train, test in held_out(numbers, data.targets):
        values = _held_out_values(machine, data, gram, train, test, deadline, solved)
        out_of_time = values is None
        if values is None:
            break
        residuals.append(data.targets[test, None] - values)
        counts.append(weights[test])
    if not residuals:  # a single row, or the same one many times, stays where it is
        return None if out_of_time else np.zeros(len(tasks))
    table, known = np.concatenate(residuals), np.concatenate(counts)
    seconds = time.perf_counter() - begun
    tasks[-1].history.append(
        {"stage": "calibration", "size": known.size, "objective": None, "gap": None,
         "seconds": seconds, "folds": len(counts)}
    )  # fmt: skip
    return np.array(
        [
            weighted_quantile(column, known, q)
            for q, column in zip(machine.quantiles_, table.T, strict=True)
        ]
    )


def _held_out_values(
    machine: Any,
    data: TargetData,
    gram: Gram,
    train: Indices,
    test: Indices,
    deadline: Deadline,
    solved: Sequence[Vector],
) -> Vector | None:
    """Return the predictions of a fit to some rows at others; None if it was late."""
    part = replace(
        data, X=restricted(machine, data.X, train), rows=np.arange(train.size),
        n_given=train.size, targets=data.targets[train],
        weights=None if data.weights is None else data.weights[train],
    )  # fmt: skip
    own = gram.subset(train)
    tasks = machine._tasks(part, own, gram.kernel)
    for task in tasks:
        task.deadline = deadline
    begin_near(tasks, [beta[train] for beta in solved])
    answers, complete = machine._solve_all(part, own, tasks)
    if not complete:
        raise KeyboardInterrupt
    if any(answer.status.stopped for answer in answers):
        return None
    betas = np.zeros((len(answers), data.rows.size))
    betas[:, train] = [answer.beta for answer in answers]
    sums = several_times(gram, betas, test, np.float64)
    return np.asarray(sums.T + [answer.intercept for answer in answers])


def weighted_quantile(values: Vector, weights: Vector, q: float) -> float:
    """Return the number of least pinball loss: the middle, where there are several.

    A weight of k counts as k values.
    """
    order = np.argsort(values, kind="stable")
    below = np.cumsum(weights[order])
    share, rounding = q * below[-1], 1e-12 * below[-1]
    first = np.searchsorted(below, share - rounding)
    last = min(np.searchsorted(below, share + rounding, "right"), values.size - 1)
    return 0.5 * float(values[order[first]] + values[order[last]])
