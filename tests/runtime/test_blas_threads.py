"""A fit uses the threads of ``n_jobs`` and no other: none of a BLAS.

In processes of their own, whose environment does not say how many threads a BLAS may
have: what users have.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

SETTINGS = ("OPENBLAS", "OMP", "MKL", "BLIS", "VECLIB", "GOTO")


def run(script, **environment):
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(SETTINGS)
    }
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", script],
        env=kept | environment, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


BESIDE = """
import os, subprocess, sys, time
from sklearn.datasets import load_digits
from widemargin import SVC

X, y = load_digits(return_X_y=True)
spin = "import time\\nend = time.monotonic() + 60\\nwhile time.monotonic() < end: pass"
count = int(os.environ["BUSY"])
busy = [subprocess.Popen([sys.executable, "-c", spin]) for _ in range(count)]
try:
    begun = time.process_time()
    SVC(C=100, gamma=0.1).fit(X, y)
    print(time.process_time() - begun)
finally:
    for process in busy:
        process.kill()
"""


def test_a_fit_beside_busy_processes():
    """Processor time was 8.9 s beside four of them, 0.2 s alone with one BLAS thread.

    Other tests run now: "alone" is with one thread, which nothing beside it slows down.
    """
    alone = float(run(BESIDE, BUSY="0", OPENBLAS_NUM_THREADS="1"))
    beside = float(run(BESIDE, BUSY="4"))
    assert beside <= 2.0 * alone + 0.3


# Processor time of all threads but the main one, by the kernel's own account.
COUNTED = """
import os
import time
import numpy as np
from sklearn.datasets import load_digits, make_classification, make_moons
from widemargin import SVC, CostSensitiveSVC, DivideConquerSVC, RampSVC


def elsewhere():
    total = 0
    for thread in os.listdir("/proc/self/task"):
        if int(thread) != os.getpid():
            with open(f"/proc/self/task/{thread}/schedstat") as counts:
                total += int(counts.read().split()[0])
    return total


def counted(name, work):
    before = elsewhere()
    work()
    if elsewhere() != before:
        print(name, (elsewhere() - before) / 1e6, "ms")


def fit(model, X, y):
    model = model.set_params(n_jobs=1)
    counted(f"fit {model}", lambda: model.fit(X, y))
    counted(f"predict {model}", lambda: model.decision_function(X))
    return model


np.ones((400, 400)) @ np.ones((400, 400))  # a product that a BLAS would share out
if not elsewhere():
    print("no thread of a BLAS was seen to work: nothing is tested")
seen = 0
while elsewhere() != seen:  # they go on spinning for a while
    seen = elsewhere()
    time.sleep(0.1)
digits = load_digits(return_X_y=True)
wide = make_classification(12_000, 60, random_state=0)
many = make_moons(6_000, noise=0.3, random_state=0)
few = many[0][:1500], many[1][:1500]
matrix = np.exp(-((few[0][:, None] - few[0]) ** 2).sum(axis=2))
fit(SVC(C=100, gamma=0.1), *digits)
fit(SVC(kernel="linear"), *digits)
fit(SVC(kernel="linear"), *wide)
fit(SVC(kernel="linear"), wide[0].astype(np.float32), wide[1])
fit(SVC(kernel="poly"), *few)
fit(SVC(kernel="precomputed"), matrix, few[1])
fit(SVC(kernel=lambda A, B: np.exp(-((A[:, None] - B) ** 2).sum(axis=2))), *few)
fit(RampSVC(screening="safe"), *many)
fit(SVC(solver="divide"), *many)
fit(RampSVC(), *few)
fit(CostSensitiveSVC(cost_positive=3.0), *few)
fit(DivideConquerSVC(n_levels=1), *many)
fit(DivideConquerSVC(prediction="early", early_level=2), *many)
fit(DivideConquerSVC(prediction="early", early_level=2), *digits)
fit(DivideConquerSVC(prediction="early", early_level=1, kernel="poly"), *few)
early = DivideConquerSVC(prediction="early", early_level=1)
fit(early.set_params(kernel="precomputed"), matrix, few[1])
model, ids = SVC(n_jobs=1), np.arange(1500)
for rows in slice(0, 1400), slice(1400, 1500):
    chunk = few[0][rows], few[1][rows]
    counted("partial_fit", lambda: model.partial_fit(*chunk, [0, 1], ids=ids[rows]))
counted("forget", lambda: model.forget(np.arange(50)))
counted("update", lambda: model.update(C=2.0))
"""


@pytest.mark.skipif(
    not Path("/proc/self/schedstat").exists(), reason="threads are counted by Linux"
)
def test_no_thread_but_the_caller_works_in_a_fit():
    assert run(COUNTED, OPENBLAS_NUM_THREADS="4") == ""
