"""Models that follow a stream: exact windows, refits, and those that see a row once."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from sklearn.kernel_approximation import RBFSampler
from sklearn.linear_model import SGDClassifier

from widemargin import SVC

Rows = NDArray[np.float64]
Labels = NDArray[Any]

WINDOW = 5_000
C, GAMMA = 32.0, 2.0  # as the ratios of the speed page have it for ijcnn1
FEATURES = 500  # random Fourier features: as many as the window has support vectors


class Learner(Protocol):
    """What a stream asks of a model."""

    def predict(self, X: Rows) -> Labels:
        """Return the answers before the labels are known."""

    def learn(self, X: Rows, y: Labels) -> None:
        """Learn a chunk; the first is a whole window."""


class Window:
    """``SVC.partial_fit`` with ``window``: one update a chunk, of a size `window`."""

    def __init__(self, exact: bool | str = "auto", window: int = WINDOW) -> None:
        self.model = SVC(
            C=C, gamma=GAMMA, keep_rows=True, exact_updates=exact, n_jobs=1
        )
        self.window = window
        self.routes: dict[str, int] = {}

    def predict(self, X: Rows) -> Labels:
        """Return the answers of the model on the last rows."""
        return self.model.predict(X)

    def learn(self, X: Rows, y: Labels) -> None:
        """Let a chunk in and the oldest rows out."""
        self.model.partial_fit(X, y, window=self.window)
        route = str(self.model.history_[-1]["route"])
        self.routes[route] = self.routes.get(route, 0) + 1


class Refit:
    """``SVC.fit`` on the last rows after every chunk; the rows cost nothing to keep."""

    def __init__(self, window: int = WINDOW) -> None:
        self.model = SVC(C=C, gamma=GAMMA, n_jobs=1)
        self.window = window
        self.X: Rows | None = None
        self.y: Labels | None = None

    def predict(self, X: Rows) -> Labels:
        """Return the answers of the model on the last rows."""
        return self.model.predict(X)

    def learn(self, X: Rows, y: Labels) -> None:
        """Fit anew to the last rows."""
        self.X = X if self.X is None else np.r_[self.X, X][-self.window :]
        self.y = y if self.y is None else np.r_[self.y, y][-self.window :]
        self.model.fit(self.X, self.y)


class RandomFeatures:
    """scikit-learn's ``SGDClassifier`` on random Fourier features, a pass a chunk."""

    def __init__(self) -> None:
        self.features = RBFSampler(gamma=GAMMA, n_components=FEATURES, random_state=0)
        self.model = SGDClassifier(alpha=1.0 / (C * WINDOW), random_state=0)
        self.begun = False

    def predict(self, X: Rows) -> Labels:
        """Return the answers of the linear model."""
        answers: Labels = self.model.predict(self.features.transform(X))
        return answers

    def learn(self, X: Rows, y: Labels) -> None:
        """Take gradient steps on a chunk; the features are drawn at the first."""
        if not self.begun:
            self.features.fit(X)
            self.begun = True
        self.model.partial_fit(self.features.transform(X), y, classes=[-1, 1])


class River:
    """A model of river, which learns row by row from dictionaries."""

    def __init__(self, module: str, name: str) -> None:
        scaler = import_module("river.preprocessing").StandardScaler()
        self.model = scaler | getattr(import_module(f"river.{module}"), name)()

    def predict(self, X: Rows) -> Labels:
        """Return the answers, -1 before anything was learnt."""
        found = [self.model.predict_one(self._row(x)) for x in X]
        return np.array([1 if answer else -1 for answer in found])

    def learn(self, X: Rows, y: Labels) -> None:
        """Learn the rows of a chunk one by one."""
        for x, label in zip(X, y, strict=True):
            self.model.learn_one(self._row(x), bool(label > 0))

    @staticmethod
    def _row(x: Rows) -> dict[int, float]:
        return dict(enumerate(x.tolist()))


def learners() -> dict[str, tuple[Callable[[], Learner], int]]:
    """Return the models by name, each with the number of chunks a measured one is of.

    A refit takes so long that only some are made; its model is that of the window.
    """
    found: dict[str, tuple[Callable[[], Learner], int]] = {
        "SVC, window": (Window, 1),
        "SVC, window, exact updates": (partial(Window, exact=True), 1),
        "SVC, refit": (Refit, 50),
        "SGDClassifier, random features": (RandomFeatures, 1),
    }
    if find_spec("river") is not None:
        linear = partial(River, "linear_model", "LogisticRegression")
        tree = partial(River, "tree", "HoeffdingTreeClassifier")
        found["river, logistic regression"] = linear, 1
        found["river, Hoeffding tree"] = tree, 1
    return found
