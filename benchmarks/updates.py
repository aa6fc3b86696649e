"""How long updates take, and whether the way that is chosen is the shortest.

python benchmarks/updates.py times     updates of 5,000 and of 200,000 rows, by size
python benchmarks/updates.py choice    path, warm solve and refit, and which is taken
python benchmarks/updates.py settled   one row that changes nothing, among 200,000
python benchmarks/updates.py choice --only a5a --again     one data set once more

``choice`` measures what is missing and prints both halves of the data sets
(``suites.streams.update_choice``); ``python tools/measured_tables.py`` then
writes the table to the page. Processor time of one thread, the least of several.
"""

from __future__ import annotations

import sys
import time
from functools import partial

import numpy as np

from suites.streams.campaigns import UPDATES
from suites.streams.settled_rows import many_rows
from suites.streams.update_choice import applied, fitted, least, rows_of
from widemargin import SVC
from widemargin_papers.harness.campaign import main as campaign
from widemargin_papers.harness.datasets import available


def times():
    """Print updates by their sizes: covtype, and many rows."""
    if available("covtype.binary"):
        X, y = rows_of("covtype.binary", 5200)
        model = SVC(C=10.0, gamma=2.0, keep_rows=True, n_jobs=1).fit(X[:5000], y[:5000])
        whole = least(partial(fitted, model, X[:5050], y[:5050]))[0][1]
        print(f"covtype, 5,000 rows, C=10, gamma=2: a whole fit {whole:.3f} s")
        for move in (("add", 1), ("add", 10), ("add", 50), ("forget", 50),
                     ("slide", 50)):  # fmt: skip
            [(moved, seconds)] = least(partial(applied, model, move, X, y))
            route = moved.history_[-1]["route"]
            print(f"  {move[0]:6} {move[1]:3}: {seconds:.3f} s ({route})")
    else:
        print("covtype.binary: not there (WIDEMARGIN_DATA)")
    first_to_leave()


def first_to_leave():
    """Print how long the first rows take to leave many, fitted with the defaults."""
    X, y = many_rows()
    model = SVC(kernel="linear", keep_rows=True, n_jobs=1)
    whole = least(partial(fitted, model, X, y))[0]
    far = np.flatnonzero(whole[0].decision_function(X) * (2 * y - 1) > 3.0)
    print(
        f"{len(y):,} x 20 rows, linear: a fit with the defaults {whole[1]:.3f} s; then"
    )
    for count in (1, 1, 10):
        gone, far = far[:count], far[count:]
        begun = time.process_time()
        whole[0].forget(gone)
        spent = time.process_time() - begun
        print(f"  forget {count:3}: {spent:.4f} s ({whole[0].history_[-1]['route']})")


if __name__ == "__main__":
    if sys.argv[1:] == ["times"]:
        times()
    else:
        campaign(UPDATES, "Measure updates beside fits.")
