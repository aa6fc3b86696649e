"""The fitted model, and the one place that writes it to an estimator."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from widemargin.engine.certificate import Certificate
from widemargin.engine.kernels import Kernel, Precomputed, numeric_gamma
from widemargin.engine.status import Status

from .multiclass import PairRows, stack
from .task import Answer
from .training_data import LabelledData, TrainingData

Vector = NDArray[np.float64]


@dataclass(frozen=True)
class FittedModel:
    """A kernel expansion: support vectors, coefficients, intercepts, certificates.

    Attributes
    ----------
    kernel : Kernel
        What is evaluated between a support vector and a sample.
    n_given : int
        Rows that were given to the fit.
    support, support_vectors : ndarray, array or CSR
        The support vectors: which of the given rows they are, and the rows.
    dual_coef, intercept : array or CSR, ndarray
        Coefficients and constants, as scikit-learn arranges them or one row per pair.
    certificates : list of Certificate
        One per task; none where the model was not fitted here.
    n_iter : ndarray
        Iterations of each task.
    converged, exact : bool
        Whether all tasks reached their tolerance; whether all are exact.
    history : list of dict
        Stage records of all tasks.
    """

    kernel: Kernel
    n_given: int
    support: NDArray[np.integer]
    support_vectors: Any
    dual_coef: Any
    intercept: Vector
    certificates: list[Certificate]
    n_iter: NDArray[np.int32]
    converged: bool
    exact: bool
    history: list[dict[str, Any]]

    def store(self, estimator: Any) -> None:
        """Write the model under scikit-learn's names."""
        estimator._kernel = self.kernel
        estimator._exact = self.exact
        estimator.gamma_ = numeric_gamma(self.kernel)
        estimator.support_ = self.support
        estimator.support_vectors_ = self.support_vectors
        estimator.dual_coef_ = self.dual_coef
        estimator.intercept_ = self.intercept
        estimator.n_iter_ = self.n_iter
        estimator.shape_fit_ = (self.n_given, estimator.n_features_in_)
        estimator.fit_status_ = int(not self.converged)
        if self.certificates:  # a model from elsewhere has none
            single = len(self.certificates) == 1
            listed = self.certificates
            estimator.certificate_ = listed[0] if single else listed
        estimator.history_ = self.history


@dataclass(frozen=True)
class FittedClassifier(FittedModel):
    """A kernel expansion that tells classes apart, pair by pair.

    Attributes
    ----------
    classes, class_weight, n_support : ndarray
        Labels; factor on C of each; support vectors of each.
    """

    classes: NDArray[Any]
    class_weight: Vector
    n_support: NDArray[np.int32]

    def store(self, estimator: Any) -> None:
        """Write the model under scikit-learn's names."""
        super().store(estimator)
        estimator.classes_ = self.classes
        estimator.class_weight_ = self.class_weight
        estimator.n_support_ = self.n_support


@dataclass(frozen=True)
class FittedExpansion(FittedModel):
    """A kernel expansion with one output per task, all over the same rows."""

    def store(self, estimator: Any) -> None:
        """Write the model under scikit-learn's names."""
        super().store(estimator)
        count = self.support.size
        estimator.n_support_ = np.array([count], dtype=np.int32)
        if self.n_iter.size == 1:
            estimator.n_iter_ = int(self.n_iter[0])


def fitted_expansion(
    data: TrainingData,
    kernel: Kernel,
    answers: Sequence[Answer],
    history: list[dict[str, Any]],
) -> FittedExpansion:
    """Assemble the answers of all outputs, one row of coefficients each."""
    coefficients = np.array([answer.beta for answer in answers])
    used = np.flatnonzero(coefficients.any(axis=0))
    return FittedExpansion(
        kernel=kernel,
        n_given=data.n_given,
        support=_numbers(data, used),
        support_vectors=_vectors(data, kernel, used),
        dual_coef=_like_samples(data, np.ascontiguousarray(coefficients[:, used])),
        intercept=np.array([answer.intercept for answer in answers]),
        certificates=[answer.certificate for answer in answers],
        n_iter=np.array([answer.n_iter for answer in answers], dtype=np.int32),
        converged=all(answer.converged for answer in answers),
        exact=all(answer.status == Status.POLISHED for answer in answers),
        history=history,
    )


def _numbers(data: TrainingData, support: NDArray[np.intp]) -> NDArray[np.integer]:
    """Return the indices of the support vectors among the given rows."""
    number = np.int32 if data.n_given < 2**31 else np.int64
    return data.rows[support].astype(number)


def _vectors(data: TrainingData, kernel: Kernel, support: NDArray[np.intp]) -> Any:
    """Return the support vectors; a precomputed kernel leaves none."""
    if isinstance(kernel, Precomputed):
        return np.empty((0, 0))
    return data.X[support]


def _like_samples(data: TrainingData, coefficients: Vector) -> Any:
    """Return coefficients as CSR where the samples are, as scikit-learn does."""
    return sparse.csr_matrix(coefficients) if sparse.issparse(data.X) else coefficients


def fitted_classifier(
    data: LabelledData,
    kernel: Kernel,
    class_weight: Vector,
    pairs: Sequence[PairRows],
    answers: Sequence[Answer],
    history: list[dict[str, Any]],
    *,
    by_pair: bool = False,
) -> FittedClassifier:
    """Assemble the answers of all pairs of classes: see :func:`stack`."""
    stacked = stack(data.labels, data.classes.size, pairs, answers, by_pair=by_pair)
    return FittedClassifier(
        kernel=kernel,
        n_given=data.n_given,
        support=_numbers(data, stacked.support),
        support_vectors=_vectors(data, kernel, stacked.support),
        dual_coef=_like_samples(data, stacked.dual_coef),
        intercept=stacked.intercept,
        certificates=[answer.certificate for answer in answers],
        n_iter=np.array([answer.n_iter for answer in answers], dtype=np.int32),
        converged=all(answer.converged for answer in answers),
        exact=all(answer.status == Status.POLISHED for answer in answers),
        history=history,
        classes=data.classes,
        class_weight=class_weight,
        n_support=stacked.n_support,
    )


def remove_model(estimator: Any) -> None:
    """Leave an estimator without its model; labels, kernel and history stay."""
    del estimator.support_, estimator.support_vectors_, estimator.n_support_
    del estimator.dual_coef_, estimator.intercept_, estimator.shape_fit_
    del estimator.n_iter_, estimator.fit_status_, estimator.certificate_
    del estimator._exact
