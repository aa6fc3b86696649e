"""``widemargin train``: a data file in, a model file out."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import click
import numpy as np
from scipy import sparse
from sklearn.base import (
    is_classifier,
    is_outlier_detector,
    is_regressor,
)
from sklearn.model_selection import KFold, StratifiedKFold, cross_val_predict
from sklearn.pipeline import Pipeline

from widemargin.cli.column_encoding import (
    category_hints,
    check_mixed_options,
    encoding_step,
    name_columns,
)
from widemargin.cli.estimator_names import estimator_class
from widemargin.cli.hints import hints, hints_of_fit
from widemargin.cli.options import (
    MethodCommand,
    check_parameters,
    check_weights,
    estimator_parameters,
)
from widemargin.cli.parsed_data import Data
from widemargin.cli.streams import is_stream

from .error_bars import check_error_columns, split_errors
from .output import (
    InputError,
    catching_warnings,
    check_model_path,
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
from .scores import regression_lines, training_fit
from .suspects import check_suspects_path, write_suspects
from .training_input import (
    ColumnOptions,
    Prepared,
    classes_of,
    input_options,
    prepared,
    read_rows,
)

_LARGE = 256  # megabytes
_BLOCK = 1 << 20  # entries scaled at a time


@click.command(cls=MethodCommand)
@click.argument("data", metavar="DATA", type=click.Path())
@click.argument("model", metavar="[MODEL]", type=click.Path(), required=False)
@input_options("What to train.", "Scale the features; stored in the model.")
@click.option(
    "-v",
    "--folds",
    type=click.IntRange(min=2),
    help="Cross-validate with this number of folds; no model is written.",
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
    target = _model_path(data, model, folds)
    columns = ColumnOptions(categorical, missing)
    if suspects is not None:
        check_suspects_path(suspects, data, target, method, folds)
    if error_columns is not None:
        check_error_columns(method, scale)
    if columns.given:
        check_mixed_options(method, error_columns)
    check_private(method, folds, ledger)
    cls = estimator_class(method)
    parameters = estimator_parameters(cls, method, given)
    check_parameters(cls(**parameters), given)
    if "verbose" in cls().get_params() and show_progress(quiet):
        parameters["verbose"] = True
    content = _read(data, method, cls(**parameters), columns, quiet=quiet, label=label)
    extras: dict[str, Any] = {}
    if error_columns is not None:
        content, extras["covariance"] = split_errors(data, content, error_columns)
    ready = prepared(cls(**parameters), method, scale, content, columns, quiet)
    if "cache_size" in cls().get_params() and "cache_size" not in parameters:
        parameters |= modest_cache(ready.seen)
        ready.final.set_params(**modest_cache(ready.seen))
    said: list[str] = []
    if not quiet and method != "private":  # each reveals something about the data
        said = _hints(ready, method, scale, parameters)
    for hint in said:
        remark(f"hint: {hint}")
    if folds is not None:
        rows = ready.by_folds
        ctx.exit(_cross_validate(ready.estimator, rows, folds, quiet, extras))
    with catching_warnings(quiet) as outcome, drawing(ledger, ready.final):
        started = time.perf_counter()
        _fit(ready.estimator, ready.seen, extras)
        seconds = time.perf_counter() - started
        save_model(ready.estimator, target)
    if suspects is not None:
        write_suspects(suspects, ready.final, ready.seen)
    gained = _report(ready, method, seconds, target, quiet)
    for hint in [] if said else hints_of_fit(gained, ready.final, scale):
        remark(f"hint: {hint}")
    ctx.exit(0 if outcome.converged else 1)


def _model_path(data: str, model: str | None, folds: int | None) -> str:
    """Return where the model goes, if it can be written there."""
    if model is None and folds is None and is_stream(data):
        raise click.UsageError("say where to write MODEL: a pipe gives it no name")
    target = f"{Path(data).name}.model" if model is None else model
    check_model_path(target, data)
    return target


def _read(
    data: str,
    method: str,
    estimator: Any,
    columns: ColumnOptions,
    **reading: Any,
) -> Data:
    """Read the rows of a method; the private one's checks quote nothing of them."""
    parameters = estimator.get_params()
    reading["serial_numbers"] = parameters.get("kernel") == "precomputed"
    if method == "private":
        return read_unquoted(data, **reading)
    needed = not is_outlier_detector(estimator)
    content = read_rows(data, estimator, columns, label_required=needed, **reading)
    if is_classifier(estimator):
        check_weights(parameters, classes_of(content, data))
    return content


def _hints(
    ready: Prepared, method: str, scale: str | None, parameters: dict[str, Any]
) -> list[str]:
    """Return the hints for this method and data."""
    if not ready.encoded:
        return hints(ready.seen, method, scale, parameters, ready.estimator)
    found = hints(ready.seen, method, scale, parameters, ready.final)
    return category_hints(ready.table) + found


def _report(
    ready: Prepared, method: str, seconds: float, target: str, quiet: bool
) -> float:
    """Print what was trained; of a private model no time, which depends on the data.

    Returns what `training_fit` says is gained over a constant answer.
    """
    final = ready.final
    if method == "private":
        remark(f"{describe(final)}; written to {target}", quiet)
        for line in privacy_lines(final)[1:]:
            remark(line, quiet)
        return 1.0
    remark(f"{describe(final)}; {seconds:.2f} s; written to {target}", quiet)
    if quiet:
        return 1.0
    with catching_warnings(quiet=True):
        fit, gained = training_fit(final, ready.seen.X, ready.seen.y)
    if fit is not None:
        remark(fit)
    return gained


def modest_cache(content: Data) -> dict[str, Any]:
    """Bound the kernel cache where the data is large: it must not dwarf the data."""
    megabytes = sum(part.nbytes for part in _parts(content.X)) / 2**20
    return {"cache_size": megabytes / 8} if megabytes > _LARGE else {}


def _fit(estimator: Any, content: Data, extras: dict[str, Any]) -> None:
    """Fit without a second copy of the data, which the command no longer needs."""
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
