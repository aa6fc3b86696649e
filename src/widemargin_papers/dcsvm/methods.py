"""The contestants of the divide-and-conquer paper, each an unfitted estimator.

The naive sum, the Bayesian committee machine, the cascade and bagging are here to be
compared with, and only here: the package itself predicts by the cluster's own model.
Where the paper has LLSVM, FastFood and LTPU, scikit-learn pipelines of the same idea
stand, under the names of what they are: random landmarks (the paper's are k-means
centres), random Fourier features (without FastFood's products of Hadamard matrices).
Gradient boosting is what one would try today.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.cluster import MiniBatchKMeans
from sklearn.ensemble import BaggingClassifier, HistGradientBoostingClassifier
from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.linear_model import LogisticRegression
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.svm import LinearSVC

from widemargin.engine.gram import Gram
from widemargin.estimators.divide_conquer import DivideConquerSVC
from widemargin.estimators.divide_conquer.early import EarlyModel
from widemargin.estimators.svc import SVC

Vector = NDArray[np.float64]

SEED = 0
METHODS = ("DC early", "DC exact", "SVC", "SVC on a fifth", "CascadeSVM",
           "random landmarks", "random Fourier features", "LTPU",
           "HistGradientBoosting")  # fmt: skip


def make_method(name: str, *, C: float, gamma: float, rank: int) -> Any:
    """Unfitted estimator for a row of Table 2; low-rank methods have a `rank`."""
    kernel: dict[str, Any] = {"C": C, "gamma": gamma, "n_jobs": 2, "cache_size": 2000.0}
    divided: dict[str, Any] = {"random_state": SEED, "early_level": 3, **kernel}
    ranked: dict[str, Any] = {"n_components": rank, "random_state": SEED}
    linear = LinearSVC(C=C, dual="auto", random_state=SEED, max_iter=1000)
    makers: dict[str, Any] = {
        "DC early": lambda: DivideConquerSVC(prediction="early", **divided),
        "DC exact": lambda: DivideConquerSVC(**kernel),
        "SVC": lambda: SVC(**kernel),
        "SVC on a fifth": lambda: Subsampled(SVC(**kernel)),
        "CascadeSVM": lambda: Cascade(SVC(**kernel)),
        "random landmarks": lambda: make_pipeline(
            Nystroem(gamma=gamma, **ranked), linear
        ),
        "random Fourier features": lambda: make_pipeline(
            RBFSampler(gamma=gamma, **ranked), linear
        ),
        "LTPU": lambda: make_pipeline(Units(gamma, rank), linear),
        "HistGradientBoosting": lambda: make_pipeline(
            FunctionTransformer(_dense),
            HistGradientBoostingClassifier(random_state=SEED),
        ),
    }
    return makers[name]()


def _dense(X: Any) -> Any:
    return X.toarray() if hasattr(X, "toarray") else X


class Units(BaseEstimator):
    """Locally tuned processing units: Gaussian bumps at k-means centres."""

    def __init__(self, gamma: float, n_units: int) -> None:
        self.gamma = gamma
        self.n_units = n_units

    def fit(self, X: Any, y: Any = None) -> Units:
        """Place the units."""
        units = min(self.n_units, X.shape[0])
        means = MiniBatchKMeans(units, n_init=1, random_state=SEED).fit(X)
        self.centres_ = means.cluster_centers_
        return self

    def transform(self, X: Any) -> Any:
        """Activation of each unit at each row."""
        return rbf_kernel(X, self.centres_, gamma=self.gamma)


@dataclass
class Subsampled:
    """Any classifier, fitted on a random fifth of the rows."""

    estimator: Any

    def fit(self, X: Any, y: Any) -> Subsampled:
        """Fit on the fifth."""
        rows = np.random.default_rng(SEED).permutation(len(y))[: int(0.2 * len(y))]
        self.estimator.fit(X[rows], y[rows])
        return self

    def predict(self, X: Any) -> Any:
        """Predict by the model of the fifth."""
        return self.estimator.predict(X)


@dataclass
class Cascade:
    """CascadeSVM, one round (Graf et al. 2005).

    Random parts, a power of two of them, are solved by the estimator, the support
    vectors of two parts go on together, and so on until one set is left. What a part
    dropped never returns.
    """

    estimator: Any
    n_parts: int = 16

    def fit(self, X: Any, y: Any) -> Cascade:
        """Run the cascade; ``rounds_`` keeps the support vectors of each stage."""
        rows = np.random.default_rng(SEED).permutation(len(y))
        parts = np.array_split(rows, self.n_parts)
        self.rounds_ = []
        while True:
            kept = [self._support(X, y, rows) for rows in parts]
            self.rounds_.append(np.sort(np.concatenate(kept)))
            if len(parts) == 1:
                return self
            parts = [np.concatenate(kept[i : i + 2]) for i in range(0, len(kept), 2)]

    def _support(self, X: Any, y: Any, rows: NDArray[np.intp]) -> NDArray[np.intp]:
        if len(np.unique(y[rows])) < 2:
            return rows
        return np.asarray(rows[self.estimator.fit(X[rows], y[rows]).support_])

    def predict(self, X: Any) -> Any:
        """Predict by the last model."""
        return self.estimator.predict(X)


def naive_sum(model: EarlyModel, Z: Any) -> Vector:
    """Equation (5): the glued sum over all clusters, without intercepts."""
    gram = Gram(model.samples, model.kernel)
    return np.asarray(gram.cross(Z, model.coefficients[:, 0]))


def committee(model: EarlyModel, X: Any, y: Vector, Z: Any) -> Vector:
    """Bayesian committee machine (Tresp 2000) over the clusters' models.

    Each local decision is turned to log-odds by a sigmoid fitted on its own cluster;
    with prior log-odds p the committee of k says ``sum_c odds_c - (k - 1) p``. That
    holds for experts with one and the same prior: where an expert knows nothing it must
    say p. A model without intercept decides 0 there, so its sigmoid has no offset and
    p = 0. (With offsets, as Platt fits them, each expert would have the prior of its
    cluster, and far from all but one cluster those of the k - 1 others would add up.)
    """
    labels = model.assign(X)
    odds = np.zeros(Z.shape[0])
    for cluster in range(model.n_clusters):
        own = labels == cluster
        if len(np.unique(y[own])) < 2:
            continue  # it has seen one class: it has no odds to offer
        inside = model._local(cluster, X[own], 1)[:, :1]
        sigmoid = LogisticRegression(C=1e3, fit_intercept=False).fit(inside, y[own])
        odds += sigmoid.decision_function(model._local(cluster, Z, 1)[:, :1])
    return odds


def bagging(estimator: Any, n_parts: int) -> BaggingClassifier:
    """Votes of models on random parts of n / n_parts rows (Table 6)."""
    return BaggingClassifier(
        estimator, n_parts, max_samples=1 / n_parts, bootstrap=False, random_state=SEED
    )
