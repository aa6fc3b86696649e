"""Figures 2 and 3 of the robust SVM paper: times, and the share of samples decided.

Figure 2's four contestants are `RampSVC` with screening on or off and shrinking on or
off; beside them stands one plain `SVC` fit, which the whole procedure is measured
against. One setting is measured in one process, contestants in turn, repeat by repeat,
so that a ratio compares neighbours in time. Figure 3 asks the rule along one solve.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from widemargin import SVC, RampSVC
from widemargin.engine.gram import Gram
from widemargin.engine.kernels import Gaussian, Kernel, Linear
from widemargin.engine.problem import classification_problem
from widemargin.engine.screening.rules import screen
from widemargin.engine.solution import Solution
from widemargin.engine.solve import solve
from widemargin.engine.solve_options import SolveOptions
from widemargin.runtime.deadline import Deadline
from widemargin_papers.harness.datasets import (
    load_dense,
    load_libsvm,
    scale_to_interval,
    signs,
    subsample,
)
from widemargin_papers.harness.measuring import say
from widemargin_papers.harness.results import Record, ResultStore

from .printed import PAPERS_S

Vector = NDArray[np.float64]

SIZE = 20_000
COSTS = (0.1, 1.0, 10.0, 100.0)
KAPPAS = (None, 0.05, 0.5, 5.0)  # None: the linear kernel
CONTESTANTS: dict[str, dict[str, Any]] = {
    "none": {"screening": None, "shrinking": False},
    "safe": {"screening": "safe", "shrinking": False},
    "shrink": {"screening": None, "shrinking": True},
    "safe+shrink": {"screening": "safe", "shrinking": True},
}
FIGURE_3 = ((0.05, 1.0), (0.05, 10.0), (0.5, 10.0), (5.0, 100.0))  # kappa, C
LONGEST = 60.0  # seconds of one fit; longer ones are stopped and marked
ROUNDINGS = 8.0  # times the estimate for float32 rows: a bound on what they leave
LONG = 15.0  # seconds from which one run is a measurement: no repeats


def load(name: str, size: int = SIZE) -> tuple[Any, Vector]:
    """Load one of the paper's four data sets, `size` samples drawn with seed 0."""
    if name == "letter":
        parts = [load_dense("letter.scale"), load_dense("letter.scale.t")]
        X = np.vstack([samples for samples, _ in parts])
        y = signs(np.concatenate([labels for _, labels in parts]), lambda k: k <= 13)
    elif name == "a9a":
        X, y = load_libsvm("a9a")
    elif name == "cod-rna":
        X, y = load_dense("cod-rna")
        X = scale_to_interval(X)
    else:
        X, y = load_dense(name)
    y = signs(y, lambda labels: labels > 0)
    X, y = subsample(X, y, size)
    return (X if sparse.issparse(X) else np.ascontiguousarray(X)), y


#: data set -> the files it is made of
FILES: dict[str, tuple[str, ...]] = {
    "cod-rna": ("cod-rna",),
    "a9a": ("a9a",),
    "letter": ("letter.scale", "letter.scale.t"),
    "ijcnn1": ("ijcnn1",),
}
DATASETS = tuple(FILES)


@dataclass(frozen=True)
class Setting:
    """One panel point of Figure 2."""

    dataset: str
    kappa: float | None
    C: float
    tol: float = 1e-6
    size: int = SIZE

    @property
    def key(self) -> str:
        """The name of the setting in the results file."""
        kernel = "linear" if self.kappa is None else f"kappa {self.kappa:g}"
        return f"{self.dataset} {kernel} C {self.C:g} tol {self.tol:g} n {self.size}"

    def parameters(self, threads: int) -> dict[str, Any]:
        """Return the parameters every contestant shares."""
        kernel = {"kernel": "linear"} if self.kappa is None else {"gamma": self.kappa}
        return {
            "C": self.C,
            "tol": self.tol,
            "cache_size": 1000,
            "max_time": LONGEST,
            "n_jobs": threads,
            **kernel,
        }


def settings(tol: float = 1e-6, size: int = SIZE) -> Iterator[Setting]:
    """Yield the settings of Figure 2 and those with the linear kernel.

    In a fixed random order: what a stopped campaign has is a fair sample of them.
    """
    every = list(product(KAPPAS, COSTS, DATASETS))
    for place in np.random.default_rng(0).permutation(len(every)):
        kappa, C, dataset = every[place]
        yield Setting(dataset, kappa, C, tol, size)


def measure(setting: Setting, *, repeats: int = 3, threads: int = 2) -> Record:
    """Fit SVC and Figure 2's four contestants."""
    shared = setting.parameters(threads)
    models: dict[str, Any] = {"SVC": SVC(**shared)}
    for name, choice in CONTESTANTS.items():
        models[name] = RampSVC(s=PAPERS_S, init="svm", **shared, **choice)
    X, y = load(setting.dataset, setting.size)
    return {"setting": setting.key} | fit_in_turn(models, X, y, repeats, threads)


def fit_in_turn(
    models: dict[str, Any], X: Any, y: Vector, repeats: int, threads: int
) -> Record:
    """Fit every model in turn, `repeats` times, and keep each one's fastest run whole.

    The fastest by processor time; a run that was stopped only where none ended. Not
    repeated is what took more than `LONG` processor seconds.
    """
    figures: dict[str, Record] = {}
    for repeat in range(repeats):
        for name, model in models.items():
            known = figures.get(name)
            if known is not None and known["processor"] > LONG:
                continue
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                before, started = time.process_time(), time.perf_counter()
                model.fit(X, y)
                seconds = time.perf_counter() - started
                processor = time.process_time() - before
            run = outcome(model) | {"seconds": seconds, "processor": processor}
            kept = run if known is None else min(known, run, key=_order)
            figures[name] = kept | {"repeats": repeat + 1}
    return {
        "n": len(y),
        "d": int(X.shape[1]),
        "threads": threads,
        "contestants": figures,
    }


def _order(run: Record) -> tuple[bool, float]:
    return run["status"] == "max_time", run["processor"]


def shares(setting: Setting, *, threads: int = 1) -> Record:
    """Return Figure 3's curve: the share of samples decided, against the iteration.

    Of the first convex problem, the plain SVM, from a cold start to the tolerance: the
    rule is asked wherever the largest violation has halved. What it has decided once is
    decided.
    """
    X, y = load(setting.dataset, setting.size)
    kernel: Kernel = Linear() if setting.kappa is None else Gaussian(setting.kappa)
    gram = Gram(X, kernel, cache_mb=1000, threads=threads)
    problem = classification_problem(gram, y, np.full(len(y), setting.C))
    halvings = int(np.ceil(-np.log2(setting.tol)))
    solution: Solution | None = None
    steps, points = 0, []
    decided = np.zeros(len(y), bool)
    for tol in [*np.ldexp(1.0, -np.arange(halvings)), setting.tol]:
        solution = solve(
            problem,
            SolveOptions(tol=tol, deadline=Deadline.after(LONGEST)),
            start=solution,
        )
        steps += solution.n_iter
        error = 0.0 if solution.exact else ROUNDINGS * gram.float32_error(solution.beta)
        found = screen(problem, solution.beta, solution.values, rank=False, error=error)
        decided |= found.at_lower | found.at_upper
        points.append([steps, float(decided.mean()), found.gap])
        if solution.status == "max_time":
            break
    assert solution is not None
    return {
        "setting": setting.key,
        "n": len(y),
        "points": points,
        "status": solution.status,
    }


def share_campaign(store: ResultStore, *, quick: bool = False) -> None:
    """Measure the panels of Figure 3 that `store` does not hold yet."""
    for (kappa, C), dataset in product(FIGURE_3, DATASETS):
        setting = Setting(dataset, kappa, C, 1e-6, 4000 if quick else SIZE)
        if not store.has(setting.key, any_commit=True):
            record = store.add(setting.key, shares(setting))
            found = [round(share, 2) for _, share, _ in record["points"]]
            say(f"{setting.key}: {found}")


def outcome(model: Any) -> Record:
    """Return what a fitted model reached: objective, gap, rounds, outliers, curve."""
    certificate = model.certificate_
    record: Record = {
        "status": certificate.status,
        "gap": certificate.gap,
        "kkt_violation": certificate.kkt_violation,
        "objective": getattr(model, "objective_", certificate.objective),
        "support": len(model.support_),
    }
    if hasattr(model, "outliers_"):
        record["outliers"] = len(model.outliers_)
        record["rounds"] = len(model.history_)
        record["curve"] = [curve(stage) for stage in model.history_]
    return record


def curve(stage: dict[str, Any]) -> list[list[float]]:
    """Return Figure 3's points of one convex problem: iteration, seconds, share."""
    points = stage.get("screened", [])
    return [[point["n_iter"], point["seconds"], point["share"]] for point in points]


def campaign(store: ResultStore, *, quick: bool = False, threads: int = 2) -> None:
    """Measure every setting that `store` does not hold; `quick` takes small samples."""
    todo = list(settings(size=1000 if quick else SIZE))
    for number, setting in enumerate(todo, 1):
        if store.has(setting.key, any_commit=True):
            continue
        repeats = 1 if quick else 3
        record = store.add(
            setting.key, measure(setting, repeats=repeats, threads=threads)
        )
        times = ", ".join(
            f"{name} {figures['seconds']:.2f}"
            for name, figures in record["contestants"].items()
        )
        say(f"{number}/{len(todo)} {setting.key}: {times}")


def times_that_ended(store: ResultStore) -> dict[str, dict[str, float]]:
    """Return the processor seconds of all settings in which no fit was stopped.

    Wall times of a busy machine say little; those are stored beside.
    """
    ended = {}
    for key, record in store.records.items():
        figures = record["contestants"]
        if all(entry["status"] != "max_time" for entry in figures.values()):
            ended[key] = {name: entry["processor"] for name, entry in figures.items()}
    return ended


def best_of_four(seconds: dict[str, float]) -> float:
    """Return the time of the fastest contestant."""
    return min(seconds[name] for name in CONTESTANTS)


def within_reach(seconds: dict[str, float]) -> bool:
    """Say whether safe+shrink takes at most 1.25 times the best plus 0.1 s."""
    return seconds["safe+shrink"] <= 1.25 * best_of_four(seconds) + 0.1


def ratios(store: ResultStore) -> dict[str, float]:
    """Return the medians over the settings in which every fit ended."""
    ended = list(times_that_ended(store).values())
    best = np.array([best_of_four(seconds) for seconds in ended])
    times = {
        name: np.array([seconds[name] for seconds in ended])
        for name in ("SVC", *CONTESTANTS)
    }

    def median(values: Vector) -> float:
        return float(np.median(values))

    return {
        "settings": len(ended),
        "settings left out, with a fit that was stopped": len(store.records)
        - len(ended),
        "median of none / safe+shrink": median(times["none"] / times["safe+shrink"]),
        "median of safe+shrink / SVC": median(times["safe+shrink"] / times["SVC"]),
        "median of shrink (the default) / SVC": median(times["shrink"] / times["SVC"]),
        **{
            f"median of {name} / fastest of the four": median(times[name] / best)
            for name in CONTESTANTS
        },
        "median of fastest of the four / SVC": median(best / times["SVC"]),
        "share within 1.25x the best plus 0.1 s": float(
            np.mean([within_reach(seconds) for seconds in ended])
        ),
    }
