"""From a record to the row that is trained on, by public numbers alone.

Clip to the public length, map by the random Fourier features if there are any, append
the constant feature of the intercept: the row is then at most R long.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .features import fourier_features
from .sensitivity import clip_rows, row_bound

Vector = NDArray[np.float64]


@dataclass(frozen=True)
class PublicMap:
    """The map of the rows.

    Attributes
    ----------
    clip_norm : float
        Longer rows are shortened to it.
    frequencies : array of shape (n_features, n_components), or None
        Frequencies of Fourier features, whose images have length 1; None: the rows.
    constant : float
        The constant feature; 0 appends none.
    """

    clip_norm: float
    frequencies: Vector | None
    constant: float

    @property
    def radius(self) -> float:
        """Return the length bound R of a row trained on."""
        length = self.clip_norm if self.frequencies is None else 1.0
        return row_bound(length, self.constant)

    def images(self, X: Any) -> Any:
        """Clip rows to the public length and apply the Fourier features."""
        X = clip_rows(X, self.clip_norm)
        if self.frequencies is None:
            return X
        return fourier_features(X, self.frequencies)

    def rows(self, X: Any) -> Any:
        """Return the images with the constant feature appended."""
        X = self.images(X)
        if self.constant == 0.0:
            return X
        constant = np.full((X.shape[0], 1), self.constant)
        if sparse.issparse(X):
            return sparse.hstack([X, constant], format="csr")
        return np.hstack([X, constant])
