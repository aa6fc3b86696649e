"""The model that a tuned estimator has chosen: it answers, proves, leaves, is shown."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from widemargin.estimators.base.notebook import CertificateInNotebooks


class ChosenModel(CertificateInNotebooks):
    """What an estimator has of the model that it chose, ``best_estimator_``."""

    best_estimator_: Any

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the predictions of the tuned model.

        Parameters
        ----------
        X : array or CSR of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples,)
            Labels or numbers; of several quantiles a column each.
        """
        check_is_fitted(self)
        return np.asarray(self.best_estimator_.predict(X))

    @property
    def certificate_(self) -> Any:
        """The certificate of the tuned model."""
        check_is_fitted(self)
        return self.best_estimator_.certificate_

    def to_sklearn(self) -> Any:
        """Return scikit-learn's estimator with the predictions of the tuned model.

        Returns
        -------
        sklearn.svm.SVC or SVR
            Fitted, as :meth:`widemargin.SVC.to_sklearn` has it.

        Raises
        ------
        ValueError
            If the model has no such form, with the reason: a Laplacian or callable
            kernel, several quantiles.
        """
        check_is_fitted(self)
        return self.best_estimator_.to_sklearn()

    def to_libsvm(self, path: str | os.PathLike[str]) -> None:
        """Write the tuned model as LIBSVM's ``svm-train`` does, for ``svm-predict``.

        Parameters
        ----------
        path : path-like
            The file to make or replace, as :meth:`widemargin.SVC.to_libsvm` has it.

        Raises
        ------
        ValueError
            If the model, or its labels, have no such form, with the reason.
        """
        check_is_fitted(self)
        self.best_estimator_.to_libsvm(path)

    def _model_table(self) -> str:
        """Return the table of what is known of the tuned model; empty without one."""
        fitted = self.__sklearn_is_fitted__()
        return str(self.best_estimator_._model_table()) if fitted else ""

    def __sklearn_is_fitted__(self) -> bool:
        """Return whether there is a tuned model."""
        return hasattr(self, "best_estimator_")
