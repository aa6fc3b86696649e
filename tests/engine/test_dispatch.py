"""Lesser instruction sets pass the same tests, and AVX-512 gives the bits of AVX2."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from widemargin import _core

ROOT = Path(__file__).resolve().parents[2]
# What takes long, or is about memory and time; the others: CONTRIBUTING.md
SHORT = (
    "not creep and not (tolerance_holds and 100.0) and not too_large and not mapped "
    "and not monitor and not max_time and not (large_enough and (1.0 or 400.0))"
)


def run(code_or_arguments, **environment):
    return subprocess.run(
        [sys.executable, *code_or_arguments],
        cwd=ROOT,
        env=os.environ | environment,
        capture_output=True,
        text=True,
    )


# Both precisions, rows of one and of several tiles with a rest, dense and CSR, all
# kernels; then a solve by stages, with its certificate.
DIGEST = """
import hashlib
import numpy as np
from scipy.sparse import csr_array
from widemargin import SVC, _core
from widemargin.engine.gram import Gram
from widemargin.engine import kernels

random = np.random.default_rng(0)
digest = hashlib.sha256()
every = [
    kernels.Gaussian(0.3), kernels.Laplacian(0.3), kernels.Linear(),
    kernels.Polynomial(3, 0.2, 1.0), kernels.Sigmoid(0.1, 0.0),
]
for n, features in (9, 3), (45, 130), (67, 17), (150, 300):
    X = random.normal(size=(n, features)) / np.sqrt(features)
    X[random.random(X.shape) < 0.5] = 0.0
    weights = random.normal(size=n)
    for kernel in every:
        for samples in X, csr_array(X):
            gram = Gram(samples, kernel, cache_mb=1, threads=1)
            digest.update(gram.rows(np.arange(n)).tobytes())
            digest.update(gram.times(weights).tobytes())
            digest.update(gram.roughly_times(weights).tobytes())
X = random.normal(size=(5000, 7))
y = np.sign(X[:, 0] * X[:, 1] + 0.3 * random.normal(size=5000))
model = SVC(C=3.0, gamma=0.2, n_jobs=1).fit(X, y)
digest.update(model.dual_coef_.tobytes() + model.decision_function(X).tobytes())
proof = model.certificate_
digest.update(np.array([proof.objective, proof.gap]).tobytes())
print(_core.target(), digest.hexdigest())
"""


def test_the_environment_turns_the_dispatch_off():
    code = "from widemargin import _core; print(_core.target())"
    done = run(["-c", code], WIDEMARGIN_TARGET="baseline")
    assert done.stdout.strip() == "baseline"


def test_avx512_gives_the_bits_of_avx2():
    if _core.target() != "avx512":
        pytest.skip("a processor with AVX-512 has to compare")
    outputs = [
        run(["-c", DIGEST], WIDEMARGIN_TARGET=name) for name in ("avx2", "avx512")
    ]
    found = [done.stdout.split() for done in outputs]
    assert [target for target, _ in found] == ["avx2", "avx512"], outputs[0].stderr
    assert found[0][1] == found[1][1]


def test_the_baseline_passes_the_engine_tests():
    if _core.target() == "baseline":
        pytest.skip("the baseline is what all tests here ran on already")
    done = run(
        ["-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist",
         "tests/engine/test_gram.py", "tests/engine/test_solve_invariants.py",
         "tests/engine/test_problem.py", "tests/engine/test_solve.py",
         "tests/engine/test_solve_looks.py",
         "tests/estimators/svc/test_parity.py", "-k", SHORT],
        WIDEMARGIN_TARGET="baseline",
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-3000:]
    assert int(re.search(r"(\d+) passed", done.stdout)[1]) > 500
