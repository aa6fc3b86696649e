"""DivideConquerSVC in memory: exact equals SVC, early is routed, nothing is lost."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from joblib import parallel_config
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_iris, make_classification, make_moons
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import check_estimator

import widemargin
from widemargin import SVC, DivideConquerSVC
from widemargin.engine.kernels import Gaussian
from widemargin.engine.solve import solve
from widemargin.engine.status import Status
from widemargin.estimators.divide_conquer import estimator as estimator_module
from widemargin.runtime.deadline import Deadline

from tests.certified import kernel_matrix, objective


def moons(n=1500, noise=0.25, seed=0):
    return make_moons(n, noise=noise, random_state=seed)


def dual_value(model, X, y):
    """Return the minimised dual of a fitted binary model, from its coefficients."""
    beta = np.zeros(len(y))
    coefficients = model.dual_coef_
    beta[model.support_] = np.asarray(
        coefficients.toarray() if sp.issparse(coefficients) else coefficients
    )[0]
    K = kernel_matrix(Gaussian(model.gamma_), X)
    return objective(K, beta, np.where(y == model.classes_[1], 1.0, -1.0))


def certified(model, tol=1e-3):
    records = model.certificate_
    for record in records if isinstance(records, list) else [records]:
        assert record.gap >= 0 and record.kkt_violation <= 1.5 * tol
        assert record.status in ("converged", "polished", "early")


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("n_levels", [1, 2])
def test_exact_through_levels_equals_svc(fit_intercept, n_levels):
    X, y = moons()
    common = {"C": 4.0, "gamma": 2.0, "fit_intercept": fit_intercept, "tol": 1e-7}
    divided = DivideConquerSVC(n_levels=n_levels, random_state=0, **common).fit(X, y)
    plain = SVC(**common).fit(X, y)
    certified(divided)
    assert divided.early_ is None
    assert_allclose(dual_value(divided, X, y), dual_value(plain, X, y), rtol=1e-6)
    assert_allclose(divided.decision_function(X), plain.decision_function(X), atol=1e-4)
    stages = [stage["stage"] for stage in divided.history_]
    assert stages[0] == f"level {n_levels}" and stages[-2:] == ["refine", "finish"]
    assert divided.history_[0]["recall"] > 0.5


def test_the_finish_starts_from_the_levels():
    X, y = moons(4000)
    warm = DivideConquerSVC(n_levels=1, random_state=0).fit(X, y)
    cold = SVC(random_state=0).fit(X, y)
    assert warm.history_[-1]["n_iter"] < 0.6 * cold.history_[-1]["n_iter"]


def test_no_level_is_plain_svc():
    X, y = moons()
    divided = DivideConquerSVC(n_levels=0, random_state=0).fit(X, y)
    plain = SVC(random_state=0).fit(X, y)
    assert_array_equal(divided.support_, plain.support_)
    # SVC solves small problems in one compiled call: the same point, other rounding
    assert_allclose(divided.dual_coef_, plain.dual_coef_, atol=1e-10)


def test_auto_skips_levels_and_says_so():
    X, y = moons()
    model = DivideConquerSVC(random_state=0).fit(X, y)
    assert model.history_[0]["stage"] == "levels"
    assert "save no time" in model.history_[0]["skipped"]
    certified(model)


def test_auto_takes_a_level_where_it_pays(monkeypatch):
    X, y = moons()
    monkeypatch.setattr(estimator_module, "levels_pay", lambda *_: True)
    model = DivideConquerSVC(n_branches=2, random_state=0, tol=1e-6).fit(X, y)
    stages = [stage["stage"] for stage in model.history_]
    assert stages == ["level 1", "refine", "finish"]
    plain = SVC(tol=1e-6).fit(X, y)
    assert_allclose(dual_value(model, X, y), dual_value(plain, X, y), rtol=1e-6)


def test_early_with_one_cluster_is_the_full_model():
    X, y = moons()
    early = DivideConquerSVC(
        C=4.0, gamma=2.0, prediction="early", early_level=0, tol=1e-8
    ).fit(X, y)
    plain = SVC(C=4.0, gamma=2.0, tol=1e-8).fit(X, y)
    assert early.early_.n_clusters == 1
    assert_allclose(early.decision_function(X), plain.decision_function(X), atol=1e-4)
    assert early.certificate_.status == "early"
    assert_allclose(
        early.certificate_.objective, plain.certificate_.objective, rtol=1e-6
    )


def test_early_prediction_is_the_model_of_the_own_cluster():
    X, y = moons()
    Z, _ = moons(200, seed=1)
    early = DivideConquerSVC(
        C=4.0, gamma=2.0, prediction="early", early_level=2, random_state=0, tol=1e-6
    ).fit(X, y)
    labels, decisions = early.early_.assign(Z), early.decision_function(Z)
    home = early.early_.assign(X)
    for cluster in np.unique(labels):
        own = home == cluster
        if len(np.unique(y[own])) < 2:  # it borrows: test_single_class_clusters.py
            continue
        local = SVC(C=4.0, gamma=2.0, tol=1e-6).fit(X[own], y[own])
        expected = local.decision_function(Z[labels == cluster])
        assert_allclose(decisions[labels == cluster], expected, atol=1e-4)
    certified(early)


def test_early_is_nearly_as_accurate_as_exact():
    X, y = moons(4000)
    Z, t = moons(4000, seed=1)
    early = DivideConquerSVC(prediction="early", early_level=2, random_state=0)
    exact = SVC().fit(X, y)
    assert early.fit(X, y).score(Z, t) > exact.score(Z, t) - 0.01


@pytest.mark.parametrize("prediction", ["early", "exact"])
def test_several_classes(prediction):
    X, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    model = DivideConquerSVC(
        prediction=prediction, n_levels=1, early_level=1 if prediction == "early" else
        "auto", random_state=0, C=10.0,
    ).fit(X, names)  # fmt: skip
    certified(model)
    assert len(model.certificate_) == 3
    assert model.score(X, names) > 0.94
    assert model.decision_function(X).shape == (150, 3)
    ovo = clone(model).set_params(decision_function_shape="ovo").fit(X, names)
    assert ovo.decision_function(X).shape == (150, 3)
    if prediction == "exact":
        plain = SVC(C=10.0).fit(X, names)
        assert_array_equal(model.predict(X), plain.predict(X))


def test_clusters_of_one_class_answer_with_it():
    # three far blobs, three clusters: each cluster knows one class only
    rng = np.random.default_rng(0)
    centres = np.array([[0.0, 0.0], [50.0, 0.0], [0.0, 50.0]])
    y = np.repeat([0, 1, 2], 40)
    X = centres[y] + rng.normal(size=(120, 2))
    model = DivideConquerSVC(
        prediction="early", early_level=1, n_branches=3, random_state=0
    ).fit(X, y)
    assert model.early_.n_clusters == 3
    assert_array_equal(model.predict(X), y)
    assert_array_equal(model.predict(centres), [0, 1, 2])


@pytest.mark.parametrize("prediction", ["early", "exact"])
def test_dense_csr_and_float32_agree(prediction):
    X, y = make_classification(800, 6, random_state=0, flip_y=0.05)
    X = np.where(np.abs(X) < 0.3, 0.0, X).astype(np.float32)
    model = DivideConquerSVC(
        gamma=0.3, n_levels=1, early_level="auto", prediction=prediction, tol=1e-6,
        n_branches=4, random_state=0,
    )  # fmt: skip
    if prediction == "early":
        model.set_params(early_level=1)
    dense = clone(model).fit(X.astype(np.float64), y)
    sparse = clone(model).fit(sp.csr_matrix(X.astype(np.float64)), y)
    single = clone(model).fit(X, y)
    assert single.support_vectors_.dtype == np.float32
    expected = dense.decision_function(X.astype(np.float64))
    assert_allclose(sparse.decision_function(sp.csr_matrix(X)), expected, atol=2e-4)
    assert_allclose(single.decision_function(X), expected, atol=2e-4)
    certified(dense)


@pytest.mark.parametrize("prediction", ["early", "exact"])
def test_same_model_whatever_n_jobs_and_backend(prediction):
    X, y = moons()
    model = DivideConquerSVC(n_levels=2, prediction=prediction, random_state=0)
    if prediction == "early":
        model.set_params(early_level=1)
    one = clone(model).set_params(n_jobs=1).fit(X, y)
    four = clone(model).set_params(n_jobs=4).fit(X, y)
    with parallel_config(backend="threading", n_jobs=2):
        configured = clone(model).fit(X, y)
    for other in (four, configured):
        assert_array_equal(one.support_, other.support_)
        assert_array_equal(one.dual_coef_, other.dual_coef_)
        assert_array_equal(one.decision_function(X), other.decision_function(X))


@pytest.mark.parametrize("kernel", ["precomputed", "poly", "laplacian", "callable"])
def test_other_kernels(kernel):
    X, y = moons(400)
    K = kernel_matrix(Gaussian(2.0), X)
    parameters = {
        "prediction": "early",
        "early_level": 1,
        "random_state": 0,
        "tol": 1e-6,
    }
    if kernel == "precomputed":
        model = DivideConquerSVC(kernel=kernel, **parameters).fit(K, y)
        assert model.score(K, y) > 0.9
        weights = np.ones(400)
        weights[::7] = 0  # dropped rows keep their columns at prediction
        fewer = DivideConquerSVC(kernel=kernel, **parameters).fit(K, y, weights)
        same = DivideConquerSVC(gamma=2.0, clustering="kernel", **parameters)
        same.fit(X, y, weights)
        assert_allclose(
            fewer.decision_function(K), same.decision_function(X), atol=1e-3
        )
    elif kernel in ("poly", "laplacian"):
        model = DivideConquerSVC(kernel=kernel, coef0=1.0, **parameters).fit(X, y)
        assert model.early_.router.__class__.__name__ == "KernelRouter"
        assert model.score(X, y) > 0.8
    else:
        model = DivideConquerSVC(kernel=lambda A, B: A @ B.T, **parameters).fit(X, y)
        assert model.score(X, y) > 0.8


def test_clustering_ways():
    X, y = moons()
    for way in ("input", "kernel", "random"):
        model = DivideConquerSVC(
            prediction="early", early_level=1, clustering=way, random_state=0
        ).fit(X, y)
        assert_array_equal(model.early_.assign(X[:50]), model.early_.assign(X)[:50])
        assert model.score(X, y) > 0.88


def test_degenerate_data():
    twins = np.ones((30, 2))
    y = np.arange(30) % 2
    for prediction in ("early", "exact"):
        model = DivideConquerSVC(
            prediction=prediction, n_levels=2, early_level="auto", random_state=0
        ).fit(twins, y)
        assert set(model.predict(twins)) <= {0, 1}
    few = DivideConquerSVC(prediction="early", early_level=3, random_state=0)
    X = np.arange(5.0)[:, None]
    few.fit(X, [0, 0, 1, 1, 1])
    assert few.early_.n_clusters <= 5
    assert_array_equal(few.predict(X), [0, 0, 1, 1, 1])


def test_time_limit_during_the_finish_keeps_the_last_level(monkeypatch):
    X, y = moons()

    def never_in_time(problem, beta, options, *, refine, record):
        limited = replace(options, max_iter=1, exact=False)
        solution = solve(problem, limited, start=beta)
        return replace(solution, status=Status.MAX_TIME)

    monkeypatch.setattr(estimator_module, "conquer", never_in_time)
    model = DivideConquerSVC(n_levels=2, random_state=0, max_time=100.0)
    with pytest.warns(ConvergenceWarning, match=r"max_time.*level 1"):
        model.fit(X, y)
    assert model.early_ is not None and model.fit_status_ == 1
    assert model.score(X, y) > 0.9


@pytest.mark.usefixtures("interrupted_finish")
def test_ctrl_c_during_the_finish_keeps_the_last_level():
    X, y = moons()
    model = DivideConquerSVC(n_levels=2, random_state=0)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert model.fit_status_ == 1 and model.certificate_.status == "interrupted"
    early = DivideConquerSVC(
        n_levels=2, prediction="early", early_level=1, random_state=0
    ).fit(X, y)
    assert_array_equal(model.decision_function(X), early.decision_function(X))
    with pytest.raises(KeyboardInterrupt):
        DivideConquerSVC(n_levels=0).fit(X, y)


def test_a_time_limit_that_passes_during_the_finish(monkeypatch):
    # the deadline is set when the level is there: no race with a busy machine
    plain = DivideConquerSVC._conquer

    def conquer(self, task, run):
        return plain(self, replace(task, deadline=Deadline.after(0.05)), run)

    monkeypatch.setattr(DivideConquerSVC, "_conquer", conquer)
    X, y = make_classification(20_000, 10, flip_y=0.2, random_state=0)
    model = DivideConquerSVC(C=1000.0, gamma=5.0, n_levels=3, random_state=0)
    with pytest.warns(ConvergenceWarning, match="max_time"):
        model.set_params(max_time=1e4).fit(
            X, y
        )  # the whole takes a hundred times as long
    assert model.early_ is not None
    assert model.score(X, y) > 0.7


def test_verbose_shows_levels_and_clusters(capsys):
    X, y = moons()
    DivideConquerSVC(n_levels=2, verbose=True, random_state=0).fit(X, y)
    shown = capsys.readouterr().err
    assert "level 2" in shown and "level 1" in shown and "cluster" in shown


@pytest.mark.parametrize("prediction", ["early", "exact"])
def test_models_survive_pickle_and_model_files(prediction, tmp_path):
    X, y = moons()
    model = DivideConquerSVC(prediction=prediction, random_state=0)
    if prediction == "early":
        model.set_params(early_level=2)
    model.fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    assert_array_equal(again.decision_function(X), model.decision_function(X))
    widemargin.save(model, tmp_path / "model.wm")
    loaded = widemargin.load(tmp_path / "model.wm")
    assert_array_equal(loaded.decision_function(X), model.decision_function(X))
    assert loaded.certificate_ == model.certificate_


def test_sample_weight_scales_c():
    X, y = moons(600)
    early = DivideConquerSVC(prediction="early", early_level=1, random_state=0)
    weighted = clone(early).fit(X, y, np.full(600, 3.0))
    tripled = clone(early).set_params(C=3.0).fit(X, y)
    assert_allclose(
        weighted.decision_function(X), tripled.decision_function(X), atol=1e-9
    )


def test_coef_of_linear_models():
    X, y = make_classification(300, 4, random_state=0)
    exact = DivideConquerSVC(kernel="linear", n_levels=1, random_state=0).fit(X, y)
    assert_allclose(
        X @ exact.coef_[0] + exact.intercept_, exact.decision_function(X), atol=1e-6
    )
    early = DivideConquerSVC(kernel="linear", prediction="early", early_level=1)
    with pytest.raises(AttributeError, match="each cluster"):
        _ = early.fit(X, y).coef_


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_branches": 1}, "n_branches"),
        ({"n_levels": -1}, "n_levels"),
        ({"clustering": "ward"}, "clustering"),
        ({"prediction": "soon"}, "prediction"),
        ({"sample_size": 0}, "sample_size"),
        ({"prediction": "early", "n_levels": 2, "early_level": 3}, "lower early_level"),
        ({"prediction": "exact", "n_levels": 2, "early_level": 3}, "lower early_level"),
        ({"prediction": "early", "early_level": 1, "max_time": 1e-9}, "raise max_time"),
    ],
)
def test_bad_parameters_are_named(parameters, message):
    X, y = moons(200)
    with pytest.raises(ValueError, match=message):
        DivideConquerSVC(**parameters).fit(X, y)


def test_nan_is_refused():
    X, y = moons(200)
    X[3, 1] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        DivideConquerSVC().fit(X, y)


def test_scikit_learn_checks_for_early_models():
    outcomes = check_estimator(
        DivideConquerSVC(prediction="early"), on_skip=None, on_fail=None
    )
    assert [o["check_name"] for o in outcomes if o["status"] == "failed"] == []
