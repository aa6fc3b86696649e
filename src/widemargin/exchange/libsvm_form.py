"""LIBSVM's form of a model, as data.

A model is ``sum_i coef_i k(x_i, x) - rho`` for each pair of classes, or one such sum
for numbers and outliers. The pair (first, second) speaks for its first class where the
sum is positive: also for two classes, where scikit-learn and this package count the
other way round.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from widemargin.engine.kernels import (
    CallableKernel,
    Gaussian,
    Kernel,
    Laplacian,
    Linear,
    Polynomial,
    Precomputed,
    Sigmoid,
)

Vector = NDArray[np.float64]


class SvmType(StrEnum):
    """Kinds of models, by LIBSVM's names."""

    C_SVC = "c_svc"
    NU_SVC = "nu_svc"
    ONE_CLASS = "one_class"
    EPSILON_SVR = "epsilon_svr"
    NU_SVR = "nu_svr"

    @property
    def classifies(self) -> bool:
        """Whether the model tells classes apart."""
        return self in (SvmType.C_SVC, SvmType.NU_SVC)


@dataclass(frozen=True)
class LibsvmModel:
    """A fitted model in LIBSVM's form.

    Attributes
    ----------
    svm_type : SvmType
        What the model predicts.
    kernel : Kernel
        One of LIBSVM's: linear, polynomial, Gaussian, sigmoid or precomputed.
    n_features : int
        Features of a sample; of a precomputed kernel, rows it was fitted on.
    support : ndarray of shape (n_SV,)
        Which training rows the support vectors are.
    support_vectors : array or CSR of shape (n_SV, n_features)
        The rows; of shape (0, 0) for a precomputed kernel.
    coefficients : ndarray of shape (n_classes - 1, n_SV), or (1, n_SV)
        Row m has, for a support vector of class c, its coefficient in the pair with the
        m-th of the other classes.
    rho : ndarray of shape (n_pairs,), or (1,)
        What is subtracted.
    classes : ndarray or None
        Labels in LIBSVM's order.
    n_support : ndarray or None
        Support vectors of each class; they are listed class by class.
    """

    svm_type: SvmType
    kernel: Kernel
    n_features: int
    support: NDArray[np.integer]
    support_vectors: Any
    coefficients: Vector
    rho: Vector
    classes: NDArray[Any] | None = None
    n_support: NDArray[np.int32] | None = None

    @property
    def n_vectors(self) -> int:
        """Number of support vectors."""
        return int(self.coefficients.shape[1])


def turned(values: Vector, n_classes: int) -> Vector:
    """Return coefficients or constants between LIBSVM's sign and scikit-learn's.

    They differ for two classes: scikit-learn counts for the second.
    """
    return -values if n_classes == 2 else values


def kernel_name(kernel: Kernel) -> str:
    """Return scikit-learn's name of one of LIBSVM's kernels; refuse any other."""
    if isinstance(kernel, Laplacian | CallableKernel):
        which = "laplacian" if isinstance(kernel, Laplacian) else "a callable"
        raise ValueError(
            f"kernel={which} has no place in LIBSVM's form, which knows linear, poly, "
            "rbf, sigmoid and precomputed. Keep the model by widemargin.save, or fit "
            'again with kernel="precomputed" on its kernel matrix.'
        )
    names: dict[type, str] = {
        Linear: "linear",
        Polynomial: "poly",
        Gaussian: "rbf",
        Sigmoid: "sigmoid",
        Precomputed: "precomputed",
    }
    return names[type(kernel)]
