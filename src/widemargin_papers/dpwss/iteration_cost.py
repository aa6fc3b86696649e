"""Processor time of an iteration of each selection rule, all on the same rows."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from widemargin.engine.solve import solve
from widemargin.engine.solve_options import DrawnPairs, SolveOptions
from widemargin_papers.harness.cells import Cell
from widemargin_papers.harness.results import Record
from widemargin_papers.harness.timing import fastest_in_turn, processor_seconds

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

    def run(chosen: str | DrawnPairs) -> Record:
        options = SolveOptions(selection=chosen, max_iter=STEPS, shrinking=False)
        seconds, solution = processor_seconds(lambda: solve(problem, options))
        return {"processor": seconds / solution.n_iter}

    runs = {rule: partial(run, chosen) for rule, chosen in rules.items()}
    fastest_in_turn(runs, 1)  # kernel rows are cached
    least = fastest_in_turn(runs, REPEATS)
    for rule, found in least.items():
        seconds = found["processor"]
        ratio = seconds / least["WSS2"]["processor"]
        note = f"{ratio:.2f} of WSS2; least of {REPEATS}"
        yield Cell(COST, f"{name} ({problem.n} rows)", rule, 1e6 * seconds, note=note)
