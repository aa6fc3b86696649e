"""What SVCCV, SVRCV and QuantileSVRCV share: a grid that looks after itself."""

from __future__ import annotations

import time
import warnings
from abc import abstractmethod
from collections.abc import Iterable
from itertools import product
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import KFold, StratifiedKFold, check_cv
from sklearn.utils import indexable
from sklearn.utils.validation import has_fit_parameter
from tqdm.auto import tqdm

from widemargin.engine.kernels import NAMES, WITH_GAMMA
from widemargin.estimators.base.shared_fit import Machine, validated_fold
from widemargin.estimators.base.sklearn_compat import (
    Interval,
    StrOptions,
    insert_error_scores,
    warn_of_failed_fits,
)
from widemargin.estimators.base.validation import check_weights, resolve_gamma
from widemargin.runtime.deadline import Deadline

from .cells import CellOptions, Cells
from .chosen_model import ChosenModel
from .grids import (
    LEAST_C,
    MOST_C,
    ROUNDS,
    default_Cs,
    default_gammas,
    finer,
    first_of_the_best,
    near_the_best,
    widened,
)
from .search import SharedGridSearchCV

Vector = NDArray[np.float64]
Setting = dict[str, Any]
TIED = 1e-8  # KKT violation to which settings that tie are fitted


class TunedMachine(ChosenModel, BaseEstimator):
    """Base of the estimators with built-in cross-validation."""

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "Cs": ["array-like", Interval(Integral, 1, None, closed="left")],
        "gammas": ["array-like", Interval(Integral, 1, None, closed="left")],
        "kernel": [StrOptions({*NAMES}), callable],
        "cv": ["cv_object"],
        "refine": ["boolean"],
        "tol": [Interval(Real, 0.0, None, closed="neither")],
        "cache_size": [StrOptions({"auto"}), Interval(Real, 0, None, closed="neither")],
        "n_jobs": [Integral, None],
        "max_time": [Interval(Real, 0, None, closed="neither"), None],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    _range_of_C: ClassVar[tuple[float, float]] = (LEAST_C, MOST_C)
    _settles_ties: ClassVar[bool] = True

    Cs: Any
    gammas: Any
    kernel: Any
    cv: Any
    scoring: Any
    refit: Any
    refine: bool
    tol: float
    n_jobs: int | None
    max_time: float | None
    random_state: Any
    verbose: Any

    @abstractmethod
    def _machine(self) -> Machine:
        """Return the unfitted estimator that is tuned, but for C and gamma."""

    def _further(self) -> dict[str, list[Any]]:
        """Return values of further parameters, each of which is tried."""
        return {}

    def _unit(self, data: Any) -> float:
        """Return the unit of C and ``tol``, if it is that of the targets."""
        return 1.0

    def _finished(self, best: Machine) -> Machine:
        """Return the estimator, at the C and gamma chosen, as it is fitted at last."""
        return best

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Choose C and gamma by cross-validation and fit them to all rows.

        Parameters
        ----------
        X : array or CSR of shape (n_samples, n_features)
            Training samples; the (n, n) kernel matrix with ``kernel="precomputed"``.
        y : array of shape (n_samples,)
            Labels or target values.
        sample_weight : array of shape (n_samples,), optional
            Each row's factor on C, and on what it counts in the scores; rows with
            weight <= 0 are as if absent.

        Returns
        -------
        self : object
            The fitted estimator.

        Raises
        ------
        KeyboardInterrupt
            On Ctrl-C; the estimator stays what it was before.
        """
        self._validate_params()
        machine = self._machine()
        data = validated_fold(machine, X, y, sample_weight)
        rows, _ = indexable(X, y)
        weights = check_weights(sample_weight, data.n_given)
        if weights is not None:
            weights = np.maximum(weights, 0.0)
        tuning = _Tuning(self, machine, data, rows, np.asarray(y).ravel(), weights)
        found = tuning.searched()
        best = self._finished(machine.set_params(**found["best_params_"]))
        given = {} if sample_weight is None else {"sample_weight": sample_weight}
        found["best_estimator_"] = best.fit(X, y, **given)
        found["C_"], found["gamma_"] = float(best.C), best.gamma_
        found["n_features_in_"] = best.n_features_in_
        if hasattr(best, "feature_names_in_"):
            found["feature_names_in_"] = best.feature_names_in_
        else:
            self.__dict__.pop("feature_names_in_", None)  # of a former fit
        self.__dict__.update(found)  # all or nothing
        return self

    def __sklearn_tags__(self) -> Any:
        """Declare sparse input, and pairwise input with a precomputed kernel."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags


class _Tuning:
    """One search: rounds over grids, all in one table."""

    def __init__(
        self,
        own: TunedMachine,
        machine: Machine,
        data: Any,
        X: Any,
        y: Any,
        weights: Any,
    ) -> None:
        self.own, self.machine = own, machine
        self.history: list[dict[str, Any]] = []
        self.deadline = Deadline.after(own.max_time)
        self.has_gamma = not callable(own.kernel) and own.kernel in WITH_GAMMA
        scale = resolve_gamma("scale", data.X, data.weights, own.kernel)
        unit = own._unit(data)
        machine.set_params(tol=own.tol * unit)
        self.Cs = default_Cs(own.Cs, *(unit * end for end in own._range_of_C))
        self.gammas = (
            default_gammas(own.gammas, scale) if self.has_gamma else np.ones(1)
        )
        # The table, its ranks and the choice are GridSearchCV's.
        self.table = SharedGridSearchCV(
            machine, {}, scoring=own.scoring, refit=own.refit, error_score=np.nan
        )
        self.scorers, self.metric = self.table._get_scorers()
        self.splits = self._splits(X, y, weights)
        self.bar = tqdm(disable=not own.verbose, unit="fit", delay=1.0, leave=False)
        self.cells = Cells(machine, X, y, self.splits, self._options(weights))
        exact = clone(machine).set_params(tol=min(own.tol, TIED) * unit)
        self.exact_cells = Cells(exact, X, y, self.splits, self._options(weights))
        self.exactly: set[int] = set()  # settings whose fits are exact
        self.settings: list[Setting] = []
        self.out: list[dict[str, Any]] = []
        self.left_out = 0

    def _folds(self, y: Any) -> Any:
        own = self.own
        shuffled = own.random_state is not None and isinstance(own.cv, Integral | None)
        if not shuffled:
            return check_cv(own.cv, y, classifier=is_classifier(own))
        kind = StratifiedKFold if is_classifier(own) else KFold
        return kind(own.cv or 5, shuffle=True, random_state=own.random_state)

    def _splits(self, X: Any, y: Any, weights: Any) -> list[tuple[Any, Any]]:
        """Return train and test rows of each fold; rows without weight are absent."""
        folds = self._folds(y)
        if weights is None or isinstance(self.own.cv, Iterable):  # given row by row
            splits = list(folds.split(X, y))
        else:
            present = np.flatnonzero(weights > 0.0)
            some = folds.split(np.empty(present.size), y[present])
            splits = [(present[train], present[test]) for train, test in some]
        if weights is not None and not all(weights[t].max() > 0.0 for _, t in splits):
            raise ValueError(
                "cv has a fold whose test rows all have sample_weight 0: it has no "
                "score. Give cv folds with rows that count."
            )
        return splits

    def _options(self, weights: Any) -> CellOptions:
        given = {} if weights is None else {"sample_weight": weights}
        scoring = self.own.scoring
        # A function of (model, X, y) has no place for weights.
        blind = callable(scoring) and not (
            hasattr(scoring, "_score_func")
            or has_fit_parameter(_Called(scoring), "sample_weight")
        )
        return CellOptions(
            scoring, self.scorers, given, {} if blind else given,
            n_jobs=self.own.n_jobs, deadline=self.deadline, done=self.bar.update,
        )  # fmt: skip

    def searched(self) -> dict[str, Any]:
        """Search, widen, refine; return what is found."""
        own, Cs, gammas = self.own, self.Cs, self.gammas
        with self.bar:
            self._evaluate("grid", Cs, gammas)
            for _ in range(ROUNDS):
                best = self._best()
                more_C = more_gamma = np.empty(0)
                if isinstance(own.Cs, Integral):
                    more_C = widened(Cs, best["C"])
                if self.has_gamma and isinstance(own.gammas, Integral):
                    more_gamma = widened(gammas, best["gamma"])
                if not more_C.size + more_gamma.size or self.deadline.passed:
                    break
                Cs = np.union1d(Cs, more_C)
                gammas = np.union1d(gammas, more_gamma)
                self._evaluate("widened", Cs, gammas)
            if own.refine and not self.deadline.passed:
                best = self._best()
                close = finer(gammas, best["gamma"]) if self.has_gamma else gammas
                self._evaluate("refined", finer(Cs, best["C"]), close)
        if self.left_out:
            warnings.warn(
                f"{type(own).__name__} stopped at max_time={own.max_time} with "
                f"{self.left_out} settings not tried; the model is the best of the "
                f"{len(self.settings)} that were. Increase max_time, or try fewer Cs "
                "and gammas.",
                ConvergenceWarning,
                stacklevel=3,
            )
        return self._found()

    def _evaluate(
        self, stage: str, Cs: Iterable[float], gammas: Iterable[float]
    ) -> None:
        """Evaluate the settings that are not in the table yet."""
        begun = time.perf_counter()
        known = {tuple(setting.values()) for setting in self.settings}
        values: dict[str, Iterable[Any]] = {"C": [float(C) for C in Cs]}
        if self.has_gamma:
            values["gamma"] = [float(gamma) for gamma in gammas]
        values.update(self.own._further())
        settings = [
            dict(zip(values, chosen, strict=True))
            for chosen in product(*values.values())
        ]
        fresh = [s for s in settings if tuple(s.values()) not in known]
        self.bar.total = (self.bar.total or 0) + len(fresh) * len(self.splits)
        out, count = self.cells.evaluated(fresh), len(self.splits)
        done = 0
        for number, setting in enumerate(fresh):
            row = [cell for cell in out[number * count : (number + 1) * count] if cell]
            if len(row) == count:
                self.settings.append(setting)
                self.out += row
                done += 1
        self.left_out += len(fresh) - done
        if not self.settings:  # no time for a single one: the middle of the grid, then
            raise ValueError(
                f"max_time={self.own.max_time} was not enough to try one setting; "
                "increase it, or leave it out."
            )
        warn_of_failed_fits(self.out, np.nan)
        if callable(self.own.scoring):
            insert_error_scores(self.out, np.nan)
        self._settle_ties()
        best = self._best()
        record = {
            "stage": stage, "size": len(self.splits), "objective": None, "gap": None,
            "seconds": time.perf_counter() - begun,
            "settings": done, "left_out": len(fresh) - done,
        }  # fmt: skip
        self.history.append({**record, **best, "score": self._table()[1]})

    def _settle_ties(self) -> None:
        """Fit settings exactly that ``tol`` leaves as good as the best.

        Else the winner would be the accident of a solver: other weights that mean the
        same, or another order of rows, would choose another.
        """
        settles = self.own._settles_ties and not callable(self.own.refit)
        while settles and not self.deadline.passed:
            scores = self._table()[3]
            if not np.isfinite(scores).any():
                return
            open_ones = near_the_best(scores, self.own.tol, len(self.cells.y))
            again = [k for k in open_ones.tolist() if k not in self.exactly]
            if not again:
                return
            folds = len(self.splits)
            self.bar.total = (self.bar.total or 0) + len(again) * folds
            out = self.exact_cells.evaluated([self.settings[k] for k in again])
            for place, k in enumerate(again):
                row = [
                    cell for cell in out[place * folds : (place + 1) * folds] if cell
                ]
                if len(row) == folds:  # else the time was up
                    self.out[k * folds : (k + 1) * folds] = row
                self.exactly.add(k)

    def _table(self) -> tuple[int, float, dict[str, Any], Vector]:
        results = self.table._format_results(self.settings, len(self.splits), self.out)
        metric = self.metric
        if callable(self.own.scoring) and isinstance(self.out[0]["test_scores"], dict):
            self.table._check_refit_for_multimetric(self.out[0]["test_scores"])
            metric = self.own.refit
        best = self.table._select_best_index(self.own.refit, metric, results)
        if not callable(self.own.refit):
            best = first_of_the_best(results[f"mean_test_{metric}"], best)
        scores = results.get(f"mean_test_{metric}", np.empty(0))
        score = np.nan if callable(self.own.refit) else scores[best]
        return int(best), float(score), results, scores

    def _best(self) -> Setting:
        return self.settings[self._table()[0]]

    def _found(self) -> dict[str, Any]:
        best, score, results, _ = self._table()
        return {
            "best_index_": best,
            "best_score_": score,
            "best_params_": self.settings[best],
            "cv_results_": results,
            "n_splits_": len(self.splits),
            "scorer_": getattr(self.scorers, "_scorers", self.scorers),
            "history_": self.history,
        }


class _Called:
    """Shows the arguments of a function as those of a fit."""

    def __init__(self, function: Any) -> None:
        self.fit = function
