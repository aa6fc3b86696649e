"""What is compared on wrong labels: each method learns from the given labels alone.

A method has two answers: predictions for the test rows, and a score for each training
row, the higher the more its label is doubted. What cross-validation needs is computed
once for a data set with its labels and shared; each method is charged for what it used.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import balanced_accuracy_score
from sklearn.model_selection import StratifiedKFold
from threadpoolctl import threadpool_limits

from widemargin import SVC, RampSVC
from widemargin_papers.harness.timing import spending

from .suite import Labels, Split, Vector

COSTS = (0.1, 1.0, 10.0, 100.0)  # what cross-validation chooses C from
CUTS = (-np.inf, -1.0, -0.5)  # what it chooses s from; -inf is SVC
FOLDS = 3
SETTINGS: dict[str, Sequence[float]] = {
    "C=1": (1.0,),
    "C=10": (10.0,),
    "C by cross-validation": COSTS,
}


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Values of decision functions on rows they were not fitted to."""

    score: float
    table: Vector
    seconds: float


@dataclass(frozen=True, eq=False)
class Answer:
    """Predictions for the test rows, doubts on the training rows, processor seconds."""

    predicted: Labels
    doubts: Vector
    seconds: float
    listed: int = 0


@dataclass
class Trial:
    """One split with the labels that are given for its training rows."""

    split: Split
    given: Labels
    seed: int
    _held: dict[tuple[float, float], HeldOut] = field(default_factory=dict)
    _fitted: dict[tuple[float, float], Answer] = field(default_factory=dict)
    _boosted: Answer | None = None

    def held_out(self, C: float, s: float) -> HeldOut:
        """Cross-validate one choice; the score is balanced accuracy on given labels."""
        if (C, s) not in self._held:
            with spending() as spent:
                score, table = self._cross_validated(C, s)
            self._held[C, s] = HeldOut(score, table, spent.processor)
        return self._held[C, s]

    def _cross_validated(self, C: float, s: float) -> tuple[float, Vector]:
        """Return the score of one choice, and its decision values at held-out rows."""
        X, y = self.split.X, self.given
        folds = StratifiedKFold(FOLDS, shuffle=True, random_state=self.seed)
        predicted, tables = y.copy(), []
        for train, test in folds.split(X, y):
            model = _machine(C, s).fit(X[train], y[train])
            predicted[test] = model.predict(X[test])
            tables.append((test, _columns(model.decision_function(X[test]))))
        table = np.zeros((len(y), tables[0][1].shape[1]))
        for test, values in tables:
            table[test] = values
        return float(balanced_accuracy_score(y, predicted)), table

    def chosen(
        self, costs: Sequence[float], cuts: Sequence[float]
    ) -> tuple[float, float, float]:
        """Return the best C and s by cross-validation, and the seconds it took."""
        choices = list(product(costs, cuts))
        if len(choices) == 1:
            return *choices[0], 0.0
        tried = [self.held_out(*choice) for choice in choices]
        best = int(np.argmax([one.score for one in tried]))
        return *choices[best], sum(one.seconds for one in tried)

    def fitted(self, C: float, s: float) -> Answer:
        """Fit one choice to all training rows."""
        if (C, s) not in self._fitted:
            with spending() as spent:
                model = _machine(C, s).fit(self.split.X, self.given)
            listed = len(model.outliers_) if isinstance(model, RampSVC) else 0
            doubts = margin_doubts(model, self.split.X, self.given)
            predicted = model.predict(self.split.X_test)
            self._fitted[C, s] = Answer(predicted, doubts, spent.processor, listed)
        return self._fitted[C, s]

    def boosted(self) -> Answer:
        """Fit gradient boosted trees."""
        if self._boosted is None:
            X, y = self.split.X, self.given
            model = HistGradientBoostingClassifier(random_state=0)
            with spending() as spent, threadpool_limits(1):  # more threads would spin
                model.fit(X, y)
            doubts = -model.predict_proba(X)[np.arange(len(y)), y]
            predicted = model.predict(self.split.X_test)
            self._boosted = Answer(predicted, doubts, spent.processor)
        return self._boosted


def _machine(C: float, s: float) -> SVC | RampSVC:
    shared: dict[str, Any] = {"C": C, "n_jobs": 1, "decision_function_shape": "ovo"}
    return RampSVC(s=s, **shared) if np.isfinite(s) else SVC(**shared)


def _columns(values: Vector) -> Vector:
    return values[:, None] if values.ndim == 1 else values


def margin_doubts(model: SVC | RampSVC, X: Vector, y: Labels) -> Vector:
    """Return how far each row is on the wrong side, in the worst pair of its class."""
    values = _columns(model.decision_function(X))
    if values.shape[1] == 1:
        values = -values  # one-vs-one columns favour the first class of a pair
    doubts = np.full(len(y), -np.inf)
    first, second = np.triu_indices(len(model.classes_), 1)
    for place, (low, high) in enumerate(zip(first, second, strict=True)):
        for label, sign in ((low, -1.0), (high, 1.0)):
            own = y == model.classes_[label]
            doubts[own] = np.maximum(doubts[own], sign * values[own, place])
    return doubts


def by_svc(trial: Trial, costs: Sequence[float]) -> Answer:
    """Answer as plain SVC does."""
    return _machine_answer(trial, costs, (-np.inf,))


def by_ramp(trial: Trial, costs: Sequence[float]) -> Answer:
    """RampSVC as it comes."""
    return _machine_answer(trial, costs, (RampSVC().s,))


def by_tuned_ramp(trial: Trial, costs: Sequence[float]) -> Answer:
    """RampSVC with s by cross-validation."""
    return _machine_answer(trial, costs, CUTS)


def _machine_answer(
    trial: Trial, costs: Sequence[float], cuts: Sequence[float]
) -> Answer:
    C, s, searched = trial.chosen(costs, cuts)
    fit = trial.fitted(C, s)
    return Answer(fit.predicted, fit.doubts, searched + fit.seconds, fit.listed)


def by_cleanlab(trial: Trial, costs: Sequence[float]) -> Answer:
    """SVC without the rows that cleanlab's confident learning names.

    Its probabilities are those of a logistic regression on held-out decision values.
    """
    from cleanlab.filter import find_label_issues
    from cleanlab.rank import get_label_quality_scores

    C, s, searched = trial.chosen(costs, (-np.inf,))
    held = trial.held_out(C, s)
    X, y = trial.split.X, trial.given
    with spending() as spent:
        calibration = LogisticRegression(max_iter=1000).fit(held.table, y)
        probabilities = calibration.predict_proba(held.table)
        kept = ~find_label_issues(y, probabilities, n_jobs=1)
        if len(np.unique(y[kept])) < len(np.unique(y)):
            kept[:] = True
        model = _machine(C, s).fit(X[kept], y[kept])
    seconds = spent.processor + (searched or held.seconds)
    doubts = -get_label_quality_scores(y, probabilities)
    return Answer(model.predict(trial.split.X_test), doubts, seconds)


def by_boosting(trial: Trial, _costs: Sequence[float]) -> Answer:
    """Gradient boosted trees, which have no C."""
    return trial.boosted()


Methods = Mapping[str, Callable[[Trial, Sequence[float]], Answer]]
METHODS: Methods = {
    "SVC": by_svc,
    "RampSVC": by_ramp,
    "RampSVC, s chosen": by_tuned_ramp,
    "SVC + cleanlab": by_cleanlab,
    "HistGradientBoosting": by_boosting,
}
