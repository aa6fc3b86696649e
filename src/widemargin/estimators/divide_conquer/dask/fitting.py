"""Fit and predict on dask collections: what the estimator does with them.

The early model comes from :mod:`.workers`, the exact one from :mod:`..blockwise`.
"""

from __future__ import annotations

import copy
import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from widemargin.engine.solve_options import SolveOptions
from widemargin.estimators.base.fitted_model import fitted_classifier
from widemargin.estimators.base.multiclass import class_pairs, pair_members
from widemargin.estimators.base.training_data import LabelledData
from widemargin.estimators.base.validation import class_weights
from widemargin.estimators.divide_conquer.blockwise.exact_fit import (
    describe,
    fit_blocks,
    kernel_of,
    refuse_settings,
)
from widemargin.estimators.divide_conquer.blockwise.survey import Survey, survey
from widemargin.estimators.divide_conquer.certified_point import CertifiedPoint
from widemargin.estimators.divide_conquer.evidence_rows import Rows
from widemargin.estimators.divide_conquer.level_choice import check_levels, early_levels
from widemargin.estimators.divide_conquer.level_evidence import levels_by_evidence
from widemargin.estimators.divide_conquer.level_run import block_certificate
from widemargin.multilevel.driver import level_record
from widemargin.multilevel.partition import Partition
from widemargin.runtime.deadline import NEVER

from .single_class_on_workers import borrowing_stage
from .some_rows import RowsOnWorkers, of_each_class
from .workers import Blocks, Trained, blocks_of, lazily, train

Vector = NDArray[np.float64]


def fit_collections(estimator: Any, X: Any, y: Any, sample_weight: Any) -> bool:
    """Fit a DivideConquerSVC on dask arrays or dataframes.

    Return False where Ctrl-C ended an exact fit at a point that stands.
    """
    blocks = blocks_of(X, y, sample_weight)
    if estimator.prediction == "exact":
        return fit_blocks(estimator, blocks)
    _refuse(estimator, blocks)
    clock = time.perf_counter()
    check_levels(estimator.n_levels, estimator.early_level)
    settings = estimator.n_levels, estimator.early_level, estimator.n_branches
    _, finest = early_levels(blocks.n, *settings)
    seed = estimator._seed()
    sample_size = estimator.sample_size or max(5000, 16 * estimator.n_branches**finest)
    seen = survey(blocks, sample_size, seed)
    kernel = kernel_of(estimator, blocks.n_features, seen)
    factors = class_weights(
        estimator.class_weight, seen.classes, np.arange(len(seen.mass)), seen.mass
    )
    source = RowsOnWorkers(estimator, blocks, seen, factors, kernel, seed)
    _, level, stages, partition = levels_by_evidence(
        estimator, source, kernel, seed, NEVER
    )
    compared = time.perf_counter()
    if partition is None:
        partition = source.divided(estimator.n_branches**level)
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
        lending=_lending(estimator, blocks, seen, factors, partition),
    )
    seconds = (clustered - compared, time.perf_counter() - clustered)
    describe(estimator, blocks)
    own = trained.rows
    data = LabelledData(
        X=own.samples, rows=own.numbers, n_given=blocks.n,
        n_features=blocks.n_features, labels=own.codes, classes=seen.classes,
    )  # fmt: skip
    pairs = _pairs(own.codes, len(seen.classes))
    record = level_record(level, trained.sizes, trained.parts, len(own.codes), seconds)
    answers = _answers(trained, pairs, time.perf_counter() - clock)
    history = [*stages, record]
    if trained.loans:
        history.append(borrowing_stage(trained.loans))
    early = fitted_classifier(data, kernel, factors, pairs, answers, history)
    estimator._keep(early, trained.model)
    return True


def _lending(
    estimator: Any, blocks: Blocks, seen: Survey, factors: Vector, parts: Partition
) -> Rows | None:
    """Return rows that clusters may borrow; None where one cluster has them all."""
    if parts.n_clusters == 1:
        return None
    return of_each_class(blocks, seen, estimator.C * factors, estimator._seed())


def _refuse(estimator: Any, blocks: Blocks) -> None:
    refuse_settings(estimator)
    name = type(estimator).__name__
    if blocks.sparse:
        raise ValueError(
            f"{name}: early prediction on dask sends rows to their clusters as dense "
            "tables, and the blocks of X are sparse. Fit with prediction='exact', "
            "which takes them as they are."
        )
    for parameter in ("checkpoint", "max_time"):
        if getattr(estimator, parameter) is not None:
            raise ValueError(
                f"{name}: {parameter}= with prediction='early' is for data in memory; "
                f"on dask collections leave {parameter}=None (dask itself recovers "
                "lost work), or fit with prediction='exact'."
            )


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
) -> list[CertifiedPoint]:
    """Return each pair's share of the level: its certificate is the block kernel's."""
    intercepts = np.average(trained.model.intercepts, axis=0, weights=trained.sizes)
    return [
        CertifiedPoint(
            trained.coefficients[pair.rows, number],
            float(intercepts[number]),
            block_certificate(
                trained.parts[number]
                + [loan.solution for _, loan in trained.loans if loan.pair == number],
                seconds,
                1,
            ),
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
        del model.support_, model.support_vectors_, model.dual_coef_
    return dask.delayed(model, pure=False, traverse=False)


def _apply(block: Any, model: Any, method: str) -> Any:
    if hasattr(model, "feature_names_in_"):
        import pandas as pd

        block = pd.DataFrame(block, columns=model.feature_names_in_)
    return getattr(model, method)(block)
