"""What is asked of a fitted model: labels, decision values, probabilities of error."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from widemargin.estimators.base.probabilities import WithoutProbabilities
from widemargin.estimators.chance_constrained.data.samples import (
    Scaling,
    check_test_samples,
)
from widemargin.estimators.chance_constrained.solvers.online_descent import (
    summary_table,
)
from widemargin.estimators.chance_constrained.solvers.outcome import (
    GOOD,
    ChanceSolution,
)
from widemargin.estimators.chance_constrained.solvers.stochastic import CostSummary
from widemargin.numerics.row_blocks import times

from .guarantees import error_bound

Floats = NDArray[np.float64]

_GOOD = (*GOOD, "epochs")


@contextmanager
def keeping_model(estimator: Any) -> Iterator[None]:
    """Leave an estimator as it was, if fitting it ends by an exception.

    One that had no model keeps what Ctrl-C left of the first, if that is a model.
    """
    former = dict(vars(estimator))
    try:
        yield
    except BaseException as error:
        first = isinstance(error, KeyboardInterrupt) and "coef_" not in former
        if not first or "coef_" not in vars(estimator):
            estimator.__dict__ = former
        raise


class UncertainLinearModel(WithoutProbabilities, ClassifierMixin, BaseEstimator):
    """A linear classifier of samples with error bars, once it is fitted."""

    coef_: Floats
    intercept_: Floats
    classes_: NDArray[Any]
    slack_: Floats | None
    tol: float
    _online: dict[str, Any] | None
    _seen: Floats  # sums over the rows of fit, from which partial_fit goes on

    def _store(
        self,
        classes: NDArray[Any],
        scaling: Scaling,
        solutions: list[ChanceSolution],
        summaries: list[CostSummary],
    ) -> None:
        """Keep the models under scikit-learn's names; warn if one is not optimal.

        Ctrl-C goes on from here: what it left is a model all the same.
        """
        self.classes_ = classes
        self.coef_ = np.stack([s.w for s in solutions])
        self.intercept_ = np.array([s.b for s in solutions])
        self.scale_ = scaling.scale
        certificates = [solution.certificate for solution in solutions]
        self.certificate_ = certificates[0] if len(solutions) == 1 else certificates
        self.history_ = [record for s in solutions for record in s.history]
        self.n_iter_ = max(1, *(s.n_iter for s in solutions), 1)
        self._online, self._seen = None, summary_table(summaries)
        bad = [s for s in solutions if s.status not in _GOOD]
        self.fit_status_ = int(len(bad) > 0)
        if any(s.ended == "interrupted" for s in solutions):
            raise KeyboardInterrupt
        if bad:
            relative = bad[0].proof.relative
            gap = "none" if relative is None else f"{relative:.1e}"
            warnings.warn(
                f"ChanceConstrainedSVC stopped early (status {bad[0].status!r}, "
                f"relative gap {gap}, tol {self.tol:g}): raise max_iter or max_time, "
                "or set standardize=True.",
                ConvergenceWarning,
                stacklevel=3,
            )

    def decision_function(self, X: Any) -> Floats:
        """Return ``w'x + b``, one column for each class if there are more than two.

        Parameters
        ----------
        X : array or CSR matrix of shape (n, d)
            Samples.

        Returns
        -------
        ndarray of shape (n,) or (n, n_classes)
            Decision values.
        """
        check_is_fitted(self)
        X = check_test_samples(self, X)
        columns = [
            times(X, w) + b for w, b in zip(self.coef_, self.intercept_, strict=True)
        ]
        return columns[0] if len(columns) == 1 else np.column_stack(columns)

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the predicted labels.

        Parameters
        ----------
        X : array or CSR matrix of shape (n, d)
            Samples.

        Returns
        -------
        ndarray of shape (n,)
            Labels out of ``classes_``.
        """
        values = self.decision_function(X)
        chosen = values.argmax(axis=1) if values.ndim == 2 else (values > 0.0) * 1
        return np.asarray(self.classes_[chosen])

    def error_probability_bound(
        self, X: Any, covariance: Any = None, y: Any = None, *, bound: Any = None
    ) -> Floats:
        """Bound the probability that each uncertain sample is misclassified.

        With margin ``m = y (w'mu + b)`` and spread ``s = ||L'w||`` this is
        ``s^2 / (s^2 + m^2)`` for m > 0, else 1 (moments), or ``Phi(-m / s)``. Without
        ``y`` it is the probability that the sample falls on the other side than its
        mean. With several classes the bounds of all pairs are added.

        Parameters
        ----------
        X : array of shape (n, d)
            Means.
        covariance : array of shape (n, d) or (n, d, d), optional
            Of each sample; by default that of its class (of ``y``, or as predicted).
        y : array of shape (n,), optional
            True labels.
        bound : {"moments", "gaussian"}, optional
            The constructor's by default.

        Returns
        -------
        ndarray of shape (n,)
            Upper bounds, between 0 and 1.
        """
        check_is_fitted(self)
        return error_bound(self, check_test_samples(self, X), covariance, y, bound)

    def __sklearn_tags__(self) -> Any:
        """Return what the estimator can do."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
