"""CSR samples of many more features than any row has: 2^27 of them, hashed, say."""

import json
import subprocess
import sys

import pytest

FIT = """
import json, resource, sys
import numpy as np
from scipy import sparse
from widemargin import SVC

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024

rng, n, few, width = np.random.default_rng(0), 300, 500, 2**27
used = np.sort(rng.choice(width, size=few, replace=False))
narrow = sparse.random_array((n, few), density=0.02, rng=rng, format="csr")
y = (narrow.sum(axis=1) > np.median(narrow.sum(axis=1))).astype(int)
wide = sparse.csr_array((narrow.data, used[narrow.indices], narrow.indptr), (n, width))
parameters = {"kernel": sys.argv[1], "gamma": 1.0, "coef0": 1.0, "n_jobs": 2}
answers = SVC(**parameters).fit(narrow, y).decision_function(narrow)
before = peak()
model = SVC(**parameters).fit(wide, y)
differences = np.abs(model.decision_function(wide) - answers)
print(json.dumps({"grown": peak() - before, "apart": float(differences.max())}))
"""


@pytest.mark.parametrize("kernel", ["rbf", "poly", "laplacian", "sigmoid"])
def test_memory_is_that_of_the_values_that_are_stored(kernel):
    """A table of all features would be 512 MB, cleared for every 16 rows."""
    pytest.importorskip("resource")  # POSIX
    run = [sys.executable, "-W", "ignore", "-c", FIT, kernel]
    done = json.loads(subprocess.run(run, check=True, capture_output=True).stdout)
    assert done["grown"] < 64.0, done  # MB
    assert done["apart"] < 1e-6, done
