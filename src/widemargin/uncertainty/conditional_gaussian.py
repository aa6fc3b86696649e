"""Missing values as error bars: what the measured values say of the others.

Rows are taken as draws of one normal distribution N(m, S). Of a row with the features
k known and h missing, the missing ones are normal with

    mean  m_h + S_hk S_kk^-1 (x_k - m_k),    covariance  S_hh - S_hk S_kk^-1 S_kh,

and the known ones are certain. m and S come from the incomplete rows themselves by
expectation maximisation (Dempster, Laird and Rubin, 1977).
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_array

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class ConditionalGaussian:
    """Normal model of incomplete rows: missing values by their mean and covariance.

    Missing entries are NaN. What `moments` returns goes to
    `ChanceConstrainedSVC.fit` and to its bounds. Labels are not used, so that new rows
    are completed as the training rows were.

    Parameters
    ----------
    mean : array of shape (d,)
        Mean of the rows.
    covariance : array of shape (d, d)
        Their covariance.

    Examples
    --------
    >>> import numpy as np
    >>> from widemargin import ConditionalGaussian
    >>> X = np.array([[0.0, 0.1], [1.0, 0.8], [2.0, 2.1], [3.0, np.nan]])
    >>> means, factors = ConditionalGaussian.of(X).moments(X)
    >>> means[3].round(2).tolist(), bool(factors[3, 1, 0] != 0.0)
    ([3.0, 3.0], True)
    """

    mean: Floats
    covariance: Floats

    @classmethod
    def of(
        cls, X: Any, *, tol: float = 1e-6, max_iter: int = 1000
    ) -> ConditionalGaussian:
        """Return the normal model of largest likelihood for incomplete rows.

        Parameters
        ----------
        X : array of shape (n, d)
            Rows; NaN where a value is missing.
        tol : float, default=1e-6
            Stop when no mean and no covariance moves by more than this, in units of
            the standard deviations.
        max_iter : int, default=1000
            Rounds at most; a `ConvergenceWarning` says when they were not enough.

        Returns
        -------
        ConditionalGaussian
            The model.
        """
        X = _incomplete(X)
        holes = np.isnan(X)
        if holes.all(axis=0).any():
            column = int(np.argmax(holes.all(axis=0)))
            raise ValueError(
                f"column {column} of X (counted from 0) has no value at all: leave it "
                "out, nothing can be known of it."
            )
        model = cls(np.nanmean(X, axis=0), np.diag(np.nanvar(X, axis=0)))
        for _ in range(max_iter):
            former, model = model, model._improved(X)
            unit = np.sqrt(np.maximum(np.diag(model.covariance), 0.0))
            unit[unit == 0.0] = 1.0
            moved = np.abs(model.mean - former.mean) / unit
            turned = np.abs(model.covariance - former.covariance) / np.outer(unit, unit)
            if max(moved.max(), turned.max()) <= tol:
                return model
        warnings.warn(
            f"ConditionalGaussian stopped after {max_iter} rounds: raise max_iter or "
            "tol.",
            ConvergenceWarning,
            stacklevel=2,
        )
        return model

    def _improved(self, X: Floats) -> ConditionalGaussian:
        """Return the model after one round: the likelihood does not fall."""
        filled, spread = X.copy(), np.zeros_like(self.covariance)
        for rows, hole, gain, rest in self._patterns(X):
            filled[np.ix_(rows, hole)] = self._filled(X, rows, hole, gain)
            spread[np.ix_(hole, hole)] += len(rows) * rest
        centred = filled - filled.mean(axis=0)
        covariance = (centred.T @ centred + spread) / len(X)
        return ConditionalGaussian(filled.mean(axis=0), covariance)

    def moments(self, X: Any) -> tuple[Floats, Floats]:
        """Return what is known of each row: its mean, and a factor of its covariance.

        Parameters
        ----------
        X : array of shape (n, d)
            Rows; NaN where a value is missing.

        Returns
        -------
        means : ndarray of shape (n, d)
            The rows, missing values replaced by their conditional means.
        factors : ndarray of shape (n, d, r)
            ``L`` of the conditional covariances ``L L'``; zero for measured values. It
            is the ``covariance_factor`` of `ChanceConstrainedSVC.fit` and of
            `ChanceConstrainedSVC.error_probability_bound`.
        """
        X = _incomplete(X)
        if X.shape[1] != len(self.mean):
            raise ValueError(
                f"X has {X.shape[1]} features, and the model has {len(self.mean)}."
            )
        rank = max(1, int(np.isnan(X).sum(axis=1).max()))
        means, factors = X.copy(), np.zeros((*X.shape, rank))
        for rows, hole, gain, rest in self._patterns(X):
            means[np.ix_(rows, hole)] = self._filled(X, rows, hole, gain)
            values, vectors = np.linalg.eigh(rest)
            factor = vectors * np.sqrt(np.maximum(values, 0.0))
            factors[np.ix_(rows, hole, np.arange(len(values)))] = factor
        return means, factors

    def _patterns(self, X: Floats) -> Iterator[tuple[Any, Mask, Floats, Floats]]:
        """Yield rows that lack the same features, with gain and rest of these.

        The gain is ``S_kk^-1 S_kh``, the rest is the conditional covariance.
        """
        patterns, which = np.unique(np.isnan(X), axis=0, return_inverse=True)
        S = self.covariance
        for number, hole in enumerate(patterns):
            if hole.any():
                known = ~hole
                inverse = np.linalg.pinv(S[np.ix_(known, known)], hermitian=True)
                gain = inverse @ S[np.ix_(known, hole)]
                rest = S[np.ix_(hole, hole)] - S[np.ix_(hole, known)] @ gain
                rows = np.flatnonzero(which.ravel() == number)
                yield rows, hole, gain, 0.5 * (rest + rest.T)

    def _filled(self, X: Floats, rows: Any, hole: Mask, gain: Floats) -> Floats:
        """Return the conditional means of the missing values of some rows."""
        known = ~hole
        centred = X[np.ix_(rows, known)] - self.mean[known]
        return np.asarray(self.mean[hole] + centred @ gain)


def _incomplete(X: Any) -> Floats:
    """Return rows in double precision, in which NaN is allowed and infinity is not."""
    checked = check_array(X, dtype=np.float64, ensure_all_finite="allow-nan")
    return np.asarray(checked)
