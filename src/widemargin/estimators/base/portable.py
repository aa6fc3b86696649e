"""Export of models: to scikit-learn and to LIBSVM."""

from __future__ import annotations

import os
from typing import Any, ClassVar

import numpy as np

from widemargin.exchange.libsvm_form import LibsvmModel, SvmType, kernel_name, turned

from .multiclass import is_by_pair
from .prediction import KernelPrediction


class PortableModel(KernelPrediction):
    """A kernel expansion that can be written in LIBSVM's form."""

    _svm_type: ClassVar[SvmType]

    def to_sklearn(self) -> Any:
        """Return scikit-learn's estimator with the same predictions.

        The kernel expansion is copied, nothing is fitted again. Whatever takes
        scikit-learn's models takes the result: skl2onnx, m2cgen, calibration.

        Returns
        -------
        sklearn.svm.SVC, NuSVC, SVR, NuSVR or OneClassSVM
            Fitted, with this model's support vectors, coefficients and intercepts, and
            those of its parameters that scikit-learn has.

        Raises
        ------
        ValueError
            If the model has no such form, with the reason: a Laplacian or callable
            kernel, an early model, costs of several classes, several quantiles.
        """
        from widemargin.exchange.scikit_learn import scikit_learn_model

        present = self._at_once()
        model = scikit_learn_model(present._libsvm_model(), present.get_params())  # type: ignore[attr-defined]
        if hasattr(present, "feature_names_in_"):
            model.feature_names_in_ = present.feature_names_in_
        return model

    def to_libsvm(self, path: str | os.PathLike[str]) -> None:
        """Write the model as LIBSVM's ``svm-train`` does, for ``svm-predict``.

        Parameters
        ----------
        path : path-like
            The file to make or replace; whole or not at all. It holds the support
            vectors, which are training rows.

        Raises
        ------
        ValueError
            If the model has no such form, with the reason, as in :meth:`to_sklearn`; or
            if its labels are not integers, which LIBSVM's are.
        """
        from widemargin.exchange import libsvm_text

        libsvm_text.write(self._at_once()._libsvm_model(), path)

    def _libsvm_model(self) -> LibsvmModel:
        """Return the model in LIBSVM's form, or say why it has none."""
        self._check_fitted()
        self._check_portable()
        kernel_name(self._kernel)
        classes = self.classes_ if self._svm_type.classifies else None  # type: ignore[attr-defined]
        n_classes = 0 if classes is None else len(classes)
        coefficients = self._dense_dual_coef()
        if n_classes > 2 and is_by_pair(coefficients, n_classes):
            raise ValueError(
                "Costs of several classes (cost_matrix, sample_costs) give samples a "
                "coefficient in pairs of other classes, for which LIBSVM's form has no "
                "place. Keep the model by widemargin.save."
            )
        return LibsvmModel(
            svm_type=self._svm_type,
            kernel=self._kernel,
            n_features=self.n_features_in_,
            support=self.support_,
            support_vectors=self.support_vectors_,
            coefficients=np.ascontiguousarray(turned(coefficients, n_classes)),
            rho=-turned(np.asarray(self.intercept_, dtype=np.float64), n_classes),
            classes=classes,
            n_support=None if classes is None else self.n_support_,  # type: ignore[attr-defined]
        )

    def _check_portable(self) -> None:
        """Raise ValueError where predictions are more than one kernel expansion."""
