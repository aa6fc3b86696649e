"""Processor time of an iteration of each selection rule, all on the same rows."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from widemargin.engine.solve import solve
from widemargin.engine.solve_options import DrawnPairs, SolveOptions
from widemargin_papers.harness.cells import Cell
from widemargin_papers.harness.timing import processor_seconds

from .runs import problem_of

COST = "Processor time per iteration, microseconds"
STEPS = 2000
REPEATS = 3


def cost_of_an_iteration(name: str) -> Iterable[Cell]:
    """Time DPWSS against WSS2 from the same start, kernel rows cached beforehand."""
    rules: dict[str, str | DrawnPairs] = {
        "WSS2": "second_order",
        "WSS2, LIBSVM's float rows": "libsvm_second_order",
        "DPWSS sigma=0.1": DrawnPairs(1.0, 0.1),
        "DPWSS sigma=0.7": DrawnPairs(1.0, 0.7),
    }
    problem = problem_of(name)
    runs = {
        rule: partial(solve, problem,
                      SolveOptions(selection=chosen, max_iter=STEPS, shrinking=False))
        for rule, chosen in rules.items()
    }  # fmt: skip
    for run in runs.values():
        run()
    least = dict.fromkeys(rules, float("inf"))
    for rule, run in REPEATS * list(runs.items()):
        seconds, solution = processor_seconds(run)
        least[rule] = min(least[rule], seconds / solution.n_iter)
    row = f"{name} ({problem.n} rows)"
    for rule, seconds in least.items():
        note = f"{seconds / least['WSS2']:.2f} of WSS2; least of {REPEATS}"
        yield Cell(COST, row, rule, 1e6 * seconds, note=note)
