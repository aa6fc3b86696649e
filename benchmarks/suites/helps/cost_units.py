"""The unit in which a cost matrix multiplies C: of two classes, and of several.

Asked of the choosing half, at C=1, of three candidates: the least, the geometric mean
and the mean of the costs. The rule: the least geometric mean of the cost over SVC's.
(That the least cost is a candidate was an idea from trials on sets of both halves.)
"""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from widemargin import SVC, CostSensitiveSVC
from widemargin_papers.harness.results import Record, ResultStore
from widemargin_papers.harness.text_tables import rst_table

from .cost_report import (
    Case,
    CaseCosts,
    above_constant,
    geometric_mean,
    not_above,
    worst,
)
from .costs import CONSTANT, PLAIN, cheapest_answer, matrices, mean_cost, shortened
from .suite import SUITE, DataSet, Vector, split

UNITS = ("least cost", "geometric mean", "mean")
GROUPS = {"two classes": False, "several classes": True}


def unit(costs: Vector, name: str) -> float:
    """Return a unit of a matrix over its least cost."""
    off_diagonal = costs[costs > 0]
    least = float(off_diagonal.min())
    if name == "least cost":
        return 1.0
    if name == "mean":
        return float(off_diagonal.mean()) / least
    return float(np.exp(np.log(off_diagonal).mean())) / least


def measured(data: DataSet, number: int) -> Record:
    """Return the mean costs on the test rows by matrix and unit."""
    part = shortened(split(data, number))
    plain = SVC(n_jobs=1).fit(part.X, part.y).predict(part.X_test)
    cases = {}
    for name, costs in matrices(data.name, int(part.y.max()) + 1).items():
        answers = {
            PLAIN: plain,
            CONSTANT: np.full(len(plain), cheapest_answer(costs, part.y)),
        }
        for candidate in UNITS:
            model = _machine(costs, 1 / unit(costs, candidate))
            answers[candidate] = model.fit(part.X, part.y).predict(part.X_test)
        cases[name] = {
            method: round(mean_cost(costs, part.y_test, found), 6)
            for method, found in answers.items()
        }
    return {"rows": len(part.y_test), "cases": cases}


def _machine(costs: Vector, C: float) -> CostSensitiveSVC:
    """Return the model whose cheapest mistake has weight C."""
    if len(costs) > 2:
        return CostSensitiveSVC(C=C, cost_matrix=costs, n_jobs=1)
    costly = int(costs[1, 0] >= costs[0, 1])
    ratio = float(costs.max() / costs[costs > 0].min())
    return CostSensitiveSVC(C=C, cost_positive=ratio, pos_label=costly, n_jobs=1)


def case_costs(store: ResultStore, several: bool) -> CaseCosts:
    """Return the costs of the cases of one group."""
    own = {data.name for data in SUITE if data.multiclass == several}
    costs: CaseCosts = defaultdict(lambda: defaultdict(list))
    for record in store.records.values():
        if record["set"] in own:
            for name, found in record["cases"].items():
                for method, cost in found.items():
                    costs[Case(record["set"], name)][method].append(cost)
    return costs


def chosen(costs: CaseCosts) -> str:
    """Return the unit that the rule chooses."""
    return min(UNITS, key=lambda candidate: geometric_mean(costs, candidate))


def table(store: ResultStore) -> str:
    """Return the cost by unit, over SVC's."""
    groups = {name: case_costs(store, several) for name, several in GROUPS.items()}
    measured = {name: costs for name, costs in groups.items() if costs}
    rows = [
        [
            name,
            candidate,
            f"{geometric_mean(costs, candidate):.2f}",
            f"{100 * not_above(costs, candidate):.0f} %",
            f"{worst(costs, candidate):.2f}",
            f"{len(above_constant(costs, candidate))} of {len(costs)}",
        ]
        for name, costs in measured.items()
        for candidate in UNITS
    ]
    rules = [f"{name}: {chosen(costs)}" for name, costs in measured.items()]
    header = ["costs", "unit", "cost / SVC's, geometric mean", "not above SVC's",
              "largest ratio to one answer", "over 2 % above it"]  # fmt: skip
    cases = sum(map(len, measured.values()))
    return "\n".join(
        [
            f"{cases} cases (set and matrix) of the choosing half, C=1. The rule "
            f"chooses: {'; '.join(rules)}.\n",
            rst_table(header, rows),
        ]
    )
