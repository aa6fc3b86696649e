"""Public maps of the rows: bounds given by the user, random Fourier features.

Nothing here is learnt from the data. `PublicBoundsScaler` replaces scalers that learn
the range or the mean from private rows, which would void every guarantee downstream.
"""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from widemargin.estimators.base.sklearn_compat import validated

from .errors_without_values import without_values

Vector = NDArray[np.float64]


def fourier_features(X: Any, frequencies: Vector) -> Vector:
    """Map rows to [cos(X W), sin(X W)] / sqrt(D): every image has length 1.

    Less 1e-12 of it, so that no rounding takes an image beyond the bound of the proof.
    With the columns of W drawn from N(0, 2 gamma I) the inner products approximate
    exp(-gamma ||x - x'||^2) (Rahimi and Recht, 2007; private: Rubinstein et al., 2012).
    """
    angles = np.asarray(X @ frequencies)
    images = np.hstack([np.cos(angles), np.sin(angles)])
    return np.asarray(images * ((1.0 - 1e-12) / np.sqrt(frequencies.shape[1])))


class PublicBoundsScaler(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Map features from bounds that you know to [-1, 1], learning nothing.

    x -> 2 (x - lower) / (upper - lower) - 1, values outside the bounds are clipped.
    A scaler that learns its range from private rows (MinMaxScaler, StandardScaler)
    publishes statistics of them and voids the guarantee of a private estimator behind
    it; this one takes the range from you.

    Parameters
    ----------
    lower, upper : float or array of shape (n_features,)
        Public bounds, e.g. from the questionnaire or the device's data sheet; never
        the minimum and maximum of the data at hand.

    Attributes
    ----------
    n_features_in_ : int
        Number of features.

    Examples
    --------
    >>> from widemargin import PublicBoundsScaler
    >>> PublicBoundsScaler(lower=[0, 0], upper=[10, 2]).fit_transform([[5, 2], [20, 0]])
    array([[ 0.,  1.],
           [ 1., -1.]])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "lower": [Real, "array-like"],
        "upper": [Real, "array-like"],
    }

    def __init__(self, lower: ArrayLike = -1.0, upper: ArrayLike = 1.0) -> None:
        self.lower = lower
        self.upper = upper

    @validated
    def fit(self, X: Any, y: Any = None) -> PublicBoundsScaler:
        """Check that the bounds fit the number of features; the values are not used.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
        y : ignored

        Returns
        -------
        self
        """
        without_values(validate_data, self, X, dtype=(np.float64, np.float32))
        self._bounds()
        return self

    def _bounds(self) -> tuple[Vector, Vector]:
        count = self.n_features_in_
        ends = []
        for name in ("lower", "upper"):
            end = np.asarray(getattr(self, name), dtype=np.float64)
            if end.shape not in ((), (count,)):
                raise ValueError(
                    f"{name} has shape {end.shape}; give one number or one per "
                    f"feature ({count})"
                )
            ends.append(np.broadcast_to(end, (count,)))
        if not (np.isfinite(ends).all() and (ends[0] < ends[1]).all()):
            raise ValueError("lower and upper must be finite with lower < upper")
        return ends[0], ends[1]

    def transform(self, X: Any) -> Any:
        """Scale and clip to [-1, 1].

        Parameters
        ----------
        X : array of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples, n_features), of the dtype of X
        """
        check_is_fitted(self)
        X = without_values(
            validate_data, self, X, reset=False, dtype=(np.float64, np.float32)
        )
        lower, upper = self._bounds()
        scaled = 2.0 * (X - lower) / (upper - lower) - 1.0
        return np.clip(scaled, -1.0, 1.0).astype(X.dtype)

    def __sklearn_is_fitted__(self) -> bool:
        """Whether `fit` has seen the number of features."""
        return hasattr(self, "n_features_in_")
