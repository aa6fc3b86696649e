"""Import of models: estimators from LIBSVM's model files."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from scipy import sparse

from widemargin.engine.kernels import Polynomial, Sigmoid, numeric_gamma
from widemargin.estimators.base.fitted_model import (
    FittedClassifier,
    FittedExpansion,
    FittedModel,
)
from widemargin.estimators.nu_svc import NuSVC
from widemargin.estimators.nu_svr import NuSVR
from widemargin.estimators.one_class_svm import OneClassSVM
from widemargin.estimators.svc import SVC
from widemargin.estimators.svr import SVR
from widemargin.exchange import libsvm_text
from widemargin.exchange.libsvm_form import LibsvmModel, SvmType, kernel_name, turned

_ESTIMATORS: dict[SvmType, Any] = {
    SvmType.C_SVC: SVC,
    SvmType.NU_SVC: NuSVC,
    SvmType.ONE_CLASS: OneClassSVM,
    SvmType.EPSILON_SVR: SVR,
    SvmType.NU_SVR: NuSVR,
}


def from_libsvm(path: str | os.PathLike[str], n_features: int | None = None) -> Any:
    """Read a model file of LIBSVM's ``svm-train``.

    Predictions are LIBSVM's: labels, votes and the order of classes in which ties are
    decided (for two classes ``classes_`` is sorted, as scikit-learn has it, and only a
    decision value of exactly 0 could tell). The file says neither C nor whether the
    solution is optimal: parameters that it does not name are the defaults, and there is
    no ``certificate_``. Calibration (``-b 1``) is left out.

    Parameters
    ----------
    path : path-like
        The file: ``c_svc``, ``nu_svc``, ``one_class``, ``epsilon_svr`` or ``nu_svr``,
        with any of LIBSVM's kernels.
    n_features : int, optional
        Features of a sample; by default the largest index in the file, which is too few
        where the last features are 0 in every support vector. For a precomputed
        kernel the number of rows of its training matrix.

    Returns
    -------
    SVC, NuSVC, SVR, NuSVR or OneClassSVM
        Fitted.

    Raises
    ------
    ValueError
        If it is no such file, or damaged: with the line where that shows.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from sklearn.datasets import load_iris
    >>> import widemargin
    >>> X, y = load_iris(return_X_y=True)
    >>> model = widemargin.SVC().fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "iris.libsvm")
    ...     model.to_libsvm(path)
    ...     again = widemargin.from_libsvm(path)
    >>> bool((again.predict(X) == model.predict(X)).all())
    True
    """
    model = libsvm_text.read(path, n_features)
    kernel = model.kernel
    estimator = _ESTIMATORS[model.svm_type](kernel=kernel_name(kernel))
    if hasattr(kernel, "gamma"):
        estimator.set_params(gamma=numeric_gamma(kernel))
    if isinstance(kernel, Polynomial):
        estimator.set_params(degree=kernel.degree)
    if isinstance(kernel, Polynomial | Sigmoid):
        estimator.set_params(coef0=kernel.coef0)
    estimator.n_features_in_ = model.n_features
    _fitted(model).store(estimator)
    return estimator


def _fitted(model: LibsvmModel) -> FittedModel:
    """Return the record that a fit of ours would store."""
    n_classes = 0 if model.classes is None else len(model.classes)
    shared: dict[str, Any] = {
        "kernel": model.kernel,
        "n_given": max(model.n_vectors, int(model.support.max(initial=-1)) + 1),
        "certificates": [],
        "n_iter": np.zeros(len(model.rho), dtype=np.int32),
        "converged": True,
        "exact": True,
        "history": [],
    }
    order = np.arange(model.n_vectors)
    coefficients = turned(model.coefficients, n_classes)
    intercept = -turned(model.rho, n_classes)
    classes, counts = model.classes, model.n_support
    if classes is not None and counts is not None and _backwards(classes):
        classes, counts = classes[::-1], counts[::-1]
        order = np.concatenate([order[counts[1] :], order[: counts[1]]])
        coefficients, intercept = -coefficients, -intercept
    vectors = model.support_vectors
    table = np.ascontiguousarray(coefficients[:, order])
    shared |= {
        "support": model.support[order].astype(np.int32),
        "support_vectors": vectors[order] if vectors.shape[0] else vectors,
        "dual_coef": sparse.csr_matrix(table) if sparse.issparse(vectors) else table,
        "intercept": intercept,
    }
    if classes is None or counts is None:
        return FittedExpansion(**shared)
    return FittedClassifier(
        **shared,
        classes=classes,
        class_weight=np.ones(n_classes),
        n_support=counts,
    )


def _backwards(classes: Any) -> bool:
    """Whether two classes stand in descending order, as +1 and -1 do with LIBSVM."""
    return len(classes) == 2 and bool(classes[0] > classes[1])
