"""Fit and predict on dask collections: what the estimator does with them.

The early model comes from :mod:`.workers`, the exact finish from :mod:`.exact_finish`.
"""

from __future__ import annotations

import copy
import time
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from widemargin.engine.kernels import Kernel, gamma_of, make_kernel
from widemargin.engine.solve_options import SolveOptions
from widemargin.engine.status import Status
from widemargin.estimators.base.feature_scales import warn_if_unscaled
from widemargin.estimators.base.fitted import FittedClassifier, fitted_classifier
from widemargin.estimators.base.multiclass import class_pairs, pair_members
from widemargin.estimators.base.training_data import LabelledData
from widemargin.estimators.base.validation import class_weights
from widemargin.estimators.divide_conquer.level_choice import check_levels, early_levels
from widemargin.estimators.divide_conquer.level_run import (
    EarlySolution,
    block_certificate,
)
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
    _describe(estimator, X, blocks)
    data = LabelledData(
        X=trained.model.samples, rows=trained.model.support, n_given=n,
        n_features=blocks.n_features,        labels=trained.codes, classes=seen.classes,
    )  # fmt: skip
    pairs = _pairs(trained.codes, len(seen.classes))
    record = level_record(
        level, trained.sizes, trained.parts, len(trained.codes), seconds
    )
    early = fitted_classifier(
        data, kernel, factors, pairs, _answers(trained, pairs, sum(seconds)), [record]
    )
    if estimator.prediction == "early":
        estimator._keep(early, trained.model)
        return True
    try:
        exact = finish(estimator, blocks, trained, early)
    except KeyboardInterrupt:
        estimator._keep(_interrupted(early), trained.model)
        return False
    if exact is None:
        estimator._keep(replace(early, converged=False), trained.model)
    else:
        estimator._keep(exact)
    return True


def _interrupted(early: FittedClassifier) -> FittedClassifier:
    word = Status.INTERRUPTED.value
    certificates = [replace(own, status=word) for own in early.certificates]
    return replace(early, certificates=certificates, converged=False)


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


def _describe(estimator: Any, X: Any, blocks: Blocks) -> None:
    estimator.n_features_in_ = blocks.n_features
    columns = getattr(X, "columns", None)
    if columns is not None and all(isinstance(name, str) for name in columns):
        estimator.feature_names_in_ = np.asarray(list(columns), dtype=object)
    elif hasattr(estimator, "feature_names_in_"):
        del estimator.feature_names_in_


@dataclass(frozen=True)
class _Pair:
    """A pair of classes, and which of the support vectors belong to it."""

    positive: int
    negative: int
    rows: NDArray[np.intp]


def _pairs(codes: NDArray[np.intp], n_classes: int) -> list[_Pair]:
    return [_Pair(*pair, pair_members(codes, pair)) for pair in class_pairs(n_classes)]


def _answers(
    trained: Trained, pairs: list[_Pair], seconds: float
) -> list[EarlySolution]:
    """Return each pair's share of the level: its certificate is the block kernel's."""
    model = trained.model
    intercepts = np.average(model.intercepts, axis=0, weights=trained.sizes)
    return [
        EarlySolution(
            model.coefficients[pair.rows, number],
            float(intercepts[number]),
            block_certificate(trained.parts[number], seconds, 1),
        )
        for number, pair in enumerate(pairs)
    ]


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
    if hasattr(model, "feature_names_in_"):
        import pandas as pd

        block = pd.DataFrame(block, columns=model.feature_names_in_)
    return getattr(model, method)(block)
