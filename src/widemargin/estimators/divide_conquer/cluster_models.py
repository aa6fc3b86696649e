"""Early models of given clusters: several partitions of the same rows."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import clone

from widemargin.engine.kernels import Kernel
from widemargin.estimators.base.training_data import LabelledData
from widemargin.multilevel.driver import Plan
from widemargin.multilevel.level import Division, Limits
from widemargin.multilevel.partition import Partition
from widemargin.runtime.deadline import Deadline

from .level_run import LevelRun


def division_of(
    machine: Any, data: LabelledData, kernel: Kernel, tasks: Sequence[Any]
) -> Division:
    """Return the problems of all pairs of classes, to be divided together."""
    problems = [machine._problem(task) for task in tasks]
    return Division(data.X, kernel, problems, [task.rows for task in tasks])


def settings_of_parts(
    machine: Any, kernel: Kernel, seed: int, deadline: Deadline
) -> Any:
    """Return the estimator that is fitted to some rows: plain, quiet, one seed."""
    gamma, seconds = getattr(kernel, "gamma", None), deadline.seconds_left
    return clone(machine).set_params(
        gamma=machine.gamma if gamma is None else gamma,
        class_weight=None, random_state=seed, verbose=False, warm_start=False,
        checkpoint=None, prediction="early", n_levels="auto",
        decision_function_shape="ovr", break_ties=False,
        max_time=None if np.isinf(seconds) else max(seconds, 1e-3),
    )  # fmt: skip


def models_of_clusters(
    machine: Any,
    samples: Any,
    labels: Any,
    weights: Any,
    partitions: Sequence[Partition],
) -> list[Any] | None:
    """Fit the clusters of each partition; None where the time is up.

    Parameters
    ----------
    machine : DivideConquerSVC
        Whose settings the models have; its copies are returned.
    samples, labels, weights : arrays
        The rows, each with its factor on C.
    partitions : sequence of Partition
        Their clusters.
    """
    models = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the fit of all rows will warn
        data, gram, tasks = machine._begin(samples, labels, weights, None)
        division = division_of(machine, data, gram.kernel, tasks)
        options = machine._solve_options(division.problems[0].n, tasks[0])
        for partition in partitions:
            plan = Plan(1, partition=partition)
            run = LevelRun(division, plan, 1, options, Limits.of(gram))
            if run.solve() is None:
                return None
            model = copy.copy(machine)
            model._store_early(data, gram.kernel, tasks, run)
            models.append(model)
    return models
