"""The chunk-incremental paper's figures, as tasks: ``widemargin reproduce cost``.

Figures 1 and 2 are path steps and margin-set sizes, 3 and 4 times: processor seconds on
one thread, so that a busy machine does not blur the ratios. Figure 5 is in `accuracy`.
"""

from __future__ import annotations

import multiprocessing
import resource
from collections.abc import Iterable
from copy import copy
from functools import partial
from math import ceil
from statistics import median
from typing import Any

import numpy as np
from sklearn.svm import SVC as ScikitLearnSVC

from widemargin import CostSensitiveSVC
from widemargin.engine import updates
from widemargin.engine.gram import Gram
from widemargin.engine.solution import Solution
from widemargin.estimators.cost_sensitive.costs import cost_problem
from widemargin_papers.harness.cells import Cell, Task
from widemargin_papers.harness.timing import processor_seconds

from . import printed
from .accuracy import accuracy_tasks
from .printed import CHUNK, KERNELS, OPTIONS, PRICES, ROWS, SIZES, Vector, problem

Moves = list[tuple[Solution, updates.PathAccount]]

TITLE = (
    "Gu, Quan, Gu, Sheng and Zheng: Chunk incremental learning for cost-sensitive "
    "hinge loss support vector machine (Pattern Recognition 2018)"
)
PUBLIC_FROM = 5000  # rows from which partial_fit is timed beside the engine
STEPWISE = ("chunk", "one by one")  # by the engine: steps are counted
WAYS = (*STEPWISE, "partial_fit", "batch")
CAP = 3  # least seconds after which scikit-learn is stopped; then a lower bound
CAP_RATIO = 40  # and times the chunk's time: twice what is claimed
SMALL_CAP = 1  # the same below 5,000 rows


def tasks(quick: bool) -> list[Task]:
    """Return a task per data set, kernel and size, and those of Figure 5."""
    chosen = [
        (name, kernel, size)
        for name, rows in ROWS.items()
        for size in SIZES
        for kernel in KERNELS
        if size + CHUNK <= rows and (size <= 1000 or not quick)
    ]
    work = [
        Task(
            f"Figures 1 to 4, {name}, {kernel}, n={size}",
            partial(measure, name, kernel, size, trials=1 if quick else trials(size)),
            (name,),
            10,
        )
        for name, kernel, size in chosen
    ]
    return work + accuracy_tasks(quick)


def trials(size: int) -> int:
    """Return how many random orders are averaged: the paper's 10, fewer for 20,000.

    More for small models, where a chunk takes a few steps only: in a cell of 10 orders
    a single chunk could decide which way needs fewer.
    """
    if size <= 1000:
        return 100
    return 10 if size <= 5000 else 3


def measure(name: str, kernel: str, size: int, trials: int) -> Iterable[Cell]:
    """Yield steps, margin sizes and times of one chunk of 50, taken in four ways.

    Steps and margin sizes are means over the trials, as in the paper, times medians of
    processor seconds. Steps are the iterations of the paper's Algorithm 1, counted by
    the same engine in both ways. The large models also take the chunk through the
    public ``partial_fit``: the engine and all that is around it.
    """
    row = f"{name}, {kernel}, n={size}"
    draws = [
        _draw(*printed.samples(name, trial), kernel, size) for trial in range(trials)
    ]
    for way in (way for way in WAYS if f"{way}: seconds" in draws[0]):
        figure = "Figure 4" if way in STEPWISE else "Figure 3"
        worst = max(draw[f"{way}: KKT"] for draw in draws)
        seconds = median(draw[f"{way}: seconds"] for draw in draws)
        note = f"{trials} trials, KKT {worst:.1e}"
        yield Cell(figure, row, f"{way}: seconds", seconds, note=note)
        if way not in STEPWISE:
            continue
        for number, quantity in ((1, "steps"), (2, "margin set")):
            mean = float(np.mean([draw[f"{way}: {quantity}"] for draw in draws]))
            yield Cell(f"Figure {number}", row, f"{way}: {quantity}", mean)
    yield Cell("same objective", row, "largest difference, relative",
               max(draw["difference"] for draw in draws), 0.0, 1e-8)  # fmt: skip
    chunk = median(draw["chunk: seconds"] for draw in draws)
    cap = SMALL_CAP if size < 5000 else max(CAP, ceil(CAP_RATIO * chunk))
    X, y = printed.samples(name, 0)
    rows = slice(0, size + CHUNK)
    if len(np.unique(y[rows])) < 2:
        return
    seconds, capped = scikit_learn_seconds(X[rows], y[rows], kernel, cap)
    note = f"stopped after {cap} s: a lower bound" if capped else "tol 1e-8, one run"
    yield Cell("Figure 3", row, "scikit-learn: seconds", seconds, note=note)


def _draw(X: Vector, y: Vector, name: str, size: int) -> dict[str, float]:
    """Return the figures of one random order."""
    kernel = KERNELS[name]
    base, _ = updates.fresh(problem(X, y, kernel, size))

    def chunk() -> Moves:
        target = problem(X, y, kernel, size + CHUNK)
        return [updates.add(base, target, updates.UpdateOptions(route="path"))]

    def one_by_one() -> Moves:
        gram = Gram(X[: size + CHUNK], kernel, threads=1)
        solution, moves = base, []
        for n in range(size + 1, size + CHUNK + 1):
            target = cost_problem(gram.subset(np.arange(n)), y[:n], 1.0, PRICES)
            moves.append(
                updates.add(solution, target, updates.UpdateOptions(route="path"))
            )
            solution = moves[-1][0]
        return moves

    def batch() -> Moves:
        return [updates.fresh(problem(X, y, kernel, size + CHUNK))]

    found: dict[str, float] = {}
    objectives = []
    for way, run in zip((*STEPWISE, "batch"), (chunk, one_by_one, batch), strict=True):
        # one by one repeats itself 50 times
        seconds, moves = processor_seconds(run, 1 if way == "one by one" else 2)
        certificate = moves[-1][0].certificate
        objectives.append(certificate.objective)
        found[f"{way}: seconds"] = seconds
        found[f"{way}: KKT"] = certificate.kkt_violation or 0.0
        found[f"{way}: steps"] = float(sum(account.steps for _, account in moves))
        sizes = [moved.margin.size for moved, _ in moves]
        found[f"{way}: margin set"] = float(np.mean(sizes))
    if size >= PUBLIC_FROM:
        seconds, record = _public(X, y, name, size)
        found["partial_fit: seconds"] = seconds
        found["partial_fit: KKT"] = record["kkt_violation"]
        objectives.append(record["objective"])
    spread = max(objectives) - min(objectives)
    found["difference"] = spread / max(abs(objectives[-1]), 1e-300)
    return found


def _public(
    X: Vector, y: Vector, kernel: str, size: int
) -> tuple[float, dict[str, Any]]:
    """Return the time of the chunk through ``partial_fit``, and what it recorded.

    An update replaces the state of the object, it changes nothing in place: a copy of
    the object alone repeats it.
    """
    model = CostSensitiveSVC(
        cost_positive=PRICES.cost_positive,
        cost_negative=PRICES.cost_negative,
        n_jobs=1,
        **OPTIONS[kernel],
    ).partial_fit(X[:size], y[:size], classes=[-1.0, 1.0])
    rows = slice(size, size + CHUNK)
    seconds, moved = processor_seconds(
        lambda: copy(model).partial_fit(X[rows], y[rows]), 2
    )
    return seconds, moved.history_[-1]


def scikit_learn_seconds(
    X: Vector, y: Vector, kernel: str, cap: int
) -> tuple[float, bool]:
    """Return the time of a full retrain by scikit-learn at tol 1e-8, and if capped.

    It has no cost-sensitive hinge loss, but with an intercept the model is that of
    class weights with a moved threshold (see the documentation): the same problem.
    """
    weight = 2 * PRICES.cost_negative - 1
    scale = PRICES.cost_negative / weight
    costs = {1: PRICES.cost_positive / scale, -1: weight / scale}
    model = ScikitLearnSVC(class_weight=costs, tol=1e-8, cache_size=1000,
                           **OPTIONS[kernel])  # fmt: skip
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    child = context.Process(target=_fit_and_send, args=(model, X, y, sender, cap))
    child.start()
    sender.close()
    try:
        seconds, capped = float(receiver.recv()), False
    except EOFError:  # the child was stopped before it had anything to send
        seconds, capped = float(cap), True
    child.join()
    return seconds, capped


def _fit_and_send(model: Any, X: Vector, y: Vector, sender: Any, cap: int) -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (cap, cap + 1))
    sender.send(processor_seconds(lambda: model.fit(X, y))[0])
