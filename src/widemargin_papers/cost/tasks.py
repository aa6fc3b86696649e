"""The chunk-incremental paper's figures, as tasks: ``widemargin reproduce cost``.

Setting of the paper: C = 1, C+ = 1, C- = 4; linear, quadratic (2 x'z + 1)^2 and
Gaussian (gamma 1/4) kernels; features in [0, 1]; 50 new samples enter models of growing
size. Figures 1 and 2 are path steps and margin-set sizes, 3 and 4 times: processor
seconds on one thread, so that a busy machine does not blur the ratios. The paper prints
curves and no numbers; `targets` judges our own targets from the cells.
"""

from __future__ import annotations

import multiprocessing
import resource
import time
from collections.abc import Callable, Iterable, Sequence
from copy import copy
from functools import lru_cache, partial
from math import ceil
from statistics import median
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.svm import SVC as ScikitLearnSVC

from widemargin import CostSensitiveSVC
from widemargin.engine import updates
from widemargin.engine.gram import Gram
from widemargin.engine.kernels import Gaussian, Kernel, Linear, Polynomial
from widemargin.engine.problem import DualProblem
from widemargin.engine.solution import Solution
from widemargin.estimators.cost_sensitive.costs import PairCosts, cost_problem
from widemargin_papers.harness.datasets import load_libsvm, scale_to_interval, subsample
from widemargin_papers.harness.reproduction import Cell, Task

from .accuracy import accuracy_tasks, draw_accuracy
from .figures import draw_growth
from .newcomers import newcomer_tasks
from .ramp_updates import ramp_tasks

Vector = NDArray[np.float64]
Moves = list[tuple[Solution, updates.PathAccount]]

TITLE = (
    "Gu, Quan, Gu, Sheng and Zheng: Chunk incremental learning for cost-sensitive "
    "hinge loss support vector machine (Pattern Recognition 2018)"
)
PRICES = PairCosts((1, 0), positive=1, cost_positive=1.0, cost_negative=4.0)
CHUNK = 50
KERNELS: dict[str, Kernel] = {
    "linear": Linear(),
    "quadratic": Polynomial(2, 2.0, 1.0),
    "Gaussian": Gaussian(0.25),
}
OPTIONS: dict[str, dict[str, Any]] = {  # the same kernels by their names
    "linear": {"kernel": "linear"},
    "quadratic": {"kernel": "poly", "degree": 2, "gamma": 2.0, "coef0": 1.0},
    "Gaussian": {"kernel": "rbf", "gamma": 0.25},
}
PUBLIC_FROM = 5000  # rows from which partial_fit is timed beside the engine
FAR = 1.2  # times the steps of one by one: asked that no cell is above
SIZES = (250, 500, 1000, 2000, 5000, 20000)
ROWS = {
    "abalone19": 4174,
    "covtype.binary": 20050,
    "ijcnn1": 20050,
    "page-blocks0": 5472,
    "segment0": 2308,
    "shuttle-c0-vs-c4": 1829,
    "svmguide3": 1243,
    "winequality-red-4": 1599,
    "yeast4": 1484,
}
STEPWISE = ("chunk", "one by one")  # by the engine: steps are counted
WAYS = (*STEPWISE, "partial_fit", "batch")
PAIRS = (  # what is compared, both ways
    ("chunk", "batch"),
    ("chunk", "scikit-learn"),
    ("chunk", "one by one"),
    ("partial_fit", "batch"),
    ("partial_fit", "scikit-learn"),
)
CAP = 3  # least seconds after which scikit-learn is stopped; then a lower bound
CAP_RATIO = 40  # and times the chunk's time: twice what is claimed
SMALL_CAP = 1  # the same below 5,000 rows


def tasks(quick: bool) -> list[Task]:
    """Return a task per data set, kernel and size; Figure 5; updates; newcomers."""
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
            "Figures 1 to 4",
            10,
        )
        for name, kernel, size in chosen
    ]
    more = accuracy_tasks(quick)
    if not quick:
        more += ramp_tasks(samples, KERNELS)
        more += newcomer_tasks(ROWS, samples, problem, KERNELS)
    return work + more


def trials(size: int) -> int:
    """Return how many random orders are averaged: the paper's 10, fewer for 20,000.

    More for small models, where a chunk takes a few steps only: in a cell of 10 orders
    a single chunk could decide which way needs fewer.
    """
    if size <= 1000:
        return 100
    return 10 if size <= 5000 else 3


def samples(name: str, trial: int) -> tuple[Vector, Vector]:
    """Return the data in a random order of its own for each trial."""
    X, y = _scaled(name)
    order = np.random.default_rng(trial).permutation(len(y))
    return np.ascontiguousarray(X[order]), y[order]


@lru_cache(maxsize=2)
def _scaled(name: str) -> tuple[Vector, Vector]:
    """Return the data with features in [0, 1] and labels -1 and +1."""
    X, y = load_libsvm(name)
    X, y = subsample(X, y, min(ROWS[name], len(y)), seed=0)
    scaled = np.ascontiguousarray(scale_to_interval(X))
    return scaled, np.where(y == y.max(), 1.0, -1.0)


def problem(X: Vector, y: Vector, kernel: Kernel, n: int) -> DualProblem:
    """Return the paper's problem on the first ``n`` rows."""
    gram = Gram(X[:n], kernel, threads=1)
    return cost_problem(gram, y[:n], 1.0, PRICES)


def measure(name: str, kernel: str, size: int, trials: int) -> Iterable[Cell]:
    """Yield steps, margin sizes and times of one chunk of 50, taken in four ways.

    Steps and margin sizes are means over the trials, as in the paper, times medians of
    processor seconds. Steps are the iterations of the paper's Algorithm 1, counted by
    the same engine in both ways. The large models also take the chunk through the
    public ``partial_fit``: the engine and all that is around it.
    """
    row = f"{name}, {kernel}, n={size}"
    draws = [_draw(*samples(name, trial), kernel, size) for trial in range(trials)]
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
    ratios = [draw["chunk: steps"] / max(draw["one by one: steps"], 1.0)
              for draw in draws]  # fmt: skip
    yield Cell("Figure 1", row, "largest ratio of one draw", max(ratios))
    far = sum(ratio > FAR for ratio in ratios)
    yield Cell("Figure 1", row, "draws above", float(far), note=f"{FAR:g} times")
    yield Cell("Figure 1", row, "draws", float(trials))
    yield Cell("same objective", row, "largest difference, relative",
               max(draw["difference"] for draw in draws), 0.0, 1e-8)  # fmt: skip
    chunk = median(draw["chunk: seconds"] for draw in draws)
    cap = SMALL_CAP if size < 5000 else max(CAP, ceil(CAP_RATIO * chunk))
    X, y = samples(name, 0)
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
        return [updates.add(base, target, route="path")]

    def one_by_one() -> Moves:
        gram = Gram(X[: size + CHUNK], kernel, threads=1)
        solution, moves = base, []
        for n in range(size + 1, size + CHUNK + 1):
            target = cost_problem(gram.subset(np.arange(n)), y[:n], 1.0, PRICES)
            moves.append(updates.add(solution, target, route="path"))
            solution = moves[-1][0]
        return moves

    def batch() -> Moves:
        return [updates.fresh(problem(X, y, kernel, size + CHUNK))]

    found: dict[str, float] = {}
    objectives = []
    for way, run in zip((*STEPWISE, "batch"), (chunk, one_by_one, batch), strict=True):
        # one by one repeats itself 50 times
        seconds, moves = _timed(run, 1 if way == "one by one" else 2)
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
    seconds, moved = _timed(lambda: copy(model).partial_fit(X[rows], y[rows]), 2)
    return seconds, moved.history_[-1]


def _timed(run: Callable[[], Any], repeats: int) -> tuple[float, Any]:
    best = np.inf
    for _ in range(repeats):
        begun = time.process_time()
        result = run()
        best = min(best, time.process_time() - begun)
    return best, result


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
    begun = time.process_time()
    model.fit(X, y)
    sender.send(time.process_time() - begun)


def table(cells: Sequence[Cell]) -> dict[str, dict[str, float]]:
    """Return all figures of one row together: row -> column -> figure."""
    rows: dict[str, dict[str, float]] = {}
    for cell in cells:
        if cell.ours is not None and cell.table.startswith("Figure"):
            rows.setdefault(cell.row, {})[cell.column] = cell.ours
    return {row: found for row, found in rows.items() if "chunk: steps" in found}


def targets(cells: Sequence[Cell]) -> list[Cell]:
    """Judge the targets: steps on each set, times at 5,000 and 20,000 rows."""
    rows, judged = table(cells), []
    for name in ROWS:
        own = [found for row, found in rows.items() if row.startswith(f"{name},")]
        if not own:
            continue
        means = [(found["chunk: steps"], found["one by one: steps"]) for found in own]
        ratios = [chunk / single for chunk, single in means if single > 0.0]
        draws = [found.get("largest ratio of one draw", 0.0) for found in own]
        judged += [
            Cell("steps", name, "chunk, median", median(
                chunk for chunk, _ in means)),
            Cell("steps", name, "one by one, median", median(
                single for _, single in means)),
            Cell("steps", name, "median ratio", median(ratios)),
            Cell("steps", name, "largest ratio", max(ratios)),
            Cell("steps", name, "largest ratio of one draw", max(draws)),
            Cell("steps", name, "draws above", sum(
                found.get("draws above", 0.0) for found in own)),
            Cell("steps", name, "draws", sum(
                found.get("draws", 0.0) for found in own)),
        ]  # fmt: skip
    for size in (5000, 20000):
        own = [found for row, found in rows.items() if row.endswith(f"n={size}")]
        for way, other in PAIRS:
            upper, lower = f"{other}: seconds", f"{way}: seconds"
            ratios = [found[upper] / found[lower] for found in own
                      if upper in found and lower in found]  # fmt: skip
            if ratios:
                row, column = f"n={size}, {len(ratios)} cells", f"{way} against {other}"
                judged += [
                    Cell("times", row, f"{column}, median", median(ratios)),
                    Cell("times", row, f"{column}, least", min(ratios)),
                ]
    return judged


def figures(cells: Sequence[Cell]) -> dict[str, Any]:
    """Draw Figures 1 to 5 with the package's displays."""
    growth = draw_growth(cells, table(cells), ROWS, KERNELS)
    return draw_accuracy(cells) | growth
