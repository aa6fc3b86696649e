"""DPWSSClassifier: stop reasons, what it reports, and the attack that refutes it."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import minmax_scale
from sklearn.svm import SVC as LIBSVM

from widemargin import DPWSSClassifier
from widemargin.engine.solve import solve
from widemargin.engine.solve_options import SolveOptions
from widemargin.estimators.dpwss import estimator

from tests.oracles.claims import judge
from tests.oracles.rebuilt import judged
from tests.time_limits import assert_one_limit_for_all_pairs

EXHAUSTED = pytest.mark.filterwarnings("ignore:DPWSSClassifier ended 'exhausted'")


@pytest.fixture(scope="module")
def breast():
    X, y = load_breast_cancer(return_X_y=True)
    return minmax_scale(X, (-1, 1)), y


@pytest.mark.parametrize("selection_epsilon", [1e-3, 0.1, 1.0, 100.0])
def test_the_two_point_attack(selection_epsilon):
    # mathematics 1.4: one violating pair, so the "private" output is deterministic and
    # tells x = 1 from x = 0.5 with certainty: epsilon = infinity.
    y = np.array([1, -1])
    released = {1.0: set(), 0.5: set()}
    for position, models in released.items():
        for seed in range(20):
            model = DPWSSClassifier(
                selection_epsilon=selection_epsilon, random_state=seed
            )
            models.add(float(model.fit(np.array([[position], [-1.0]]), y).coef_[0, 0]))
    assert_allclose(list(released[1.0]), [1.0])
    assert_allclose(list(released[0.5]), [4 / 3])


def test_stop_reasons(breast):
    X, y = breast
    with pytest.warns(ConvergenceWarning, match="once=False runs to the tolerance"):
        once = DPWSSClassifier(random_state=0).fit(X, y)
    assert once.stop_reason_ == "exhausted"
    assert once.kkt_violation_ > 1e-3 and once.certificate_.status == "exhausted"
    free = DPWSSClassifier(once=False, random_state=0).fit(X, y)
    assert free.stop_reason_ == "stationary" and free.kkt_violation_ <= 1e-3
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        short = DPWSSClassifier(max_iter=7, random_state=0).fit(X, y)
    assert short.stop_reason_ == "max_iter"
    assert_array_equal(short.n_iter_, [7])
    with pytest.warns(ConvergenceWarning, match="max_time"):
        hasty = DPWSSClassifier(once=False, max_time=1e-9, random_state=0).fit(X, y)
    assert hasty.stop_reason_ == "max_time"


def test_one_time_limit_for_all_class_pairs(monkeypatch):
    X, y = load_iris(return_X_y=True)
    model = DPWSSClassifier(once=False, max_time=60.0, random_state=0)
    assert_one_limit_for_all_pairs(monkeypatch, estimator, lambda: model.fit(X, y))


def test_a_monitor_may_interrupt():
    from widemargin.engine.kernels import Linear
    from widemargin.engine.solve import DrawnPairs

    from tests.problems import Named, dual

    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(2000, 3)), rng.choice([-1.0, 1.0], size=2000)
    problem = dual(Named("noise", X, y, Linear(), 100.0))
    rule = DrawnPairs(1.0, 0.1, once=False)
    run = solve(problem, SolveOptions(selection=rule, monitor=lambda *_: False))
    assert run.status == "interrupted"


def test_objective_is_libsvms(breast):
    X, y = breast
    model = DPWSSClassifier(once=False, random_state=1, tol=1e-5).fit(X, y)
    reference = LIBSVM(kernel="linear", tol=1e-5).fit(X, y)
    alpha = np.abs(reference.dual_coef_).sum()
    printed = 0.5 * float((reference.coef_**2).sum()) - alpha
    assert model.objective_ < 0
    assert_allclose(model.objective_, printed, rtol=1e-4)
    assert_allclose(model.certificate_.bound, -model.objective_, rtol=1e-9)
    assert_allclose(model.coef_, reference.coef_, atol=2e-2)


def test_both_intercepts(breast):
    X, y = breast
    optimal = DPWSSClassifier(once=False, random_state=0).fit(X, y)
    free = DPWSSClassifier(once=False, random_state=0, intercept_rule="free").fit(X, y)
    assert_array_equal(optimal.coef_, free.coef_)
    assert_allclose(optimal.intercept_, free.intercept_, atol=5e-3)
    assert optimal.intercept_[0] != free.intercept_[0]
    # Two points, both at their bound: no free support vector, the optimal one is taken.
    X, y = np.array([[1.0], [-1.0]]), np.array([1, -1])
    bound = DPWSSClassifier(C=0.1, intercept_rule="free").fit(X, y)
    assert_allclose(bound.intercept_, [0.0], atol=1e-12)


ENDS = {
    "exhausted": {},
    "stationary": {"once": False},
    "max_iter": {"max_iter": 25},
    "max_time": {"once": False, "max_time": 1e-9},
}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("rule", ["optimal", "free"])
@pytest.mark.parametrize("end", ENDS)
def test_the_certificate_is_true_of_the_model_that_is_kept(end, rule):
    X, y = load_iris(return_X_y=True)
    X = X[:, :2]  # the classes overlap
    model = DPWSSClassifier(intercept_rule=rule, random_state=0, **ENDS[end]).fit(X, y)
    assert end in model.stop_reason_
    for certificate, truth in judged(model, X, y):
        assert judge(certificate, truth).false == []
        assert certificate.bound <= certificate.objective


@EXHAUSTED
def test_only_objective_and_gap_depend_on_the_intercept(breast):
    X, y = breast
    settings = {"random_state": 0, "sigma": 0.9}
    best = DPWSSClassifier(**settings).fit(X, y)
    free = DPWSSClassifier(intercept_rule="free", **settings).fit(X, y)
    one, other = best.certificate_, free.certificate_
    assert (one.bound, one.kkt_violation) == (other.bound, other.kkt_violation)
    # The hinge losses of the model itself, by hand.
    for model in (best, free):
        loss = np.maximum(0.0, 1.0 - (2 * y - 1) * model.decision_function(X)).sum()
        primal = 0.5 * float((model.coef_**2).sum()) + loss
        assert_allclose(model.certificate_.objective, primal, rtol=1e-9)
        assert_allclose(model.history_[-1]["objective"], primal, rtol=1e-9)
        assert_allclose(model.certificate_.gap, primal + model.objective_, rtol=1e-6)
    rise = other.gap - one.gap
    assert_allclose(other.objective - one.objective, rise, rtol=1e-6)
    larger = max(np.sum(y == 0), np.sum(y == 1))
    distance = abs(best.intercept_[0] - free.intercept_[0])
    assert 0.0 < rise <= distance * larger


@EXHAUSTED
def test_seeds(breast):
    X, y = breast
    first = DPWSSClassifier(random_state=3).fit(X, y)
    again = DPWSSClassifier(random_state=3).fit(X, y)
    other = DPWSSClassifier(random_state=4).fit(X, y)
    assert_array_equal(first.coef_, again.coef_)
    assert not np.array_equal(first.coef_, other.coef_)


@EXHAUSTED
def test_report_counts_the_draws(breast):
    X, y = breast
    model = DPWSSClassifier(selection_epsilon=0.5, random_state=0).fit(X, y)
    report = model.privacy_report(delta=1e-6)
    assert report.n_draws == model.n_iter_.sum() > 0
    assert report.basic == pytest.approx(0.5 * model.n_iter_.sum())
    assert report.delta == 1e-6 and report.guarantee is False


@EXHAUSTED
def test_multiclass_and_sparse():
    X, y = load_iris(return_X_y=True)
    dense = DPWSSClassifier(random_state=0).fit(X, y)
    other = DPWSSClassifier(random_state=0).fit(sparse.csr_matrix(X), y)
    assert dense.objective_.shape == (3,) and len(dense.stop_reason_) == 3
    assert_allclose(dense.objective_, other.objective_, rtol=1e-6)
    assert dense.score(X, y) > 0.9


def test_no_sample_weight(breast):
    with pytest.raises(TypeError, match="sample_weight"):
        DPWSSClassifier().fit(*breast, sample_weight=np.ones(569))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("selection_epsilon", 0.0),
        ("selection_epsilon", -1.0),
        ("sigma", 0.0),
        ("sigma", 1.1),
        ("C", 0.0),
        ("intercept_rule", "mean"),
    ],
)
def test_bad_parameters(breast, name, value):
    with pytest.raises(ValueError, match=name):
        DPWSSClassifier(**{name: value}).fit(*breast)


def test_it_is_not_named_private():
    import widemargin

    assert "rivate" not in DPWSSClassifier.__name__
    assert "not a private estimator" in DPWSSClassifier.__doc__
    assert "DPWSSClassifier" in widemargin.__all__
