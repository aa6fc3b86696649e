"""What holds of classifiers holds of regressors, outlier and nu machines as well."""

from __future__ import annotations

import pickle
import sys
import threading

import numpy as np
import pytest
import sklearn.svm
from numpy.testing import assert_allclose
from sklearn.base import clone

from widemargin import SVC, SVR, NuSVC, NuSVR, OneClassSVM, QuantileSVR, save

from tests.estimators.test_deterministic import answers, assert_same
from tests.problems import noisy_curve

rng = np.random.default_rng(0)
X = rng.standard_normal((400, 5))
y = np.sin(X[:, 0]) + 0.3 * rng.standard_normal(400)
MODELS = [
    SVR(), NuSVR(), NuSVC(nu=0.4), OneClassSVM(nu=0.2),
    QuantileSVR(quantile=[0.1, 0.5, 0.9]), QuantileSVR(calibrate=False),
]  # fmt: skip
UPDATED = [SVR, OneClassSVM, QuantileSVR]
LARGER = 1.2  # times what scikit-learn's takes, at most


def targets(model, values=y):
    return (values > 0).astype(int) if isinstance(model, NuSVC | SVC) else values


@pytest.mark.parametrize("model", MODELS, ids=str)
@pytest.mark.parametrize("n", [60, 400])
def test_fits_are_the_same_to_the_last_bit(model, n):
    one, again, two = (
        clone(model).set_params(n_jobs=jobs).fit(X[:n], targets(model)[:n])
        for jobs in (1, 1, 2)
    )
    for other in (again, two):
        assert_same(one, other, X)


@pytest.mark.parametrize("model", [SVR(), NuSVR(), NuSVC(nu=0.4)], ids=str)
def test_a_weight_of_k_is_a_row_k_times(model):
    rows, labels, _ = noisy_curve(2, 60)
    labels = targets(model, labels - np.median(labels))
    times = np.random.default_rng(0).integers(0, 4, 60)
    model.set_params(gamma=0.5)
    weighted = clone(model).fit(rows, labels, times.astype(float))
    every = np.repeat(np.arange(60), times)
    repeated = clone(model).fit(rows[every], labels[every])
    assert_allclose(answers(weighted, rows), answers(repeated, rows), atol=1e-7)
    if isinstance(model, NuSVR):
        assert_allclose(weighted.epsilon_, repeated.epsilon_, atol=1e-7)


@pytest.mark.parametrize("name", ["rbf", "linear"])
@pytest.mark.parametrize("unit", [1e-12, 1e-8, 1e9])
@pytest.mark.parametrize("n", [40, 300])
@pytest.mark.parametrize(
    "model", [SVR(), SVR(epsilon=0.0), NuSVR(), QuantileSVR(calibrate=False)], ids=str
)
def test_targets_in_another_unit_have_the_model_in_that_unit(model, n, unit, name):
    asked = clone(model).set_params(kernel=name, gamma=0.5, C=2.0, polish=True)
    lengths = {"C", "tol", "epsilon"} & set(asked.get_params())
    scaled = {name: unit * asked.get_params()[name] for name in lengths}
    one = asked.fit(X[:n], y[:n])
    other = clone(asked).set_params(**scaled).fit(X[:n], unit * y[:n])
    assert one.certificate_.status == other.certificate_.status == "polished"
    assert other.certificate_.gap <= 1e-8 * other.certificate_.objective
    assert_allclose(other.predict(X) / unit, one.predict(X), atol=1e-7)


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_a_refused_fit_leaves_the_model(model):
    model = clone(model).fit(X[:50], targets(model)[:50])
    before = pickle.dumps(model)
    wrong = X.copy()
    wrong[7, 2] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        model.fit(wrong, targets(model))
    with pytest.raises(ValueError, match="sample_weight"):
        model.fit(X, targets(model), sample_weight=np.full(400, -np.inf))
    assert pickle.dumps(model) == before
    with pytest.raises(ValueError, match="features"):
        model.predict(X[:, :2])
    assert pickle.dumps(model) == before


@pytest.mark.parametrize("model", [SVR(), NuSVR(), QuantileSVR()], ids=str)
def test_targets_that_are_missing_are_named(model):
    wrong = y.astype(object)
    wrong[7] = None
    with pytest.raises(ValueError, match=r"y has 1 missing targets .* row 7\. Leave"):
        clone(model).fit(X, wrong)


@pytest.mark.parametrize("name", ["SVR", "NuSVR", "NuSVC", "OneClassSVM"])
def test_pickle_and_file_are_no_larger_than_those_of_scikit_learn(name, tmp_path):
    ours = {type(model).__name__: clone(model) for model in MODELS}[name]
    given = X, targets(ours)
    nu = {"nu": ours.nu} if hasattr(ours, "nu") else {}
    theirs = len(pickle.dumps(getattr(sklearn.svm, name)(**nu).fit(*given)))
    save(ours.fit(*given), tmp_path / "model")
    assert len(pickle.dumps(ours)) <= LARGER * theirs
    assert (tmp_path / "model").stat().st_size <= LARGER * theirs


@pytest.mark.parametrize("estimator", [SVC, *UPDATED])
def test_a_prediction_beside_updates_is_of_one_model(estimator):
    model = estimator(gamma=0.5, keep_rows=True, n_jobs=1)
    model.fit(X[:60], targets(model)[:60])
    prices = ("nu", 0.1, 0.6) if estimator is OneClassSVM else ("C", 0.2, 5.0)
    states = [{prices[0]: price} for price in prices[1:]]
    read = getattr(model, "decision_function", model.predict)
    low, high = (model.update(**state) and read(X) for state in states)
    mixtures, reads, done = [], [0], threading.Event()

    def predict():
        while not done.is_set():
            found = read(X)
            reads[0] += 1
            # a path there and back ends within rounding of where it began
            if min(np.abs(found - low).max(), np.abs(found - high).max()) > 1e-6:
                mixtures.append(found)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)  # threads take turns as often as they can
    readers = [threading.Thread(target=predict) for _ in range(3)]
    try:
        for reader in readers:
            reader.start()
        for turn in range(40):
            model.update(**states[turn % 2])
    finally:
        done.set()
        for reader in readers:
            reader.join()
        sys.setswitchinterval(interval)
    assert not mixtures and reads[0] > 0
