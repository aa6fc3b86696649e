"""Progress: a bar when verbose, scikit-learn's callbacks where set, else silence."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV

from widemargin import SVC
from widemargin.estimators.base.progress import (
    CALLBACK_STEPS,
    ClusterProgress,
    Progress,
)
from widemargin.estimators.base.time_left import AFTERWARDS, WIDTH, TimeLeft, in_words

callback = pytest.importorskip("sklearn.callback", reason="scikit-learn 1.9 or later")


class Listener:
    """Keeps what it hears; asks for a stop after ``patience`` steps."""

    def __init__(self, patience=None):
        self.patience = patience
        self.begun, self.ended, self.steps = [], [], 0
        self.torn = 0

    def setup(self, estimator, context):
        self.lock = threading.Lock()

    def teardown(self, estimator, context):
        self.torn += 1

    def on_fit_task_begin(self, estimator, context, **_):
        self.begun.append(context.task_name)

    def on_fit_task_end(self, estimator, context, **_):
        self.ended.append(context.task_name)
        self.steps += context.task_name == "step"
        return self.patience is not None and self.steps >= self.patience


def hard(n=6000):
    rng = np.random.default_rng(0)
    return rng.standard_normal((n, 20)), rng.integers(0, 2, n)


def test_callbacks_hear_of_fit_solve_and_steps():
    listener = Listener()
    X, y = hard()
    model = SVC(C=10.0, gamma=0.05, random_state=0).set_callbacks(listener)
    model.fit(X, y)
    assert listener.begun.count("fit") == listener.ended.count("fit") == 1
    assert listener.begun.count("solve") == listener.ended.count("solve") == 1
    assert 0 < listener.steps <= CALLBACK_STEPS
    assert listener.torn == 1
    silent = SVC(C=10.0, gamma=0.05, random_state=0).fit(X, y)
    assert (silent.dual_coef_ == model.dual_coef_).all()


def test_a_callback_may_stop_the_fit():
    listener = Listener(patience=2)
    X, y = hard()
    model = SVC(C=10.0, gamma=0.05, tol=1e-6).set_callbacks(listener)
    with pytest.warns(ConvergenceWarning, match="interrupted"):
        model.fit(X, y)
    assert listener.steps == 2
    assert model.certificate_.status == "interrupted"
    assert len(model.predict(X[:5])) == 5


def test_class_pairs_side_by_side_are_all_heard_of():
    listener = Listener()
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((300, 4)), rng.integers(0, 5, 300)
    SVC(n_jobs=2).set_callbacks(listener).fit(X, y)
    assert listener.ended.count("solve") == 10 and listener.torn == 1


def test_scikit_learns_own_progress_bar_and_search():
    pytest.importorskip("rich", reason="ProgressBar needs rich")
    X, y = hard(200)
    SVC().set_callbacks(callback.ProgressBar()).fit(X, y)
    search = GridSearchCV(SVC(), {"C": [1.0, 2.0]}, cv=2)
    assert search.fit(X, y).best_score_ > 0.3


def test_verbose_shows_a_bar_that_never_goes_back(capsys):
    progress = Progress(True, 1e-3, "fit", delay=-1.0)
    with progress:
        shown = []
        for violation in (2.0, 0.5, 0.9, 0.01, 1e-4):
            assert progress(10, violation, 5) is True
            shown.append(progress._bar.n)
    assert shown == sorted(shown) and shown[0] == 0 and shown[2] > 10
    written = capsys.readouterr().err
    assert "violation" in written and " left, " in written
    # the tolerance is reached, the fit not ended: refinement and polish are to come
    assert shown[-1] == 99 and "100%" not in written
    assert "/s" not in written  # percent per second mean nothing here


def test_a_bar_of_clusters_goes_with_the_last_of_them(capsys):
    with ClusterProgress(True) as progress:
        for done in range(1, 5):
            progress("level 1", done, 4)
            assert (progress._bar is None) == (done == 4)
        progress("level 0", 1, 2)
        assert progress._bar is not None
    assert "level 1" in capsys.readouterr().err


def test_nobody_watches_nothing_is_printed(capsys):
    X, y = hard(200)
    assert Progress(False, 1e-3).monitor is None
    SVC().fit(X, y)
    captured = capsys.readouterr()
    assert captured.out == "" and captured.err == ""


def test_the_time_left_of_an_even_decline_is_in_the_middle_of_the_range():
    left = TimeLeft(1e-3)
    for second in (0, 1):
        assert left.observe(float(second), 10.0 ** (-0.5 * second)) is None
    for second in range(2, 7):
        low, high = left.observe(float(second), 10.0 ** (-0.5 * second))
        np.testing.assert_allclose(low, (6.0 - second) / WIDTH, atol=1e-12)
        most = (6.0 - second) * WIDTH + AFTERWARDS * second
        np.testing.assert_allclose(high, most, atol=1e-12)


def test_nothing_is_foreseen_where_the_violation_stands_or_rises():
    left = TimeLeft(1e-3)
    heights = (1.0, 1.0, 2.0, 2.0, 1.5, 0.9)
    seen = [left.observe(float(s), v) for s, v in enumerate(heights)]
    assert seen[:5] == [None] * 5
    # of the last three quarters only: the decline is that from 2 s on
    expected = np.log(900.0) / (np.log(2.0 / 0.9) / 3.0)
    most = expected * WIDTH + AFTERWARDS * 5.0
    np.testing.assert_allclose(seen[5], (expected / WIDTH, most))
    assert in_words(None) == "time left unknown"


def test_the_range_in_words():
    assert in_words((0.1, 0.9)) == "under 1 s left"
    assert in_words((2.2, 19.8)) == "2 to 20 s left"
    assert in_words((60.0, 540.0)) == "1 to 9 min left"
