"""``widemargin tune``: try a grid of parameters, write the best model."""

from __future__ import annotations

import time
from typing import Any

import click
import numpy as np
from sklearn.base import is_classifier
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.pipeline import Pipeline
from tqdm.auto import tqdm

from widemargin.cli.estimator_names import estimator_class
from widemargin.cli.options import (
    MethodCommand,
    check_parameters,
    convert,
    estimator_parameters,
)
from widemargin.display import GridDisplay
from widemargin.engine.kernels import WITH_GAMMA
from widemargin.estimators.base.kernel_machine import KernelMachine
from widemargin.estimators.base.validation import resolve_gamma
from widemargin.runtime.deadline import Deadline
from widemargin.tuning.grids import default_Cs, default_gammas
from widemargin.tuning.search import SharedGridSearchCV, searched_within

from .output import (
    InputError,
    catching_warnings,
    check_model_path,
    remark,
    save_model,
    show_progress,
)
from .parsed_data import Data
from .terminal_report import plain_table
from .train_command import carry_names, describe
from .training_input import ColumnOptions, input_options, prepared, read_rows

Values = list[Any]


@click.command(cls=MethodCommand)
@click.argument("data", metavar="DATA", type=click.Path())
@click.argument("model", metavar="MODEL", type=click.Path())
@input_options(
    "What to tune; kernel methods only.",
    "Scale the features by each fold's training rows; stored in the model.",
)
@click.option(
    "--grid",
    metavar="NAME=VALUES,...",
    help="Values to try: C=0.1,1,10,gamma=0.01:10:7 (from:to:how many, geometric). "
    "[default: ten C from 0.1 to 1000, ten gamma around the scale of the data]",
)
@click.option("-log2c", metavar="BEGIN,END,STEP", help="C as LIBSVM's grid.py has it.")
@click.option("-log2g", metavar="BEGIN,END,STEP", help="gamma, likewise.")
@click.option("-v", "--folds", type=click.IntRange(min=2), default=5, show_default=True)
@click.option("--scoring", metavar="NAME", help="A score by scikit-learn's name.")
@click.option(
    "--plot",
    type=click.Path(),
    metavar="FILE.png",
    help="Draw the scores over C and gamma.",
)
@click.option("-q", "--quiet", is_flag=True, help="Say nothing but errors.")
@click.pass_context
def tune(
    ctx: click.Context,
    /,
    data: str,
    model: str,
    method: str,
    label: str | None,
    scale: str | None,
    categorical: str | None,
    missing: str | None,
    grid: str | None,
    log2c: str | None,
    log2g: str | None,
    folds: int,
    scoring: str | None,
    plot: str | None,
    quiet: bool,
    **given: Any,
) -> None:
    """Cross-validate a grid of parameters on DATA and write the best model to MODEL.

    The fits share their kernel values. --max-time limits the search, not the last fit.
    Parameters that are not in the grid are set as in train. Exit codes: 0 done, 1 not
    converged or out of time, 2 bad usage or input.
    """
    check_model_path(model, data)
    if plot is not None:
        check_model_path(plot, data, model, what="a picture")
    cls = estimator_class(method)
    if not issubclass(cls, KernelMachine):
        raise click.UsageError(
            f"--method {method} has no kernel to share: use train -v"
        )
    deadline = Deadline.after(_seconds(given.pop("param_max_time", None)))
    parameters = estimator_parameters(cls, method, given)
    check_parameters(cls(**parameters), given)
    columns = ColumnOptions(categorical, missing)
    content = read_rows(data, cls(), columns, quiet=quiet, label=label)
    if content.y is None:
        raise InputError(f"{data}: tuning needs labels to compare with")
    ready = prepared(cls(**parameters), method, scale, content, columns, quiet)
    values = _values(cls(**parameters), ready.seen.X, grid, log2c, log2g)
    prefix = "model__" if isinstance(ready.estimator, Pipeline) else ""
    search = _search(ready.estimator, values, prefix, folds, scoring)
    started = time.perf_counter()
    with catching_warnings(quiet) as outcome:
        _run(search, ready.by_folds, deadline, quiet)
        seconds = time.perf_counter() - started
        save_model(search.best_estimator_, model)
    table = _Table(search, values, prefix)
    click.echo(table.text(), nl=False)
    click.echo(table.best())
    if plot is not None:
        table.draw(plot, scoring or "score")
    final = search.best_estimator_
    final = final[-1] if isinstance(final, Pipeline) else final
    fits = folds * len(search.cv_results_["params"])
    remark(f"{fits} fits and the best: {seconds:.2f} s", quiet)
    remark(f"{describe(final)}; written to {model}", quiet)
    ctx.exit(0 if outcome.converged else 1)


def _search(
    estimator: Any,
    values: dict[str, Values],
    prefix: str,
    folds: int,
    scoring: str | None,
) -> SharedGridSearchCV:
    """Return the search over the values, on shuffled folds."""
    form = StratifiedKFold if is_classifier(estimator) else KFold
    return SharedGridSearchCV(
        estimator,
        {f"{prefix}{name}": each for name, each in values.items()},
        scoring=scoring,
        cv=form(folds, shuffle=True, random_state=0),
    )


def _run(
    search: SharedGridSearchCV, content: Data, deadline: Deadline, quiet: bool
) -> None:
    """Run a search with a bar of its fits; the best model gets the column names."""
    grid = search.param_grid.values()
    total = search.cv.get_n_splits() * int(np.prod([len(each) for each in grid]))
    with tqdm(
        total=total, unit="fit", delay=1.0, leave=False,
        disable=not show_progress(quiet),
    ) as bar:  # fmt: skip
        searched_within(search, content.X, content.y, deadline, bar.update)
    carry_names(search.best_estimator_, content)


def _seconds(text: str | None) -> float | None:
    if text is None:
        return None
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not seconds > 0.0:
        raise click.UsageError(f"--max-time: {text!r} is not a number of seconds")
    return seconds


def _values(
    estimator: Any, X: Any, grid: str | None, log2c: str | None, log2g: str | None
) -> dict[str, Values]:
    """Return the values to try, by parameter."""
    known = estimator.get_params()
    values = {} if grid is None else parsed_grid(grid)
    for name, text in (("C", log2c), ("gamma", log2g)):
        if text is not None:
            values[name] = powers_of_two(name, text)
    unknown = [name for name in values if name not in known]
    if unknown:
        raise click.UsageError(
            f"--grid: {unknown[0]} is not a parameter of {type(estimator).__name__}; "
            f"it has {', '.join(known)}"
        )
    if values:
        return values
    if "C" in known:
        values["C"] = default_Cs(10).tolist()
    if estimator.kernel in WITH_GAMMA:
        scale = resolve_gamma("scale", X, None, estimator.kernel)
        values["gamma"] = default_gammas(10, scale).tolist()
    if not values:
        raise click.UsageError("--grid: say which values to try, as in nu=0.1,0.5")
    return values


def parsed_grid(text: str) -> dict[str, Values]:
    """Return the values that a grid on the command line names.

    >>> parsed_grid("C=1,10,gamma=0.01:1:3")
    {'C': [1, 10], 'gamma': [0.01, 0.1, 1.0]}
    """
    values: dict[str, Values] = {}
    name = ""
    for word in text.split(","):
        before, equals, after = word.partition("=")
        if equals:
            name, word = before.strip(), after
            values[name] = []
        if not name or not word.strip():
            raise click.UsageError(f"--grid: {text!r} is not NAME=VALUE,VALUE,...")
        values[name] += _range(word) if ":" in word else [convert(name, word.strip())]
    return values


def _range(word: str) -> Values:
    try:
        first, last, count = word.split(":")
        found: Values = np.geomspace(float(first), float(last), int(count)).tolist()
        return [float(f"{value:.12g}") for value in found]
    except ValueError as error:
        raise click.UsageError(
            f"--grid: {word!r} is not FROM:TO:HOW_MANY with positive numbers"
        ) from error


def powers_of_two(name: str, text: str) -> Values:
    """Return 2 to the powers from begin to end by step, as grid.py does.

    >>> powers_of_two("C", "-1,3,2")
    [0.5, 2.0, 8.0]
    """
    try:
        begin, end, step = (float(word) for word in text.split(","))
        count = int(np.floor((end - begin) / step + 1e-9)) + 1
    except (ValueError, ZeroDivisionError, OverflowError):
        count = 0
    if not 0 < count < 1000:
        flag = "-log2c" if name == "C" else "-log2g"
        raise click.UsageError(f"{flag}: {text!r} is not BEGIN,END,STEP")
    return [float(2.0 ** (begin + k * step)) for k in range(count)]


class _Table:
    """The scores of a search, as text and as a picture."""

    def __init__(self, search: Any, values: dict[str, Values], prefix: str) -> None:
        self.search, self.values, self.prefix = search, values, prefix
        results = search.cv_results_
        self.rows = [
            ([setting[f"{prefix}{name}"] for name in values], mean, deviation)
            for setting, mean, deviation in zip(
                results["params"], results["mean_test_score"],
                results["std_test_score"], strict=True,
            )
        ]  # fmt: skip

    def text(self) -> str:
        """One row per setting, or a grid where there are two parameters."""
        names = list(self.values)
        if len(names) != 2:
            lines = [
                [*map(_short, setting), f"{mean:.4f}", f"{deviation:.4f}"]
                for setting, mean, deviation in self.rows
            ]
            return plain_table([*names, "score", "deviation"], lines)
        down, across = names
        header = [f"{down} \\ {across}", *map(_short, self.values[across])]
        grid = self._grid()
        lines = [
            [_short(value), *("-" if np.isnan(v) else f"{v:.4f}" for v in row)]
            for value, row in zip(self.values[down], grid, strict=True)
        ]
        return plain_table(header, lines)

    def _grid(self) -> Any:
        down, across = self.values.values()
        grid = np.full((len(down), len(across)), np.nan)
        for (first, second), mean, _ in self.rows:
            grid[down.index(first), across.index(second)] = mean
        return grid

    def best(self) -> str:
        """The winner in one line."""
        setting, mean, deviation = self.rows[self.search.best_index_]
        chosen = ", ".join(
            f"{name}={_short(value)}"
            for name, value in zip(self.values, setting, strict=True)
        )
        return (
            f"best: {chosen}: score {mean:.4f}, deviation of the folds {deviation:.4f}"
        )

    def draw(self, path: str, quantity: str) -> None:
        """Write the picture of two parameters."""
        from matplotlib.figure import Figure

        if len(self.values) != 2:
            raise click.UsageError("--plot draws grids of two parameters")
        down, across = self.values
        figure = Figure(figsize=(7, 5), layout="constrained")
        GridDisplay(
            self._grid(),
            [_short(value) for value in self.values[across]],
            [_short(value) for value in self.values[down]],
            across, down, quantity=quantity,
        ).plot(ax=figure.subplots())  # fmt: skip
        figure.savefig(path, dpi=130)


def _short(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
