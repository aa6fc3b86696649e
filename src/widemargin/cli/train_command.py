"""``widemargin train``: a data file in, a model file out."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import (
    BaseEstimator,
    is_classifier,
    is_outlier_detector,
    is_regressor,
)
from sklearn.model_selection import KFold, StratifiedKFold, cross_val_predict
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from widemargin.cli.column_encoding import (
    as_table,
    category_hints,
    check_mixed,
    check_mixed_options,
    column_encoder,
    encode,
    encoded_pipeline,
    encoding_step,
    mixed_options,
    name_columns,
)
from widemargin.cli.estimator_names import METHODS, estimator_class
from widemargin.cli.files import Data
from widemargin.cli.hints import hints
from widemargin.cli.options import (
    MethodCommand,
    check_parameters,
    check_weights,
    estimator_parameters,
)
from widemargin.cli.streams import is_stream

from .error_bars import check_error_columns, split_errors
from .output import (
    InputError,
    catching_warnings,
    check_model_path,
    read_data,
    remark,
    save_model,
    show_progress,
)
from .private_training import (
    check_private,
    drawing,
    privacy_lines,
    read_unquoted,
)
from .scores import numbers, regression_lines, training_line
from .suspects import check_suspects_path, write_suspects

_LARGE = 256  # megabytes
_BLOCK = 1 << 20  # entries scaled at a time


@click.command(cls=MethodCommand)
@click.argument("data", metavar="DATA", type=click.Path())
@click.argument("model", metavar="[MODEL]", type=click.Path(), required=False)
@click.option(
    "--method",
    type=click.Choice(list(METHODS)),
    default="svc",
    show_default=True,
    help="What to train.",
)
@click.option("--label", metavar="COLUMN", help="CSV: name or number of the label.")
@click.option(
    "--scale",
    type=click.Choice(["minmax", "standard"]),
    help="Scale the features; the scaling is stored in the model.",
)
@mixed_options
@click.option(
    "-v",
    "--folds",
    type=click.IntRange(min=2),
    help="Cross-validate in so many folds; no model is written.",
)
@click.option(
    "--suspects",
    type=click.Path(),
    metavar="FILE.csv",
    help="With --method ramp: write the training rows that look mislabelled, the most "
    "doubtful first.",
)
@click.option(
    "--error-columns",
    metavar="PATTERN",
    help="With --method chance, CSV: columns of standard deviations, * for the name "
    "of the feature, as in '*_err'; several with commas.",
)
@click.option(
    "--ledger",
    type=click.Path(dir_okay=False),
    metavar="FILE",
    help="With --method private: draw from the budget kept there, or be refused; "
    "widemargin ledger FILE --epsilon E makes one.",
)
@click.option("-q", "--quiet", is_flag=True, help="Say nothing but errors.")
@click.pass_context
def train(
    ctx: click.Context,
    /,
    data: str,
    model: str | None,
    method: str,
    label: str | None,
    scale: str | None,
    categorical: str | None,
    missing: str | None,
    folds: int | None,
    suspects: str | None,
    error_columns: str | None,
    ledger: str | None,
    quiet: bool,
    **given: Any,
) -> None:
    """Train on DATA and write MODEL (by default DATA's name with .model).

    DATA is Parquet, Arrow, CSV with --label, or LIBSVM's; text may be compressed (.xz
    .bz2 .gz), come from a pipe, or be - for standard input. LIBSVM's flags mean what
    they mean there. Exit codes: 0 done, 1 not converged, 2 bad usage or input.
    """
    if model is None and folds is None and is_stream(data):
        raise click.UsageError("say where to write MODEL: a pipe gives it no name")
    target = f"{Path(data).name}.model" if model is None else model
    check_model_path(target, data)
    if suspects is not None:
        check_suspects_path(suspects, data, target, method, folds)
    if error_columns is not None:
        check_error_columns(method, scale)
    mixed = categorical is not None or missing is not None
    if mixed:
        check_mixed_options(method, error_columns)
    check_private(method, folds, ledger)
    cls = estimator_class(method)
    parameters = estimator_parameters(cls, method, given)
    check_parameters(cls(**parameters), given)
    if "verbose" in cls().get_params() and show_progress(quiet):
        parameters["verbose"] = True
    precomputed = parameters.get("kernel") == "precomputed"
    reading: dict[str, Any] = {
        "quiet": quiet,
        "label": label,
        "serial_numbers": precomputed,
    }
    if method == "private":  # whose own checks quote nothing of the data
        content = read_unquoted(data, **reading)
    else:
        needed = not is_outlier_detector(cls())
        content = read_advised(data, mixed, label_required=needed, **reading)
        if mixed:
            check_mixed(data, content, categorical is not None, missing or "error")
        if content.X.shape[1] == 0:
            raise InputError(f"{data}: no sample has a feature")
        if is_regressor(cls()):
            content = replace(content, y=numbers(np.asarray(content.y)))
        elif is_classifier(cls()):
            check_weights(parameters, _classes(content, data))
    extras: dict[str, Any] = {}
    if error_columns is not None:
        content, extras["covariance"] = split_errors(data, content, error_columns)
    table, encoder = content, None
    if mixed:
        encoder = column_encoder(
            content, missing or "error", scaler_of(scale, content.X)
        )
        with catching_warnings(quiet):
            content = encode(encoder, content)
    if "cache_size" in cls().get_params() and "cache_size" not in parameters:
        parameters |= modest_cache(content)
    if encoder is None:
        estimator = assemble(cls(**parameters), method, scale, content)
    else:
        estimator = encoded_pipeline(encoder, cls(**parameters))
    if not quiet and method != "private":  # each tells something of the data
        seen = estimator if encoder is None else estimator[-1]
        found = hints(content, method, scale, parameters, seen)
        for hint in found if encoder is None else category_hints(table) + found:
            remark(f"hint: {hint}")
    if encoder is not None and folds is not None:  # learnt anew in every fold
        content = replace(content, X=as_table(table))
    if folds is not None:
        ctx.exit(_cross_validate(estimator, content, folds, quiet, extras))
    final = estimator[-1] if isinstance(estimator, Pipeline) else estimator
    with catching_warnings(quiet) as outcome, drawing(ledger, final):
        started = time.perf_counter()
        _fit(estimator, content, extras)
        seconds = time.perf_counter() - started
        save_model(estimator, target)
    if suspects is not None:
        write_suspects(suspects, final, content)
    if method == "private":  # how long it took is a function of the data
        remark(f"{describe(final)}; written to {target}", quiet)
        for line in privacy_lines(final)[1:]:
            remark(line, quiet)
    else:
        remark(f"{describe(final)}; {seconds:.2f} s; written to {target}", quiet)
        with catching_warnings(quiet=True):
            fit = None if quiet else training_line(final, content.X, content.y)
        if fit is not None:
            remark(fit)
    ctx.exit(0 if outcome.converged else 1)


def read_advised(data: str, mixed: bool, **reading: Any) -> Data:
    """Read data; where it is refused for its text or its gaps, name the option."""
    try:
        return read_data(data, mixed=() if mixed else None, **reading)
    except InputError as error:
        message = error.message
        if message.endswith("is not a finite number") and reading["label"]:
            message += "; for categories: --categorical auto; for gaps: --missing mean"
        elif message.endswith("holds text"):
            message += "; for categories: --categorical auto"
        elif message.endswith(("empty value", "no value")):
            message += "; for missing values: --missing mean or --missing indicator"
        raise InputError(message) from error


def _classes(content: Data, data: str) -> list[Any]:
    """Return the labels there are, if a classifier can be trained on them."""
    labels: NDArray[Any] = np.unique(np.asarray(content.y))
    if labels.dtype.kind == "f" and np.any(labels != np.trunc(labels)):
        fraction = labels[labels != np.trunc(labels)][0]
        raise InputError(
            f"{data}: the label {fraction:g} is a fraction, and classes are whole "
            "numbers or, in CSV, text; for numbers there is --method svr"
        )
    if len(labels) == 1:
        raise InputError(f"{data}: every label is {labels[0]}: no two classes")
    found: list[Any] = labels.tolist()
    return found


def modest_cache(content: Data) -> dict[str, Any]:
    """Bound the kernel cache where the data is large: it must not dwarf the data."""
    megabytes = sum(part.nbytes for part in _parts(content.X)) / 2**20
    return {"cache_size": megabytes / 8} if megabytes > _LARGE else {}


def assemble(
    estimator: BaseEstimator, method: str, scale: str | None, content: Data
) -> BaseEstimator:
    """Put the scaling in front of the estimator, where it is wanted and allowed."""
    if scale is None:
        return estimator
    if method == "private":
        raise InputError(
            "--scale with --method private: scaling learnt from the data voids the "
            "guarantee; scale by bounds known beforehand"
        )
    return Pipeline([("scale", scaler_of(scale, content.X)), ("model", estimator)])


def scaler_of(scale: str | None, X: Any) -> Any:
    """Return the scaling that is asked for, not fitted yet; None without."""
    if scale == "standard":
        return StandardScaler(with_mean=not sparse.issparse(X))
    if scale == "minmax" and sparse.issparse(X):
        raise InputError(
            "--scale minmax would fill the zeros of sparse data: use --scale standard"
        )
    return MinMaxScaler() if scale == "minmax" else None


def _fit(estimator: Any, content: Data, extras: dict[str, Any]) -> None:
    """Fit without a second copy of the data: the command needs it no more."""
    final = estimator
    if isinstance(estimator, Pipeline):
        if encoding_step(estimator) is None:
            scale_in_place(estimator[0], content.X)
        final = estimator[-1]
    _seal(content.X)
    final.fit(content.X, content.y, **extras)
    carry_names(estimator, content)


def carry_names(estimator: Any, content: Data) -> None:
    """Let names travel with a fitted model, as if a data frame had brought them."""
    if content.names is None or len(set(content.names)) < len(content.names):
        return
    names = np.array(content.names, dtype=object)
    step = encoding_step(estimator)
    if step is not None:
        name_columns(step, names)
        return
    first = estimator[0] if isinstance(estimator, Pipeline) else estimator
    first.feature_names_in_ = names


def scale_in_place(scaler: Any, X: Any) -> None:
    """Fit a scaler and overwrite the samples with the scaled ones, block by block."""
    rows = max(1, _BLOCK // X.shape[1])
    starts = range(0, X.shape[0], rows)
    for start in starts:
        scaler.partial_fit(X[start : start + rows])
    for start in starts:
        scaled = scaler.transform(X[start : start + rows])
        if sparse.issparse(X):
            first = X.indptr[start]
            X.data[first : first + scaled.nnz] = scaled.data
        else:
            X[start : start + rows] = scaled


def _seal(X: Any) -> None:
    """Make samples read-only: then the estimator keeps them without a copy."""
    for part in _parts(X):
        while isinstance(part, np.ndarray):
            part.flags.writeable = False
            part = part.base


def _parts(X: Any) -> tuple[Any, ...]:
    return (X.data, X.indices, X.indptr) if sparse.issparse(X) else (X,)


def _cross_validate(
    estimator: Any, content: Data, folds: int, quiet: bool, extras: dict[str, Any]
) -> int:
    """As svm-train -v: every row predicted by a model that has not seen it."""
    if content.y is None:
        raise InputError("cross-validation needs labels to compare with")
    classes = is_classifier(estimator)
    form = StratifiedKFold if classes else KFold
    with catching_warnings(quiet) as outcome:
        splits = form(folds, shuffle=True, random_state=0)
        predicted = cross_val_predict(
            estimator, content.X, content.y, cv=splits, params=extras
        )
    if is_regressor(estimator):
        for line in regression_lines(content.y, predicted, "Cross Validation {} = {}"):
            click.echo(line)
    else:
        right = predicted == np.asarray(content.y)
        click.echo(f"Cross Validation Accuracy = {100 * right.mean():.6g}%")
        parts = [right[test].mean() for _, test in splits.split(content.X, content.y)]
        remark(f"standard deviation of the folds {100 * np.std(parts):.3g}%", quiet)
    return 0 if outcome.converged else 1


def describe(estimator: Any) -> str:
    """One line on a fitted estimator: what it is, and its certificate."""
    words = [type(estimator).__name__]
    if hasattr(estimator, "privacy_report"):
        statement = str(estimator.privacy_report()).splitlines()[0]
        words.append(statement.split(". ")[0].rstrip(".:"))
    if hasattr(estimator, "n_support_"):
        words.append(f"{int(np.sum(estimator.n_support_))} support vectors")
    if hasattr(estimator, "outliers_"):
        words.append(f"{len(estimator.outliers_)} suspected labels")
    certificate: Any = getattr(estimator, "certificate_", None) or []
    records = certificate if isinstance(certificate, list) else [certificate]
    if records:
        words.append(f"objective {sum(record.objective for record in records):.8g}")
        gaps = [record.gap for record in records if record.gap is not None]
        if gaps:
            words.append(f"gap {max(gaps):.2g}")
        violations = [record.kkt_violation for record in records]
        if all(violation is not None for violation in violations):
            words.append(f"KKT violation {max(violations):.2g}")
        states = sorted({str(record.status) for record in records})
        words.append(f"status {', '.join(states)}")
    return "; ".join(words)
