"""The tables of the comparison on unequal costs, made of its stored results.

A case is a data set with one cost matrix; its cost is the mean over the splits.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

import numpy as np
from scipy.stats import t as student

from widemargin_papers.harness.results import ResultStore
from widemargin_papers.harness.text_tables import rst_table

from .costs import BAYES, CHOSEN, CONSTANT, FIXED, OURS, PLAIN, SETTINGS
from .suite import HALVES, SUITE

ALLOWED = 1.02  # times the cost of the cheapest constant answer
MOST, SHARE = 0.65, 0.8  # asked: geometric mean, share not above SVC
FLOOR = 1e-3  # a thousandth of the least cost a row: no ratio of or to nothing
SHOWN = 8  # cases listed by name
GROUPS = {
    "two classes": ("asymmetric", False),
    "several, asymmetric": ("asymmetric", True),
    "several, symmetric": ("symmetric", True),
}


@dataclass(frozen=True, order=True)
class Case:
    """A data set with one cost matrix."""

    data: str
    matrix: str


CaseCosts = dict[Case, dict[str, list[float]]]  # case -> method -> cost in each split


def ratio(costs: CaseCosts, case: Case, method: str, other: str = PLAIN) -> float:
    """Return the mean cost of a method over another's."""
    ours, theirs = (float(np.mean(costs[case][name])) for name in (method, other))
    return (ours + FLOOR) / (theirs + FLOOR)


def geometric_mean(costs: CaseCosts, method: str) -> float:
    """Return the geometric mean over the cases of the cost over SVC's."""
    ratios = [ratio(costs, case, method) for case in costs]
    return float(np.exp(np.mean(np.log(ratios))))


def not_above(costs: CaseCosts, method: str) -> float:
    """Return the share of cases in which a method does not cost more than SVC."""
    return float(np.mean([ratio(costs, case, method) <= 1.0 for case in costs]))


def worst(costs: CaseCosts, method: str) -> float:
    """Return the largest ratio to the cost of always the same, cheapest answer."""
    return max(ratio(costs, case, method, CONSTANT) for case in costs)


def above_constant(costs: CaseCosts, method: str) -> list[Case]:
    """Return the cases in which one answer for all is cheaper by over 2 %."""
    found = [case for case in costs if ratio(costs, case, method, CONSTANT) > ALLOWED]
    return sorted(found, key=lambda case: -ratio(costs, case, method, CONSTANT))


def interval(costs: CaseCosts, case: Case) -> tuple[float, float]:
    """Return where the ratio to the constant answer is with 95 %, by its splits."""
    middle = ratio(costs, case, OURS, CONSTANT)
    ours, constant = (FLOOR + np.array(costs[case][name]) for name in (OURS, CONSTANT))
    spread = float(np.std(ours - middle * constant, ddof=1) / np.mean(constant))
    half = float(student.isf(0.025, ours.size - 1)) * spread / float(np.sqrt(ours.size))
    return middle - half, middle + half


def case_costs(store: ResultStore, half: str, setting: str) -> CaseCosts:
    """Return the costs of one half and one setting of C."""
    costs: CaseCosts = defaultdict(lambda: defaultdict(list))
    for record in store.records.values():
        if record["half"] == half:
            for matrix, settings in record["cases"].items():
                for method, cost in settings.get(setting, {}).items():
                    costs[Case(record["set"], matrix)][method].append(cost)
    return costs


def group(costs: CaseCosts, name: str) -> CaseCosts:
    """Return the cases of one of the groups."""
    kind, multiclass = GROUPS[name]
    several = {data.name for data in SUITE if data.multiclass}
    return {
        case: found
        for case, found in costs.items()
        if case.matrix.startswith(kind) and (case.data in several) == multiclass
    }


def table(store: ResultStore) -> str:
    """Return all tables."""
    return "\n".join(
        [
            coverage(store),
            cost_table(store),
            "Targets for CostSensitiveSVC:\n",
            target_table(store),
            "Where one answer for all is cheaper than CostSensitiveSVC by over 2 %:\n",
            constant_table(store),
        ]
    )


def advice(store: ResultStore) -> str:
    """Return the costs over SVC's on the checking half."""
    rows = []
    for setting in SETTINGS:
        costs = case_costs(store, "check", setting)
        for name in GROUPS:
            own = group(costs, name)
            if own:
                means = [geometric_mean(own, each) for each in (OURS, BAYES, CONSTANT)]
                rows.append([name, setting, *(f"{mean:.2f}" for mean in means)])
    return rst_table(["costs", "setting", OURS, BAYES, CONSTANT], rows)


def coverage(store: ResultStore) -> str:
    """Return what the figures rest on."""
    splits: dict[str, int] = defaultdict(int)
    for record in store.records.values():
        splits[record["set"]] += 1
    least, most = min(splits.values()), max(splits.values())
    number = f"{least}" if least == most else f"{least} to {most}"
    cases = [len(case_costs(store, half, FIXED)) for half in HALVES]
    return (
        f"{len(splits)} data sets, {number} splits each; {cases[0]} cases (set and "
        f"matrix) to choose, {cases[1]} to check. Cost on test rows over SVC's, "
        "geometric mean over the cases (share of cases in which it is not above SVC's; "
        "largest ratio to the cheapest constant answer). SVC and CostSensitiveSVC "
        "choose C from the same values by the same costs.\n"
    )


def cost_table(store: ResultStore) -> str:
    """Return the costs over SVC's by half, setting and kind of matrix."""
    rows = []
    for half in HALVES:
        for setting in SETTINGS:
            costs = case_costs(store, half, setting)
            for name in GROUPS:
                own = group(costs, name)
                if not own:
                    continue
                figures = [_figures(own, method) for method in (OURS, BAYES, CONSTANT)]
                rows.append([half, setting, name, str(len(own)), *figures])
    header = ["half", "setting", "costs", "cases", OURS, BAYES, CONSTANT]
    return rst_table(header, rows)


def _figures(costs: CaseCosts, method: str) -> str:
    return (
        f"{geometric_mean(costs, method):.2f} ({100 * not_above(costs, method):.0f} %; "
        f"{worst(costs, method):.2f})"
    )


def target_table(store: ResultStore) -> str:
    """Return the targets, and what was reached on both halves in both settings."""
    rows = []
    for setting in SETTINGS:
        measured = [case_costs(store, half, setting) for half in HALVES]
        means = [geometric_mean(costs, OURS) for costs in measured]
        shares = [not_above(costs, OURS) for costs in measured]
        above = [len(above_constant(costs, OURS)) for costs in measured]
        rows += [
            [setting, "geometric mean of the cost over SVC's", f"at most {MOST:g}",
             *(f"{mean:.2f} ({_met(mean <= MOST)})" for mean in means)],
            [setting, "cases not above SVC's", f"at least {100 * SHARE:.0f} %",
             *(f"{100 * share:.0f} % ({_met(share >= SHARE)})" for share in shares)],
            [setting, "cases over 2 % above the cheapest constant answer", "none",
             *(f"{count} of {len(costs)} ({_met(count == 0)})"
               for count, costs in zip(above, measured, strict=True))],
        ]  # fmt: skip
    return rst_table(["setting", "figure", "target", *HALVES], rows)


def _met(reached: bool) -> str:
    return "met" if reached else "missed"


def constant_table(store: ResultStore) -> str:
    """Return, by half and setting, the cases in which the constant answer is better."""
    rows = []
    for half in HALVES:
        for setting in (FIXED, CHOSEN):
            costs = case_costs(store, half, setting)
            cases = above_constant(costs, OURS)
            shown = [_ratio_and_interval(costs, case) for case in cases[:SHOWN]]
            more = [f"{len(cases) - SHOWN} more"] if len(cases) > SHOWN else []
            rows.append([half, setting, ", ".join([*shown, *more]) or "none"])
    header = ["half", "setting", "cases, ratio of the costs, its 95 % interval"]
    return rst_table(header, rows)


def _ratio_and_interval(costs: CaseCosts, case: Case) -> str:
    low, high = interval(costs, case)
    found = ratio(costs, case, OURS, CONSTANT)
    return f"{case.data} {found:.2f} ({low:.2f} to {high:.2f})"
