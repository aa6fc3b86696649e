"""A process forked while other threads fit, as multiprocessing does on Linux, fits."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="POSIX has fork")

# Run apart from pytest: its own threads must not be forked. A child hangs that takes no
# processor time in PATIENCE seconds, however long a busy machine makes the others take;
# it says where, is ended and counted. One that computes without end is ended too.
FORKED = """
import faulthandler
import os
import resource
import signal
import threading
import time
import warnings

warnings.simplefilter("ignore", DeprecationWarning)  # of fork beside threads, from 3.12
PATIENCE, MOST = 20.0, 60


def in_a_child(work):
    child = os.fork()
    if child == 0:
        faulthandler.register(signal.SIGUSR1)
        resource.setrlimit(resource.RLIMIT_CPU, (MOST, MOST))
        work()
        os._exit(0)
    return child


def processor_time(child):
    try:
        with open(f"/proc/{child}/stat", "rb") as fields:
            return fields.read().rsplit(b")", 1)[1].split()[11:13]
    except FileNotFoundError:  # no such system: asleep until it ends
        return None


def well(child):
    used, since = processor_time(child), time.monotonic()
    while True:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return status == 0
        time.sleep(0.01)
        if (now := processor_time(child)) != used:
            used, since = now, time.monotonic()
        elif time.monotonic() - since > PATIENCE:
            for sign in (signal.SIGUSR1, signal.SIGKILL):
                os.kill(child, sign)
                time.sleep(1.0)


def failed(children):
    return sum(not well(child) for child in children)

"""


def run(script):
    done = subprocess.run(
        [sys.executable, "-c", FORKED + script], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr[-3000:]
    print(done.stderr[-3000:])  # where a child hung
    return done.stdout.strip()


FITS = {
    "small": "SVC(n_jobs=2).fit(X[:60], y[:60])",
    "many rows": "SVC(C=10.0, n_jobs=2, max_iter=300).fit(X, y)",
    "sparse": "SVC(n_jobs=2).fit(csr_array(X[:60]), y[:60])",
    "regression": "SVR(n_jobs=2).fit(X[:60], y[:60])",
    "updates": (
        "SVC(keep_rows=True).fit(X[:50], y[:50]).partial_fit(X[50:60], y[50:60])"
        ".forget([0, 1])"
    ),
}


@needs_fork
@pytest.mark.parametrize("kind", FITS)
def test_fifty_forks_of_a_process_with_live_fits(kind):
    script = f"""
from scipy.sparse import csr_array
from sklearn.datasets import make_moons
from widemargin import SVC, SVR

X, y = make_moons(2500, noise=0.3, random_state=0)
warnings.simplefilter("ignore")  # of the limit of steps
ended = threading.Event()


def fit():
    {FITS[kind]}


def keep_fitting():
    while not ended.is_set():
        fit()


threads = [threading.Thread(target=keep_fitting) for _ in range(2)]
for thread in threads:
    thread.start()
hung = 0
for _ in range(10):
    hung += failed([in_a_child(fit) for _ in range(5)])
ended.set()
for thread in threads:
    thread.join()
print(hung)
"""
    assert run(script) == "0"


@needs_fork
def test_forks_beside_the_first_fits_of_a_process():
    # What a process makes once, in its first fit, is being made while it is forked.
    script = """
from sklearn.datasets import make_moons
from widemargin import SVC

X, y = make_moons(2500, noise=0.3, random_state=0)
warnings.simplefilter("ignore")


def fit():
    SVC(C=10.0, n_jobs=2, max_iter=30).fit(X, y)


def first_fits():
    threads = [threading.Thread(target=fit) for _ in range(3)]
    for thread in threads:
        thread.start()
    children = []
    for pause in range(6):
        time.sleep(0.0003 * pause)
        children.append(in_a_child(fit))
    hung = failed(children)
    for thread in threads:
        thread.join()
    os._exit(hung)


print(failed([in_a_child(first_fits) for _ in range(10)]))
"""
    assert run(script) == "0"


def test_no_fit_imports_anything():
    # A process forked while another thread imports a module waits for it for ever.
    script = f"""
import sys
import warnings

from scipy.sparse import csr_array
from sklearn.datasets import make_moons
from widemargin import SVC, SVR

X, y = make_moons(2500, noise=0.3, random_state=0)
warnings.simplefilter("ignore")
before = set(sys.modules)
for fit in {list(FITS.values())!r}:
    eval(fit)
print(len(set(sys.modules) - before))
print(set(sys.modules) - before, file=sys.stderr)
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
@pytest.mark.parametrize(
    "lock", ["estimators.base.sklearn_compat._OPENING", "engine.held_columns._CLAIMS"]
)
def test_a_lock_of_the_process_that_is_held_when_it_forks(lock):
    module, name = lock.rsplit(".", 1)
    script = f"""
from widemargin.{module} import {name} as lock


def enter():
    with lock:
        pass


with lock:
    child = in_a_child(enter)
print(failed([child]))
"""
    assert run(script) == "0"
