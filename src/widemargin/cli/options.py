"""Options made from the estimators: every parameter has one, none is written by hand.

The estimators' own signatures say which parameters there are and their defaults,
``_parameter_constraints`` what they may be. LIBSVM's short flags are further names of
the same options; what is not a parameter of the chosen method is refused.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from numbers import Integral
from typing import Any

import click
import numpy as np

from widemargin.cli.estimator_names import LIBSVM_KINDS, available_methods
from widemargin.cli.suggestions import did_you_mean
from widemargin.cli.system_errors import refusal

#: LIBSVM's flags that are parameters here
SHORT = {"kernel": "-t", "degree": "-d", "gamma": "-g", "coef0": "-r", "C": "-c"}
SHORT |= {"cache_size": "-m", "tol": "-e", "shrinking": "-h", "nu": "-n"}
#: LIBSVM's numbers of kernels; the others have a name only
_KERNELS = {"0": "linear", "1": "poly", "2": "rbf", "3": "sigmoid", "4": "precomputed"}
#: LIBSVM's flags that mean nothing here
_FOREIGN = {
    "-b": "for probabilities, put the model into sklearn.calibration."
    "CalibratedClassifierCV",
}
# set by the command itself, or an object that no text stands for
_HIDDEN = {"verbose", "ledger"}
#: parameters that are on or off: a flag without a value
_FLAGS = {"keep_rows"}


class MethodCommand(click.Command):
    """A command with an option for every parameter of every estimator."""

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Return the written options and the generated ones."""
        written = super().get_params(ctx)
        return written[:-1] + generated_options() + written[-1:]

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse, with ``-wi`` turned into ``--class-weight``, ``-s`` into a method."""
        return super().parse_args(ctx, translate(args))


def generated_options() -> list[click.Parameter]:
    """Return one option per parameter name, whichever methods have it."""
    methods_of: dict[str, list[str]] = {}
    described: dict[str, str] = {}
    for method, cls in available_methods().items():
        for name, default in cls().get_params(deep=False).items():
            if name not in _HIDDEN:
                methods_of.setdefault(name, []).append(method)
                described.setdefault(name, _description(cls, name, default))
    count = len(available_methods())
    options: list[click.Parameter] = []
    for name, methods in methods_of.items():
        whose = "" if len(methods) == count else f" ({', '.join(methods)})"
        flags = [f"--{name.replace('_', '-')}", f"param_{name}"]
        if name in SHORT:
            flags.insert(0, SHORT[name])
        form: dict[str, Any] = {"metavar": "VALUE"}
        if name in _FLAGS:
            form = {"flag_value": "true"}
        options.append(click.Option(flags, help=f"{described[name]}{whose}", **form))
    return options


def _description(cls: Any, name: str, default: Any) -> str:
    """The first sentence of the docstring; unless a flag, also choices and default."""
    found = re.search(
        rf"^    (?:\w+, )*{name}(?:, \w+)* : .*\n((?:^        .*\n|^\n)+)",
        cls.__doc__ or "",
        re.MULTILINE,
    )
    text = " ".join(found[1].split()) if found else ""
    sentence = re.split(r"(?<=[.;])\s", text.replace("``", ""))[0].rstrip(".;")
    if name in _FLAGS:
        return sentence
    words = [part for part in (sentence, _choices(cls, name)) if part]
    return f"{': '.join(words)} [default: {default}]"


def _choices(cls: Any, name: str) -> str:
    """What the parameter may be, in a few words, from its constraints."""
    constraints = getattr(cls, "_parameter_constraints", {}).get(name, [])
    if not isinstance(constraints, list):
        return ""
    words = []
    for constraint in constraints:
        if constraint is None:
            words.append("none")
        elif constraint == "boolean":
            words.append("true|false")
        elif name == "classes" and constraint == "array-like":
            words.append("LABEL,LABEL,...")
        elif name == "quantile" and constraint == "array-like":
            words.append("NUMBER,NUMBER,...")
        elif constraint is dict:
            words.append("LABEL=WEIGHT,...")
        elif hasattr(constraint, "options"):
            words.append("|".join(sorted(map(str, constraint.options))))
        elif hasattr(constraint, "left"):
            words.append(_range(constraint))
    return ", ".join(words)


def _range(interval: Any) -> str:
    """Return an interval of numbers in words, as "above 0" or "at least 2"."""
    words = ["whole" if interval.type is Integral else ""]
    if interval.left is not None and interval.left != -np.inf:
        closed = interval.closed in ("left", "both")
        words.append(f"{'at least' if closed else 'above'} {interval.left:g}")
    if interval.right is not None and interval.right != np.inf:
        closed = interval.closed in ("right", "both")
        words.append(f"{'at most' if closed else 'below'} {interval.right:g}")
    return " and ".join(filter(None, words)) or "a number"


def translate(args: Sequence[str]) -> list[str]:
    """Rewrite LIBSVM's flags that have no counterpart in the option parser."""
    result: list[str] = []
    remaining = list(args)
    while remaining:
        arg = remaining.pop(0)
        weight = re.fullmatch(r"-w(-?[0-9.]+)", arg)
        if weight:
            if not remaining:
                raise click.UsageError(f"{arg} needs a weight")
            result += ["--class-weight", f"{weight[1]}={remaining.pop(0)}"]
        elif arg == "-s":
            kind = remaining.pop(0) if remaining else ""
            if kind not in LIBSVM_KINDS:
                raise click.UsageError(
                    f"-s {kind}: only -s 0 (C-SVC), 1 (nu-SVC), 2 (one-class SVM), "
                    "3 (epsilon-SVR) and 4 (nu-SVR) are available"
                )
            if kind != "0":
                result += ["--method", LIBSVM_KINDS[kind]]
        elif arg == "-p":
            result.append("--epsilon")
        elif arg in _FOREIGN:
            raise click.UsageError(f"{arg}: {_FOREIGN[arg]}")
        else:
            result.append(arg)
    return _merge_weights(result)


def _merge_weights(args: list[str]) -> list[str]:
    """Several ``-wi`` make one ``--class-weight``."""
    weights: list[str] = []
    rest: list[str] = []
    remaining = list(args)
    while remaining:
        arg = remaining.pop(0)
        if arg == "--class-weight" and remaining:
            weights.append(remaining.pop(0))
        else:
            rest.append(arg)
    return ["--class-weight", ",".join(weights), *rest] if weights else rest


def estimator_parameters(
    cls: Any, method: str, given: dict[str, Any]
) -> dict[str, Any]:
    """Turn the texts of the command line into parameters of the estimator."""
    names = cls().get_params(deep=False)
    parameters = {}
    for option, text in given.items():
        if text is None or not option.startswith("param_"):
            continue
        name = option.removeprefix("param_")
        if name not in names:
            raise click.UsageError(
                f"--{name.replace('_', '-')} is not a parameter of --method {method}; "
                f"it has {', '.join(n for n in names if n not in _HIDDEN)}"
            )
        parameters[name] = convert(name, text)
    return parameters


def check_parameters(estimator: Any, given: dict[str, Any]) -> None:
    """Raise if a parameter is not what it may be, in the words of the command line."""
    try:
        estimator._validate_params()
    except ValueError as error:
        found = re.search(r"'(\w+)' parameter", str(error))
        name = found[1] if found else ""
        text, choices = given.get(f"param_{name}"), _choices(type(estimator), name)
        near = did_you_mean(text or "", re.findall(r"[a-z_]{2,}", choices))
        if text is None or not choices:
            return  # defaults are left to the checks of the fit
        if name == "kernel":
            possible = choices.split("|")
            numbered = [f"{n} {k}" for n, k in _KERNELS.items() if k in possible]
            others = [k for k in possible if k not in _KERNELS.values()]
            choices = ", ".join(numbered + others)
        flags = f"{SHORT[name]}, " if name in SHORT else ""
        raise click.UsageError(
            f"{flags}--{name.replace('_', '-')} must be {choices}, not {text!r}{near}"
        ) from error


def check_weights(parameters: dict[str, Any], labels: list[Any]) -> None:
    """Raise if a weight is that of a class that the data does not have."""
    weights = parameters.get("class_weight")
    for label, weight in weights.items() if isinstance(weights, dict) else ():
        if label not in labels:
            known = ", ".join(map(str, labels[:20]))
            raise click.UsageError(
                f"-w{label}, --class-weight {label}={weight:g}: the data has no such "
                f"label; it has {known}"
            )


def convert(name: str, text: str) -> Any:
    """Turn the text of one option into a number, word, truth, list or weights."""
    if name == "kernel":
        return _KERNELS.get(text, text)
    if name == "shrinking" and text in ("0", "1"):
        return text == "1"
    if name == "class_weight" and "=" in text:
        return _weights(text)
    if name == "classes" and text[:1] not in "[{":
        return _labels(text)
    if name == "quantile" and "," in text and text[:1] != "[":
        text = f"[{text}]"
    if text[:1] in "[{":
        try:
            value = json.loads(text)
        except ValueError as error:
            flag = f"--{name.replace('_', '-')}"
            raise click.UsageError(f"{flag}: not JSON: {error}") from error
        if isinstance(value, dict):  # JSON has no numbers for keys, labels may be
            return {convert("", label): weight for label, weight in value.items()}
        return value
    if name == "covariance" and text != "class":
        return _matrix(text)
    words = {"none": None, "true": True, "false": False}
    if text.lower() in words:
        return words[text.lower()]
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def _matrix(path: str) -> list[list[float]]:
    """Read a matrix from a file: one row per line, numbers separated by commas."""
    try:
        with open(path, encoding="utf-8") as file:
            lines = [line for line in file if line.strip()]
        rows = [[float(word) for word in line.split(",")] for line in lines]
    except OSError as error:
        raise click.UsageError(f"--covariance: {path}: {refusal(error)}") from error
    except ValueError as error:
        raise click.UsageError(
            f"--covariance: {path}: not a matrix: one row per line, with commas "
            f"between: {error}"
        ) from error
    if not rows or any(len(row) != len(rows) for row in rows):
        lengths = sorted({len(row) for row in rows})
        raise click.UsageError(
            f"--covariance: {path}: {len(rows)} rows of {lengths} numbers; a "
            "covariance has as many rows as columns, one for each feature"
        )
    return rows


def _labels(text: str) -> list[Any] | None:
    """Labels separated by commas: numbers if all are, as in a file of labels."""
    if text.lower() == "none":
        return None
    words = text.split(",")
    try:
        numbers = [float(word) for word in words]
    except ValueError:
        return words
    return [int(number) if number.is_integer() else number for number in numbers]


def _weights(text: str) -> dict[Any, float]:
    weights: dict[Any, float] = {}
    for part in text.split(","):
        label, _, weight = part.rpartition("=")
        try:
            weights[convert("", label)] = float(weight)
        except ValueError as error:
            raise click.UsageError(
                f"--class-weight: {part!r} is not LABEL=WEIGHT"
            ) from error
    return weights
