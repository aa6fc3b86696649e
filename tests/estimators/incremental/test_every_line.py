"""Ctrl-C at every line of an update: all of it has happened, or nothing."""

from __future__ import annotations

import pickle
import sys
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.datasets import make_moons

import widemargin.estimators.incremental
from widemargin import SVC, CostSensitiveSVC
from widemargin.estimators.base import atomic_attributes

X, y = make_moons(80, noise=0.25, random_state=0)
SETTINGS = {"keep_rows": True, "gamma": 1.0, "n_jobs": 1}
MARGINS = (
    SVC(**SETTINGS).fit(X[:70], y[:70]).decision_function(X[:70]) * (2 * y - 1)[:70]
)
FAR = np.argsort(-MARGINS)[:2]  # they leave without a path
FOLDER = str(Path(widemargin.estimators.incremental.__file__).parent)
WATCHED = (FOLDER, atomic_attributes.__file__)
ACTIONS = {
    "begin": lambda model: model.partial_fit(X, y, classes=[0, 1]),
    "add": lambda model: model.partial_fit(X[70:], y[70:]),
    "forget": lambda model: model.forget([3, 5, 8]),
    "forget far rows": lambda model: model.forget(FAR),
    "forget all": lambda model: model.forget(np.arange(70)),
    "update": lambda model: model.update(C=0.3, random_state=4),
    "fit": lambda model: model.fit(X, y),
}


def interrupted(action, model, after):
    """Act until so many lines of the mixin have run; return whether it got that far."""
    left = after

    def trace(frame, event, _):
        nonlocal left
        if not frame.f_code.co_filename.startswith(WATCHED):
            return None
        left -= event == "line"
        if left == 0:
            raise KeyboardInterrupt
        return trace

    former = sys.gettrace()
    sys.settrace(trace)
    try:
        action(model)
    except KeyboardInterrupt:
        return True
    finally:
        sys.settrace(former)
    return False


@pytest.mark.parametrize("what", ACTIONS)
@pytest.mark.parametrize("estimator", [SVC, CostSensitiveSVC])
def test_ctrl_c_at_every_line(estimator, what):
    begun = estimator(**SETTINGS)
    if what != "begin":
        begun.fit(X[:70], y[:70])
    begun = pickle.loads(pickle.dumps(begun))  # the next pickle of it is the same
    before, whole = (
        pickle.dumps(begun),
        ACTIONS[what](pickle.loads(pickle.dumps(begun))),
    )
    line, ends = 1, {"untouched": 0, "whole": 0}
    while interrupted(ACTIONS[what], model := pickle.loads(before), line):
        line += 1
        if pickle.dumps(model) == before:
            ends["untouched"] += 1
            continue
        ends["whole"] += 1
        assert vars(model).keys() == vars(whole).keys()
        assert model.get_params() == whole.get_params()
        assert_array_equal(model.ids_, whole.ids_)
        if model.ids_.size:
            assert_array_equal(model.decision_function(X), whole.decision_function(X))
    assert ends["untouched"] > 40 and ends["whole"] >= 1, ends
