"""Ctrl-C while an estimator is fitted."""

from __future__ import annotations

import os
import signal

import pytest

from widemargin.estimators.base.progress import Progress


class CtrlC:
    """Presses it once, as soon as so many solves have taken a step."""

    watched = Progress.__call__

    def __init__(self, solves):
        self.solves = solves
        self.met = {}  # they are kept: numbers of objects are used again
        self.pressed = False

    def __call__(self, progress, n_iter, violation, active):
        if n_iter > 0:
            self.met[id(progress)] = progress
        if len(self.met) >= self.solves and not self.pressed:
            self.pressed, self.steps = True, n_iter
            os.kill(os.getpid(), signal.SIGINT)
        return CtrlC.watched(progress, n_iter, violation, active)


@pytest.fixture
def press(monkeypatch):
    """Return what has Ctrl-C pressed in one of the next solves."""

    def arm(solves=1):
        key = CtrlC(solves)
        monkeypatch.setattr(Progress, "__call__", lambda self, *seen: key(self, *seen))
        return key

    return arm
