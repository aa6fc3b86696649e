"""Fit and predict on dask collections: what the estimator does with them.

The early model comes from :mod:`.workers`, the exact finish from :mod:`.exact_finish`.
"""

from __future__ import annotations

import copy
import time
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from widemargin.engine.kernels import Kernel, gamma_of, make_kernel
from widemargin.engine.solve_options import SolveOptions
from widemargin.engine.status import Status
from widemargin.estimators.base.feature_scales import warn_if_unscaled
from widemargin.estimators.base.multiclass import class_pairs
from widemargin.estimators.base.validation import class_weights
from widemargin.estimators.divide_conquer.level_choice import check_levels, early_levels
from widemargin.estimators.divide_conquer.level_run import block_certificate
from widemargin.multilevel.driver import level_record
from widemargin.multilevel.partition import divide

from .exact_finish import finish
from .workers import Blocks, Trained, blocks_of, lazily, survey, train

Vector = NDArray[np.float64]


def fit_collections(estimator: Any, X: Any, y: Any, sample_weight: Any) -> bool:
    """Fit a DivideConquerSVC on dask arrays or dataframes.

    Return False where Ctrl-C ended the exact finish: the early model stands.
    """
    _refuse(estimator)
    clock = time.perf_counter()
    blocks = blocks_of(X, y, sample_weight)
    n = sum(blocks.lengths)
    level, n_clusters = _clusters(estimator, n)
    seed = estimator._seed()
    sample_size = estimator.sample_size or max(5000, 16 * n_clusters)
    seen = survey(blocks, sample_size, seed)
    if len(seen.classes) < 2:
        raise ValueError(
            "The number of classes has to be greater than one; got "
            f"{len(seen.classes)} class"
        )
    kernel = _kernel(estimator, blocks.n_features, seen.variance)
    warn_if_unscaled(seen.sample, kernel)
    factors = class_weights(
        estimator.class_weight, seen.classes, np.arange(len(seen.mass)), seen.mass
    )
    partition = divide(
        seen.sample,
        kernel,
        n_clusters,
        clustering=estimator.clustering,
        sample_size=len(seen.sample),
        seed=seed,
    )
    clustered = time.perf_counter()
    trained = train(
        blocks,
        partition,
        kernel,
        seen.classes,
        estimator.C * factors,
        fit_intercept=estimator.fit_intercept,
        options=SolveOptions(
            tol=estimator.tol,
            max_iter=estimator.max_iter,
            shrinking=estimator.shrinking,
            seed=seed,
        ),
    )
    seconds = (clustered - clock, time.perf_counter() - clustered)
    _describe(estimator, X, blocks, n)
    _store_early(estimator, trained, kernel, seen.classes, factors, level, seconds)
    if estimator.prediction == "exact":
        early = dict(vars(estimator))
        try:
            finish(estimator, blocks, trained, seen.classes)
        except KeyboardInterrupt:
            estimator.__dict__ = early  # nothing of an exact model half stored
            _keep_early(estimator)
            return False
    return True


def _keep_early(estimator: Any) -> None:
    estimator.fit_status_ = 1
    early, word = estimator.certificate_, Status.INTERRUPTED.value
    if isinstance(early, list):
        estimator.certificate_ = [replace(c, status=word) for c in early]
    else:
        estimator.certificate_ = replace(early, status=word)


def _refuse(estimator: Any) -> None:
    name = type(estimator).__name__
    if estimator.kernel == "precomputed":
        raise ValueError(
            f"{name}: kernel='precomputed' needs the kernel matrix in memory; dask "
            "collections need a kernel that is computed from rows."
        )
    for parameter in ("checkpoint", "max_time"):
        if getattr(estimator, parameter) is not None:
            raise ValueError(
                f"{name}: {parameter}= is for data in memory; on dask collections "
                f"leave {parameter}=None (dask itself recovers lost work)."
            )


def _clusters(estimator: Any, n: int) -> tuple[int, int]:
    n_levels, early_level = estimator.n_levels, estimator.early_level
    check_levels(n_levels, early_level)
    if estimator.prediction == "exact" and n_levels != "auto":
        raise ValueError(
            f"{type(estimator).__name__}: n_levels={n_levels} forces the levels of an "
            "exact fit in memory; on dask collections there is one level before the "
            "exact finish: leave n_levels='auto' and choose that level by early_level."
        )
    _, level = early_levels(n, n_levels, early_level, estimator.n_branches)
    return level, estimator.n_branches**level


def _kernel(estimator: Any, n_features: int, variance: float) -> Kernel:
    gamma = estimator.gamma
    if gamma == "scale":
        gamma = gamma_of(variance, n_features)
    elif gamma == "auto":
        gamma = 1.0 / n_features
    return make_kernel(
        estimator.kernel, gamma=gamma, degree=estimator.degree, coef0=estimator.coef0
    )


def _describe(estimator: Any, X: Any, blocks: Blocks, n: int) -> None:
    estimator.n_features_in_ = blocks.n_features
    estimator.shape_fit_ = (n, blocks.n_features)
    columns = getattr(X, "columns", None)
    if columns is not None and all(isinstance(name, str) for name in columns):
        estimator.feature_names_in_ = np.asarray(list(columns), dtype=object)
    elif hasattr(estimator, "feature_names_in_"):
        del estimator.feature_names_in_


def _store_early(
    estimator: Any,
    trained: Trained,
    kernel: Kernel,
    classes: NDArray[Any],
    factors: Vector,
    level: int,
    seconds: tuple[float, float],
) -> None:
    model, codes = trained.model, trained.codes
    order = np.argsort(codes, kind="stable")
    certificates = [
        block_certificate(parts, sum(seconds), 1) for parts in trained.parts if parts
    ]
    estimator.classes_ = classes
    estimator.class_weight_ = factors
    estimator.gamma_ = float(getattr(kernel, "gamma", 0.0))
    estimator.early_ = model
    estimator._kernel = kernel
    estimator._columns = None
    estimator._exact = False
    estimator.support_ = model.support[order]
    estimator.support_vectors_ = model.samples[order]
    estimator.n_support_ = np.bincount(codes, minlength=len(classes)).astype(np.int32)
    estimator.dual_coef_ = _stacked(model.coefficients, codes, len(classes))[:, order]
    estimator.intercept_ = np.average(model.intercepts, axis=0, weights=trained.sizes)
    estimator.n_iter_ = np.array([c.n_iter for c in certificates], dtype=np.int32)
    estimator.fit_status_ = int(any(c.status != Status.EARLY for c in certificates))
    estimator.certificate_ = certificates[0] if len(classes) == 2 else certificates
    estimator.history_ = [
        level_record(level, trained.sizes, trained.parts, len(codes), seconds)
    ]


def _stacked(
    coefficients: Vector, codes: NDArray[np.intp], n_classes: int
) -> NDArray[np.float64]:
    """Coefficients by class pair in the (n_classes - 1, n_SV) layout of LIBSVM."""
    stacked = np.zeros((n_classes - 1, len(codes)))
    for column, pair in enumerate(class_pairs(n_classes)):
        first, second = sorted(pair)
        stacked[second - 1, codes == first] = coefficients[codes == first, column]
        stacked[first, codes == second] = coefficients[codes == second, column]
    return stacked


def lazy_labels(estimator: Any, X: Any) -> Any:
    """Labels of a dask collection, computed block by block when asked for."""
    model = _portable(estimator)
    return lazily(_apply, X, estimator.classes_.dtype, model=model, method="predict")


def lazy_decisions(estimator: Any, X: Any) -> Any:
    """Decision values of a dask collection, block by block when asked for."""
    n_classes = len(estimator.classes_)
    wide = n_classes if estimator.decision_function_shape == "ovr" else None
    columns = wide or n_classes * (n_classes - 1) // 2
    return lazily(
        _apply,
        X,
        np.float64,
        0 if n_classes == 2 else columns,
        model=_portable(estimator),
        method="decision_function",
    )


def _portable(estimator: Any) -> Any:
    """Model as one node of a task graph, without what an early one does not use.

    Its support vectors stand in ``early_`` already; a graph that held the model in each
    of its tasks would outgrow the data.
    """
    import dask

    model = copy.copy(estimator)
    if model.early_ is not None:
        for name in ("support_", "support_vectors_", "dual_coef_"):
            model.__dict__.pop(name, None)
    return dask.delayed(model, pure=False, traverse=False)


def _apply(block: Any, model: Any, method: str) -> Any:
    names = getattr(model, "feature_names_in_", None)
    if names is not None:
        import pandas as pd

        block = pd.DataFrame(block, columns=names)
    return getattr(model, method)(block)
