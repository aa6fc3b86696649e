"""Speed, accuracy and memory of divide and conquer, against scikit-learn and ``SVC``.

Every ratio is taken within one run on one machine. scikit-learn may be stopped at a cap
of no less than the ratio asked for times our time; its time is then a lower bound, and
the note says so.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from widemargin.estimators.divide_conquer import DivideConquerSVC
from widemargin.estimators.svc import SVC
from widemargin_papers.dcsvm import printed as paper
from widemargin_papers.dcsvm.splits import FILES, Split, accuracy, subset
from widemargin_papers.harness.cells import Cell, Figure, Task, row_cells
from widemargin_papers.harness.contestants import Settings
from widemargin_papers.harness.measuring import Problem, run
from widemargin_papers.harness.timing import Spent
from widemargin_papers.harness.worker import peak_megabytes, timed

ASKED = {"ijcnn1": 50.0, "covtype": 300.0}  # times faster than scikit-learn, early
THREADS = 2
CACHE = 2000.0


def tasks() -> list[Task]:
    """Return the measurements."""
    sizes: dict[str, int | None] = {"ijcnn1": None, "covtype": 50_000}
    kinds = {"early": early_speed, "exact": exact_speed, "predict": predict_speed}
    work: list[tuple[str, str, Callable[[], Iterable[Cell]]]] = [
        (f"{name if n is None else f'{name} {n}'}, {kind}", name, partial(run, name, n))
        for name, n in sizes.items()
        for kind, run in kinds.items()
    ]
    limited = partial(automatic_speed, "ijcnn1", {"max_time": 600.0}, 5)
    few = partial(exact_speed, "covtype", 20_000)
    work += [
        ("ijcnn1, memory", "ijcnn1", partial(memory, "ijcnn1", None)),
        ("covtype, memory", "covtype", partial(memory, "covtype", 50_000)),
        ("covtype 20000, exact", "covtype", few),
        ("census, exact", "census", partial(automatic_speed, "census", {}, 1)),
        ("census, stopped", "census", partial(stopped, "census")),
        ("ijcnn1 limited, exact", "ijcnn1", limited),
        ("covtype 100000, early", "covtype", hundred_thousand),
        ("covtype full, early", "covtype", full_early),
        ("covtype full, exact", "covtype", full_exact),
    ]
    return [Task(f"speed, {title}", run, FILES[name]) for title, name, run in work]


def _parameters(name: str) -> dict[str, Any]:
    C, gamma = paper.PARAMETERS[name]
    return {"C": C, "gamma": gamma, "n_jobs": THREADS, "cache_size": CACHE}


def _early(name: str, **more: Any) -> DivideConquerSVC:
    common = {"prediction": "early", "early_level": 3, "random_state": 0}
    return DivideConquerSVC(**{**common, **_parameters(name), **more})


def _best(make: Callable[[], Any], data: Split, repeats: int) -> tuple[Any, Spent]:
    """Fit some times; the last model and the least seconds."""
    runs = timed(lambda: make().fit(data.X, data.y), repeats, budget=600.0)
    return runs.result, Spent(min(runs.processor), min(runs.wall))


def early_speed(name: str, n: int | None) -> Iterable[Cell]:
    """Yield early fit, its level by evidence, against ``SVC`` and scikit-learn's."""
    data = subset(name, n)
    table, row = "Speed, early", f"{name}, {len(data.y)} rows"
    model, ours = _best(partial(_early, name, early_level="auto"), data, 5)
    exact, whole = _best(partial(SVC, **_parameters(name)), data, 1)
    near, best = accuracy(model, data), accuracy(exact, data)
    C, gamma = paper.PARAMETERS[name]
    settings = Settings(C=C, gamma=gamma, cache_size=1000.0, threads=THREADS)
    asked = ASKED[name]
    peer = run(
        Problem(row, lambda: (data.X, data.y), settings, repeats=1),
        "scikit-learn",
        settings,
        cap=max(60.0, 1.2 * asked * ours.wall),
    )
    theirs = float(peer["seconds"])
    note = f"{'capped, a lower bound; ' if peer['capped'] else ''}asked {asked:g}"
    figures: dict[str, Figure] = {
        "early s": (ours.wall, f"{model.early_.n_clusters} clusters, least of 5"),
        "early processor s": ours.processor,
        "SVC s": whole.wall,
        "SVC processor s": whole.processor,
        "scikit-learn s": (theirs, note.partition(";")[0]),
        "times faster": (theirs / ours.wall, note),
    }
    if not peer["capped"]:
        spent = float(peer["processor_seconds"])
        figures["scikit-learn processor s"] = spent
        figures["times less processor"] = spent / ours.processor
    yield from row_cells(table, row, figures | _lost(near, best))


def _lost(near: float, best: float) -> dict[str, Figure]:
    """Return the accuracies of early and exact prediction, and the difference."""
    lost = (best - near, "asked 0.3")
    return {"early %": near, "exact %": best, "points lost": lost}


def hundred_thousand() -> Iterable[Cell]:
    """Yield the share of the exact time that early prediction takes at 100,000 rows."""
    data = subset("covtype", 100_000)
    table, row = "Speed, early", "covtype, 100000 rows"
    model, ours = _best(partial(_early, "covtype"), data, 3)
    exact, whole = _best(partial(SVC, **_parameters("covtype")), data, 1)
    near, best = accuracy(model, data), accuracy(exact, data)
    share = 100 * ours.processor / whole.processor
    figures: dict[str, Figure] = {
        "early s": ours.wall,
        "SVC s": whole.wall,
        "% of SVC's time": (100 * ours.wall / whole.wall, "asked 3"),
        "% of SVC's processor time": (share, "asked 3"),
    }
    yield from row_cells(table, row, figures | _lost(near, best))


def full_early() -> Iterable[Cell]:
    """Yield the early model of the paper's whole covtype split."""
    data = subset("covtype", None)
    row = f"covtype, {len(data.y)} rows"
    model, ours = _best(partial(_early, "covtype"), data, 1)
    table, right = "Speed, early", accuracy(model, data)
    yield Cell(table, row, "early s", ours.wall, 672.0, note="asked 120")
    yield Cell(table, row, "early processor s", ours.processor)
    yield Cell(table, row, "early %", right, 96.12, 0.6, "asked 95.5")


def full_exact() -> Iterable[Cell]:
    """Yield the exact model of the whole split; an hour and 8 GB are the goal."""
    data = subset("covtype", None)
    row = f"covtype, {len(data.y)} rows"
    make = partial(
        DivideConquerSVC, max_time=7200.0, random_state=0,
        **{**_parameters("covtype"), "cache_size": 5000.0},
    )  # fmt: skip
    model, ours = _best(make, data, 1)
    stopped = "stopped, early model" if model.fit_status_ else ""
    note = "; ".join(filter(None, (stopped, _stages(model), "asked 3600")))
    right = accuracy(model, data)
    yield Cell("Speed, exact", row, "DC auto s", ours.wall, 11414.0, note=note)
    yield Cell("Speed, exact", row, "DC auto processor s", ours.processor)
    yield Cell("Speed, exact", row, "accuracy %", right, 96.15, 0.1, stopped)
    peak = peak_megabytes()
    yield Cell("Speed, exact", row, "peak MB", peak, note="asked 8000 at most")


def _stages(model: Any) -> str:
    return ", ".join(
        f"{stage['stage']} {stage['seconds']:.3g}" for stage in model.history_
    )


def automatic_speed(name: str, more: dict[str, Any], repeats: int) -> Iterable[Cell]:
    """Yield ``SVC`` and automatic levels side by side."""
    data = subset(name, None)
    given = "".join(f", {key}={value:g}" for key, value in more.items())
    row = f"{name}, {len(data.y)} rows{given}"
    yield from _side_by_side(name, data, row, {"DC auto": more}, repeats)


def stopped(name: str) -> Iterable[Cell]:
    """Yield what a level is worth beside ``SVC`` stopped after the level's time."""
    data = subset(name, None)
    row = f"{name}, {len(data.y)} rows"
    early, level = _best(partial(_early, name), data, 1)
    limited = partial(SVC, **_parameters(name), max_time=level.wall)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        plain, _ = _best(limited, data, 1)
    figures: dict[str, Figure] = {
        "level s": level.wall,
        "level %": accuracy(early, data),
        "SVC stopped then %": (accuracy(plain, data), plain.certificate_.status),
    }
    yield from row_cells("Stopped", row, figures)


def exact_speed(name: str, n: int | None) -> Iterable[Cell]:
    """Yield ``SVC``, automatic and forced levels side by side."""
    data = subset(name, n)
    contestants: dict[str, dict[str, Any]] = {
        "DC auto": {}, "DC 1 level": {"n_levels": 1}, "DC 2 levels": {"n_levels": 2},
        "DC 3 levels": {"n_levels": 3},
    }  # fmt: skip
    yield from _side_by_side(name, data, f"{name}, {len(data.y)} rows", contestants, 2)


def _side_by_side(
    name: str,
    data: Split,
    row: str,
    contestants: dict[str, dict[str, Any]],
    repeats: int,
) -> Iterable[Cell]:
    common, table = _parameters(name), "Speed, exact"
    plain, base = _best(partial(SVC, **common), data, repeats)
    yield Cell(table, row, "SVC s", base.wall)
    yield Cell(table, row, "SVC processor s", base.processor)
    for label, settings in contestants.items():
        make = partial(DivideConquerSVC, random_state=0, **common, **settings)
        model, spent = _best(make, data, repeats)
        excess = model.certificate_.bound / plain.certificate_.bound - 1
        note = f"{_stages(model)}; dual {excess:+.0e} of SVC's"
        yield Cell(table, row, f"{label} s", spent.wall, note=note)
        share = spent.processor / base.processor
        limit = "asked 1.2 at most" if label == "DC auto" else ""
        yield Cell(table, row, f"{label} over SVC, processor", share, note=limit)


def predict_speed(name: str, n: int | None) -> Iterable[Cell]:
    """Yield microseconds per sample of early and exact models, by batch size."""
    data = subset(name, n)
    models = {
        "early": _early(name).fit(data.X, data.y),
        "exact": SVC(**_parameters(name)).fit(data.X, data.y),
    }
    for batch in (1, 100, 100_000):
        Z = data.X_test[np.arange(batch) % len(data.y_test)]
        for label, model in models.items():
            model.predict(Z)
            spent = []
            for _ in range(50 if batch <= 100 else 3):
                clock = time.perf_counter()
                model.predict(Z)
                spent.append(time.perf_counter() - clock)
            row = f"{name}, {len(data.y)} rows, {label}"
            yield Cell("Speed, predict", row, f"us per sample, {batch} at a time",
                       1e6 * min(spent) / batch)  # fmt: skip


def memory(name: str, n: int | None) -> Iterable[Cell]:
    """Yield the peak memory of an early and an exact fit, over that of the data."""
    for label in ("early", "exact"):
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
            megabytes, block, used = pool.submit(_peak, name, n, label).result()
        row = f"{name}, {'all' if n is None else n} rows, {label}"
        figures: dict[str, Figure] = {
            "data MB": megabytes,
            "peak MB over loaded data": used,
        }
        if block is not None:
            note = "of the largest cluster, whole, in float32"
            figures["kernel block MB"] = (block, note)
        yield from row_cells("Memory", row, figures)


def _start_of_peak() -> float:
    """Forget the peak of loading the data (Linux); return the memory in use now."""
    reset = Path("/proc/self/clear_refs")
    if reset.exists():
        reset.write_text("5")
    return peak_megabytes()


def _peak(name: str, n: int | None, label: str) -> tuple[float, float | None, float]:
    data = subset(name, n, 10)
    before = _start_of_peak()
    model = _early(name) if label == "early" else SVC(**_parameters(name))
    model.fit(data.X, data.y)
    used = peak_megabytes() - before
    largest = model.history_[0].get("largest_cluster")
    block = None if largest is None else 4 * largest**2 / 1e6
    return data.X.nbytes / 1e6, block, used
