"""Every option and argument of ChanceConstrainedSVC reaches its solver."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn import config_context
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_validate
from sklearn.pipeline import make_pipeline

from widemargin import ChanceConstrainedSVC
from widemargin.estimators.chance_constrained import chance_problem, training
from widemargin.estimators.chance_constrained.chance_problem import ChanceProblem
from widemargin.uncertainty.covariance_tables import FullTable, Uncertainty

from .test_stochastic import published_steps

N, D = 80, 3


@pytest.fixture(scope="module")
def clouds():
    rng = np.random.default_rng(0)
    y = np.arange(N) % 2
    return rng.normal(size=(N, D)) + 1.2 * y[:, None], y


def own_covariances(name, units=(1.0, 1.0, 1.0)):
    """Return `fit`'s argument of that name: covariances of single samples."""
    rng, units = np.random.default_rng(1), np.asarray(units)
    factors = 0.15 * rng.normal(size=(N, D, 2)) * units[:, None]
    if name == "covariance_factor":
        return {name: factors}
    if name == "variances":
        return {"covariance": 0.1 * rng.random((N, D)) * np.square(units)}
    return {"covariance": factors @ factors.transpose(0, 2, 1)}


@pytest.mark.parametrize("solver", ["newton", "socp", "ssgd"])
def test_without_intercept_the_boundary_stays_at_the_origin(clouds, solver):
    X, y = clouds
    options = {"fit_intercept": False, "covariance_scale": 0.0}
    model = ChanceConstrainedSVC(solver=solver, random_state=0, **options).fit(X, y)
    assert_array_equal(model.intercept_, [0.0])
    # the linear SVM without intercept, by its dual without the equality
    signs = np.where(y == 1, 1.0, -1.0)
    alpha, products = np.zeros(N), (signs[:, None] * X) @ (signs[:, None] * X).T
    for _ in range(3_000):
        i = int(np.argmax(np.abs(np.clip(alpha - products @ alpha + 1, 0, 1) - alpha)))
        step = (1.0 - products[i] @ alpha) / products[i, i]
        alpha[i] = np.clip(alpha[i] + step, 0.0, 1.0)
    best = alpha.sum() - 0.5 * alpha @ products @ alpha
    assert best * (1 - 1e-9) <= model.certificate_.objective <= 1.01 * best
    if solver != "ssgd":
        assert_allclose(model.certificate_.objective, best, rtol=1e-6)
        assert_allclose(model.coef_[0], (alpha * signs) @ X, rtol=1e-3)


@pytest.mark.parametrize("sampling", ["permutation", "replacement"])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_the_published_method_in_memory_is_its_formula(clouds, sampling, fit_intercept):
    X, y = clouds
    matrix = 0.02 * np.eye(D)
    options = {"sampling": sampling, "fit_intercept": fit_intercept, "epochs": 3}
    model = ChanceConstrainedSVC(
        solver="ssgd", refine=False, covariance=matrix, random_state=4, **options
    ).fit(X, y)
    rng = model._generator()
    draw = {
        "permutation": lambda: rng.permutation(N),
        "replacement": lambda: rng.integers(N, size=N),
    }[sampling]
    orders = [draw() for _ in range(3)]
    visited_once = [len(set(order.tolist())) == N for order in orders]
    assert all(visited_once) == (sampling == "permutation")
    signs = np.where(y == 1, 1.0, -1.0)
    table = Uncertainty(FullTable(matrix[None]), np.zeros(N, dtype=np.intp))
    problem = ChanceProblem(X, signs, np.ones(N), table, 3.0, fit_intercept)
    w, b = published_steps(problem, np.concatenate(orders))
    assert_allclose(model.coef_[0], w, rtol=1e-9)
    assert_allclose(model.intercept_[0], b, rtol=1e-9)


@pytest.mark.parametrize("name", ["variances", "matrices", "covariance_factor"])
def test_cones_of_single_samples_find_the_optimum(clouds, name):
    X, y = clouds
    own = own_covariances(name)
    cones = ChanceConstrainedSVC(solver="socp", tol=1e-8).fit(X, y, **own)
    exact = ChanceConstrainedSVC().fit(X, y, **own)
    for model in (cones, exact):
        certificate = model.certificate_
        assert 0.0 <= certificate.gap <= 1e-6 * certificate.objective
    assert_allclose(
        cones.certificate_.objective, exact.certificate_.objective, rtol=1e-7
    )
    assert_allclose(cones.coef_, exact.coef_, rtol=1e-3)


@pytest.mark.parametrize("shared", [True, False])
def test_covariances_of_classes_share_their_cones(clouds, shared, monkeypatch):
    X, y = clouds
    called = []
    for name in ("shared_cones", "sample_cones"):
        solve = getattr(training, name)
        monkeypatch.setattr(
            training,
            name,
            lambda *given, name=name, solve=solve, **options: (
                called.append(name) or solve(*given, **options)
            ),
        )
    own = {} if shared else own_covariances("variances")
    model = ChanceConstrainedSVC(solver="socp").fit(X, y, **own)
    assert called == ["shared_cones" if shared else "sample_cones"]
    assert 0.0 <= model.certificate_.gap <= 1e-6 * model.certificate_.objective


@pytest.mark.parametrize("form", ["dict", "one matrix", "matrices", "factors"])
def test_standardize_is_scaling_both_by_hand_in_every_form(clouds, form):
    X, y = clouds
    units = np.array([1.0, 30.0, 0.02])
    X = X * units + [5.0, -100.0, 0.0]
    mean, scale = X.mean(axis=0), X.std(axis=0)
    square = np.outer(scale, scale)
    given, by_hand, constructor, scaled = {}, {}, {}, {}
    root = 0.2 * np.random.default_rng(3).normal(size=(2, D, D)) * units[:, None]
    matrices = root @ root.transpose(0, 2, 1)
    if form == "dict":
        constructor = {"covariance": dict(enumerate(matrices))}
        scaled = {"covariance": dict(enumerate(matrices / square))}
    elif form == "one matrix":
        constructor = {"covariance": matrices[0]}
        scaled = {"covariance": matrices[0] / square}
    elif form == "matrices":
        given = own_covariances("matrices", units)
        by_hand = {"covariance": given["covariance"] / square}
    else:
        given = own_covariances("covariance_factor", units)
        factors = given["covariance_factor"]
        by_hand = {"covariance_factor": factors / scale[:, None]}
    inside = ChanceConstrainedSVC(standardize=True, **constructor).fit(X, y, **given)
    outside = ChanceConstrainedSVC(**scaled).fit((X - mean) / scale, y, **by_hand)
    # matrices of rank two, rounded, are not semidefinite to the last digit
    relative = 1e-6 if form == "matrices" else 1e-9
    for model in (inside, outside):
        assert model.certificate_.gap <= relative * model.certificate_.objective
    assert_allclose(inside.slack_, outside.slack_, atol=1e-9)
    assert_allclose(inside.coef_ * scale, outside.coef_, rtol=1e-7)
    assert_allclose(
        inside.decision_function(X),
        outside.decision_function((X - mean) / scale),
        rtol=1e-7,
        atol=1e-9,
    )


def routed():
    """Return what can be routed to `fit`, one value for each row."""
    weights = np.random.default_rng(2).integers(1, 4, size=N).astype(float)
    return [
        own_covariances("variances"),
        own_covariances("covariance_factor"),
        {"sample_weight": weights},
        {**own_covariances("covariance_factor"), "sample_weight": weights},
    ]


@pytest.mark.parametrize("metadata", routed(), ids=lambda given: " and ".join(given))
def test_metadata_is_routed_row_by_row(clouds, metadata):
    X, y = clouds
    folds = StratifiedKFold(3)
    with config_context(enable_metadata_routing=True):
        model = ChanceConstrainedSVC()
        model.set_fit_request(**dict.fromkeys(metadata, True))
        if "sample_weight" in metadata:
            model.set_score_request(sample_weight=True)
        pipeline = make_pipeline("passthrough", model)
        scored = cross_validate(
            pipeline, X, y, params=metadata, cv=folds, return_estimator=True
        )
        search = GridSearchCV(pipeline, {"chanceconstrainedsvc__C": [1.0]}, cv=folds)
        search.fit(X, y, **metadata)
    for (train, _), fitted in zip(folds.split(X, y), scored["estimator"], strict=True):
        parts = {name: values[train] for name, values in metadata.items()}
        alone = ChanceConstrainedSVC().fit(X[train], y[train], **parts)
        assert alone.certificate_.gap <= 1e-9 * alone.certificate_.objective
        assert_allclose(fitted[-1].coef_, alone.coef_, rtol=1e-9)
    whole = ChanceConstrainedSVC().fit(X, y, **metadata)
    assert whole.certificate_.gap <= 1e-9 * whole.certificate_.objective
    assert_allclose(search.best_estimator_[-1].coef_, whole.coef_, rtol=1e-9)


@pytest.mark.parametrize("shape", [(N, D), (N, D, D)])
def test_the_constructor_refuses_covariances_of_single_samples(clouds, shape):
    X, y = clouds
    model = ChanceConstrainedSVC(covariance=np.ones(shape))
    with pytest.raises(ValueError, match=r"of single samples go to fit\."):
        model.fit(X, y)
    online = ChanceConstrainedSVC(covariance=np.ones(shape), solver="ssgd")
    with pytest.raises(ValueError, match=r"of single samples go to fit\."):
        online.partial_fit(X, y, classes=[0, 1])
    with pytest.raises(ValueError, match=r"of single samples go to fit\."):
        online.fit_blocks([(X, y)])


def test_more_features_than_a_matrix_has_memory_for_are_refused(clouds, monkeypatch):
    """Of covariances, and of Newton's method where these are variances of samples."""
    rows = sparse.csr_array((np.ones(4), np.arange(4), np.arange(5)), shape=(4, 2**40))
    with pytest.raises(ValueError, match="X has 1099511627776 features: covariances"):
        ChanceConstrainedSVC().fit(rows, [0, 1, 0, 1])
    X, y = clouds
    monkeypatch.setattr(chance_problem, "free_megabytes", lambda: 71e-6)
    with pytest.raises(ValueError, match=r"3 x 3 numbers, 7\.2e-05 MB in all"):
        ChanceConstrainedSVC().fit(X, y, covariance=np.full((N, D), 0.01))


def test_what_rounding_leaves_of_singular_covariances_names_the_factors():
    """As matrices they are not known to be semidefinite, as factors they are."""
    rng = np.random.default_rng(0)
    y, factors = np.arange(60) % 2, 2e3 * rng.normal(size=(60, 12, 6))
    X = 1e3 * rng.normal(size=(60, 12))
    model = ChanceConstrainedSVC(C=7e3, risk=0.5)
    with pytest.warns(ConvergenceWarning, match=r"rounding .* as covariance_factor\."):
        model.fit(X, y, covariance=factors @ factors.transpose(0, 2, 1))
    assert model.certificate_.status == "stalled"
    model.fit(X, y, covariance_factor=factors)
    assert model.certificate_.status == "polished"
