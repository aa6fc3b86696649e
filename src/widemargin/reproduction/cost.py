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
from functools import lru_cache, partial
from statistics import median
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.svm import SVC as ScikitLearnSVC

from widemargin import homotopy
from widemargin.cost_sensitive.costs import PairCosts, cost_problem
from widemargin.gram import Gram
from widemargin.kernels import Gaussian, Kernel, Linear, Polynomial
from widemargin.problem import DualProblem
from widemargin.reproduction.cost_accuracy import accuracy_tasks, draw_accuracy
from widemargin.reproduction.datasets import load_libsvm, scale_to_interval, subsample
from widemargin.reproduction.papers import Cell, Task
from widemargin.solution import Solution

Vector = NDArray[np.float64]
Moves = list[tuple[Solution, homotopy.PathAccount]]

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
CAP = 3  # seconds after which scikit-learn is stopped; then a lower bound
SMALL_CAP = 1  # the same below 5,000 rows


def tasks(quick: bool) -> list[Task]:
    """Return one task per data set, kernel and size, and those of Figure 5."""
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
            partial(measure, name, kernel, size, repeats=1 if quick else 2),
            (name,),
            "Figures 1 to 4",
            8,
        )
        for name, kernel, size in chosen
    ]
    return work + accuracy_tasks(quick)


@lru_cache(maxsize=2)
def samples(name: str) -> tuple[Vector, Vector]:
    """Return the data in random order, features in [0, 1], labels -1 and +1."""
    X, y = load_libsvm(name)
    X, y = subsample(X, y, min(ROWS[name], len(y)), seed=0)
    scaled = np.ascontiguousarray(scale_to_interval(X))
    order = np.random.default_rng(0).permutation(len(y))
    return scaled[order], np.where(y == y.max(), 1.0, -1.0)[order]


def problem(X: Vector, y: Vector, kernel: Kernel, n: int) -> DualProblem:
    """Return the paper's problem on the first ``n`` rows."""
    gram = Gram(X[:n], kernel, threads=1)
    return cost_problem(gram, y[:n], 1.0, PRICES)


def measure(name: str, kernel: str, size: int, repeats: int) -> Iterable[Cell]:
    """Yield steps, margin sizes and times of one chunk of 50, taken in four ways."""
    X, y = samples(name)
    value, row = KERNELS[kernel], f"{name}, {kernel}, n={size}"
    base, _ = homotopy.fresh(problem(X, y, value, size))

    def chunk() -> Moves:
        target = problem(X, y, value, size + CHUNK)
        return [homotopy.add(base, target, route="path")]

    def one_by_one() -> Moves:
        gram = Gram(X[: size + CHUNK], value, threads=1)
        solution, moves = base, []
        for n in range(size + 1, size + CHUNK + 1):
            target = cost_problem(gram.subset(np.arange(n)), y[:n], 1.0, PRICES)
            moves.append(homotopy.add(solution, target, route="path"))
            solution = moves[-1][0]
        return moves

    def batch() -> Moves:
        return [homotopy.fresh(problem(X, y, value, size + CHUNK))]

    objectives = {}
    ways = {"chunk": chunk, "one by one": one_by_one, "batch": batch}
    for way, run in ways.items():
        often = 1 if way == "one by one" else repeats  # it repeats itself 50 times
        seconds, moves = _timed(run, often)
        solution = moves[-1][0]
        objectives[way] = solution.certificate.objective
        note = f"KKT {solution.certificate.kkt_violation:.1e}"
        figure = "Figure 3" if way == "batch" else "Figure 4"
        yield Cell(figure, row, f"{way}: seconds", seconds, note=note)
        if way == "batch":
            continue
        steps = float(sum(account.steps for _, account in moves))
        sizes = [margin_size(moved) for moved, _ in moves]
        yield Cell("Figure 1", row, f"{way}: steps", steps)
        yield Cell("Figure 2", row, f"{way}: margin set", float(np.mean(sizes)))
    spread = max(objectives.values()) - min(objectives.values())
    yield Cell("same objective", row, "largest difference, relative",
               spread / max(abs(objectives["batch"]), 1e-300), 0.0, 1e-8)  # fmt: skip
    cap = SMALL_CAP if size < 5000 else CAP
    rows = slice(0, size + CHUNK)
    seconds, capped = scikit_learn_seconds(X[rows], y[rows], value, cap)
    note = f"stopped after {cap} s: a lower bound" if capped else "tol 1e-8"
    yield Cell("Figure 3", row, "scikit-learn: seconds", seconds, note=note)


def margin_size(solution: Solution) -> int:
    """Return how many samples lie on the margin, strictly inside their boxes."""
    dual, beta = solution.problem, solution.beta
    return int(np.count_nonzero((beta > dual.lower) & (beta < dual.upper)))


def _timed(run: Callable[[], Moves], repeats: int) -> tuple[float, Moves]:
    best = np.inf
    for _ in range(repeats):
        begun = time.process_time()
        result = run()
        best = min(best, time.process_time() - begun)
    return best, result


def scikit_learn_seconds(
    X: Vector, y: Vector, kernel: Kernel, cap: int
) -> tuple[float, bool]:
    """Return the time of a full retrain by scikit-learn at tol 1e-8, and if capped.

    It has no cost-sensitive hinge loss, but with an intercept the model is that of
    class weights with a moved threshold (see the documentation): the same problem.
    """
    weight = 2 * PRICES.cost_negative - 1
    scale = PRICES.cost_negative / weight
    costs = {1: PRICES.cost_positive / scale, -1: weight / scale}
    options: dict[str, Any] = {"kernel": "linear"}
    if isinstance(kernel, Polynomial):
        options = {"kernel": "poly", "degree": 2, "gamma": 2.0, "coef0": 1.0}
    elif isinstance(kernel, Gaussian):
        options = {"kernel": "rbf", "gamma": kernel.gamma}
    model = ScikitLearnSVC(class_weight=costs, tol=1e-8, cache_size=1000, **options)
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
        chunk = median(found["chunk: steps"] for found in own)
        single = median(found["one by one: steps"] for found in own)
        worst = max(
            found["chunk: steps"] / max(found["one by one: steps"], 1.0)
            for found in own
        )
        judged += [
            Cell("steps", name, "chunk, median", chunk),
            Cell("steps", name, "one by one, median", single),
            Cell("steps", name, "largest ratio", worst),
        ]
    for size in (5000, 20000):
        own = [found for row, found in rows.items() if row.endswith(f"n={size}")]
        if not own:
            continue
        for other in ("batch", "scikit-learn", "one by one"):
            ratios = [found[f"{other}: seconds"] / found["chunk: seconds"]
                      for found in own]  # fmt: skip
            judged += [
                Cell("times", f"n={size}", f"chunk against {other}, median",
                     median(ratios)),
                Cell("times", f"n={size}", f"chunk against {other}, least",
                     min(ratios)),
            ]  # fmt: skip
    return judged


def figures(cells: Sequence[Cell]) -> dict[str, Any]:
    """Draw Figures 1 to 5 with the package's displays."""
    from matplotlib.figure import Figure

    from widemargin.display import HistoryDisplay

    rows = table(cells)
    drawn: dict[str, Any] = draw_accuracy(cells)
    columns = {
        "figure1": ("steps", ("chunk", "one by one")),
        "figure2": ("margin set", ("chunk", "one by one")),
        "figure3": ("seconds", ("chunk", "one by one", "batch", "scikit-learn")),
    }
    for stem, (quantity, ways) in columns.items():
        figure = Figure(figsize=(11, 9), layout="constrained")
        axes = figure.subplots(3, 3, squeeze=False)
        for name, ax in zip(ROWS, axes.ravel(), strict=True):
            series = _series(rows, name, quantity, ways)
            if series:
                display = HistoryDisplay(series, "training rows", quantity)
                display.plot(ax=ax, log=True, log_x=True)
            ax.set_title(name)
        drawn[stem] = figure
    return drawn


def _series(
    rows: dict[str, dict[str, float]], name: str, quantity: str, ways: Iterable[str]
) -> dict[str, Any]:
    """Return one curve per way: the median over the kernels at each size."""
    series: dict[str, Any] = {}
    for way in ways:
        points: dict[int, list[float]] = {}
        for row, found in rows.items():
            if row.startswith(f"{name},") and f"{way}: {quantity}" in found:
                size = int(row.rsplit("=", 1)[1])
                points.setdefault(size, []).append(found[f"{way}: {quantity}"])
        if points:
            sizes = sorted(points)
            # a chunk may need no step at all: half a step is drawn for it
            heights = [max(median(points[size]), 0.5 if quantity == "steps" else 0.0)
                       for size in sizes]  # fmt: skip
            series[way] = (sizes, heights)
    return series
