"""``Copy as Python``: the script that makes the model on the screen."""

from __future__ import annotations

from collections.abc import Iterable

from .messages import Point, Settings


def as_python(points: dict[int, Point], settings: Settings, *, regression: bool) -> str:
    """Return a script with the points and settings of a page."""
    shared = f"C={settings.C:.4g}, gamma={settings.gamma:.4g}, keep_rows=True"
    if regression:
        outside = (1.0 - settings.band) / 2.0
        quantiles = f"[{outside:.3g}, 0.5, {1.0 - outside:.3g}]"
        name = "QuantileSVR"
        made = f"{name}(quantile={quantiles}, {shared})"
        first = "X = " + _table([[p.x] for p in points.values()])
        second = "y = " + _row(p.y for p in points.values())
    else:
        name = "SVC" if settings.cost == 1.0 else "CostSensitiveSVC"
        costs = "" if settings.cost == 1.0 else f"cost_positive={settings.cost:.4g}, "
        made = f"{name}({costs}{shared})"
        first = "X = " + _table([[p.x, p.y] for p in points.values()])
        second = "y = " + _row(p.label for p in points.values())
    return "\n".join(
        [
            f"from widemargin import {name}",
            "",
            first,
            second,
            f"model = {made}.fit(X, y)",
            "print(model.certificate_)",
            "",
            "# exact updates: the model of a full retrain",
            "# model.partial_fit(new_X, new_y)",
            "# model.forget([0])",
            "# model.update(C=10)",
            "",
        ]
    )


def _table(rows: list[list[float]]) -> str:
    return "[" + ", ".join(_row(row) for row in rows) + "]"


def _row(values: Iterable[float]) -> str:
    return "[" + ", ".join(repr(value) for value in values) + "]"
