"""Threads, processes and Ctrl-C: no global state, no difference, a clean stop."""

from __future__ import annotations

import pickle
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from joblib import Parallel, delayed
from numpy.testing import assert_array_equal
from sklearn.datasets import make_classification, make_moons
from sklearn.model_selection import cross_val_score

from widemargin import SVC
from widemargin.estimators.base import kernel_machine
from widemargin.runtime.cancellation import (
    CancellationScope,
    check_cancelled,
    is_cancellable,
)

from tests.ctrl_c import needs_signals, seconds_to_stop
from tests.time_limits import assert_one_limit_for_all_pairs

DATA = """
from widemargin import SVC
rng = np.random.default_rng(0)
X = rng.standard_normal((30_000, 40))
y = rng.integers(0, CLASSES, 30_000)
"""
FIT = "SVC(C=1e3, gamma=0.05, tol=1e-6, n_jobs=2).fit(X, y)"


def fitted(n_jobs):
    X, y = make_moons(4000, noise=0.3, random_state=0)
    return SVC(C=10.0, n_jobs=n_jobs, random_state=0).fit(X, y)


def test_thread_counts_are_bitwise_equal():
    one, two = fitted(1), fitted(2)
    assert_array_equal(one.dual_coef_, two.dual_coef_)
    assert_array_equal(one.support_, two.support_)
    assert_array_equal(one.intercept_, two.intercept_)
    assert one.certificate_.threads == 1 and two.certificate_.threads == 2


def test_twenty_threads_fitting_at_once():
    problems = [make_classification(300, 6, random_state=seed) for seed in range(20)]
    alone = [SVC().fit(X, y).decision_function(X) for X, y in problems]
    barrier = threading.Barrier(20)

    def fit(problem):
        X, y = problem
        barrier.wait()
        return SVC().fit(X, y).decision_function(X)

    with ThreadPoolExecutor(20) as pool:
        together = list(pool.map(fit, problems))
    for one, other in zip(alone, together, strict=True):
        assert_array_equal(one, other)


def test_many_threads_predicting_with_one_model():
    X, y = make_moons(500, noise=0.3, random_state=0)
    model = SVC().fit(X, y)
    expected = model.decision_function(X)
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: model.decision_function(X), range(32)))
    for answer in answers:
        assert_array_equal(answer, expected)


@pytest.mark.parametrize("backend", ["loky", "threading"])
def test_under_joblib(backend):
    X, y = make_moons(300, noise=0.3, random_state=0)
    expected = SVC().fit(X, y).decision_function(X)
    answers = Parallel(n_jobs=2, backend=backend)(
        delayed(lambda: SVC().fit(X, y).decision_function(X))() for _ in range(4)
    )
    for answer in answers:
        assert_array_equal(answer, expected)
    assert cross_val_score(SVC(), X, y, n_jobs=2).mean() > 0.8


def test_the_gil_is_released():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((8000, 20))
    y = rng.integers(0, 2, 8000)
    worker = threading.Thread(
        target=lambda: SVC(C=10.0, gamma=0.05, n_jobs=1).fit(X, y)
    )
    worker.start()
    ticks = 0
    while worker.is_alive():
        time.sleep(0.001)
        ticks += 1
    worker.join()
    assert ticks > 20


@needs_signals
@pytest.mark.parametrize("delay", [0.3, 1.5])
def test_ctrl_c_stops_a_fit_within_half_a_second(delay):
    """Also the time to evaluate the point; others run beside this: one try in six."""
    data, tries = DATA.replace("CLASSES", "2"), []
    while len(tries) < 6 and min(tries, default=1.0) >= 0.5:
        tries.append(seconds_to_stop(data, FIT, delay))
    assert min(tries) < 0.5, tries


@needs_signals
def test_ctrl_c_ends_class_pairs_in_other_threads():
    """Only the main thread hears it; a thread left behind would end in an abort."""
    data = DATA.replace("CLASSES", "4")
    assert seconds_to_stop(data, FIT, 0.5) < 10.0  # a whole fit takes minutes


def test_what_runs_together_ends_together():
    begun, ended = threading.Event(), []

    def work():
        begun.set()
        try:
            while check_cancelled():
                time.sleep(0.001)
        except KeyboardInterrupt:
            ended.append(True)

    together = CancellationScope()
    with pytest.raises(ZeroDivisionError), together:
        threading.Thread(target=together.run, args=(work,)).start()
        begun.wait(30)
        raise ZeroDivisionError
    assert ended == [True]
    assert check_cancelled() and not is_cancellable()
    with pytest.raises(KeyboardInterrupt):  # too late to begin
        together.run(work)
    assert not pickle.loads(pickle.dumps(together)).stopped


def test_work_within_work_ends_with_it():
    """Class pairs in threads, each divided into clusters in threads of their own."""
    begun, ended = threading.Event(), []

    def work():
        begun.set()
        end = time.monotonic() + 30
        try:
            while check_cancelled() and time.monotonic() < end:
                time.sleep(0.001)
        except KeyboardInterrupt:
            ended.append(True)
            raise

    def divided():
        with CancellationScope() as inner, ThreadPoolExecutor(1) as pool:
            pool.submit(inner.run, work).result()

    with (
        pytest.raises(ZeroDivisionError),
        ThreadPoolExecutor(1) as pool,
        CancellationScope() as outer,
    ):
        pool.submit(outer.run, divided)
        begun.wait(30)
        raise ZeroDivisionError
    assert ended == [True]


def test_one_time_limit_for_all_class_pairs(monkeypatch):
    X, y = make_classification(200, 8, n_informative=6, n_classes=3, random_state=0)
    model = SVC(max_time=60.0, n_jobs=1, tol=1e-5)  # pair by pair
    assert_one_limit_for_all_pairs(monkeypatch, kernel_machine, lambda: model.fit(X, y))


def test_class_pairs_share_one_cache_budget():
    """Each pair alone takes all of it; together they took 45 times as much."""
    script = """
import resource
import numpy as np
from widemargin import SVC
rng = np.random.default_rng(0)
X = rng.standard_normal((6000, 5))
y = rng.integers(0, 10, 6000)
def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
SVC(gamma=1.0).fit(X[:1000], y[:1000])
before = peak()
SVC(C=0.1, gamma=1.0, cache_size=20, n_jobs=JOBS).fit(X, y)
print(peak() - before)
"""
    for jobs in ("1", "2"):
        code = script.replace("JOBS", jobs)
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        )
        assert float(done.stdout) < 150.0, jobs
