"""Pairs of classes move side by side, to the same model for any number of threads."""

from __future__ import annotations

import threading

import numpy as np
from numpy.testing import assert_array_equal
from sklearn.datasets import make_blobs

from widemargin import SVC
from widemargin.estimators.incremental.task_updates import TaskUpdatingMachine

from tests.refits import weigh_every_way

X, Y = make_blobs(400, 4, centers=4, cluster_std=3.0, random_state=0)


def begun(**parameters):
    return SVC(keep_rows=True, gamma=0.1, **parameters).fit(X[:360], Y[:360])


def test_two_pairs_move_at_a_time(monkeypatch):
    weigh_every_way(monkeypatch)
    together, move = threading.Barrier(2, timeout=30), TaskUpdatingMachine._move_task

    def met(self, task, *given, **more):
        together.wait()  # raises unless two are on their way
        return move(self, task, *given, **more)

    monkeypatch.setattr(TaskUpdatingMachine, "_move_task", met)
    model = begun(n_jobs=2).partial_fit(X[360:], Y[360:])
    assert len(model.n_iter_) == 6 and not together.broken


def test_threads_do_not_change_the_model(monkeypatch):
    weigh_every_way(monkeypatch)
    one, two = begun(n_jobs=1), begun(n_jobs=2)
    for model in (one, two):
        model.partial_fit(X[360:380], Y[360:380])
        model.forget(np.arange(20))
        model.partial_fit(X[380:], Y[380:], window=300)
        model.update(C=2.0)
    assert_array_equal(one.dual_coef_, two.dual_coef_)
    assert_array_equal(one.intercept_, two.intercept_)
    assert "path" in {record.get("route") for record in one.history_}
