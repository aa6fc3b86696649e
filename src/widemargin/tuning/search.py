"""GridSearchCV over kernel estimators that shares what its fits have in common."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from typing import Any, Self

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, ParameterGrid, check_cv
from sklearn.utils import column_or_1d, indexable

from widemargin.estimators.base.sklearn_compat import (
    indexed_params,
    insert_error_scores,
    warn_of_failed_fits,
)
from widemargin.runtime.deadline import NEVER, Deadline

from .cells import CellOptions, Cells
from .sharing import refuse_foreign

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
        return self._search(X, y, params, NEVER, _silent)

    def _search(
        self,
        X: Any,
        y: Any,
        params: dict[str, Any],
        deadline: Deadline,
        done: Callable[[int], None],
    ) -> Self:
        self._validate_params()
        refuse_foreign(self.estimator)
        scorers, refit_metric = self._get_scorers()
        X, y = indexable(X, y)
        if y is not None and np.ndim(y) == 2 and np.shape(y)[1] == 1:
            y = column_or_1d(y, warn=True)  # as the estimators do
        routed = self._get_routed_params_for_fit(indexed_params(X, params=params))
        splitter = check_cv(self.cv, y, classifier=is_classifier(self.estimator))
        splits = list(splitter.split(X, y, **routed.splitter.split))
        candidates = list(ParameterGrid(self.param_grid))
        if not splits or not candidates:
            raise ValueError(
                "No fits were performed. Was the CV iterator empty? Were there no "
                "candidates?"
            )
        if self.verbose > 0:
            print(
                f"Fitting {len(splits)} folds for each of {len(candidates)} "
                f"candidates, totalling {len(candidates) * len(splits)} fits"
            )
        options = CellOptions(
            self.scoring, scorers, routed.estimator.fit, routed.scorer.score,
            self.return_train_score, self.error_score, self.n_jobs, deadline, done,
        )  # fmt: skip
        cells = Cells(self.estimator, X, y, splits, options)
        candidates, out = _complete(candidates, cells.evaluated(candidates))
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


def searched_within(
    search: SharedGridSearchCV,
    X: Any,
    y: Any,
    deadline: Deadline,
    done: Callable[[int], None],
) -> SharedGridSearchCV:
    """Fit a search until a deadline: settings not tried by then are not in its table.

    Parameters
    ----------
    search : SharedGridSearchCV
        What to fit.
    X, y : arrays
        Training data.
    deadline : Deadline
        When to stop.
    done : callable
        Called with the number of fits whenever some are done.
    """
    return search._search(X, y, {}, deadline, done)


def _complete(
    candidates: list[Any], table: list[Results | None]
) -> tuple[list[Any], list[Results]]:
    """Return the settings that were tried on all folds, and their cells."""
    folds = len(table) // len(candidates)
    rows = [table[k * folds : (k + 1) * folds] for k in range(len(candidates))]
    tried = [k for k, row in enumerate(rows) if None not in row]
    if not tried:
        raise ValueError(
            "the time was not enough to try one setting; allow more, or try fewer"
        )
    if len(tried) < len(candidates):
        warnings.warn(
            f"the time was enough for {len(tried)} of {len(candidates)} settings; the "
            "best of them is the model. Increase max_time, or try fewer settings.",
            ConvergenceWarning,
            stacklevel=4,
        )
    return [candidates[k] for k in tried], [
        cell for k in tried for cell in rows[k] if cell is not None
    ]


def _silent(_: int) -> None:
    """Take no notice of fits that are done."""
