"""``widemargin info`` and ``widemargin forget``: inspect a model, remove rows."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import click
import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier
from sklearn.pipeline import Pipeline

from widemargin.cli.system_errors import refusal
from widemargin.persistence import training_rows

from .column_encoding import encoding_step, encoding_words
from .estimator_names import available_methods
from .output import (
    InputError,
    catching_warnings,
    check_model_path,
    load_model,
    remark,
    save_model,
)
from .private_training import privacy_lines
from .train_command import describe


@click.command()
@click.argument("model", metavar="MODEL", type=click.Path())
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def info(model: str, as_json: bool) -> None:
    """Show what MODEL is, and whether it contains training rows."""
    estimator = load_model(model)
    facts = model_facts(estimator, model)
    if as_json:
        click.echo(json.dumps(facts))
        return
    for name, value in facts.items():
        if name == "parameters":
            changed = ", ".join(f"{k}={v}" for k, v in value.items())
            click.echo(f"{name:<15}{changed or 'all default'}")
        elif name == "privacy":
            for line in value:
                click.echo(line)
        elif name != "training_rows":
            click.echo(f"{name:<15}{value}")
    rows = facts["training_rows"]
    if rows:
        click.echo(
            f"CONTAINS {rows} TRAINING ROWS: anyone who gets this file can read them. "
            "Do not publish it if they are confidential (see PrivateSVC)."
        )
    else:
        click.echo("contains no training rows")


def model_facts(estimator: Any, path: str) -> dict[str, Any]:
    """Return what there is to know about a model as plain values."""
    final = estimator[-1] if isinstance(estimator, Pipeline) else estimator
    default = type(final)().get_params(deep=False)
    parameters = {
        name: value if isinstance(value, (int, float, str, type(None))) else str(value)
        for name, value in final.get_params(deep=False).items()
        if repr(value) != repr(default[name]) and name != "verbose"
    }
    facts: dict[str, Any] = {"file": f"{path} ({os.path.getsize(path)} bytes)"}
    facts["estimator"] = type(final).__name__
    if isinstance(estimator, Pipeline):
        encoding = encoding_step(estimator)
        if encoding is not None:
            facts["columns"] = encoding_words(encoding)
        else:
            before = [type(step).__name__ for _, step in estimator.steps[:-1]]
            facts["scaling"] = ", ".join(before)
    facts["parameters"] = parameters
    facts["features"] = int(estimator.n_features_in_)
    if is_classifier(final):
        classes = [str(label) for label in final.classes_]
        facts["classes"] = f"{len(classes)}: {', '.join(classes[:20])}"
    facts["fit"] = describe(final)
    if type(final).__name__ == "PrivateSVC":
        report = final.privacy_report()
        facts["epsilon"], facts["delta"] = report.epsilon, report.delta
        facts["mechanism"] = report.mechanism
        facts["privacy"] = privacy_lines(final)
    if hasattr(final, "ids_"):
        ids = np.asarray(final.ids_)
        facts["live rows"] = len(ids)
        facts["ids"] = listed(ids)
    facts["training_rows"] = training_rows(estimator)
    return facts


@click.command()
@click.argument("model", metavar="MODEL", type=click.Path())
@click.argument("ids", metavar="IDS...", nargs=-1, required=True)
@click.option(
    "--output", type=click.Path(), help="Write here instead of replacing MODEL."
)
@click.option("-q", "--quiet", is_flag=True, help="Say nothing but errors.")
@click.pass_context
def forget(
    ctx: click.Context,
    /,
    model: str,
    ids: tuple[str, ...],
    output: str | None,
    quiet: bool,
) -> None:
    """Remove the rows IDS from MODEL, exactly as if they had never been there.

    IDS are the rows' identifiers: numbers counted from 0 in the order of the training
    file, ranges such as 10-19, or @FILE with one per line; widemargin info MODEL shows
    those that are left. MODEL must have been trained with --keep-rows; it is replaced
    whole or not at all.
    """
    lists = [text[1:] for text in ids if text.startswith("@")]
    target = model if output is None else output
    check_model_path(target, *lists)
    estimator = load_model(model)
    final = estimator[-1] if isinstance(estimator, Pipeline) else estimator
    if "keep_rows" not in final.get_params():
        able = [
            method
            for method, kind in available_methods().items()
            if "keep_rows" in kind._get_param_names()
        ]
        raise InputError(
            f"{model}: a {type(final).__name__} cannot forget rows: train with "
            f"--keep-rows and --method {' | '.join(able)}"
        )
    if not hasattr(final, "forget"):
        raise InputError(
            f"{model}: holds support vectors only, and forgetting needs all training "
            "rows: train again with --keep-rows"
        )
    chosen = expand(ids, np.asarray(final.ids_))
    if len(chosen) == len(final.ids_) == len(set(chosen)):
        raise InputError(f"no row would be left: delete {model} instead")
    if isinstance(estimator, Pipeline):
        remark(
            "warning: the scaling still reflects the forgotten rows; train again on "
            "the others if that matters",
            quiet,
        )
    with catching_warnings(quiet) as outcome:
        final.forget(chosen)
        save_model(estimator, target)
    remark(
        f"{len(chosen)} rows forgotten, {len(final.ids_)} live; written to {target}",
        quiet,
    )
    ctx.exit(0 if outcome.converged else 1)


def expand(texts: tuple[str, ...], live: NDArray[Any]) -> list[Any]:
    """Turn numbers, ranges and files of identifiers into identifiers of live rows."""
    words: list[str] = []
    for text in texts:
        if text.startswith("@"):
            try:
                words += Path(text[1:]).read_text().split()
            except OSError as error:
                raise InputError(f"{text[1:]}: {refusal(error)}") from error
            except UnicodeDecodeError as error:
                raise InputError(f"{text[1:]}: {error}") from error
        else:
            words += text.split(",")
    words = [word for word in words if word]
    if not words:
        raise InputError("IDS name no row")
    chosen: list[Any] = words
    if live.dtype.kind in "iu":
        chosen = [one for word in words for one in _numbers(word, live)]
    unknown = sorted(set(chosen) - set(live.tolist()))
    if unknown:
        more = f" and {len(unknown) - 1} more" if len(unknown) > 1 else ""
        raise InputError(f"no live row {unknown[0]}{more}; live are {listed(live)}")
    return chosen


def _numbers(word: str, live: NDArray[Any]) -> range:
    """The numbers of ``12`` or ``10-19``."""
    first, dash, last = word.partition("-")
    try:
        low, high = int(first), int(last if dash else first)
    except ValueError as error:
        raise InputError(f"{word!r} is neither a row number nor a range") from error
    if high < low:
        raise InputError(f"{word!r} is a range that ends before it begins")
    if high - low >= len(live):
        raise InputError(f"{word!r} has more rows than are live: {listed(live)}")
    return range(low, high + 1)


def listed(ids: NDArray[Any], most: int = 12) -> str:
    """Identifiers in a few words: numbers as ranges, the way `expand` takes them."""
    if ids.dtype.kind in "iu":
        ordered = np.sort(ids)
        runs = np.split(ordered, np.flatnonzero(np.diff(ordered) != 1) + 1)
        words = [f"{r[0]}-{r[-1]}" if len(r) > 1 else f"{r[0]}" for r in runs if len(r)]
    else:
        words = list(map(str, ids))
    return ", ".join(words[:most] + ["..."] * (len(words) > most))
