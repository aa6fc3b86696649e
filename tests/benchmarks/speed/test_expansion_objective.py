"""Answers of regressors and one-class models, judged without code of the package."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from suites.speed.expansion_objective import judge_expansion, terms_of
from suites.speed.family import of_family
from widemargin_papers.harness.contestants import CONTESTANTS, Settings
from widemargin_papers.harness.measuring import run
from widemargin_papers.harness.objective import KernelChoice

SETTINGS = [
    Settings(estimator="SVR", C=3.0, epsilon=0.2, gamma=0.3),
    Settings(estimator="OneClassSVM", nu=0.23, gamma=0.3),
    Settings(estimator="QuantileSVR", C=2.0, gamma=0.3, quantiles=3),
]


def data():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((90, 3))
    return X, X[:, 0] + 0.3 * rng.standard_normal(90)


@pytest.mark.parametrize("settings", SETTINGS, ids=lambda one: one.estimator)
def test_the_judge_finds_what_the_certificate_claims(settings):
    X, y = data()
    ours = CONTESTANTS["widemargin"]
    model = ours.build(settings).fit(X, y)
    claimed = model.certificate_
    claimed = claimed if isinstance(claimed, list) else [claimed]
    betas = np.atleast_2d(ours.answer(model, 90))
    terms = terms_of(settings, y)
    assert len(terms) == len(betas) == len(claimed)
    for own, beta, certificate in zip(terms, betas, claimed, strict=True):
        judged = judge_expansion(KernelChoice(gamma=0.3), X, own, beta)
        assert_allclose(judged.objective, certificate.objective, rtol=1e-8)
        assert_allclose(judged.bound, certificate.bound, rtol=1e-8)
        assert judged.infeasible <= 1e-12
        worse = judge_expansion(KernelChoice(gamma=0.3), X, own, 0.9 * beta)
        assert worse.objective > worse.bound + 1e-3


def test_contestants_run_in_a_process_of_their_own():
    problem = of_family("small", data, replace(SETTINGS[0], threads=1), repeats=1)
    ours, theirs = (
        run(problem, name, problem.settings, budget=0.0)
        for name in ("widemargin", "scikit-learn")
    )
    assert_allclose(ours["bound"], theirs["bound"], rtol=1e-4)
    assert ours["gap"] <= theirs["gap"]
