"""The state behind one page: points, settings, and the models of them."""

from __future__ import annotations

import base64
import threading
import warnings
from collections.abc import Mapping
from copy import copy
from dataclasses import asdict, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from widemargin.estimators.ramp import RampSVC
from widemargin.tuning.left_out import leave_one_out

from .exact_model import (
    CURVE,
    GRID,
    PLANE,
    ExactModel,
    LineRegressor,
    PlaneClassifier,
    clock,
)
from .messages import Change, Outdated, Point, Refused, Reset, Settings, command, price
from .presets import PRESETS, points_of
from .python_code import as_python


class Session:
    """Points and settings of a page, and the exact model of them.

    A message changes all of it or nothing. What takes longer (a full retrain, the ramp
    loss, leave-one-out) works on a snapshot, beside further changes.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._version = 0
        self._begin("moons")

    def _begin(self, preset: str) -> None:
        chosen = PRESETS[preset]
        table = points_of(preset)
        self.points = {
            number: Point(float(x), float(y), int(label))
            for number, (x, y, label) in enumerate(table.tolist())
        }
        self.regression = chosen.regression
        self.settings = Settings(C=chosen.C, gamma=chosen.gamma)
        model = LineRegressor if chosen.regression else PlaneClassifier
        self.model: ExactModel = model(self.points, self.settings)

    # ---- changes -------------------------------------------------------------

    def do(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """Change points or settings; return what the page draws next."""
        with self._lock:
            wanted = command(dict(message), self.points)
            self._version += 1  # what works on the former points gives up now
            if isinstance(wanted, Reset):
                self._begin(wanted.preset)
            else:
                self._change(wanted)
            return self._picture(whole=isinstance(wanted, Reset))

    def look(self) -> dict[str, Any]:
        """Return all there is to draw."""
        with self._lock:
            return self._picture(whole=True)

    def _change(self, change: Change) -> None:
        kept = {own: p for own, p in self.points.items() if own not in change.removed}
        after = kept | change.added
        settings = replace(self.settings, **change.settings)
        model = self.model.changed(change, after, settings)
        self.points, self.settings, self.model = after, settings, model

    def _picture(self, *, whole: bool) -> dict[str, Any]:
        model = self.model
        picture: dict[str, Any] = {
            "version": self._version,
            "count": len(self.points),
            "seconds": model.seconds,
            "action": model.action,
            "support": model.support_ids(),
            "regression": self.regression,
            "values": None,
        }
        if model.estimator is not None:
            values = model.values(model.estimator)
            picture["values"] = _packed(values)
            picture["shape"] = [3, CURVE] if self.regression else [GRID, GRID]
            picture |= self._facts(model.estimator)
        if whole:
            picture["settings"] = asdict(self.settings)
            picture["points"] = [
                {"id": own, **asdict(point)} for own, point in self.points.items()
            ]
        return picture

    def _facts(self, estimator: Any) -> dict[str, Any]:
        """Return what is proved, and how well the points themselves are met."""
        given = estimator.certificate_
        certificates = given if isinstance(given, list) else [given]
        gaps = [one.gap for one in certificates if one.gap is not None]
        facts: dict[str, Any] = {"gap": sum(gaps) if gaps else None}
        X, y = self.model.rows(self.points)
        if self.regression:
            low, _, high = estimator.predict(X).T
            facts["inside"] = float(np.mean((low <= y) & (y <= high)))
        else:
            facts["right"] = float(np.mean(estimator.predict(X) == y))
        return facts

    # ---- what takes longer ---------------------------------------------------

    def retrain(self, message: dict[str, Any]) -> dict[str, Any]:
        """Compare the model with a full retrain: largest difference, both times."""
        version, model, points = self._asked_about(message)
        if model.estimator is None:
            raise Refused("there are no points to train on")
        how = {"version": version, "action": model.action, "refitted": model.refitted}
        return {**how, "update": model.seconds, **model.compared(points)}

    def ramp(self, message: dict[str, Any]) -> dict[str, Any]:
        """Return the ramp-loss model of the same points, and its suspects."""
        version, model, points = self._asked_about(message)
        X, y = model.rows(points) if points else (np.empty((0, 2)), np.empty(0))
        if isinstance(model, LineRegressor) or np.unique(y).size < 2:
            raise Refused("the ramp loss needs points of both classes")
        settings = model.settings
        ramp = RampSVC(C=settings.C, gamma=settings.gamma, n_jobs=1)
        begun = clock()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ramp.fit(X, y)
        ids = list(points)
        return {
            "version": version,
            "values": _packed(ramp.decision_function(PLANE)),
            "shape": [GRID, GRID],
            "seconds": clock() - begun,
            "suspects": [ids[row] for row in ramp.suspects_.tolist()],
        }

    def leave_one_out(self, message: dict[str, Any]) -> dict[str, Any]:
        """Return the leave-one-out error at some C, on the exact path from here."""
        C = price(message)
        version, model, points = self._asked_about(message)
        labels = {point.label for point in points.values()}
        if isinstance(model, LineRegressor) or len(labels) < 2:
            raise Refused("leave-one-out needs points of both classes")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            moved = copy(model.estimator).update(C=C)
            found = leave_one_out(moved)
        return {"version": version, "C": C, "error": found.error}

    def python(self) -> dict[str, Any]:
        """Return a script that makes the same model."""
        _, model, points = self._snapshot()
        regression = isinstance(model, LineRegressor)
        return {"code": as_python(points, model.settings, regression=regression)}

    def _asked_about(
        self, message: dict[str, Any]
    ) -> tuple[int, ExactModel, dict[int, Point]]:
        """Return model and points of the version that the page asks about."""
        found = self._snapshot()
        if message.get("version") != found[0]:
            raise Outdated
        return found

    def _snapshot(self) -> tuple[int, ExactModel, dict[int, Point]]:
        with self._lock:  # none of the three is changed in place
            return self._version, self.model, self.points


def _packed(values: NDArray[np.float64]) -> str:
    """Return numbers as text for the page: float32, base64."""
    return base64.b64encode(values.astype("<f4").tobytes()).decode("ascii")
