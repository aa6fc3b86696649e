"""A kernel machine that predicts numbers."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import RegressorMixin

from widemargin.engine.gram import Gram
from widemargin.exchange.libsvm_form import SvmType

from .kernel_expansion import ExpansionMachine
from .prediction import SAFETY
from .training_data import TargetData, validate_targets

Vector = NDArray[np.float64]

SINGLE_SHARE = 0.1  # share of tol that single precision may leave in a predicted number


class KernelRegressor(RegressorMixin, ExpansionMachine[TargetData]):
    """Base of the kernel regressors; see :class:`widemargin.SVC` for the parameters."""

    _svm_type = SvmType.EPSILON_SVR

    C: float
    tol: float

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the model to training data.

        Parameters
        ----------
        X : array or CSR of shape (n_samples, n_features)
            Training samples; the (n, n) kernel matrix with ``kernel="precomputed"``.
        y : array of shape (n_samples,)
            Target values.
        sample_weight : array of shape (n_samples,), optional
            Each row's factor on C; rows with weight <= 0 are as if absent.

        Returns
        -------
        self : object
            The fitted estimator.

        Raises
        ------
        KeyboardInterrupt
            On Ctrl-C. A former model stays; an estimator without one has the point
            reached, with ``fit_status_ = 1``, if every output has one.
        """
        return self._fitted(X, y, sample_weight)

    @abstractmethod
    def predict(self, X: Any) -> Vector:
        """Return the predicted numbers."""

    def _validated(self, X: Any, y: Any, sample_weight: Any, ids: Any) -> TargetData:
        return validate_targets(self, X, y, sample_weight, ids)

    def _costs(self, data: TargetData) -> Vector:
        """Return C times sample weight."""
        ones = np.ones(data.rows.size) if data.weights is None else data.weights
        return self.C * ones

    def _in_single_precision(self, gram: Gram, X: Any, weights: Any) -> Vector:
        """Return predictions; in double precision where single is not accurate."""
        error = SAFETY * gram.float32_errors(weights).max()
        single = error <= SINGLE_SHARE * self.tol
        values = gram.cross(X, weights, np.float32 if single else np.float64)
        return np.asarray(values + self.intercept_)


class OneNumber:
    """A regressor with one output: SVR and NuSVR."""

    def predict(self, X: Any) -> Vector:
        """Return the predicted numbers.

        Parameters
        ----------
        X : array or CSR of shape (n_samples, n_features)
            Samples; with ``kernel="precomputed"`` of shape (n_samples, n_training).

        Returns
        -------
        ndarray of shape (n_samples,)
            Predictions in the unit of y.
        """
        return self._at_once()._values(X)  # type: ignore[attr-defined, no-any-return]

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the coefficient of determination, R squared.

        1 is perfect, 0 is as good as the mean of y.

        Parameters
        ----------
        X : array or CSR of shape (n_samples, n_features)
            Samples.
        y : array of shape (n_samples,)
            Target values.
        sample_weight : array of shape (n_samples,), optional
            Weights of the samples.

        Returns
        -------
        float
            :func:`sklearn.metrics.r2_score` of the predictions.
        """
        return r_squared(y, self.predict(X), sample_weight)


def r_squared(y: Any, predicted: Vector, sample_weight: Any = None) -> float:
    """Return what :func:`sklearn.metrics.r2_score` does, most often in less time."""
    plain = isinstance(y, np.ndarray) and y.dtype == np.float64 and y.ndim == 1
    if plain and sample_weight is None and y.shape == predicted.shape and y.size > 1:
        missed = float(np.square(y - predicted).sum())
        spread = float(np.square(y - y.mean()).sum())
        if 0.0 < missed < np.inf and 0.0 < spread < np.inf:
            return 1.0 - missed / spread
    # Its checks, which take as long as the score of a small fold, and its rules.
    from sklearn.metrics import r2_score  # imports much

    return float(r2_score(y, predicted, sample_weight=sample_weight))
