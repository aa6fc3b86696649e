"""The cells of a search: one setting on one fold each, fitted together and scored."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import has_fit_parameter

from widemargin.estimators.base.kernel_classifier import KernelClassifier
from widemargin.estimators.base.kernel_machine import KernelMachine
from widemargin.estimators.base.kernel_regressor import OneNumber, r_squared
from widemargin.estimators.base.prediction import PairPrediction
from widemargin.estimators.base.shared_fit import knowing
from widemargin.estimators.base.sklearn_compat import (
    fit_and_score,
    indexed_params,
    model_scores,
    safe_split,
)
from widemargin.estimators.base.validation import check_weights, effective_threads
from widemargin.runtime.deadline import NEVER, Deadline

from .shared_fits import Request, SharedFit, held_out_values, shared_fits
from .sharing import PREPARING, Fold, final_estimator, row_numbers, sheets

Vector = NDArray[np.float64]
Result = dict[str, Any]
Score = Callable[[SharedFit, Vector], float]


def _silent(_: int) -> None:
    """Take no notice of cells that are done."""


@dataclass(frozen=True)
class CellOptions:
    """How cells are fitted and scored.

    Attributes
    ----------
    scoring : str, callable, list, dict or None
        As it was given.
    scorers : callable
        What it stands for.
    fit_params, score_params : dict
        Further arguments of fits and scorers, of all rows.
    return_train_score : bool
        Whether training rows are scored, too.
    error_score : "raise" or float
        The score of a cell that fails.
    n_jobs : int or None
        Threads.
    deadline : Deadline
        Cells that are not done by then are left out.
    done : callable
        Called with the number of cells whenever some are done.
    """

    scoring: Any
    scorers: Any
    fit_params: dict[str, Any] = field(default_factory=dict)
    score_params: dict[str, Any] = field(default_factory=dict)
    return_train_score: bool = False
    error_score: Any = np.nan
    n_jobs: int | None = None
    deadline: Deadline = NEVER
    done: Callable[[int], None] = _silent


class Cells:
    """The table of a search.

    Parameters
    ----------
    estimator : object
        What is tuned.
    X, y : arrays
        All rows and targets.
    splits : sequence of (ndarray, ndarray)
        Training and held-out rows of each fold.
    options : CellOptions
        How cells are fitted and scored.
    """

    def __init__(
        self, estimator: Any, X: Any, y: Any, splits: Any, options: CellOptions
    ) -> None:
        self.estimator, self.X, self.y = estimator, X, y
        self.folds = [
            Fold(k, row_numbers(train), row_numbers(test))
            for k, (train, test) in enumerate(splits)
        ]
        self.options = options
        self._targets = [
            safe_split(estimator, X, y, f.test, f.train)[1] for f in self.folds
        ]

    def evaluated(self, candidates: Sequence[Any]) -> list[Result | None]:
        """Return the results of all cells, setting by setting.

        Parameters
        ----------
        candidates : sequence of dict
            The settings.

        Returns
        -------
        list of dict
            As GridSearchCV notes them; None for cells that the deadline left out.
        """
        table: list[Result | None] = [None] * (len(candidates) * len(self.folds))
        self._share(candidates, table)
        for place, result in enumerate(table):
            if result is None and not self.options.deadline.passed:
                candidate, fold = divmod(place, len(self.folds))
                table[place] = self._plainly(candidates[candidate], self.folds[fold])
                self.options.done(1)
        return table

    def _share(self, candidates: Sequence[Any], table: list[Result | None]) -> None:
        """Fill in all cells whose fits can be shared."""
        fit_params = self.options.fit_params
        if not self.folds or not set(fit_params) <= {"sample_weight"}:
            return
        estimators, numbers = [], []
        for number, candidate in enumerate(candidates):
            estimator = clone(self.estimator).set_params(**clone(candidate, safe=False))
            machine = final_estimator(estimator)
            taken = all(has_fit_parameter(machine, name) for name in fit_params)
            if taken and _can_share(machine):
                estimators.append(estimator)
                numbers.append(number)
        n = self.X.shape[0] if hasattr(self.X, "shape") else len(self.X)
        request = Request(
            estimators, self.X, None if self.y is None else np.asarray(self.y),
            check_weights(fit_params.get("sample_weight"), n),
            effective_threads(self.options.n_jobs), self.options.deadline,
        )  # fmt: skip
        for fits in shared_fits(request, sheets(estimators, self.folds)):
            for fit in fits:
                place = numbers[fit.candidate] * len(self.folds) + fit.fold
                table[place] = self._scored(fit, estimators[fit.candidate])
            self.options.done(len(fits))

    def _scored(self, fit: SharedFit, estimator: Any) -> Result:
        started = time.perf_counter()
        result: Result = {"fit_error": None, "fit_time": fit.seconds}
        result["n_test_samples"] = self.folds[fit.fold].test.size
        values, score = held_out_values(fit), self._score_of_values(fit)
        if values is not None and score is not None:
            fit.begun.warn_unless_converged(fit.answers)
            result["test_scores"] = score(fit, values)
        else:
            self._score_model(fit, estimator, values, result)
        result["score_time"] = time.perf_counter() - started
        return result

    def _score_of_values(self, fit: SharedFit) -> Score | None:
        """Return the score where it is the estimator's own, which needs no model."""
        own, asked = type(fit.begun.machine), self.options.scoring

        def wanted(name: str, base: Any, predict: Any) -> bool:
            by_default = asked is None and getattr(own, "score", None) is base.score
            named = isinstance(asked, str) and asked == name
            return (named or by_default) and getattr(own, "predict", None) is predict

        if self.options.return_train_score:
            return None
        if wanted("accuracy", KernelClassifier, PairPrediction.predict):
            return self._accuracy
        numbers = _are_numbers(self._targets[fit.fold])  # else the scorer has its rules
        if numbers and wanted("r2", OneNumber, OneNumber.predict):
            return self._r_squared
        return None

    def _accuracy(self, fit: SharedFit, values: Vector) -> float:
        right = fit.begun.labels(values) == np.asarray(self._targets[fit.fold])
        return float(np.average(right, weights=self._weights(fit)))

    def _r_squared(self, fit: SharedFit, values: Vector) -> float:
        return r_squared(self._targets[fit.fold], values, self._weights(fit))

    def _weights(self, fit: SharedFit) -> Any:
        """Return the weights of the held-out rows, None where all count the same."""
        weights = self.options.score_params.get("sample_weight")
        if weights is None:
            return None
        return np.asarray(weights)[self.folds[fit.fold].test]

    def _score_model(
        self, fit: SharedFit, estimator: Any, values: Any, result: Result
    ) -> None:
        """Store the model of a fit and score it as GridSearchCV would."""
        fold = self.folds[fit.fold]
        model: Any = fit.begun.stored(fit.answers)
        train, test = fit.rows.parts[fit.place]
        if values is not None:
            model = knowing(model, [(test, values)])
        if fit.rows.prepare is not None:
            model = Pipeline([*fit.rows.prepare.steps, (estimator.steps[-1][0], model)])
            train, test = (
                safe_split(estimator, self.X, None, rows, fold.train)[0]
                for rows in (fold.train, fold.test)
            )
        result["test_scores"] = self._scores(
            model, test, self._targets[fit.fold], fold.test
        )
        if self.options.return_train_score:
            _, y = safe_split(estimator, self.X, self.y, fold.train)
            result["train_scores"] = self._scores(model, train, y, fold.train)

    def _scores(self, model: Any, samples: Any, y: Any, rows: Any) -> Any:
        options = self.options
        given = indexed_params(self.X, params=options.score_params, indices=rows)
        with PREPARING if isinstance(model, Pipeline) else nullcontext():
            return model_scores(
                model, samples, y, options.scorers, given, options.error_score
            )

    def _plainly(self, candidate: Any, fold: Fold) -> Result:
        options = self.options
        found: Result = fit_and_score(
            clone(self.estimator), self.X, self.y,
            scorer=options.scorers, train=fold.train, test=fold.test, verbose=0,
            parameters=candidate, fit_params=options.fit_params,
            score_params=options.score_params,
            return_train_score=options.return_train_score,
            return_n_test_samples=True, return_times=True,
            error_score=options.error_score,
        )  # fmt: skip
        return found


def _can_share(machine: Any) -> bool:
    """Whether fits can be shared; the others say themselves what is wrong with them."""
    if not isinstance(machine, KernelMachine):  # put into a Pipeline by the grid
        return False
    try:
        machine._validate_params()
    except ValueError:
        return False
    kept = "keep_rows" in machine.get_params() and machine.keep_rows
    return machine._is_its_tasks() and not kept


def _are_numbers(y: Any) -> bool:
    numbers = isinstance(y, np.ndarray) and y.ndim == 1 and y.dtype.kind in "fiu"
    return numbers and bool(np.isfinite(y).all())
