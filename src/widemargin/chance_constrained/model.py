"""What is asked of a fitted model: labels, decision values, probabilities of error."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from widemargin.chance_constrained.guarantees import error_bound
from widemargin.chance_constrained.rows import times
from widemargin.chance_constrained.samples import check_test_samples

Floats = NDArray[np.float64]


class UncertainLinearModel(ClassifierMixin, BaseEstimator):
    """A linear classifier of samples with error bars, once it is fitted."""

    coef_: Floats
    intercept_: Floats
    classes_: NDArray[Any]

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
