"""Ctrl-C and max_time reach the clusters of a level, whoever solves them."""

import time

import numpy as np
import pytest
from sklearn.datasets import make_classification

from widemargin.engine.gram import Gram
from widemargin.engine.kernels import Gaussian
from widemargin.engine.problem import classification_problem
from widemargin.engine.solve import solve
from widemargin.engine.solve_options import SolveOptions
from widemargin.multilevel import level
from widemargin.multilevel.level import Division, Limits, solve_level
from widemargin.multilevel.partition import divide
from widemargin.runtime.deadline import Deadline

from tests.ctrl_c import needs_signals, seconds_to_stop

DATA = """
from widemargin import SVC, DivideConquerSVC
rng = np.random.default_rng(0)
X = rng.standard_normal((8_000, 4))
y = rng.integers(0, CLASSES, 8_000)
hard = dict(C=1e6, gamma=0.5, tol=1e-6, random_state=0, n_jobs=2)
"""
EARLY = "DivideConquerSVC(prediction='early', early_level=1, **hard).fit(X, y)"
DIVIDED = "SVC(solver='divide', **hard).fit(X, y)"


@needs_signals
@pytest.mark.parametrize(("work", "classes"), [(EARLY, 2), (DIVIDED, 2), (DIVIDED, 5)])
def test_ctrl_c_ends_the_clusters_of_a_level(work, classes):
    """They run in other threads, which do not hear it themselves."""
    data = DATA.replace("CLASSES", str(classes))
    assert seconds_to_stop(data, work, 1.0) < 30.0  # a whole fit takes minutes


def level_with(monkeypatch, problems_of, n_clusters, n_jobs):
    """Solve a level of three classes slowly; return how much time each solve had."""
    limits = []

    def slow(problem, options, *, start):
        limits.append(options.deadline.seconds_left)
        time.sleep(0.2)
        return solve(problem, options, start=start)

    monkeypatch.setattr(level, "solve", slow)
    X, y = make_classification(240, 8, n_informative=6, n_classes=3, random_state=0)
    gram = Gram(X, Gaussian(0.5))
    rows = [np.arange(len(X)) for _ in range(problems_of)]
    problems = [
        classification_problem(
            gram, np.where(y == c, 1.0, -1.0), np.ones(len(X)), False
        )
        for c in range(problems_of)
    ]
    division = Division(X, gram.kernel, problems, rows)
    partition = divide(X, gram.kernel, n_clusters, seed=0)
    assert partition.n_clusters == n_clusters
    starts = [np.zeros(len(X)) for _ in problems]
    # below the tolerance of float32 the problems of a cluster are solved one by one
    options = SolveOptions(tol=1e-5, deadline=Deadline.after(60.0))
    solve_level(1, partition, division, starts, options, Limits(n_jobs=n_jobs))
    assert len(limits) == n_clusters * problems_of
    return limits


def test_the_problems_of_a_cluster_share_its_time(monkeypatch):
    first, second, third = level_with(monkeypatch, 3, 1, 1)
    assert second <= first - 0.2 and third <= second - 0.2


def test_a_cluster_that_waits_for_its_turn_has_less_time(monkeypatch):
    limits = sorted(level_with(monkeypatch, 1, 4, 2), reverse=True)
    assert limits[2] <= limits[0] - 0.2 and limits[3] <= limits[0] - 0.2
