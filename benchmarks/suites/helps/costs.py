"""Unequal costs: what each method's answers cost, for random cost matrices.

A matrix has costs from 1 to 100, drawn evenly on a logarithmic scale: three asymmetric
ones for each data set and, where there are more than two classes, three symmetric ones.
(A symmetric matrix of two classes is plain SVC.) The range of costs was settled after
trials with narrower ones, where less can be gained. With several classes C is chosen
for the first matrix of each kind only, and sets of more than five are trained on 400
rows: every pair of them takes all rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from zlib import crc32

import numpy as np
from numpy.typing import NDArray
from sklearn.calibration import CalibratedClassifierCV
from sklearn.model_selection import StratifiedKFold

from widemargin import SVC, CostSensitiveSVC
from widemargin_papers.harness.results import Record

from .suite import DataSet, Labels, Split, Vector, split

MATRICES = 3  # of each kind
SPREAD = 100.0  # the largest cost over the least
MANY_CLASSES, ROWS_OF_MANY = 5, 400  # training rows of a set with more classes
FOLDS = 3
FIXED, CHOSEN = "C=1", "C by the cost of held-out rows"
GRID = (1e-4, 1e-3, 1e-2, 0.1, 1.0, 10.0)  # what the cost of held-out rows chooses from
SETTINGS: dict[str, Sequence[float]] = {FIXED: (1.0,), CHOSEN: GRID}
PLAIN, OURS, BAYES, CONSTANT = (
    "SVC",
    "CostSensitiveSVC",
    "calibrated probabilities",
    "one answer",
)

Fit = Callable[[Vector, Labels, Vector], Labels]  # training rows, labels, new rows


def cost_matrix(name: str, n_classes: int, number: int, symmetric: bool) -> Vector:
    """Return one of the random cost matrices of a data set."""
    draw = np.random.default_rng([number, symmetric, crc32(name.encode())])
    costs = SPREAD ** draw.uniform(size=(n_classes, n_classes))
    if symmetric:
        costs = np.triu(costs, 1) + np.triu(costs, 1).T
    np.fill_diagonal(costs, 0.0)
    return np.asarray(costs)


def matrices(name: str, n_classes: int) -> dict[str, Vector]:
    """Return the matrices of a data set by name."""
    kinds = {"asymmetric": False} | ({"symmetric": True} if n_classes > 2 else {})
    return {
        f"{kind} {number}": cost_matrix(name, n_classes, number, symmetric)
        for kind, symmetric in kinds.items()
        for number in range(MATRICES)
    }


def measured(data: DataSet, number: int) -> Record:
    """Return the mean costs on the test rows by matrix, setting of C and method."""
    part = shortened(split(data, number))
    plain = {C: _Answers(part, number, _plain(C)) for C in GRID}
    probabilities = _probabilities(part)
    cases = {
        name: {
            setting: _compared(part, number, costs, choices, plain, probabilities)
            for setting, choices in SETTINGS.items()
            if setting == FIXED or len(costs) == 2 or name.endswith(" 0")
        }
        for name, costs in matrices(data.name, int(part.y.max()) + 1).items()
    }
    return {"rows": len(part.y_test), "cases": cases}


def shortened(part: Split) -> Split:
    """Return a split, with fewer training rows where there are many classes."""
    if part.y.max() < MANY_CLASSES:
        return part
    return replace(part, X=part.X[:ROWS_OF_MANY], y=part.y[:ROWS_OF_MANY])


class _Answers:
    """What a model answers on the test rows and, by cross-validation, on the others."""

    def __init__(self, part: Split, seed: int, fit: Fit) -> None:
        self.part, self.seed, self.fit = part, seed, fit

    @cached_property
    def test(self) -> Labels:
        """Answers on the test rows."""
        return self.fit(self.part.X, self.part.y, self.part.X_test)

    @cached_property
    def held_out(self) -> Labels:
        """Answers on the training rows, each predicted by a model of other folds."""
        X, y = self.part.X, self.part.y
        folds = StratifiedKFold(FOLDS, shuffle=True, random_state=self.seed)
        answers = y.copy()
        for train, test in folds.split(X, y):
            answers[test] = self.fit(X[train], y[train], X[test])
        return answers

    def held_out_cost(self, costs: Vector) -> float:
        """Return the mean cost of the held-out answers."""
        return mean_cost(costs, self.part.y, self.held_out)


def _compared(
    part: Split,
    seed: int,
    costs: Vector,
    choices: Sequence[float],
    plain: dict[float, _Answers],
    probabilities: Vector,
) -> dict[str, float]:
    ours = {C: _Answers(part, seed, _ours(C, costs)) for C in choices}
    answers = {
        PLAIN: _best({C: plain[C] for C in choices}, costs),
        OURS: _best(ours, costs),
        BAYES: (probabilities @ costs).argmin(axis=1),
        CONSTANT: np.full(len(part.y_test), cheapest_answer(costs, part.y)),
    }
    return {
        name: round(mean_cost(costs, part.y_test, found), 6)
        for name, found in answers.items()
    }


def _best(choices: dict[float, _Answers], costs: Vector) -> Labels:
    """Return the answers on the test rows of the choice with the least held-out cost.

    Ties go to the smallest C: the simplest model.
    """
    if len(choices) == 1:
        return next(iter(choices.values())).test
    return min(choices.values(), key=lambda each: each.held_out_cost(costs)).test


def _plain(C: float) -> Fit:
    return lambda X, y, rows: SVC(C=C, n_jobs=1).fit(X, y).predict(rows)


def _ours(C: float, costs: Vector) -> Fit:
    def fit(X: Vector, y: Labels, rows: Vector) -> Labels:
        model = CostSensitiveSVC(C=C, cost_matrix=costs, n_jobs=1)
        return np.asarray(model.fit(X, y).predict(rows))

    return fit


def _probabilities(part: Split) -> Vector:
    """Return calibrated probabilities of the classes on the test rows, at C=1."""
    model = CalibratedClassifierCV(SVC(n_jobs=1), ensemble=False, cv=FOLDS)
    return np.asarray(model.fit(part.X, part.y).predict_proba(part.X_test))


def cheapest_answer(costs: Vector, y: Labels) -> int:
    """Return the class that it would have been cheapest to answer always."""
    return int(np.argmin(np.bincount(y, minlength=len(costs)) @ costs))


def mean_cost(costs: Vector, y: Labels, answers: NDArray[np.integer]) -> float:
    """Return what the answers cost a row."""
    return float(costs[y, answers].mean())
