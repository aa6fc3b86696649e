"""Fits of regressors, one-class and nu machines, and the judgement of what they claim.

One problem again, by its number::

    python -m tests.campaigns.family 1234
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from typing import Any

import numpy as np

from tests.campaigns.certificate_figures import Record
from tests.campaigns.certificate_problems import Case
from tests.campaigns.certificates import SECONDS, examined
from tests.campaigns.family_problems import draw
from tests.oracles.expansions import judged_outputs
from tests.oracles.rebuilt import judged


def outcomes(case: Case, name: str) -> Iterator[tuple[Any, Any]]:
    """Fit a case by its route; yield every certificate and its truth."""
    import widemargin

    kind, rng = getattr(widemargin, name), case.rng
    given = {key: case.parameters[key] for key in kind._get_param_names()
             if key in case.parameters}  # fmt: skip
    model = kind(**given, max_time=SECONDS)
    X, y, w = case.X, None if name == "OneClassSVM" else case.y, case.weights
    if case.route == "stream":
        X, y, w = _streamed(model, X, y, w, rng)
    elif case.route == "steps":
        model.set_params(max_iter=int(10 ** rng.uniform(0, 3)))
    elif case.route == "seconds":
        model.set_params(max_time=float(10 ** rng.uniform(-7, -2.5)))
    elif case.route in ("plain", "exact"):
        model.set_params(polish=case.route == "exact")
    if case.route != "stream":
        model.set_params(warm_start=case.route == "warm").fit(X, y, sample_weight=w)
    if case.route == "warm":
        key = "C" if "C" in given else "nu"
        model.set_params(**{key: float(given[key] * 10.0 ** rng.uniform(-2, 0))})
        model.fit(X, y, sample_weight=w)
    yield from (judged if name == "NuSVC" else judged_outputs)(model, X, y, w)


def _streamed(
    model: Any, X: Any, y: Any, w: Any, rng: np.random.Generator
) -> tuple[Any, Any, Any]:
    """Learn in chunks, forget rows, change a price; return the rows that are left."""
    n = X.shape[0]
    half = max(2, n // 2)
    few = half + int(rng.integers(1, 4))
    for rows in (slice(0, half), slice(half, few), slice(few, n)):
        if X[rows].shape[0]:
            chunk = [None if own is None else own[rows] for own in (y, w, np.arange(n))]
            with suppress(TimeoutError):  # then ids of its own would name other rows
                model.partial_fit(
                    X[rows], chunk[0], sample_weight=chunk[1], ids=chunk[2]
                )
    live = model.ids_
    model.forget(rng.choice(live, size=max(1, live.size // 4), replace=False))
    with suppress(TimeoutError):
        if hasattr(model, "C"):
            model.update(C=float(10.0 ** rng.uniform(-4, 4)))
        else:
            model.update(nu=float(rng.uniform(0.05, 1.0)))
    live = model.ids_
    return X[live], None if y is None else y[live], None if w is None else w[live]


def examine(seed: int) -> list[Record]:
    """Fit and judge one problem; one record for each of its certificates."""
    name, case = draw(seed)
    records = examined(case, partial(outcomes, name=name))
    return [record | {"route": f"{name} {case.route}"} for record in records]


def main(numbers: list[str]) -> None:
    """Print the judgement of the problems named."""
    for number in numbers:
        for record in examine(int(number)):
            print(json.dumps(record, indent=1))


if __name__ == "__main__":
    main(sys.argv[1:])
