"""A prediction beside an update has the old model or the new one, never a mixture."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.datasets import make_moons

from widemargin import SVC, CostSensitiveSVC, DivideConquerSVC
from widemargin.estimators.base import prediction

X, y = make_moons(90, noise=0.25, random_state=0)
three = np.where(X[:, 0] > 1.0, 2, y)
CHANGES = {
    "partial_fit": lambda model: model.partial_fit(X[60:], three[60:]),
    "forget": lambda model: model.forget(np.arange(20)),
    "update": lambda model: model.update(C=0.1),
    "fit": lambda model: model.set_params(gamma=7.0).fit(X, y),
}
READS = {
    "decision_function": lambda model: model.decision_function(X),
    "predict": lambda model: model.predict(X),
    "coef_": lambda model: model.coef_,
}


def begun(estimator, kernel="rbf"):
    model = estimator(kernel=kernel, gamma=1.0, C=5.0, keep_rows=True, n_jobs=1)
    return model.fit(X[:60], three[:60])


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize(
    ("read", "kernel"),
    [("decision_function", "rbf"), ("predict", "rbf"), ("predict", "linear"),
     ("coef_", "linear")],
)  # fmt: skip
@pytest.mark.parametrize("estimator", [SVC, CostSensitiveSVC])
def test_a_change_in_the_middle_of_a_prediction(
    estimator, change, read, kernel, monkeypatch
):
    """After coefficients were read and before anything else is, all of it changes."""
    model = begun(estimator, kernel)
    expected = READS[read](model)
    plain = prediction.pair_coefficients

    def with_a_change(*arguments):
        monkeypatch.setattr(prediction, "pair_coefficients", plain)
        other = threading.Thread(target=CHANGES[change], args=(model,))
        other.start()
        other.join()
        return plain(*arguments)

    monkeypatch.setattr(prediction, "pair_coefficients", with_a_change)
    assert_array_equal(READS[read](model), expected)
    whole = begun(estimator, kernel)
    CHANGES[change](whole)
    assert_array_equal(READS[read](model), READS[read](whole))


def test_an_early_model_is_read_as_one(monkeypatch):
    model = DivideConquerSVC(
        gamma=1.0, prediction="early", early_level=1, random_state=0
    )
    expected = model.fit(X, three).decision_function(X)
    plain = DivideConquerSVC._checked

    def with_a_change(self, samples):
        monkeypatch.setattr(DivideConquerSVC, "_checked", plain)
        model.set_params(prediction="exact").fit(X, y)
        return plain(self, samples)

    monkeypatch.setattr(DivideConquerSVC, "_checked", with_a_change)
    assert_array_equal(model.decision_function(X), expected)
    assert model.early_ is None
