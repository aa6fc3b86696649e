"""A fitted estimator of scikit-learn from a model in LIBSVM's form.

scikit-learn has no public way to make a fitted SVC from its numbers. These are the
attributes that its ``predict`` reads (``sklearn/svm/_base.py``, the same from 1.6 to
1.9); tests compare every kind of model with a prediction of its own, so a scikit-learn
that reads others is noticed.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from widemargin.engine.kernels import Polynomial, Precomputed, Sigmoid, numeric_gamma

from .libsvm_form import LibsvmModel, SvmType, kernel_name, turned

# What both have, in the same meaning.
_SHARED = frozenset(
    "C nu epsilon tol shrinking class_weight max_iter decision_function_shape "
    "break_ties random_state".split()
)


def scikit_learn_model(model: LibsvmModel, parameters: dict[str, Any]) -> Any:
    """Return scikit-learn's estimator of the same predictions.

    Parameters
    ----------
    model : LibsvmModel
        What is predicted.
    parameters : dict
        Parameters of the original estimator; those that scikit-learn's has are kept.
    """
    estimator = _unfitted(model.svm_type)
    known = estimator.get_params().keys() & parameters.keys() & _SHARED
    if parameters.get("break_ties") == "auto":  # models of LIBSVM's form break none
        known -= {"break_ties"}
    kernel, gamma = model.kernel, numeric_gamma(model.kernel)
    estimator.set_params(
        kernel=kernel_name(kernel), **{name: parameters[name] for name in known}
    )
    if gamma:
        estimator.set_params(gamma=gamma)
    if isinstance(kernel, Polynomial):
        estimator.set_params(degree=kernel.degree)
    if isinstance(kernel, Polynomial | Sigmoid):
        estimator.set_params(coef0=kernel.coef0)
    estimator._gamma = gamma
    _write_expansion(estimator, model)
    _write_labels(estimator, model)
    return estimator


def _unfitted(kind: SvmType) -> Any:
    from sklearn import svm  # imports linear models and metrics

    classes = {
        SvmType.C_SVC: svm.SVC,
        SvmType.NU_SVC: svm.NuSVC,
        SvmType.ONE_CLASS: svm.OneClassSVM,
        SvmType.EPSILON_SVR: svm.SVR,
        SvmType.NU_SVR: svm.NuSVR,
    }
    return classes[kind]()


def _write_expansion(estimator: Any, model: LibsvmModel) -> None:
    """Write support vectors, coefficients and intercepts, in both signs."""
    n_classes = 0 if model.classes is None else len(model.classes)
    vectors, coefficients = model.support_vectors, model.coefficients
    is_sparse = sparse.issparse(vectors)
    rows = model.n_features if isinstance(model.kernel, Precomputed) else 0
    estimator._sparse = is_sparse
    estimator.support_ = np.asarray(model.support, dtype=np.int32)
    estimator.support_vectors_ = (
        sparse.csr_matrix(vectors, dtype=np.float64)
        if is_sparse
        else np.ascontiguousarray(vectors, dtype=np.float64)
    )
    estimator._dual_coef_ = _all_stored(coefficients) if is_sparse else coefficients
    estimator.dual_coef_ = turned(estimator._dual_coef_, n_classes)
    estimator._intercept_ = -model.rho
    estimator.intercept_ = turned(estimator._intercept_, n_classes)
    estimator._probA = estimator._probB = np.empty(0)
    estimator._effective_probability = False
    estimator.n_features_in_ = model.n_features
    estimator.shape_fit_ = (max(rows, model.n_vectors), model.n_features)
    estimator.fit_status_ = 0


def _write_labels(estimator: Any, model: LibsvmModel) -> None:
    """Write classes and counts, or what stands in their place."""
    if model.classes is None or model.n_support is None:
        estimator._n_support = np.array([model.n_vectors, 0], dtype=np.int32)
        estimator.class_weight_ = np.empty(0)
        estimator.n_iter_ = 0
    else:
        estimator._n_support = np.asarray(model.n_support, dtype=np.int32)
        estimator.classes_ = model.classes
        estimator.class_weight_ = np.ones(len(model.classes))
        estimator.n_iter_ = estimator._num_iter = np.zeros(len(model.rho), np.int32)
    if model.svm_type == SvmType.ONE_CLASS:
        estimator.offset_ = -estimator._intercept_


def _all_stored(coefficients: Any) -> Any:
    """Return a CSR with zeros stored too: LIBSVM reads its entries as a whole table."""
    rows, columns = coefficients.shape
    places = np.tile(np.arange(columns, dtype=np.int32), rows)
    starts = np.arange(0, rows * columns + 1, max(columns, 1), dtype=np.int32)
    if not columns:
        starts = np.zeros(rows + 1, dtype=np.int32)
    return sparse.csr_matrix(
        (coefficients.ravel(), places, starts), shape=(rows, columns)
    )
