"""The campaigns of ``benchmarks/dpwss.py``, by name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial

import numpy as np

from widemargin_papers.dpwss.printed import FILES, printed
from widemargin_papers.dpwss.report import shown
from widemargin_papers.dpwss.runs import labelled
from widemargin_papers.dpwss.tasks import APART, METRICS, SEEDS
from widemargin_papers.harness.cells import Cell, Task, of_table, row_cells
from widemargin_papers.harness.text_tables import list_table

from ..campaign import task_campaign
from .rules import READINGS, SETTING, linear_kernel, run, run_wss3

STORE = "dpwss_rule"
READ = "Readings of the rule (epsilon 0.1, sigma 0.7, without shrinking)"
READ_SETS = ("heart", "breast", "ionosphere", "sonar", "diabetes")
WSS3 = "WSS3: pairs drawn uniformly among all that violate by sigma"
SIGMAS = (0.7, 0.1)


def readings(name: str, seeds: int) -> Iterable[Cell]:
    """Run every reading on a data set, beside the printed objective and iterations."""
    K, y = linear_kernel(*labelled(name))
    for reading, words in READINGS.items():
        ends = [run(K, y, reading, seed) for seed in range(seeds)]
        for metric, own in (
            ("obj", [end.objective for end in ends]),
            ("iteration", [float(end.iterations) for end in ends]),
        ):
            paper = printed().get((name, 0, metric, SETTING))
            note = f"{words}; best run {min(own) if metric == 'obj' else max(own):.6g}"
            mean = float(np.mean(own))
            yield Cell(READ, f"{name}: {reading}", metric, mean, paper, None, note)


def wss3(name: str, seeds: int) -> Iterable[Cell]:
    """Run the general rule, a pair drawn uniformly among all that violate enough."""
    K, y = linear_kernel(*labelled(name))
    for sigma in SIGMAS:
        ends = [run_wss3(K, y, sigma, seed) for seed in range(seeds)]
        found = [(end.objective, end.iterations, end.violation) for end in ends]
        figures = dict(zip(METRICS, np.mean(found, axis=0).tolist(), strict=True))
        yield from row_cells(WSS3, f"{name}: {sigma}", figures)


def readings_table(cells: Sequence[Cell]) -> str:
    """Return objective and iterations of each reading of the rule, and the paper's."""
    own = of_table(cells, READ)

    def entries(reading: str, printed: bool) -> list[str]:
        return [
            shown([own.get((f"{name}: {reading}", c)) for c in METRICS[:2]], printed)
            for name in READ_SETS
        ]

    rows = [("the paper", *entries(next(iter(READINGS)), True))]
    rows += [(f"{key}: {why}", *entries(key, False)) for key, why in READINGS.items()]
    return list_table(("reading", *READ_SETS), rows)


def wss3_table(cells: Sequence[Cell]) -> str:
    """Return objective, iterations and violation of WSS3 by sigma."""
    own = of_table(cells, WSS3)
    rows = [
        (f"{sigma:g}", *(shown([own.get((f"{name}: {sigma}", m)) for m in METRICS])
                         for name in APART))
        for sigma in SIGMAS
    ]  # fmt: skip
    return list_table(("sigma", *APART), rows)


def _tasks(
    title: str,
    names: Iterable[str],
    cells: int,
    work: Callable[[str, int], Iterable[Cell]],
) -> list[Task]:
    return [
        Task(f"{title} {name}", partial(work, name, SEEDS), (FILES[name],), cells)
        for name in names
    ]


CAMPAIGNS = {
    "readings": task_campaign(
        STORE, _tasks("readings", READ_SETS, 10, readings), readings_table
    ),
    "WSS3": task_campaign(STORE, _tasks("WSS3", APART, 6, wss3), wss3_table),
}
