"""A fitted model: what it stores, labels, decision values, probabilities of error."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import permutations
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import Bunch
from sklearn.utils.validation import check_is_fitted

from widemargin.estimators.base.atomic_attributes import WholeState
from widemargin.estimators.base.notebook import CertificateInNotebooks
from widemargin.estimators.base.probabilities import WithoutProbabilities
from widemargin.estimators.base.validation import checked_samples
from widemargin.numerics.row_blocks import times
from widemargin.uncertainty.covariance_tables import FullTable, Uncertainty
from widemargin.uncertainty.covariances import sample_covariances
from widemargin.uncertainty.gaussian_features import (
    NOT_NORMAL,
    feature_spreads,
    fourier_features,
)
from widemargin.uncertainty.risk_bounds import GAUSSIAN, MOMENTS, violation_probability

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class FittedModel:
    """What a fitted estimator has, whichever way it was trained.

    ``online`` is the state of ``partial_fit`` and ``seen`` the sums over all rows, from
    which it goes on. The last four are of a pass over all rows: None where none was
    made.
    """

    classes: NDArray[Any]
    coef: Floats
    intercept: Floats
    scale: Floats
    n_iter: int
    solved: bool = True
    covariances: Floats | None = None
    frequencies: Floats | None = None  # of the random features, kernel="rbf"
    online: dict[str, Any] | None = None
    seen: Floats | None = None
    certificate: Any = None
    history: list[dict[str, Any]] = field(default_factory=list)
    slack: Floats | None = None
    bounded_share: Any = None


class UncertainModel(
    WholeState,
    CertificateInNotebooks,
    WithoutProbabilities,
    ClassifierMixin,
    BaseEstimator,
):
    """A classifier of samples with error bars, linear or in random features."""

    bound: str
    risk: float
    coef_: Floats
    intercept_: Floats
    classes_: NDArray[Any]
    covariances_: Floats | None
    frequencies_: Floats | None
    n_iter_: int
    scale_: Floats
    _online: dict[str, Any] | None
    _seen: Floats | None

    def _all_or_nothing(self, fit: Callable[[Self], None]) -> Self:
        """Fit, or stay as before; Ctrl-C in a first fit leaves the model reached."""
        shadow = self._shadow()
        try:
            fit(shadow)
        except KeyboardInterrupt:
            if hasattr(shadow, "coef_") and not hasattr(self, "coef_"):
                self._replaced_by(shadow)
            raise
        return self._replaced_by(shadow)

    def _keep(self, model: FittedModel) -> None:
        """Write the fitted attributes; drop what only an earlier model had."""
        self.frequencies_ = model.frequencies
        inputs = model.coef if model.frequencies is None else model.frequencies
        self.n_features_in_ = inputs.shape[1]
        self.classes_ = model.classes
        self.coef_, self.intercept_ = model.coef, model.intercept
        self.scale_, self.covariances_ = model.scale, model.covariances
        self.n_iter_, self.fit_status_ = model.n_iter, int(not model.solved)
        self._online, self._seen = model.online, model.seen
        if model.certificate is not None:
            self.certificate_, self.history_ = model.certificate, model.history
            self.slack_, self.bounded_share_ = model.slack, model.bounded_share
        elif hasattr(self, "certificate_"):
            del self.certificate_, self.history_, self.slack_, self.bounded_share_

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

    def _guarantees(self) -> dict[str, str]:
        """Return the bound that training asked for and whose mistakes it bounds."""
        normal = self.bound == GAUSSIAN or self.frequencies_ is not None
        whose = "normal errors" if normal else "every distribution with these moments"
        facts = {"margin violated": f"with probability {self.risk:g} at most, {whose}"}
        if "bounded_share_" in vars(self):
            share = float(np.min(self.bounded_share_))
            facts["that bounds mistakes"] = f"of {share:.1%} of the training samples"
        return facts

    def decision_function(self, X: Any) -> Floats:
        """Return ``w'x + b``, one column for each class if there are more than two.

        With ``kernel="rbf"`` x is the vector of its random features.

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
        model = self._at_once()
        return model._values(checked_samples(model, X, reset=False, order=None))

    def _values(self, X: Any) -> Floats:
        """Return the decision values of samples that were checked."""
        if self.frequencies_ is not None:
            X = fourier_features(X, self.frequencies_)
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
        model = self._at_once()
        return model._answers(model.decision_function(X))

    def _answers(self, values: Floats) -> NDArray[Any]:
        """Return the labels of decision values."""
        chosen = values.argmax(axis=1) if values.ndim == 2 else (values > 0.0) * 1
        return np.asarray(self.classes_[chosen])

    def error_probability_bound(
        self,
        X: Any,
        covariance: Any = None,
        y: Any = None,
        *,
        covariance_factor: Any = None,
        bound: Any = None,
    ) -> Floats:
        """Bound the probability that each uncertain sample is misclassified.

        With margin ``m = y (w'mu + b)`` and spread ``s = ||L'w||`` this is
        ``s^2 / (s^2 + m^2)`` for m > 0, else 1 (moments), or ``Phi(-m / s)``. Without
        ``y`` it is the probability that the sample falls on the other side than its
        mean. With several classes the bounds of all pairs are added. With
        ``kernel="rbf"`` mean and spread are those of the features of a normal sample:
        it holds for normal errors, not for every distribution with that covariance.

        Parameters
        ----------
        X : array of shape (n, d)
            Means.
        covariance : array of shape (n, d) or (n, d, d), optional
            Covariance of each sample; by default that of its class (given, or
            predicted).
        y : array of shape (n,), optional
            True labels.
        covariance_factor : array of shape (n, d, r), optional
            Factors L of the covariances ``L L'``, instead of ``covariance``.
        bound : {"moments", "gaussian"}, optional
            The constructor's by default.

        Returns
        -------
        ndarray of shape (n,)
            Upper bounds, between 0 and 1.
        """
        check_is_fitted(self)
        given = X, covariance, y, covariance_factor, bound
        return self._at_once()._bounds(*given, np.ones(1)).ravel()

    def covariance_sensitivity(
        self,
        X: Any,
        covariance: Any = None,
        y: Any = None,
        *,
        covariance_factor: Any = None,
        scales: Any = (0.5, 2.0),
        bound: Any = None,
    ) -> Bunch:
        """Return how answers change if the covariances of samples are wrong.

        Error bars are stated, and may be too short or too long. An answer is certain
        where its `error_probability_bound` is at most ``risk``; here the same samples
        are judged with all covariances multiplied by each of ``scales``. The boundary
        stays as it is.

        Parameters
        ----------
        X, covariance, y, covariance_factor, bound : as for `error_probability_bound`
            Samples, and their covariances as they are stated.
        scales : sequence of float, default=(0.5, 2.0)
            Factors on the covariances, above zero: 4 makes error bars twice as long.

        Returns
        -------
        Bunch
            ``scales`` with 1 in front, then for each of them ``bounds`` of shape
            (n_scales, n), ``certain`` (bound at most ``risk``; same shape),
            ``certain_share``, and ``changed_share``: the share of samples that are
            certain as stated and not with that factor, or the other way round.
        """
        check_is_fitted(self)
        factors = np.asarray(scales, dtype=np.float64)
        usable = factors.ndim == 1 and np.isfinite(factors).all()
        if not usable or np.any(factors <= 0.0):
            raise ValueError(
                f"scales must be a list of positive numbers, got {scales!r}: they "
                "multiply the covariances."
            )
        factors = np.concatenate([[1.0], factors])
        model, given = self._at_once(), (X, covariance, y, covariance_factor, bound)
        bounds = model._bounds(*given, factors)
        certain = bounds <= model.risk
        return Bunch(
            scales=factors,
            bounds=bounds,
            certain=certain,
            certain_share=certain.mean(axis=1),
            changed_share=(certain != certain[0]).mean(axis=1),
        )

    def _believed(self, X: Any, y: Any) -> NDArray[np.intp]:
        """Return the number of the class that each sample is judged by."""
        believed = self._answers(self._values(X)) if y is None else np.asarray(y)
        labels = self.classes_.tolist()
        if believed.shape != (X.shape[0],) or not np.isin(believed, labels).all():
            raise ValueError(
                f"y must hold one of the labels {labels} for each of the {X.shape[0]} "
                "rows of X."
            )
        return np.searchsorted(self.classes_, believed)

    def _bounds(
        self, X: Any, covariance: Any, y: Any, factor: Any, bound: Any, scales: Floats
    ) -> Floats:
        """Bound the probability that each sample falls outside its class.

        One row for each of ``scales``, by which the covariances are multiplied.
        """
        bound = self.bound if bound is None else bound
        if bound not in (MOMENTS, GAUSSIAN):
            raise ValueError(f"bound must be 'moments' or 'gaussian', got {bound!r}.")
        if bound == GAUSSIAN and self.frequencies_ is not None:
            raise ValueError(NOT_NORMAL)
        X = checked_samples(self, X, reset=False, order=None)
        numbers = self._believed(X, y)
        stated = self._uncertainty(X, covariance, factor, numbers)
        total = np.zeros((len(scales), X.shape[0]))
        for i, scale in enumerate(scales):
            scaled = stated.rescaled(np.full(X.shape[1], scale**-0.5))
            for k, other in permutations(range(len(self.classes_)), 2):
                rows = np.flatnonzero(numbers == k)
                w, b = self._boundary(k, other)
                if self.frequencies_ is not None:
                    mean, spread = feature_spreads(
                        X[rows], self.frequencies_, scaled.take(rows), w
                    )
                else:
                    mean, spread = times(X[rows], w), scaled.take(rows).spread(w)
                total[i, rows] += violation_probability(mean + b, spread, bound)
        return np.minimum(total, 1.0)

    def _boundary(self, label: int, other: int) -> tuple[Floats, float]:
        """Return the half-space in which ``label`` wins against ``other``."""
        coef, intercept = self.coef_, self.intercept_
        if len(coef) == 1:
            sign = 1.0 if label == 1 else -1.0
            return sign * coef[0], sign * float(intercept[0])
        return coef[label] - coef[other], float(intercept[label] - intercept[other])

    def _uncertainty(
        self, X: Any, covariance: Any, factor: Any, labels: NDArray[np.intp]
    ) -> Uncertainty:
        if covariance is not None or factor is not None:
            return sample_covariances(covariance, factor, *X.shape)
        if self.covariances_ is None:
            raise ValueError(
                "covariance is needed: the model was fitted with one covariance for "
                "each training sample, so new samples must bring theirs."
            )
        return Uncertainty(FullTable(self.covariances_), labels.astype(np.intp))

    def __sklearn_tags__(self) -> Any:
        """Return what the estimator can do."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
