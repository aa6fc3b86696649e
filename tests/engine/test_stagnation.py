"""Solves whose precision is exhausted end by themselves, slow ones go on."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import widemargin
from widemargin.engine import refinement
from widemargin.engine.gram import Gram
from widemargin.engine.kernels import Linear, Polynomial
from widemargin.engine.problem import classification_problem
from widemargin.engine.solve import solve
from widemargin.engine.solve_options import SolveOptions
from widemargin.engine.stagnation import DOUBLINGS, Stagnation
from widemargin.runtime.deadline import Deadline

from tests.campaigns.certificate_problems import draw
from tests.oracles.rebuilt import assert_honest
from tests.problems import dual, small


@pytest.mark.parametrize(
    ("kernel", "offset", "seed"),
    [(Linear(), 1e7, 0), (Polynomial(2, 0.01, 1.0), 3e5, 2)],
)
def test_a_hopeless_solve_ends_by_itself(kernel, offset, seed):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(offset, 1.0, (38, 3)), rng.choice([-1.0, 1.0], 38)
    problem = classification_problem(Gram(X, kernel), y, 1.4, fit_intercept=False)
    limited = SolveOptions(exact=True, deadline=Deadline.after(30.0))
    solution = solve(problem, limited)
    assert solution.status == "stalled"
    assert solution.n_iter <= 20_000 * problem.n


def fitted(kind, seed, **others):
    """Fit a problem of the campaign of certificates, however long that takes."""
    case = draw(seed)
    given = {**case.parameters, **others}
    known = kind().get_params()
    model = kind(**{name: given[name] for name in given if name in known})
    with pytest.warns(ConvergenceWarning):
        model.fit(case.X, case.y, sample_weight=case.weights)
    assert_honest(model, case.X, case.y, case.weights, may_lack_bound=case.indefinite)
    return model, len(case.y)


def test_two_clusters_far_apart_do_not_keep_a_fit_going():
    """After a stall a run from exact values ends soon, or gets on."""
    model, n = fitted(widemargin.SVC, 5328)
    assert model.certificate_.status == "stalled"
    assert model.n_iter_[0] <= 15_000 * n  # without end, before


def test_steps_that_always_gain_something_end_all_the_same(monkeypatch):
    """Entries of 1e9, indefinite: the objective still falls after 100,000 n steps."""
    monkeypatch.setattr(refinement, "ENDLESS", 2_000)
    model, n = fitted(widemargin.SVC, 2817)
    assert model.certificate_.status == "stalled"
    assert 1_000 * n <= model.n_iter_[0] <= 5_000 * n


def test_a_search_of_a_multiplier_has_the_steps_of_one_solve():
    """Where every trial stalls, sixty of them would take sixty times as long."""
    case = draw(20235)
    targets = case.y + 0.1 * np.arange(len(case.y)) % 7
    model = widemargin.NuSVR(nu=0.1, kernel="linear", C=280.0, fit_intercept=False)
    with pytest.warns(ConvergenceWarning):
        model.fit(case.X, targets, sample_weight=case.weights)
    assert model.certificate_.status == "stalled"
    assert model.n_iter_ <= 2 * refinement.ENDLESS * len(targets)


def test_a_nu_without_a_margin_is_refused_whatever_rounding_makes_of_the_margin():
    """Of overlapping classes float32 rows never find it; steps went on for ever."""
    case = draw(20025)
    model = widemargin.NuSVC(nu=0.1, kernel="linear", tol=0.1)
    with pytest.raises(ValueError, match="the margin of its solution is zero"):
        model.fit(case.X, case.y, sample_weight=case.weights)


def test_what_a_path_reached_is_kept_where_it_is_no_solution_yet():
    """Features of very different sizes: its end is off by rounding, but far nearer."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 5)) * [2e-3, 600.0, 3.0, 10.0, 15.0]
    y = np.where(X[:, 1] / 600.0 + rng.normal(size=300) > 0.0, 1.0, -1.0)
    weights = 10.0 ** rng.uniform(-2.0, 2.0, 300)
    model = widemargin.SVC(kernel="linear", C=6e3, tol=1e-6)
    with pytest.warns(ConvergenceWarning):
        model.fit(X, y, sample_weight=weights)
    assert_honest(model, X, y, weights)
    certificate = model.certificate_
    assert certificate.gap <= 1e-4 * certificate.objective  # 0.8 of it, before,
    assert model.n_iter_[0] <= 2_000 * len(y)  # after 20,000 a row


def points(problem, violations):
    """Gradients that violate by so much, at the point zero."""
    signs = np.where(problem.linear > 0, -1.0, 1.0)
    return [0.5 * violation * signs for violation in violations]


def verdicts(violations):
    problem = dual(small(3, n=20))
    stagnation, everyone = Stagnation(problem), np.ones(problem.n, dtype=bool)
    return [
        stagnation.reached(np.zeros(problem.n), gradient, everyone)
        for gradient in points(problem, violations)
    ]


def test_a_violation_that_falls_is_progress():
    assert not any(verdicts(0.95 ** np.arange(40)))


def test_a_violation_that_stays_is_none():
    assert verdicts(np.ones(DOUBLINGS + 1)) == [False] * DOUBLINGS + [True]


def test_a_violation_of_the_size_of_its_rounding_is_the_end():
    X, y = np.full((20, 2), 1e7), np.resize([1.0, -1.0], 20)
    problem = classification_problem(Gram(X, Linear()), y, 1.0)
    beta, everyone = 0.5 * y, np.ones(20, dtype=bool)
    small, large = points(problem, [1e-3, 1e9])
    assert Stagnation(problem).reached(beta, small, everyone)
    assert not Stagnation(problem).reached(beta, large, everyone)
