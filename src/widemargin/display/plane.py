"""The plane a classifier is looked at in, and a grid of points on it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Plane:
    """A plane through ``origin`` spanned by two orthonormal ``axes`` (2, d)."""

    origin: NDArray[np.float64]
    axes: NDArray[np.float64]

    @classmethod
    def through(cls, X: NDArray[Any]) -> Plane:
        """Return the plane of most variance; with two features, the features."""
        features = X.shape[1]
        if features == 2:
            return cls(np.zeros(2), np.eye(2))
        if features < 2:
            raise ValueError(f"X must have at least 2 features to draw, got {features}")
        centre = X.mean(axis=0)
        _, _, components = np.linalg.svd(X - centre, full_matrices=False)
        return cls(centre, components[:2])

    def coordinates(self, X: NDArray[Any]) -> NDArray[np.float64]:
        """Coordinates (n, 2) of the orthogonal projections of the rows of X."""
        projected: NDArray[np.float64] = (X - self.origin) @ self.axes.T
        return projected

    def points(self, coordinates: NDArray[Any]) -> NDArray[np.float64]:
        """Points (n, d) of the plane at the given coordinates."""
        embedded: NDArray[np.float64] = self.origin + coordinates @ self.axes
        return embedded

    def covariance(self, matrix: NDArray[Any]) -> NDArray[np.float64]:
        """Covariance (2, 2) of a projection: of variances (d,) or a matrix (d, d)."""
        full = np.diag(matrix) if matrix.ndim == 1 else matrix
        projected: NDArray[np.float64] = self.axes @ full @ self.axes.T
        return projected


def grid(
    coordinates: NDArray[Any], resolution: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Two (resolution, resolution) arrays covering the coordinates with a margin."""
    low, high = coordinates.min(axis=0), coordinates.max(axis=0)
    border = 0.08 * np.maximum(high - low, 1e-9)
    first, second = (
        np.linspace(low[i] - border[i], high[i] + border[i], resolution) for i in (0, 1)
    )
    across, up = np.meshgrid(first, second)
    return across, up
