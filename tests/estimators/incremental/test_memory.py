"""An update holds rows and blocks of the margin set, never the n x n kernel."""

from __future__ import annotations

import json
import subprocess
import sys

from widemargin.engine.path.follow import HELD

ROWS = 8000
SCRIPT = f"""
import json, resource
import numpy as np
from sklearn.datasets import make_moons
from widemargin import SVC

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024

X, y = make_moons({ROWS} + 50, noise=0.3, random_state=0)
model = SVC(gamma=2.0, cache_size=20, n_jobs=1, keep_rows=True)
model.fit(X[:{ROWS}], y[:{ROWS}])
before = peak()
for new in (slice({ROWS}, {ROWS} + 25), slice({ROWS} + 25, None)):
    model.partial_fit(X[new], y[new])  # a refit, and the path that begins a stream
model.forget(np.arange(50)).update(C=1.1)
routes = [record["route"] for record in model.history_[-3:]]
print(json.dumps([peak() - before, routes, model.history_[-1]["margin"]]))
"""


def test_an_update_needs_far_less_than_the_kernel_matrix():
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True
    )
    grown, routes, margin = json.loads(done.stdout)
    assert routes[:2] == ["path", "path"]  # the second chunk, and forgetting
    # the documented formula, with all rows watched, and a few vectors
    formula = 8 * (ROWS * margin + margin**2) + HELD + 200 * ROWS
    assert grown < formula < 8 * ROWS**2 / 4
