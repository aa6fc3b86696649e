"""A fitted model: what it stores, labels, decision values, probabilities of error."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from widemargin.estimators.base.probabilities import WithoutProbabilities
from widemargin.estimators.base.validation import checked_samples
from widemargin.numerics.row_blocks import times

from .data.chance_problem import GAUSSIAN, MOMENTS, violation_probability
from .data.covariance_tables import FullTable, Uncertainty
from .data.covariances import sample_covariances

Floats = NDArray[np.float64]

_OF_THE_INPUT = ("n_features_in_", "feature_names_in_")  # scikit-learn writes them


@dataclass(frozen=True)
class FitReport:
    """Results of a pass over all rows, stored as ``certificate_`` and so on."""

    certificate: Any
    history: list[dict[str, Any]]
    slack: Floats | None
    bounded_share: Any


@dataclass(frozen=True)
class FittedModel:
    """What a fitted estimator has, whichever way it was trained.

    ``online`` is the state of ``partial_fit`` and ``seen`` the sums over the rows of
    ``fit`` from which it goes on; ``report`` is None where no pass over all rows was
    made.
    """

    classes: NDArray[Any]
    coef: Floats
    intercept: Floats
    scale: Floats
    covariances: Floats | None
    n_iter: int
    solved: bool = True
    online: dict[str, Any] | None = None
    seen: Floats | None = None
    report: FitReport | None = None


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

    bound: str
    coef_: Floats
    intercept_: Floats
    classes_: NDArray[Any]
    covariances_: Floats | None
    n_iter_: int
    scale_: Floats
    _online: dict[str, Any] | None
    _seen: Floats | None

    def _keep(self, model: FittedModel) -> None:
        """Write the fitted attributes; those of an earlier model go."""
        for name in [name for name in vars(self) if name.endswith("_")]:
            if name not in _OF_THE_INPUT:
                delattr(self, name)
        self.n_features_in_ = model.coef.shape[1]
        self.classes_ = model.classes
        self.coef_, self.intercept_ = model.coef, model.intercept
        self.scale_, self.covariances_ = model.scale, model.covariances
        self.n_iter_, self.fit_status_ = model.n_iter, int(not model.solved)
        self._online, self._seen = model.online, model.seen
        if model.report is not None:
            self.certificate_ = model.report.certificate
            self.history_ = model.report.history
            self.slack_ = model.report.slack
            self.bounded_share_ = model.report.bounded_share

    def _kept(self) -> FittedModel | None:
        """Return what ``partial_fit`` goes on from, if there is a model."""
        if not hasattr(self, "coef_"):
            return None
        return FittedModel(
            classes=self.classes_,
            coef=self.coef_,
            intercept=self.intercept_,
            scale=self.scale_,
            covariances=self.covariances_,
            n_iter=self.n_iter_,
            online=self._online,
            seen=self._seen,
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
        X = self._checked(X)
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
        X = self._checked(X)
        bound = self.bound if bound is None else bound
        if bound not in (MOMENTS, GAUSSIAN):
            raise ValueError(f"bound must be 'moments' or 'gaussian', got {bound!r}.")
        believed = self.predict(X) if y is None else np.asarray(y)
        labels = self.classes_.tolist()
        if believed.shape != (X.shape[0],) or not np.isin(believed, labels).all():
            raise ValueError(
                f"y must hold one of the labels {labels} for each of the {X.shape[0]} "
                "rows of X."
            )
        numbers = np.searchsorted(self.classes_, believed)
        uncertainty = self._uncertainty(X, covariance, numbers)
        total = np.zeros(X.shape[0])
        for k in range(len(labels)):
            rows = np.flatnonzero(numbers == k)
            for other in range(len(labels)):
                if other != k and len(rows):
                    w, b = self._boundary(k, other)
                    margin = times(X[rows], w) + b
                    spread = uncertainty.take(rows).spread(w)
                    total[rows] += violation_probability(margin, spread, bound)
        return np.minimum(total, 1.0)

    def _boundary(self, label: int, other: int) -> tuple[Floats, float]:
        """Return the half-space in which ``label`` wins against ``other``."""
        coef, intercept = self.coef_, self.intercept_
        if len(coef) == 1:
            sign = 1.0 if label == 1 else -1.0
            return sign * coef[0], sign * float(intercept[0])
        return coef[label] - coef[other], float(intercept[label] - intercept[other])

    def _uncertainty(
        self, X: Any, covariance: Any, labels: NDArray[np.intp]
    ) -> Uncertainty:
        if covariance is not None:
            return sample_covariances(covariance, None, X.shape[0], X.shape[1])
        if self.covariances_ is None:
            raise ValueError(
                "covariance is needed: the model was fitted with one covariance for "
                "each training sample, so new samples must bring theirs."
            )
        return Uncertainty(FullTable(self.covariances_), labels.astype(np.intp))

    def _checked(self, X: Any) -> Any:
        """Return new samples checked against the fitted ones."""
        return checked_samples(self, X, reset=False, order=None)

    def __sklearn_tags__(self) -> Any:
        """Return what the estimator can do."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
