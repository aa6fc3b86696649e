"""GridSearchCV over kernel estimators that shares what its fits have in common."""

from __future__ import annotations

import time
from typing import Any, Self

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.model_selection import GridSearchCV, ParameterGrid, check_cv
from sklearn.pipeline import Pipeline
from sklearn.utils import indexable

from widemargin.estimators.base.shared_fit import knowing
from widemargin.estimators.base.sklearn_compat import (
    fit_and_score,
    indexed_params,
    insert_error_scores,
    model_scores,
    safe_split,
    warn_of_failed_fits,
)
from widemargin.estimators.base.validation import check_weights, effective_threads

from .shared_fits import Request, SharedFit, held_out_values, shared_fits
from .sharing import Fold, final_estimator, refuse_foreign, sheets

Results = dict[str, Any]


class SharedGridSearchCV(GridSearchCV):
    """Exhaustive search over parameters of a kernel estimator whose fits share work.

    Signature, results, ranks and ties of :class:`sklearn.model_selection.GridSearchCV`,
    for every kernel estimator of this package and for Pipelines that end in one. Each
    cell of the table is computed, to the estimator's ``tol``; what fits have in common
    is computed once: kernel values for all C, costs, quantiles and class weights, and,
    where rows are not prepared or each by itself and gamma is a number, for all folds.
    Fits start from each other. What cannot be shared is fitted plainly. Only the best
    setting is fitted to all rows, with its certificate.

    Parameters
    ----------
    estimator : kernel estimator of this package, or Pipeline that ends in one
        What is tuned.
    param_grid : dict, or list of dict
        Values to be tried, by parameter.
    scoring : str, callable, list, tuple or dict, default=None
        As in GridSearchCV.
    n_jobs : int, default=None
        Threads; None for all cores.
    refit : bool, str or callable, default=True
        As in GridSearchCV.
    cv : int, splitter or iterable, default=None
        As in GridSearchCV.
    verbose : int, default=0
        As in GridSearchCV.
    pre_dispatch : int or str, default="2*n_jobs"
        Kept for compatibility, without effect: threads share their memory.
    error_score : "raise" or number, default=nan
        As in GridSearchCV.
    return_train_score : bool, default=False
        As in GridSearchCV.

    Attributes
    ----------
    cv_results_, best_estimator_, best_score_, best_params_, best_index_, scorer_, \
n_splits_, refit_time_, multimetric_, classes_, n_features_in_, feature_names_in_
        As in GridSearchCV. The fit time of a cell is its share of the time of all that
        were solved together.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from widemargin import SVC, SharedGridSearchCV
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> grid = {"C": [0.1, 1, 10, 100], "gamma": [0.001, 0.01, 0.1]}
    >>> search = SharedGridSearchCV(SVC(), grid).fit(scale(X), y)
    >>> search.best_params_
    {'C': 10, 'gamma': 0.01}
    """

    def fit(self, X: Any, y: Any = None, **params: Any) -> Self:
        """Run all fits, and fit the best setting to all rows.

        Parameters
        ----------
        X : array or CSR of shape (n_samples, n_features)
            Training samples; the (n, n) kernel matrix with ``kernel="precomputed"``.
        y : array of shape (n_samples,), optional
            Labels or target values.
        **params : dict
            Passed to the fits, the scorer and the splitter, as in GridSearchCV.

        Returns
        -------
        self : object
            The fitted search.

        Raises
        ------
        KeyboardInterrupt
            On Ctrl-C; the search stays what it was before.
        """
        self._validate_params()
        refuse_foreign(self.estimator)
        return self._search(X, y, params)

    def _search(self, X: Any, y: Any, params: dict[str, Any]) -> Self:
        scorers, refit_metric = self._get_scorers()
        X, y = indexable(X, y)
        routed = self._get_routed_params_for_fit(indexed_params(X, params=params))
        splitter = check_cv(self.cv, y, classifier=is_classifier(self.estimator))
        splits = list(splitter.split(X, y, **routed.splitter.split))
        candidates = list(ParameterGrid(self.param_grid))
        cells = _Cells(self, scorers, X, y, candidates, splits, routed)
        if self.verbose > 0:
            print(
                f"Fitting {len(splits)} folds for each of {len(candidates)} "
                f"candidates, totalling {len(candidates) * len(splits)} fits"
            )
        out = cells.evaluated()
        warn_of_failed_fits(out, self.error_score)
        if callable(self.scoring):
            insert_error_scores(out, self.error_score)
        results = self._format_results(candidates, len(splits), out)
        found: Results = {"cv_results_": results, "n_splits_": len(splits)}
        found["scorer_"] = getattr(scorers, "_scorers", scorers)
        first = out[0]["test_scores"]
        several = found["multimetric_"] = isinstance(first, dict)
        if callable(self.scoring) and several:
            self._check_refit_for_multimetric(first)
            refit_metric = self.refit
        if self.refit or not several:
            best = self._select_best_index(self.refit, refit_metric, results)
            found["best_index_"] = best
            if not callable(self.refit):
                found["best_score_"] = results[f"mean_test_{refit_metric}"][best]
            found["best_params_"] = results["params"][best]
        if self.refit:
            found.update(self._refitted(X, y, found["best_params_"], routed))
        self.__dict__.update(found)  # all or nothing: a Ctrl-C before leaves no trace
        return self

    def _refitted(self, X: Any, y: Any, chosen: Any, routed: Any) -> Results:
        """Fit the best setting to all rows."""
        best = clone(self.estimator).set_params(**clone(chosen, safe=False))
        started = time.time()
        arguments = (X,) if y is None else (X, y)
        best.fit(*arguments, **routed.estimator.fit)
        found = {"best_estimator_": best, "refit_time_": time.time() - started}
        if hasattr(best, "feature_names_in_"):
            found["feature_names_in_"] = best.feature_names_in_
        return found


class _Cells:
    """The cells of the table: one setting on one fold each."""

    def __init__(
        self, search: Any, scorers: Any, X: Any, y: Any, candidates: Any,
        splits: Any, routed: Any,
    ) -> None:  # fmt: skip
        self.search, self.scorers = search, scorers
        self.X, self.y = X, y
        self.candidates, self.routed = candidates, routed
        self.folds = [Fold(k, *split) for k, split in enumerate(splits)]
        self.table: list[Results | None] = [None] * (len(candidates) * len(splits))

    def evaluated(self) -> list[Results]:
        """Return the results of all cells, setting by setting."""
        fit_params = self.routed.estimator.fit
        if self.folds and set(fit_params) <= {"sample_weight"}:
            self._evaluate_shared(fit_params.get("sample_weight"))
        for candidate in range(len(self.candidates)):
            for fold in self.folds:
                place = candidate * len(self.folds) + fold.number
                if self.table[place] is None:
                    self.table[place] = self._plainly(candidate, fold)
        if not self.table:
            raise ValueError(
                "No fits were performed. Was the CV iterator empty? Were there no "
                "candidates?"
            )
        return [cell for cell in self.table if cell is not None]

    def _evaluate_shared(self, sample_weight: Any) -> None:
        estimators = []
        numbers = []
        for number, candidate in enumerate(self.candidates):
            estimator = clone(self.search.estimator)
            estimator.set_params(**clone(candidate, safe=False))
            machine = final_estimator(estimator)
            estimators.append(estimator)
            keeps = "keep_rows" in machine.get_params() and machine.keep_rows
            if not keeps:
                numbers.append(number)
        n = len(self.X) if not hasattr(self.X, "shape") else self.X.shape[0]
        request = Request(
            [estimators[k] for k in numbers], self.X,
            None if self.y is None else np.asarray(self.y),
            check_weights(sample_weight, n),
            effective_threads(self.search.n_jobs),
        )  # fmt: skip
        for fits in shared_fits(request, sheets(request.estimators, self.folds)):
            for fit in fits:
                place = numbers[fit.candidate] * len(self.folds) + fit.fold
                self.table[place] = self._scored(fit, request.estimators[fit.candidate])

    def _scored(self, fit: SharedFit, estimator: Any) -> Results:
        """Store the model of a fit and score it as GridSearchCV would."""
        started = time.perf_counter()
        fold = self.folds[fit.fold]
        model: Any = fit.begun.stored(fit.answers, warn=True)
        values = held_out_values(fit)
        train, test = fit.rows.parts[fit.place]
        if values is not None:
            model = knowing(model, [(test, values)])
        if fit.rows.prepare is not None:
            steps = [*fit.rows.prepare.steps, (estimator.steps[-1][0], model)]
            model = Pipeline(steps)
            train, test = (
                safe_split(estimator, self.X, None, rows, fold.train)[0]
                for rows in (fold.train, fold.test)
            )
        result: Results = {"fit_error": None, "fit_time": fit.seconds}
        result["n_test_samples"] = fold.test.size
        result["test_scores"] = self._scores(model, test, fold.test)
        result["score_time"] = time.perf_counter() - started
        if self.search.return_train_score:
            result["train_scores"] = self._scores(model, train, fold.train)
        return result

    def _scores(self, model: Any, samples: Any, rows: Any) -> Any:
        _, y = safe_split(model, self.X, self.y, rows, rows)
        given = indexed_params(self.X, params=self.routed.scorer.score, indices=rows)
        return model_scores(
            model, samples, y, self.scorers, given, self.search.error_score
        )

    def _plainly(self, candidate: int, fold: Fold) -> Results:
        found: Results = fit_and_score(
            clone(self.search.estimator), self.X, self.y,
            scorer=self.scorers, train=fold.train, test=fold.test, verbose=0,
            parameters=self.candidates[candidate],
            fit_params=self.routed.estimator.fit,
            score_params=self.routed.scorer.score,
            return_train_score=self.search.return_train_score,
            return_n_test_samples=True, return_times=True,
            error_score=self.search.error_score,
        )  # fmt: skip
        return found
