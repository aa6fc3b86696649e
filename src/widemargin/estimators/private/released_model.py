"""What a released linear model does without the data: scores, classes, accuracy."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from widemargin.estimators.base.atomic_attributes import WholeState
from widemargin.estimators.base.notebook import CertificateInNotebooks
from widemargin.estimators.base.validation import checked_samples

from .bounded_rows import PublicMap
from .errors_without_values import without_values
from .report import PrivacyReport
from .settings import PrivateScores

Vector = NDArray[np.float64]


class ReleasedModel(
    WholeState, CertificateInNotebooks, PrivateScores, ClassifierMixin, BaseEstimator
):
    """Predictions of released weights; all of it is post-processing."""

    coef_: Vector
    intercept_: Vector
    classes_: NDArray[Any]
    frequencies_: Vector | None
    _report: PrivacyReport

    clip_norm: float | None
    fit_intercept: bool
    intercept_scaling: float

    def _map(self, frequencies: Vector | None) -> PublicMap:
        """Return the public map from records to the rows trained on."""
        constant = float(self.intercept_scaling) if self.fit_intercept else 0.0
        return PublicMap(cast(float, self.clip_norm), frequencies, constant)

    def _samples(self, X: Any, y: Any = "no_validation", *, reset: bool = True) -> Any:
        """Check samples (and labels); no error quotes a value of theirs."""
        return without_values(
            checked_samples, self, X, y, dtype=np.float64, order=None, reset=reset
        )

    def privacy_report(self) -> PrivacyReport:
        """Return what is guaranteed about this model and what is not.

        Returns
        -------
        PrivacyReport
            Print it for the statement in plain words.
        """
        check_is_fitted(self)
        return self._report

    def _guarantees(self) -> dict[str, str]:
        """Return the guarantee and the mechanism; public numbers alone."""
        statement = " ".join(line.strip() for line in self._report.first_lines())
        return {"privacy": statement, "noise": self._report.noise}

    def decision_function(self, X: Any) -> Vector:
        """Compute the released model's scores; rows are clipped as in `fit`.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples,) for two classes, else (n_samples, n_classes)
        """
        model = self._at_once()
        check_is_fitted(model)
        images = model._map(model.frequencies_).images(model._samples(X, reset=False))
        scores = np.asarray(images @ model.coef_.T) + model.intercept_
        return scores.ravel() if len(model.coef_) == 1 else scores

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the class of each row.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples,)
        """
        model = self._at_once()
        scores = model.decision_function(X)
        index = (scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)
        return np.asarray(model.classes_[index])

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy on rows X with labels y; not private if they are.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_samples, n_features)
        y : array of shape (n_samples,)
        sample_weight : array of shape (n_samples,), default=None

        Returns
        -------
        float
        """
        check_is_fitted(self)
        return float(without_values(super().score, X, y, sample_weight))

    def __sklearn_tags__(self) -> Any:
        """Return the tags: noise may make scores poor."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.classifier_tags.poor_score = True
        return tags
