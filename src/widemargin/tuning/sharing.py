"""Which fits of a search have the same kernel values: a sheet of rows for each kernel.

A sheet is a set of rows, prepared as the Pipeline would, with one kernel. With a
numeric coefficient and rows that are prepared one by one, a sheet has all folds; where
either depends on the training rows, a fold has a sheet of its own, shared over C,
costs, quantiles and class weights.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import Binarizer, Normalizer

from widemargin.engine.kernels import WITH_GAMMA
from widemargin.estimators.base.kernel_machine import KernelMachine
from widemargin.estimators.base.shared_fit import is_one_dual_problem_a_task
from widemargin.estimators.base.sklearn_compat import safe_split

Indices = NDArray[np.intp]
ROW_BY_ROW = (Normalizer, Binarizer)  # steps that treat rows independently
KERNEL_PARAMETERS = ("kernel", "gamma", "degree", "coef0")
#: Held while steps before the estimator work: scikit-learn's ColumnTransformer changes
#: the warning filters of the process for a while, and two at once would mix them up.
PREPARING = threading.Lock()


@dataclass(frozen=True)
class Fold:
    """One split of the rows.

    Attributes
    ----------
    number : int
        Which split it is.
    train, test : ndarray
        Its rows.
    """

    number: int
    train: Indices
    test: Indices


def row_numbers(rows: Any) -> Indices:
    """Return the rows of a split as numbers; a splitter may give a list, or a mask."""
    numbers: Indices = np.asarray(rows)
    if numbers.dtype == np.bool_:
        return np.flatnonzero(numbers)
    return numbers if numbers.size else numbers.astype(np.intp)


@dataclass
class Sheet:
    """Fits that share their kernel values.

    Attributes
    ----------
    folds : list of Fold
        Splits whose rows have one preparation and one kernel coefficient.
    candidates : list of int
        Settings with this preparation and this kernel.
    """

    folds: list[Fold]
    candidates: list[int] = field(default_factory=list)


def final_estimator(estimator: Any) -> Any:
    """Return what a Pipeline ends in, or the estimator itself."""
    while isinstance(estimator, Pipeline):
        estimator = estimator.steps[-1][1]
    return estimator


def preparation(estimator: Any) -> Any | None:
    """Return what comes before the final estimator; None where nothing does."""
    if not isinstance(estimator, Pipeline):
        return None
    steps = [
        step for step in estimator.steps[:-1] if step[1] not in ("passthrough", None)
    ]
    last = estimator.steps[-1][1]
    inner = preparation(last)
    if inner is not None:
        steps.append((estimator.steps[-1][0], inner))
    return Pipeline(steps) if steps else None


def refuse_foreign(estimator: Any) -> None:
    """Refuse what is no kernel estimator of this package."""
    last = final_estimator(estimator)
    if not isinstance(last, KernelMachine):
        raise TypeError(
            "SharedGridSearchCV shares kernel values between fits of this package's "
            "kernel estimators, alone or at the end of a Pipeline; "
            f"{type(last).__name__} is none of them. Use "
            "sklearn.model_selection.GridSearchCV."
        )


def is_row_by_row(prepare: Any | None) -> bool:
    """Whether a preparation learns nothing from the training rows."""
    if prepare is None:
        return True
    return all(
        is_row_by_row(step) if isinstance(step, Pipeline) else type(step) in ROW_BY_ROW
        for _, step in prepare.steps
    )


def sheets(estimators: Sequence[Any], folds: Sequence[Fold]) -> list[Sheet]:
    """Group settings by what their fits share, in the order of their first setting.

    Parameters
    ----------
    estimators : sequence
        One unfitted estimator per setting.
    folds : sequence of Fold
        The splits.
    """
    groups: dict[Any, list[Sheet]] = {}
    for number, estimator in enumerate(estimators):
        machine, prepare = final_estimator(estimator), preparation(estimator)
        alone = not is_one_dual_problem_a_task(machine)
        key = (
            type(machine),
            alone,
            machine.cache_size,
            *_kernel_key(machine),
            _key(prepare),
        )
        if key not in groups:
            whole = is_row_by_row(prepare) and not _depends_on_rows(machine)
            groups[key] = (
                [Sheet(list(folds))] if whole else [Sheet([fold]) for fold in folds]
            )
        for sheet in groups[key]:
            sheet.candidates.append(number)
    return [sheet for group in groups.values() for sheet in group]


def _depends_on_rows(machine: Any) -> bool:
    """Whether the kernel's coefficient is that of the training rows."""
    named = not callable(machine.kernel)
    return bool(named and machine.kernel in WITH_GAMMA and machine.gamma == "scale")


def _kernel_key(machine: Any) -> tuple[Any, ...]:
    return tuple(_plain(getattr(machine, name)) for name in KERNEL_PARAMETERS)


def _key(prepare: Any | None) -> Any:
    """Return the settings of a preparation in a form that can be compared."""
    if prepare is None:
        return None
    return tuple(
        (
            name,
            type(step),
            tuple(sorted((k, _plain(v)) for k, v in step.get_params().items())),
        )
        for name, step in prepare.steps
    )


def _plain(value: Any) -> Any:
    """Return a value by which settings are told apart; of other objects, identity."""
    if value is None or isinstance(value, bool | int | float | str | np.generic):
        return (type(value).__name__, repr(value))
    if hasattr(value, "get_params"):
        inner = value.get_params()
        return (
            type(value).__name__,
            repr(sorted((k, _plain(v)) for k, v in inner.items())),
        )
    return (
        type(value).__name__,
        repr(value) if isinstance(value, tuple) else str(id(value)),
    )


@dataclass(frozen=True)
class SheetRows:
    """The rows of a sheet, as the final estimator gets them.

    Attributes
    ----------
    samples : array or CSR
        All rows; the kernel matrix itself where the kernel is precomputed.
    prepare : object or None
        The fitted preparation.
    numbers : list of (ndarray, ndarray)
        For each fold, which of the samples are its training and its held-out rows.
    parts : list of (array, array)
        For each fold, its training and held-out rows as a fit and a prediction get
        them.
    """

    samples: Any
    prepare: Any | None
    numbers: list[tuple[Indices, Indices]]
    parts: list[tuple[Any, Any]]


def sheet_rows(estimator: Any, X: Any, y: Any, sheet: Sheet) -> SheetRows:
    """Prepare the rows of a sheet, exactly as a fit of the Pipeline would.

    Parameters
    ----------
    estimator : object
        Any of the sheet's.
    X, y : arrays
        All rows and targets.
    sheet : Sheet
        Its folds.
    """
    prepare = preparation(estimator)
    machine = final_estimator(estimator)
    if prepare is None or len(sheet.folds) > 1:
        fitted = None if prepare is None else clone(prepare)
        samples = X if fitted is None else _prepared(fitted, X, y)[0]
        parts = [
            (
                safe_split(machine, samples, None, fold.train)[0],
                safe_split(machine, samples, None, fold.test, fold.train)[0],
            )
            for fold in sheet.folds
        ]
        numbers = [(fold.train, fold.test) for fold in sheet.folds]
        return SheetRows(samples, fitted, numbers, parts)
    (fold,) = sheet.folds
    fitted = clone(prepare)
    X_train, y_train = safe_split(estimator, X, y, fold.train)
    X_test, _ = safe_split(estimator, X, None, fold.test, fold.train)
    part = _prepared(fitted, X_train, y_train, X_test)
    size = fold.train.size
    numbers = [(np.arange(size), np.arange(size, size + fold.test.size))]
    return SheetRows(_stacked(*part), fitted, numbers, [part])


def _prepared(steps: Any, X: Any, y: Any, *others: Any) -> tuple[Any, ...]:
    """Fit steps to rows; return these and other rows as they come out of them."""
    with PREPARING:
        return (steps.fit_transform(X, y), *map(steps.transform, others))


def _stacked(first: Any, second: Any) -> Any:
    if sparse.issparse(first):
        return sparse.vstack([first, second], format="csr")
    return np.concatenate([np.asarray(first), np.asarray(second)])
