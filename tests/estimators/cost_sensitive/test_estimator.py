"""CostSensitiveSVC: its special cases, prices per pair, roles, refusals."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_iris, make_moons
from sklearn.svm import SVC as LibSVC

from widemargin import SVC, CostSensitiveSVC

X, y = make_moons(200, noise=0.3, random_state=0)
iris, species = load_iris(return_X_y=True)


def recall(model, samples, labels, positive):
    """Return the share of the positive class that is found."""
    return float(np.mean(model.predict(samples[labels == positive]) == positive))


@pytest.mark.parametrize("kernel", ["linear", "poly", "rbf", "laplacian", "sigmoid"])
def test_at_the_defaults_it_is_svc(kernel):
    settings = {"kernel": kernel, "gamma": 0.5, "C": 3.0, "coef0": 0.1}
    ours = CostSensitiveSVC(**settings).fit(X, y)
    plain = SVC(**settings).fit(X, y)
    assert_allclose(
        ours.decision_function(X), plain.decision_function(X), rtol=0, atol=1e-10
    )
    assert ours.certificate_.kkt_violation <= 1e-8
    three = CostSensitiveSVC(**settings).fit(iris, species)
    assert_allclose(
        three.decision_function(iris),
        SVC(**settings).fit(iris, species).decision_function(iris),
        rtol=0,
        atol=1e-10,
    )


def test_at_c_minus_one_it_is_the_svm_with_two_costs():
    ours = CostSensitiveSVC(C=2.0, gamma=1.0, cost_positive=4.0).fit(X, y)
    two = SVC(C=2.0, gamma=1.0, class_weight={1: 4.0}).fit(X, y)
    assert_allclose(
        ours.decision_function(X), two.decision_function(X), rtol=0, atol=1e-10
    )
    theirs = LibSVC(C=2.0, gamma=1.0, class_weight={1: 4.0}, tol=1e-9).fit(X, y)
    # LIBSVM keeps kernel rows in float32, hence the looser bound
    assert_allclose(
        ours.decision_function(X), theirs.decision_function(X), rtol=0, atol=1e-5
    )


@pytest.mark.parametrize("cost_negative", [1.5, 2.0, 4.0])
def test_above_it_moves_the_negative_margin(cost_negative):
    """On separable data class weights change nothing; C- does (the paper's point)."""
    points = np.array([[0.0], [1.0], [4.0], [5.0]])
    labels = np.array([0, 0, 1, 1])
    model = CostSensitiveSVC(
        C=1e4, kernel="linear", cost_positive=20.0, cost_negative=cost_negative
    ).fit(points, labels)
    margin = 1 / (2 * cost_negative - 1)
    assert_allclose(
        model.decision_function(points[[1, 2]]), [-margin, 1.0], rtol=0, atol=1e-8
    )
    weighted = SVC(C=1e4, kernel="linear", class_weight={1: 20.0}).fit(points, labels)
    assert_allclose(
        weighted.decision_function(points[[1, 2]]), [-1.0, 1.0], rtol=0, atol=1e-8
    )
    assert model.certificate_.kkt_violation <= 1e-8


def test_pos_label_turns_the_roles_round():
    names = np.array(["cheap", "dear"])[y]
    model = CostSensitiveSVC(gamma=1.0, cost_positive=9.0, cost_negative=2.0)
    second = model.fit(X, names)
    assert second.pair_costs_[0].positive == 1
    ratio = recall(second, X, names, "dear") - recall(second, X, names, "cheap")
    assert ratio > 0
    turned = CostSensitiveSVC(
        gamma=1.0, cost_positive=9.0, cost_negative=2.0, pos_label="cheap"
    ).fit(X, names)
    assert recall(turned, X, names, "cheap") > recall(turned, X, names, "dear")
    mirror = CostSensitiveSVC(gamma=1.0, cost_positive=9.0, cost_negative=2.0)
    mirror.fit(X, 1 - y)
    assert_allclose(
        turned.decision_function(X), -mirror.decision_function(X), rtol=0, atol=1e-8
    )
    with pytest.raises(ValueError, match="pos_label='none'"):
        CostSensitiveSVC(pos_label="none").fit(X, names)
    with pytest.raises(ValueError, match=r"pos_label=\['cheap', 'dear'\]"):
        CostSensitiveSVC(pos_label=["cheap", "dear"]).fit(X, names)


def test_cost_matrix_of_two_classes_is_a_ratio_in_units_of_its_geometric_mean():
    model = CostSensitiveSVC(gamma=1.0, cost_matrix=[[0, 1], [5, 0]]).fit(X, y)
    same = CostSensitiveSVC(gamma=1.0, C=5**-0.5, cost_positive=5.0).fit(X, y)
    assert_allclose(
        model.decision_function(X), same.decision_function(X), rtol=0, atol=1e-9
    )


def test_equal_costs_of_two_classes_are_svc():
    model = CostSensitiveSVC(gamma=1.0, cost_matrix=[[0, 7], [7, 0]]).fit(X, y)
    plain = SVC(gamma=1.0).fit(X, y)
    assert_allclose(
        model.decision_function(X), plain.decision_function(X), rtol=0, atol=1e-10
    )


def test_dearer_misses_are_rarer():
    found = [
        recall(CostSensitiveSVC(gamma=1.0, C=0.3, cost_positive=c).fit(X, y), X, y, 1)
        for c in (1.0, 3.0, 30.0)
    ]
    assert found[0] <= found[1] <= found[2] and found[0] < found[2]


def test_weights_and_class_weights_multiply_the_costs():
    weight = np.linspace(0.2, 2.0, 200)
    model = CostSensitiveSVC(gamma=1.0, cost_positive=6.0, class_weight={1: 0.5})
    model.fit(X, y, sample_weight=weight)
    plain = SVC(gamma=1.0).fit(X, y, sample_weight=weight * np.where(y == 1, 3.0, 1.0))
    assert_allclose(
        model.decision_function(X), plain.decision_function(X), rtol=0, atol=1e-9
    )


def test_solver_divide_ends_at_the_same_model():
    settings = {"gamma": 1.0, "cost_positive": 5.0, "cost_negative": 2.0}
    direct = CostSensitiveSVC(solver="direct", **settings).fit(X, y)
    divided = CostSensitiveSVC(solver="divide", random_state=0, **settings).fit(X, y)
    assert_allclose(
        direct.decision_function(X), divided.decision_function(X), rtol=0, atol=1e-7
    )


@pytest.mark.parametrize(
    "params",
    [
        {"pos_label": 0},
        {"cost_matrix": [[0, 1], [6, 0]], "cost_positive": 1.0},
        {"cost_matrix": [[0, 6], [1, 0]], "cost_positive": 1.0, "cost_negative": 1.5},
    ],
    ids=str,
)
def test_an_update_of_roles_or_prices_is_the_fit_with_them(params):
    settings = {"gamma": 1.0, "cost_positive": 5.0, "cost_negative": 2.0}
    model = CostSensitiveSVC(keep_rows=True, **settings).fit(X, y)
    before = model.decision_function(X)
    model.update(**params)
    fresh = CostSensitiveSVC(**settings | params).fit(X, y)
    assert model.pair_costs_ == fresh.pair_costs_
    assert model.certificate_.kkt_violation <= 1e-8
    assert_allclose(
        model.decision_function(X), fresh.decision_function(X), rtol=0, atol=1e-8
    )
    assert np.abs(model.decision_function(X) - before).max() > 0.1


def test_refusals_and_warnings():
    with pytest.raises(ValueError, match=r"cost_negative > 0\.5"):
        CostSensitiveSVC(cost_negative=0.5).fit(X, y)
    with pytest.raises(ValueError, match="cost_positive"):
        CostSensitiveSVC(cost_positive=0.0).fit(X, y)
    with pytest.warns(UserWarning, match="roles are reversed"):
        model = CostSensitiveSVC(gamma=1.0, cost_negative=4.0).fit(X, y)
    assert model.certificate_.kkt_violation <= 1e-8
    with pytest.raises(ValueError, match="leave cost_positive and pos_label"):
        CostSensitiveSVC(cost_matrix=[[0, 1], [1, 0]], cost_positive=2.0).fit(X, y)
    with pytest.raises(ValueError, match="which of the 3 classes"):
        CostSensitiveSVC(cost_positive=5.0).fit(iris, species)
    with pytest.raises(ValueError, match="shape"):
        CostSensitiveSVC(cost_matrix=np.ones((2, 2))).fit(iris, species)


def test_pos_label_among_several_classes():
    model = CostSensitiveSVC(gamma=0.5, C=0.05, cost_positive=50.0, pos_label=2)
    model.fit(iris, species)
    plain = SVC(gamma=0.5, C=0.05).fit(iris, species)
    assert_allclose(
        model.certificate_[0].objective, plain.certificate_[0].objective, rtol=1e-9
    )
    assert recall(model, iris, species, 2) >= recall(plain, iris, species, 2)
    assert_array_equal(model.classes_, [0, 1, 2])


@pytest.mark.parametrize(("plus", "minus"), [(1.0, 4.0), (9.0, 2.5), (3.0, 1.0)])
def test_with_an_intercept_it_is_class_weights_and_a_moved_threshold(plus, minus):
    """Ours, and the honest limit of the method (see the documentation).

    F = scale * G + shift, with G the SVM with two costs at weights / scale: the margins
    1 and -1/(2C- - 1) become 1 and -1, and the free intercept takes the shift.
    """
    weight = 2 * minus - 1
    scale, shift = minus / weight, (minus - 1) / weight
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # (1, 4) reverses the roles
        ours = CostSensitiveSVC(
            C=2.0, gamma=1.0, cost_positive=plus, cost_negative=minus
        ).fit(X, y)
    two = SVC(C=2.0, gamma=1.0, class_weight={1: plus / scale, 0: weight / scale})
    moved = scale * two.fit(X, y).decision_function(X) + shift
    assert_allclose(ours.decision_function(X), moved, rtol=0, atol=1e-8)
