"""Values of a kernel expansion, and labels from those of pairs of classes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from widemargin.engine.few_rows import are_few, entries_of_few
from widemargin.engine.gram import Gram
from widemargin.numerics.products import products, times, transposed_times

from .atomic_attributes import WholeState
from .multiclass import one_vs_rest_scores, pair_coefficients, pair_sums, vote
from .object_samples import checked_for_kernel
from .probabilities import WithoutProbabilities
from .validation import effective_threads, plain_samples

COPIED = 4096  # rows copied at a time to be evaluated again in float64
SAFETY = 4.0  # sums closer to 0 than this many float32 errors are evaluated again


class KernelPrediction(WholeState):
    """Values of a kernel expansion: coefficients over support vectors, intercepts."""

    n_features_in_: int
    support_: NDArray[np.int32]
    support_vectors_: Any
    dual_coef_: Any
    intercept_: NDArray[np.float64]
    kernel: Any
    n_jobs: int | None
    _kernel: Any
    _exact: bool

    def _expansion(self) -> Any:
        """Return the coefficients: a vector, or a table with one column per output."""
        coefficients = self._dense_dual_coef()
        return coefficients[0] if len(coefficients) == 1 else coefficients.T

    def _check_fitted(self) -> None:
        """Raise NotFittedError where there is no model."""
        check_is_fitted(self)

    def _dense_dual_coef(self) -> NDArray[np.float64]:
        coefficients: Any = self.dual_coef_
        return np.asarray(
            coefficients.toarray() if sparse.issparse(coefficients) else coefficients
        )

    def _checked(self, X: Any) -> Any:
        """Return samples to predict, as scikit-learn would check them."""
        self._check_fitted()
        named = hasattr(self, "feature_names_in_")
        if not named and plain_samples(X) and X.shape[1] == self.n_features_in_:
            return X
        return checked_for_kernel(self, X, reset=False)

    def _values(self, X: Any) -> NDArray[np.float64]:
        """Return the values of all outputs, intercepts included."""
        X = self._checked(X)
        given = self.kernel in ("precomputed", "linear")
        if not given and are_few(X, self.support_vectors_, self._kernel):
            entries = entries_of_few(X, self.support_vectors_, self._kernel)
            return self._few_sums(entries) + self.intercept_
        weights = self._expansion()
        threads = effective_threads(self.n_jobs)
        if self.kernel == "precomputed":
            values = times(X[:, self.support_], weights, threads)
        elif self.kernel == "linear":  # one product with w instead of many with samples
            # a dense w: scikit-learn multiplies sparse matrices of one precision only
            weights = self.coef_
            weights = weights.toarray() if sparse.issparse(weights) else weights
            if len(weights) == 1:
                values = times(X, weights[0], threads)
            else:
                values = products(X, weights, threads)
        else:
            gram = Gram(
                self.support_vectors_, self._kernel, cache_mb=1, threads=threads
            )
            if not self._exact:
                return self._in_single_precision(gram, X, weights)
            values = gram.cross(X, weights)
        return np.asarray(values, dtype=np.float64) + self.intercept_

    def _few_sums(self, entries: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the sums of the expansion from the kernel entries of a few rows."""
        table = self._expansion()
        if table.ndim == 1:
            return np.asarray((entries * table).sum(axis=1))
        if sparse.issparse(table):
            return np.asarray(entries @ table)
        return np.asarray(np.einsum("rs,so->ro", entries, table))

    def _in_single_precision(
        self, gram: Gram, X: Any, weights: Any
    ) -> NDArray[np.float64]:
        """Return decision values; in double precision where single leaves a sign open.

        As where a narrow Gaussian vanishes in single precision and there is no
        intercept: what is left decides.
        """
        values = gram.cross(X, weights, np.float32) + self.intercept_
        errors = SAFETY * gram.float32_errors(weights)
        open_rows = np.abs(values.reshape(len(values), -1)) <= errors
        rows = np.flatnonzero(open_rows.any(axis=1))
        for first in range(0, rows.size, COPIED):
            some = rows[first : first + COPIED]
            values[some] = gram.cross(X[some], weights) + self.intercept_
        return np.asarray(values)

    @property
    def coef_(self) -> Any:
        """Weights of the features, for ``kernel="linear"`` only; read-only."""
        weights = self._at_once()._weights()
        stored = weights.data if sparse.issparse(weights) else weights
        stored.flags.writeable = False  # a change would not reach the model
        return weights

    def _weights(self) -> Any:
        if self.kernel != "linear":
            raise AttributeError("coef_ is only available when using a linear kernel")
        self._check_fitted()
        table = self._expansion()
        if table.ndim == 1 and not sparse.issparse(self.support_vectors_):
            return transposed_times(self.support_vectors_, table)[None, :]
        table = table.T if table.ndim == 2 else table[None, :]
        weights = table @ self.support_vectors_
        if sparse.issparse(self.support_vectors_):
            return sparse.csr_matrix(weights)
        return np.asarray(weights)

    def __sklearn_is_fitted__(self) -> bool:
        """Return whether there is a model: after a fit, unless all rows have left."""
        return hasattr(self, "intercept_")

    def __sklearn_tags__(self) -> Any:
        """Declare sparse input, and pairwise input with a precomputed kernel."""
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags


class PairPrediction(WithoutProbabilities, KernelPrediction):
    """Labels by the votes of pairs of classes, as scikit-learn's SVC has them."""

    classes_: NDArray[Any]
    n_support_: NDArray[np.int32]
    break_ties: bool | str
    decision_function_shape: str

    def _expansion(self) -> Any:
        """Return the coefficients of all pairs: a vector for two classes."""
        return pair_coefficients(self._dense_dual_coef(), self.n_support_)

    def _few_sums(self, entries: NDArray[np.float64]) -> NDArray[np.float64]:
        coefficients = self._dense_dual_coef()
        if len(coefficients) == len(self.n_support_) - 1 > 1 and self.n_support_.all():
            return pair_sums(entries, coefficients, self.n_support_)
        return super()._few_sums(entries)

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return signed distances to the boundary, in units of the margin.

        Parameters
        ----------
        X : array or CSR of shape (n_samples, n_features)
            Samples; with ``kernel="precomputed"`` of shape (n_samples, n_training).

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_columns)
            One value per row for two classes (positive: ``classes_[1]``); else one
            column per class for "ovr" or per class pair for "ovo".
        """
        model = self._at_once()
        decisions = model._values(X)
        if decisions.ndim == 2 and model.decision_function_shape == "ovr":
            return one_vs_rest_scores(decisions, model.classes_.size)
        return decisions

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the predicted labels.

        Parameters
        ----------
        X : array or CSR of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples,)
            Labels out of ``classes_``.
        """
        model = self._at_once()
        model._check_fitted()
        model._refuse_ties_of_pairs()
        return model._labels(model._values(X), model.classes_)

    def _breaks_ties(self, n_classes: int) -> bool:
        """Whether decision values break ties between classes with equal votes."""
        return bool(self.break_ties)

    def _refuse_ties_of_pairs(self) -> None:
        asked = self.break_ties and not isinstance(self.break_ties, str)
        if asked and self.decision_function_shape == "ovo":
            raise ValueError(
                "break_ties must be False when decision_function_shape is 'ovo'"
            )

    def _labels(
        self, decisions: NDArray[np.float64], classes: NDArray[Any]
    ) -> NDArray[Any]:
        """Return the labels for decision values of all pairs of classes."""
        self._refuse_ties_of_pairs()
        if decisions.ndim == 1:
            return np.asarray(classes[(decisions >= 0).astype(np.intp)])
        if self._breaks_ties(classes.size):
            scores = one_vs_rest_scores(decisions, classes.size)
            return np.asarray(classes[scores.argmax(axis=1)])
        return np.asarray(classes[vote(decisions, classes.size)])
