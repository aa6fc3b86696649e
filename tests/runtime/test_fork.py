"""A process forked while other threads fit, as multiprocessing does on Linux, fits."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="POSIX has fork")

# Run apart from pytest: its own threads must not be forked. A child that hangs is ended
# by its alarm, and counted.
FORKED = """
import os
import signal
import threading
import warnings

warnings.simplefilter("ignore", DeprecationWarning)  # of fork beside threads, from 3.12


def in_a_child(work):
    child = os.fork()
    if child == 0:
        signal.alarm(20)
        work()
        os._exit(0)
    return child


def failed(children):
    return sum(os.waitpid(child, 0)[1] != 0 for child in children)

"""


def run(script):
    done = subprocess.run(
        [sys.executable, "-c", FORKED + script], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout.strip()


@needs_fork
def test_fifty_forks_of_a_process_with_live_fits():
    script = """
from sklearn.datasets import make_moons
from widemargin import SVC

X, y = make_moons(60, noise=0.3, random_state=0)
ended = threading.Event()


def fit():
    return SVC(n_jobs=2).fit(X, y).certificate_.gap


def keep_fitting():
    while not ended.is_set():
        fit()


threads = [threading.Thread(target=keep_fitting) for _ in range(2)]
for thread in threads:
    thread.start()
children = [in_a_child(fit) for _ in range(50)]
hung = failed(children)
ended.set()
for thread in threads:
    thread.join()
print(hung)
"""
    assert run(script) == "0"


@needs_fork
def test_a_property_computed_elsewhere_when_the_process_forks():
    script = """
from widemargin.runtime.lazy import lazy_property

begun, goes_on = threading.Event(), threading.Event()


class Slow:
    @lazy_property
    def value(self):
        begun.set()
        goes_on.wait()
        return object()


def read():
    goes_on.set()
    Slow().value


slow = Slow()
thread = threading.Thread(target=lambda: slow.value)
thread.start()
begun.wait()
hung = failed([in_a_child(read)])
goes_on.set()
thread.join()
assert slow.value is slow.value is vars(slow)["value"]
print(hung)
"""
    assert run(script) == "0"


@needs_fork
def test_callbacks_being_opened_when_the_process_forks():
    script = """
from widemargin.estimators.base import sklearn_compat


def open_callbacks():
    with sklearn_compat._OPENING:
        pass


with sklearn_compat._OPENING:
    child = in_a_child(open_callbacks)
print(failed([child]))
"""
    assert run(script) == "0"
