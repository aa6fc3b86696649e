"""How long updates take, and whether the way that is chosen is the shortest.

python benchmarks/updates.py times     updates of 5,000 and of 200,000 rows, by size
python benchmarks/updates.py choice    path, warm solve and refit, and which is taken
python benchmarks/updates.py choice --quick      600 and 2,400 rows only
python benchmarks/updates.py choice --table FILE    the measurements as a table, too

Processor time of one thread, the least of three. ``choice`` prints two halves of the
data sets, every other one by alphabet, for constants of the estimates
(``widemargin.engine.update_costs``) to be chosen on the first and checked on the other.
Those of compiled fits and crossing rows came from two moons and a5a, of the first half;
those of a path, earlier, from covtype and ijcnn1, one of each half. A set is taken at
C=1 with gamma="scale" and at C=10 with four times that gamma.
"""

from __future__ import annotations

import argparse
import copy
import csv
import sys
import time

import numpy as np
from sklearn.base import clone
from sklearn.preprocessing import scale

from widemargin import SVC
from widemargin.engine import updates
from widemargin.engine.update_costs import Route, cheapest
from widemargin_papers.harness.datasets import available, load_dense

SETS = ("a5a", "cod-rna", "covtype.binary", "ijcnn1", "magic04", "mammography",
        "page-blocks0", "phoneme")  # fmt: skip
SIZES = (600, 1500, 2400, 5000)
MOVES = (("add", 1), ("add", 10), ("add", 50), ("forget", 10), ("slide", 10))
REPEATS = 3
SLOWER = 1.2  # than a refit: no update is to be


def rows_of(name, n, seed=0):
    """Return rows of a data set, standardised, in random order."""
    X, y = load_dense(name)
    chosen = np.random.default_rng(seed).permutation(len(y))[:n]
    return scale(np.asarray(X[chosen], dtype=float)), y[chosen]


def applied(model, move, X, y):
    """Return a copy of the model after a move, and the seconds of the move alone."""
    kind, rows = move
    model = copy.copy(model)
    n = model.ids_.size
    begun = time.process_time()
    if kind == "forget":
        model.forget(model.ids_[:rows])
    else:
        window = n if kind == "slide" else None
        model.partial_fit(X[n : n + rows], y[n : n + rows], window=window)
    return model, time.process_time() - begun


def least(action, *arguments):
    """Return the result of an action and the least of its seconds."""
    found = [action(*arguments) for _ in range(REPEATS)]
    return found[-1][0], min(seconds for _, seconds in found)


def fitted(model, X, y):
    """Return a clone fitted to rows, and the seconds it took."""
    fresh, begun = clone(model), time.process_time()
    fresh.fit(X, y)
    return fresh, time.process_time() - begun


class Forced:
    """Take one way whatever the estimate; note the sizes it was asked about."""

    def __init__(self, route):
        self.route, self.asked = route, None

    def __call__(self, *sizes, **settings):
        """Return the way, as ``cheapest`` would."""
        self.asked = sizes, settings
        if self.route is None:
            return cheapest(*sizes, **settings)
        if self.route == Route.WARM and not settings["warm"]:
            return Route.REFIT, 1
        return self.route, 1 << 30


def by_way(model, move, X, y):
    """Return the seconds of each way and of the one chosen, with what was asked."""
    row = {}
    for route in (None, Route.PATH, Route.WARM, Route.REFIT):
        updates.cheapest = forced = Forced(route)
        try:
            moved, seconds = least(applied, model, move, X, y)
        finally:
            updates.cheapest = cheapest
        if forced.asked is None:
            return None  # rows that change nothing: there is nothing to choose
        taken = moved.history_[-1]["route"]
        if route is None:
            sizes, settings = forced.asked
            row = dict(zip(("n", "support", "moving", "margin"), sizes, strict=True))
            row |= {f"ask {name}": value for name, value in settings.items()}
            row |= {"chosen": taken, "seconds": seconds}
            live = moved._updates.closed_up().live
            row["fit"] = least(fitted, model, live.X, live.targets)[1]
        elif taken == route:
            row[route.value] = seconds
            if route == Route.PATH:
                row["steps"] = moved.history_[-1]["steps"]
    return row


def measured(sizes):
    """Yield one row a set, setting, size and move."""
    for place, name in enumerate(SETS):
        if not available(name):
            print(f"{name}: not there (WIDEMARGIN_DATA)", file=sys.stderr)
            continue
        for n in sizes:
            X, y = rows_of(name, n + 60)
            if len(y) < n + 60:
                continue
            gamma = 1.0 / (X.shape[1] * X.var())
            for C, factor in ((1.0, 1.0), (10.0, 4.0)):
                model = SVC(C=C, gamma=factor * gamma, keep_rows=True, n_jobs=1)
                model.fit(X[:n], y[:n])
                for move in MOVES:
                    row = by_way(model, move, X, y)
                    if row is None:
                        continue
                    half = "chosen on" if place % 2 == 0 else "checked on"
                    where = {"half": half, "set": name, "C": C}
                    yield where | {"move": f"{move[0]} {move[1]}"} | row


def report(rows):
    """Print both halves: what was chosen against the shortest way and a whole fit."""
    ways = [route.value for route in Route]
    for half in ("chosen on", "checked on"):
        of_half = [row for row in rows if row["half"] == half]
        if not of_half:
            continue
        chosen = np.array([row["seconds"] for row in of_half])
        fits = np.array([row["fit"] for row in of_half])
        best = np.array([min(row[w] for w in ways if w in row) for row in of_half])
        print(f"\n{half}: {len(of_half)} updates")
        print(f"  all of them took {chosen.sum():.2f} s, by the shortest ways "
              f"{best.sum():.2f}, by whole fits {fits.sum():.2f}")  # fmt: skip
        ratio = chosen / fits
        above = np.count_nonzero(ratio > SLOWER)
        print(f"  of a whole fit: median {np.median(ratio):.2f}, largest "
              f"{ratio.max():.2f}, above {SLOWER}: {above}")  # fmt: skip
        for number in np.argsort(-ratio)[:5]:
            row = of_half[number]
            print(f"    {ratio[number]:5.2f}  {row['set']} n={row['n']} C={row['C']:g} "
                  f"{row['move']}: {row['chosen']}, {1e3 * row['seconds']:.1f} ms "
                  f"against {1e3 * row['fit']:.1f}")  # fmt: skip


def choice(quick, table):
    """Measure all ways of all updates."""
    rows = []
    for row in measured((600, 2400) if quick else SIZES):
        rows.append(row)
        print(".", end="", flush=True, file=sys.stderr)
        if table is not None:
            names = list(dict.fromkeys(name for one in rows for name in one))
            with open(table, "w", newline="") as file:
                writer = csv.DictWriter(file, names)
                writer.writeheader()
                writer.writerows(rows)
    report(rows)


def times():
    """Print updates by their sizes: covtype, and many rows that change nothing."""
    if available("covtype.binary"):
        X, y = rows_of("covtype.binary", 5200)
        model = SVC(C=10.0, gamma=2.0, keep_rows=True, n_jobs=1).fit(X[:5000], y[:5000])
        whole = least(fitted, model, X[:5050], y[:5050])[1]
        print(f"covtype, 5,000 rows, C=10, gamma=2: a whole fit {whole:.3f} s")
        for move in (("add", 1), ("add", 10), ("add", 50), ("forget", 50),
                     ("slide", 50)):  # fmt: skip
            moved, seconds = least(applied, model, move, X, y)
            route = moved.history_[-1]["route"]
            print(f"  {move[0]:6} {move[1]:3}: {seconds:.3f} s ({route})")
    else:
        print("covtype.binary: not there (WIDEMARGIN_DATA)")
    many_rows()


def many_rows(n=200_000, updates_each=200):
    """Print how long rows take that change nothing, among many."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 20))
    score = X[:, 0] + 0.5 * X[:, 1]
    X[:, 0] += np.sign(score)  # most rows are far from the boundary
    y = (score > 0).astype(int)
    exact = {"polish": True, "exact_updates": True}  # at tol every row may count
    model = SVC(kernel="linear", keep_rows=True, n_jobs=1, **exact).fit(X, y)
    far = np.flatnonzero(model.decision_function(X) * (2 * y - 1) > 3.0)
    print(f"{n:,} x 20 rows, {model.support_.size} support vectors; one row that "
          "changes nothing:")  # fmt: skip
    model.partial_fit(X[far[:1]] * 1.01, y[far[:1]])  # the columns grow once
    for kind in ("enters", "leaves", "enters as another leaves"):
        spent, settled = [], 0
        for _ in range(updates_each):
            row, far = far[0], far[1:]
            begun = time.process_time()
            if kind == "leaves":
                model.forget(row)
            else:
                leaver = row if "another" in kind else None
                model.partial_fit(X[[row]] * 1.01, y[[row]], forget_ids=leaver)
            spent.append(time.process_time() - begun)
            settled += model.history_[-1]["route"] == "settled"
        middle, high = np.percentile(1e3 * np.array(spent), [50, 99])
        print(f"  {kind}: {middle:.2f} ms, 99 of 100 below {high:.2f} "
              f"({settled} of {len(spent)} settled)")  # fmt: skip


def main():
    """Read what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["times", "choice"])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--table")
    asked = parser.parse_args()
    if asked.what == "times":
        times()
    else:
        choice(asked.quick, asked.table)


if __name__ == "__main__":
    main()
