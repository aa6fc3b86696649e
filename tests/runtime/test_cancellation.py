"""Long work in a thread of its own ends when the thread that waits is stopped."""

import numpy as np
import pytest

from widemargin.engine.kernels import Linear
from widemargin.engine.path import repair
from widemargin.engine.polish import polish
from widemargin.engine.primal_newton import newton_start
from widemargin.engine.solve import solve
from widemargin.engine.solve_options import SolveOptions
from widemargin.runtime.cancellation import CancellationScope

from tests.problems import Named, dual, real_problems


def linear_data():
    X = np.random.default_rng(0).normal(size=(2000, 3))
    return X, np.where(X.sum(axis=1) > 0.5, 1.0, -1.0)


LINEAR = dual(Named("linear", *linear_data(), Linear()))
WORK = {
    "products": lambda solution: solution.problem.gram.times(solution.beta),
    "polish": lambda solution: polish(solution, tol=0.0),
    "path": repair,
    "newton": lambda _: newton_start(LINEAR, LINEAR.gram.samples, 1e-3),
}


@pytest.mark.parametrize("name", WORK)
def test_every_long_piece_of_work_asks_whether_to_go_on(name):
    solution = solve(dual(real_problems()[1]), SolveOptions(tol=1e-2)).recomputed()
    together = CancellationScope()

    def stopped_on_the_way():
        together._stopped.set()
        WORK[name](solution)

    with pytest.raises(KeyboardInterrupt):
        together.run(stopped_on_the_way)
    WORK[name](solution)
