"""The capability table, read from the estimators themselves.

Nothing here is written down by hand. Parameters and methods are looked up, the rest is
tried on a tiny problem: how many boundaries four classes take tells one-vs-one from
one-vs-rest, and the certificate of that fit tells what it certifies.
"""

from __future__ import annotations

import importlib.util
import re
import warnings
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone, is_outlier_detector, is_regressor
from sklearn.utils.validation import has_fit_parameter

from widemargin.cli.estimator_names import METHODS, estimator_class

COLUMNS = (
    "estimator",
    "command",
    "kernels",
    "sparse",
    "multiclass",
    "sample_weight",
    "costs",
    "partial_fit",
    "forget",
    "sliding window",
    "dask",
    "early prediction",
    "suspects",
    "certificate",
    "private",
)
# parameters that have no default because only the user can know them
_REQUIRED: dict[str, Any] = {"clip_norm": 1.0, "insecure_noise": True}


def capability_table() -> list[dict[str, str]]:
    """Return one row per estimator, under `COLUMNS`."""
    return [capabilities(method, estimator_class(method)) for method in METHODS]


def capabilities(method: str, cls: Any) -> dict[str, str]:
    """Return what one estimator can do, in words."""
    estimator = cls()
    known = estimator.get_params()
    estimator.set_params(**{k: v for k, v in _REQUIRED.items() if k in known})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        _fit_four_classes(estimator)
    values = (
        cls.__name__,
        f"``{method}``",
        _kernels(cls),
        _yes(estimator.__sklearn_tags__().input_tags.sparse),
        _scheme(estimator),
        _yes(has_fit_parameter(estimator, "sample_weight")),
        _costs(estimator),
        _method(estimator, "partial_fit"),
        _method(estimator, "forget"),
        _yes(_windowed(cls)),
        _yes(any(_folder(method).glob("dask*"))),
        _yes("prediction" in known),
        _yes(hasattr(estimator, "suspects_")),
        _certificate(estimator),
        _privacy(estimator),
    )
    return dict(zip(COLUMNS, values, strict=True))


def as_rst() -> str:
    """Return two tables as reStructuredText, each with a column per estimator."""
    estimators = capability_table()
    kinds: dict[str, list[dict[str, str]]] = {
        "Classifiers": [],
        "Regression and outliers": [],
    }
    for row in estimators:
        others = row["multiclass"] in ("regression", "outliers")
        kinds["Regression and outliers" if others else "Classifiers"].append(row)
    tables = (f"**{title}**\n\n{_side_by_side(rows)}" for title, rows in kinds.items())
    return "\n".join(tables)


def _side_by_side(estimators: list[dict[str, str]]) -> str:
    lines = [".. list-table::", "   :header-rows: 1", "   :stub-columns: 1"]
    lines += ["   :class: capabilities", ""]
    for column in COLUMNS:
        cells = [column, *(row[column] for row in estimators)]
        if column == "estimator":  # long names may break where a word begins
            words = (
                re.sub(r"(?<=[a-zS])(?=[A-Z][a-z]|SVC|SVR)", "\u200b", name)
                for name in cells
            )
            cells = ["", *list(words)[1:]]
        for i, cell in enumerate(cells):
            lines.append(f"   {'* -' if i == 0 else '  -'} {cell}".rstrip())
    return "\n".join(lines) + "\n"


def _fit_four_classes(estimator: Any) -> None:
    rng = np.random.default_rng(0)
    y = np.arange(48) % 4
    centres = np.array([[0.0, 0.0], [0.0, 0.9], [0.9, 0.0], [0.9, 0.9]])
    estimator.fit(0.05 * rng.standard_normal((48, 2)) + centres[y], y)


def _scheme(estimator: Any) -> str:
    if is_regressor(estimator):
        return "regression"
    if is_outlier_detector(estimator):
        return "outliers"
    boundaries = len(np.atleast_1d(estimator.intercept_))
    return {6: "one-vs-one", 4: "one-vs-rest"}.get(boundaries, f"{boundaries} models")


def _costs(estimator: Any) -> str:
    """In which forms costs of mistakes are taken."""
    known = estimator.get_params()
    forms = {
        "by class": "class_weight" in known,
        "matrix": "cost_matrix" in known,
        "by row": has_fit_parameter(estimator, "sample_costs"),
    }
    return ", ".join(form for form, offered in forms.items() if offered) or "no"


def _kernels(cls: Any) -> str:
    if "kernel" not in cls().get_params():
        return "linear"
    constraints = cls._parameter_constraints["kernel"]
    names = {
        name
        for constraint in constraints
        if hasattr(constraint, "options")
        for name in constraint.options
    }
    if callable in constraints:
        return "all"  # whatever is not built in can be given as a function
    return ", ".join(sorted(names))


def _method(estimator: Any, name: str) -> str:
    """Whether the method is there: always, never, or only with some settings."""
    # a model may begin with partial_fit; there is something to forget after a fit only
    if hasattr(clone(estimator) if name == "partial_fit" else estimator, name):
        return "yes"
    if "keep_rows" in estimator.get_params():
        return "``keep_rows=True``"
    if "solver" in estimator.get_params() and hasattr(type(estimator), name):
        for value in _options(type(estimator), "solver"):
            if hasattr(type(estimator)(solver=value), name):
                return f'solver="{value}"'
    return "no"


def _windowed(cls: Any) -> bool:
    """Whether ``partial_fit`` lets the oldest rows go as new ones enter."""
    method = getattr(cls, "partial_fit", None)
    return callable(method) and "window" in signature(method).parameters


def _options(cls: Any, parameter: str) -> list[str]:
    return sorted(
        str(option)
        for constraint in cls._parameter_constraints.get(parameter, [])
        for option in getattr(constraint, "options", ())
    )


def _certificate(estimator: Any) -> str:
    certificate = getattr(estimator, "certificate_", None)
    if certificate is None:
        return "none: it would leak"
    first = certificate[0] if isinstance(certificate, list) else certificate
    return "KKT violation" if first.bound is None else "duality gap"


def _privacy(estimator: Any) -> str:
    if not hasattr(estimator, "privacy_report"):
        return "no"
    return "yes" if "epsilon" in estimator.get_params() else "no: selection only"


def _folder(method: str) -> Path:
    """Return the folder a method's estimator is written in."""
    spec = importlib.util.find_spec(METHODS[method][0])
    assert spec is not None and spec.origin is not None
    return Path(spec.origin).parent


def _yes(fact: Any) -> str:
    return "yes" if fact else "no"
