"""The model on the screen: moved by exact updates, compared with a full retrain."""

from __future__ import annotations

import time
import warnings
from abc import ABC, abstractmethod
from copy import copy
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from widemargin.estimators.cost_sensitive import CostSensitiveSVC
from widemargin.estimators.quantile_svr import QuantileSVR

from .messages import Change, Point, Settings

Vector = NDArray[np.float64]

# Processor time of this thread: updates may run beside leave-one-out, retrains never.
clock = time.thread_time
GRID = 80  # decision values along each side of the square from -1 to 1
CURVE = 161  # values along a regression curve
_SIDE = np.linspace(-1.0, 1.0, GRID)
PLANE = np.stack(np.meshgrid(_SIDE, _SIDE[::-1]), axis=-1).reshape(-1, 2)
LINE = np.linspace(-1.0, 1.0, CURVE)[:, None]


class ExactModel(ABC):
    """A model of some points that learns, forgets and is re-priced exactly."""

    kernel_settings: ClassVar[tuple[str, ...]] = ("gamma",)  # which need a new fit

    def __init__(self, points: dict[int, Point], settings: Settings) -> None:
        self.settings = settings
        self.action = "fit"  # or "update": how it came about
        self.seconds = 0.0  # of the estimator's call, on its processor: see `clock`
        self._estimator: Any = None
        if points:
            self._retrain(points, settings)

    # ---- what a task adds ----------------------------------------------------

    @abstractmethod
    def parameters(self, settings: Settings) -> dict[str, Any]:
        """Return the estimator's parameters."""

    @abstractmethod
    def _new(self, settings: Settings) -> Any:
        """Return an estimator that is not fitted."""

    @abstractmethod
    def rows(self, points: dict[int, Point]) -> tuple[Vector, Vector]:
        """Return features and targets."""

    @abstractmethod
    def values(self, estimator: Any) -> Vector:
        """Return what is drawn: values over the plane, or along the line."""

    # ---- changes -------------------------------------------------------------

    @property
    def estimator(self) -> Any:
        """The fitted estimator; None without points."""
        return self._estimator

    def changed(
        self, change: Change, after: dict[int, Point], wanted: Settings
    ) -> Self:
        """Return the model after a change; `after` are all points there are.

        This one stays as it is.
        """
        new = copy(self)
        new.action, new.seconds = "fit", 0.0
        if not after:
            new._estimator = None
        elif new._estimator is None or self._kernel_changed(wanted):
            new._retrain(after, wanted)
        else:
            new._estimator, new._row_ids = copy(self._estimator), dict(self._row_ids)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # the page shows what came of it
                new._move(change, wanted)
            new.action = "update"
        new.settings = wanted
        return new

    def _move(self, change: Change, wanted: Settings) -> None:
        """Add, move and remove points in one update.

        A moved or flipped point is a new row, which takes over the id of the old one
        in the page's numbering (`_row_ids`).
        """
        model = self._estimator
        gone = [self._row_ids.pop(own) for own in change.removed]
        fresh = list(range(self._next, self._next + len(change.added)))
        self._next += len(fresh)
        self._row_ids.update(zip(change.added, fresh, strict=True))
        X, y = self.rows(change.added)
        begun = clock()
        if fresh:
            model.partial_fit(X, y, ids=fresh, forget_ids=gone or None)
        elif gone:
            model.forget(gone)
        if change.settings:
            model.update(**self.parameters(wanted))
        self.seconds = clock() - begun

    def _kernel_changed(self, wanted: Settings) -> bool:
        return any(
            getattr(wanted, name) != getattr(self.settings, name)
            for name in self.kernel_settings
        )

    def _retrain(self, points: dict[int, Point], settings: Settings) -> None:
        self._row_ids = {own: row for row, own in enumerate(points)}
        self._next = len(points)
        self._estimator, self.seconds = self.fitted(points, settings, keep=True)

    def fitted(
        self, points: dict[int, Point], settings: Settings, *, keep: bool = False
    ) -> tuple[Any, float]:
        """Return an estimator fitted from scratch, and the seconds of that call."""
        X, y = self.rows(points)
        estimator = self._new(settings)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            begun = clock()
            self._begun(estimator, X, y, keep)
            return estimator, clock() - begun

    @abstractmethod
    def _begun(self, estimator: Any, X: Vector, y: Vector, keep: bool) -> None:
        """Fit, with the rows kept for updates if `keep`."""

    # ---- what the page shows -------------------------------------------------

    @property
    def refitted(self) -> bool:
        """Whether the update was a refit: of few points that is the shorter way."""
        return self.action == "update" and self._estimator.history_[-1]["route"] == (
            "refit"
        )

    def support_ids(self) -> list[int]:
        """Return the page's ids of the support vectors."""
        if self._estimator is None:
            return []
        rows = self._estimator.ids_[self._estimator.support_]
        page_id = {row: own for own, row in self._row_ids.items()}
        return [page_id[row] for row in rows.tolist()]

    def compared(self, points: dict[int, Point]) -> dict[str, float]:
        """Retrain from scratch; return the largest difference and the seconds."""
        now = self.values(self._estimator)
        retrained, seconds = self.fitted(points, self.settings)
        difference = float(np.abs(self.values(retrained) - now).max())
        return {"difference": difference, "seconds": seconds}


class PlaneClassifier(ExactModel):
    """Two classes in the plane: `CostSensitiveSVC`, which is `SVC` at cost 1."""

    def parameters(self, settings: Settings) -> dict[str, Any]:
        """Return C and the price of missing the positive class."""
        return {"C": settings.C, "cost_positive": settings.cost}

    def _new(self, settings: Settings) -> Any:
        return CostSensitiveSVC(
            gamma=settings.gamma, n_jobs=1, **self.parameters(settings)
        )

    def rows(self, points: dict[int, Point]) -> tuple[Vector, Vector]:
        """Return features and targets."""
        X = np.array([[point.x, point.y] for point in points.values()])
        return X, np.array([point.label for point in points.values()])

    def _begun(self, estimator: Any, X: Vector, y: Vector, keep: bool) -> None:
        if keep or np.unique(y).size < 2:  # of one class, fit would refuse
            ids = np.arange(len(y))
            estimator.partial_fit(X, y, classes=[-1, 1], ids=ids)
        else:
            estimator.fit(X, y)

    def values(self, estimator: Any) -> Vector:
        """Return decision values over the plane, rows from the top."""
        return np.asarray(estimator.decision_function(PLANE))


class LineRegressor(ExactModel):
    """Numbers along a line: the median and a band, by `QuantileSVR`."""

    def parameters(self, settings: Settings) -> dict[str, Any]:
        """Return C and the quantiles of the band."""
        outside = (1.0 - settings.band) / 2.0
        return {"C": settings.C, "quantile": [outside, 0.5, 1.0 - outside]}

    def _new(self, settings: Settings) -> Any:
        return QuantileSVR(
            gamma=settings.gamma,
            non_crossing=True,
            calibrate=False,
            n_jobs=1,
            **self.parameters(settings),
        )

    def rows(self, points: dict[int, Point]) -> tuple[Vector, Vector]:
        """Return features and targets."""
        X = np.array([[point.x] for point in points.values()])
        return X, np.array([point.y for point in points.values()])

    def _begun(self, estimator: Any, X: Vector, y: Vector, keep: bool) -> None:
        estimator.fit(X, y, ids=np.arange(len(y)) if keep else None)

    def values(self, estimator: Any) -> Vector:
        """Return the three curves, one after the other."""
        return np.asarray(estimator.predict(LINE)).T.ravel()
