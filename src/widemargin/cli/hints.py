"""Few hints, each only when it would change what a user does."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.pipeline import Pipeline

from widemargin.cli.parsed_data import NO_VALUE, Data
from widemargin.cli.suggestions import listed_names
from widemargin.estimators.base.feature_scales import SCALES_APART, scale_ratio

_DOMINANT = 0.95
# More whole numbers than this count of labels, one of at most ten rows each, are
# rarely classes.
_MANY_LABELS = 20
# Number of support vectors from which early prediction is ten times faster:
# python benchmarks/command.py early --print (a test holds the two together)
_EARLY_PAYS = 9_000
_LITTLE = 0.1  # of what a constant answer gets wrong: a model that has learnt nothing
_PILOTS = (500, 2000)  # rows of the two fits that tell how support vectors grow


def hints(
    content: Data,
    method: str,
    scale: str | None,
    parameters: dict[str, Any],
    estimator: Any,
) -> list[str]:
    """Return the hints to print before the training of ``estimator`` starts."""
    found = []
    if scale is None and parameters.get("kernel") != "precomputed":
        ratio = scale_ratio(content.X)
        if ratio > SCALES_APART:
            found.append(
                f"the scales of the features differ {ratio:.0f}-fold: try --scale "
                "standard or --scale minmax"
            )
    if content.y is not None and is_classifier(estimator):
        labels, counts = np.unique(content.y, return_counts=True)
        share = counts.max() / counts.sum()
        if share > _DOMINANT and len(labels) > 1:
            found.append(
                f"{100 * share:.1f}% of the labels are {labels[counts.argmax()]}: look "
                "at --class-weight balanced, --method cost, and at more than accuracy"
            )
        numeric = labels.dtype.kind in "iuf"
        if numeric and len(labels) > max(_MANY_LABELS, len(content.y) / 10):
            found.append(
                f"the labels are {len(labels)} different numbers: if they are amounts "
                "and not classes, train --method svr"
            )
        gaps = [str(label) for label in labels if str(label).lower() in NO_VALUE]
        if gaps:
            found.append(
                f"the label {gaps[0]!r} is a class like any other: leave rows without "
                "a label out of the file"
            )
    names = content.names or []
    if "" in names:
        found.append(
            "a column has no name: leave it out of the file if it numbers the rows "
            "(pandas writes none with index=False)"
        )
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        found.append(
            f"several columns are called {listed_names(list(map(repr, twice)))}: the "
            "model knows columns by their places only, not by their names"
        )
    kernel = parameters.get("kernel", "rbf")
    exact = method in ("svc", "dc") and parameters.get("prediction") != "early"
    if exact and kernel not in ("linear", "precomputed"):
        support = expected_support(estimator, content)
        if support >= _EARLY_PAYS:
            found.append(
                f"of {content.X.shape[0]} rows about {float(f'{support:.0e}'):.0f} "
                "will be support vectors: --method dc --prediction early may be ten "
                "times faster; it measures on held-out rows what that costs and warns "
                "where it is more than half a point"
            )
    return found


def hints_of_fit(gained: float, estimator: Any, scale: str | None) -> list[str]:
    """Return the hint for a model that is hardly better than a constant answer.

    Where classes have weights or costs, or one is rare, that may be what was asked for.
    """
    known = estimator.get_params()
    weighted = known.get("class_weight") is not None or "cost_matrix" in known
    if gained >= _LITTLE or weighted:
        return []
    answer = "mean of the labels" if is_regressor(estimator) else "commonest label"
    scaling = "" if scale else "try --scale standard, and "
    tuning = "widemargin tune chooses parameters by cross-validation"
    return [f"always answering the {answer} is nearly as good: {scaling}{tuning}"]


def expected_support(estimator: Any, content: Data) -> float:
    """Estimate the number of support vectors of a fit from two small ones.

    Their number grows about like a power of the rows, at most like the rows.
    """
    n = content.X.shape[0]
    if content.y is None or n <= max(*_PILOTS, _EARLY_PAYS):
        return 0.0
    order = np.random.default_rng(0).permutation(n)[: _PILOTS[1]]
    counts = []
    for size in _PILOTS:
        rows = np.sort(order[:size])
        model = clone(estimator)
        final = model[-1] if isinstance(model, Pipeline) else model
        final.set_params(verbose=False, max_time=1.0)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model.fit(content.X[rows], content.y[rows])
        except ValueError:  # one class only, or the real fit will complain as well
            return 0.0
        counts.append(max(int(np.sum(final.n_support_)), 1))
    power = np.log(counts[1] / counts[0]) / np.log(_PILOTS[1] / _PILOTS[0])
    growth = (n / _PILOTS[1]) ** np.clip(power, 0.0, 1.0)
    return float(counts[1] * growth)
