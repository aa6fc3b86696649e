"""The judge of nu models: no gap at a solution, a gap elsewhere, whatever the unit."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn import svm

from suites.speed.nu_objective import judge_nu
from widemargin import NuSVC, NuSVR
from widemargin_papers.harness.contestants import Settings
from widemargin_papers.harness.objective import KernelChoice, judge_pairs


@pytest.mark.parametrize("estimator", [NuSVC, NuSVR])
@pytest.mark.parametrize("nu", [0.2, 0.45])
def test_a_solution_has_no_gap_and_its_certificate_agrees(estimator, nu):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((120, 3))
    y = X[:, 0] + 0.5 * rng.standard_normal(120)
    settings = Settings(C=2.0, gamma=0.3, nu=nu, estimator=estimator.__name__)
    if estimator is NuSVC:
        y = np.where(y > 0, 1.0, -1.0)
    model = estimator(**settings.of_estimator()).fit(X, y)
    beta = np.zeros(120)
    beta[model.support_] = model.dual_coef_[0]
    choice = KernelChoice(gamma=0.3)
    judged = judge_nu(choice, X, y, settings, beta)
    assert 0.0 <= judged.gap + 1e-9 and judged.gap <= 1e-7 * abs(judged.objective)
    assert_allclose(judged.objective, model.certificate_.objective, rtol=1e-7)
    assert_allclose(judged.bound, model.certificate_.bound, rtol=1e-7)
    worse = judge_nu(choice, X, y, settings, np.where(np.arange(120) % 3, beta, 0.0))
    assert worse.gap > 1e-4 * abs(judged.objective)
    if estimator is NuSVC:
        doubled = judge_nu(choice, X, y, settings, 2.0 * beta)
        assert_allclose(doubled.objective, judged.objective, rtol=1e-12)


def test_several_classes_are_judged_pair_by_pair():
    rng = np.random.default_rng(1)
    X, y = rng.standard_normal((150, 3)), np.arange(150) % 3 + 4.0
    X[:, 0] += y
    settings = Settings(gamma=0.3, nu=0.2, estimator="NuSVC")
    choice = KernelChoice(gamma=0.3)

    def judge(X, y, beta):
        return judge_nu(choice, X, y, settings, beta)

    for model in (NuSVC(nu=0.2, gamma=0.3), svm.NuSVC(nu=0.2, gamma=0.3, tol=1e-8)):
        model.fit(X, y)
        coefficients = np.zeros((2, 150))
        coefficients[:, model.support_] = model.dual_coef_
        judged = judge_pairs(judge, X, y, coefficients)
        assert -1e-9 <= judged.gap <= 1e-4 * abs(judged.objective)
        if isinstance(model, NuSVC):
            total = sum(one.objective for one in model.certificate_)
    assert_allclose(judged.objective, total, rtol=1e-4)
