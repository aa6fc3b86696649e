"""Training data as the solvers take it: checked, weighted, scaled, in two classes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.multiclass import check_classification_targets

from widemargin.estimators.base.validation import (
    check_weights,
    checked_samples,
    class_weights,
)

from .chance_problem import ChanceProblem
from .covariance_tables import Uncertainty
from .covariances import Moments, moments_of, sample_covariances

Floats = NDArray[np.float64]

LARGEST = 1e130  # its square leaves room for numbers of rows, costs and kappa^2


def row_weights(sample_weight: Any, n_samples: int) -> Floats:
    """Return how often each row counts: once where nothing is said, never negative."""
    weights = check_weights(sample_weight, n_samples)
    if weights is None:
        return np.ones(n_samples)
    if np.any(weights < 0.0):
        raise ValueError(
            "sample_weight has negative entries: weights count repetitions, so they "
            "must be zero or more."
        )
    return weights


def refuse_large(X: Any) -> None:
    """Refuse samples whose squares would leave floating point: no solver would end."""
    values = X.data if sparse.issparse(X) else X
    largest = float(max(values.max(initial=0.0), -values.min(initial=0.0)))
    if largest > LARGEST:
        raise ValueError(
            f"The input data may contain large values and need to be preprocessed: X "
            f"reaches {largest:.3g}, and at most {LARGEST:g} can be squared and summed."
        )


@dataclass(frozen=True)
class Samples:
    """Validated training data: the rows with positive weight.

    ``rows`` are their positions among the ``n_given`` rows that were handed in;
    ``labels`` are class numbers.
    """

    X: Any
    labels: NDArray[np.intp]
    classes: NDArray[Any]
    weights: Floats
    rows: NDArray[np.intp]
    n_given: int


def check_samples(estimator: Any, X: Any, y: Any, *, reset: bool = True) -> Any:
    """Return X and y checked as scikit-learn does, without changing float32."""
    X, y = checked_samples(estimator, X, y, reset=reset)
    check_classification_targets(y)
    refuse_large(X)
    return X, y


def check_test_samples(estimator: Any, X: Any) -> Any:
    """Return new samples checked against the fitted ones."""
    return checked_samples(estimator, X, reset=False, order=None)


def validate_samples(estimator: Any, X: Any, y: Any, sample_weight: Any) -> Samples:
    """Check samples, labels and weights; leave out the rows without weight."""
    X, y = check_samples(estimator, X, y)
    weights = row_weights(sample_weight, X.shape[0])
    classes = np.unique(y[weights > 0.0])
    refuse_one_class(classes)
    return weighted_rows(X, y, weights, classes)


def refuse_one_class(classes: NDArray[Any]) -> None:
    """Refuse data in which there is nothing to separate."""
    if len(classes) < 2:
        raise ValueError(
            "The number of classes has to be greater than one; got "
            f"{len(classes)} class (rows with zero sample_weight do not count)"
        )


def weighted_rows(
    X: Any, y: NDArray[Any], weights: Floats, classes: NDArray[Any]
) -> Samples:
    """Return the rows that count, of all the data or of one block of it."""
    rows = np.flatnonzero(weights > 0.0)
    kept = X if len(rows) == X.shape[0] else X[rows]
    labels = np.searchsorted(classes, y[rows])
    return Samples(kept, labels, classes, weights[rows], rows, X.shape[0])


def own_covariances(
    data: Samples, covariance: Any, factor: Any, first: int = 0
) -> Uncertainty:
    """Return the covariances that the rows brought along; those that count."""
    own = sample_covariances(covariance, factor, data.n_given, data.X.shape[1], first)
    return own.take(data.rows) if len(data.rows) < data.n_given else own


@dataclass(frozen=True)
class Scaling:
    """Features measured in their standard deviations: ``(x - mean) / scale``.

    Sparse samples stay sparse: their scaling has mean 0.
    """

    mean: Floats
    scale: Floats

    @classmethod
    def identity(cls, n_features: int) -> Scaling:
        """Return the scaling that changes nothing."""
        return cls(np.zeros(n_features), np.ones(n_features))

    @classmethod
    def of(cls, moments: Moments, *, centre: bool) -> Scaling:
        """Return the scaling of samples with these moments (as StandardScaler)."""
        variances = np.diag(moments.scatter) / moments.mass
        scale = np.sqrt(variances)
        constant = scale <= 10.0 * np.finfo(float).eps * np.abs(moments.mean)
        mean = moments.mean if centre else np.zeros_like(moments.mean)
        return cls(mean, np.where(constant, 1.0, scale))

    def apply(self, X: Any) -> Any:
        """Return the scaled samples, in double precision: their model is exact."""
        centred = bool(np.any(self.mean))
        if not centred and np.all(self.scale == 1.0):
            return X
        if not sparse.issparse(X):
            return np.ascontiguousarray((X - self.mean) / self.scale)
        if centred:
            raise TypeError("a scaling that centres cannot be applied to sparse rows")
        return (X @ sparse.diags_array(1.0 / self.scale)).tocsr()

    def restore(self, w: Floats, b: float) -> tuple[Floats, float]:
        """Return the same boundary in the original units."""
        original = w / self.scale
        return original, b - float(self.mean @ original)


def scaling_of(X: Any, weights: Floats, wanted: bool) -> Scaling:
    """Return the scaling of the samples, or none."""
    if not wanted:
        return Scaling.identity(X.shape[1])
    return Scaling.of(moments_of(X, weights), centre=not sparse.issparse(X))


def one_vs_rest(labels: NDArray[np.intp], n_classes: int) -> list[Floats]:
    """Return the signs of each binary problem: one for two classes, else one each."""
    positives = [1] if n_classes == 2 else range(n_classes)
    return [np.where(labels == k, 1.0, -1.0) for k in positives]


def sample_costs(C: float, class_weight: Any, data: Samples) -> Floats:
    """Return ``c_i``: C times class weight times sample weight."""
    factors = class_weights(class_weight, data.classes, data.labels, data.weights)
    return np.asarray(C * factors[data.labels] * data.weights)


def binary_problems(
    data: Samples,
    costs: Floats,
    uncertainty: Uncertainty,
    kappa: float,
    fit_intercept: bool,
) -> list[ChanceProblem]:
    """Return one problem, or one for each class against the rest.

    Every row keeps its own covariance, that of its class where classes have one.
    """
    return [
        ChanceProblem(data.X, signs, costs, uncertainty, kappa, fit_intercept)
        for signs in one_vs_rest(data.labels, len(data.classes))
    ]


def scaled(problems: list[ChanceProblem], scaling: Scaling) -> list[ChanceProblem]:
    """Return the problems of the same rows with means and covariances scaled."""
    X, uncertainty = scaling.apply(problems[0].X), problems[0].uncertainty
    if np.any(scaling.scale != 1.0):
        uncertainty = uncertainty.rescaled(scaling.scale)
    return [replace(problem, X=X, uncertainty=uncertainty) for problem in problems]
