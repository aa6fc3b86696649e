"""Estimators that tune themselves: the model that they chose leaves as any other."""

from __future__ import annotations

import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import NotFittedError

import widemargin
from widemargin import SVCCV, SVRCV, QuantileSVRCV

from tests.exchange.models import IRIS, MORE, NUMBERS_OUT, SPECIES, X, values

SMALL = {"Cs": [1.0, 10.0], "gammas": [0.1, 0.4], "refine": False, "cv": 3}
TUNED = {
    "classes": (SVCCV(**SMALL), SPECIES),
    "regression": (SVRCV(**SMALL), IRIS[:, 0]),
    "quantile": (QuantileSVRCV(quantile=0.8, **SMALL), IRIS[:, 0]),
}


@pytest.mark.parametrize("kind", TUNED)
def test_the_chosen_model_leaves(kind, tmp_path):
    model, target = TUNED[kind]
    with pytest.raises(NotFittedError):
        model.to_sklearn()
    with pytest.raises(NotFittedError):
        model.to_libsvm(tmp_path / "model")
    model.fit(X, target)
    model.to_libsvm(tmp_path / "model")
    read = widemargin.from_libsvm(tmp_path / "model", n_features=4)
    for other in (model.to_sklearn(), read):
        assert_allclose(values(other, MORE), values(model, MORE), rtol=1e-5, atol=1e-6)
        if kind not in NUMBERS_OUT:
            assert_array_equal(other.predict(MORE), model.predict(MORE))


def test_others_refuse_with_the_reason():
    model = QuantileSVRCV(quantile=[0.2, 0.8], **SMALL).fit(X, IRIS[:, 0])
    with pytest.raises(ValueError, match="2 quantiles"):
        model.to_sklearn()


def test_a_notebook_shows_its_certificate():
    model = SVCCV(**SMALL)
    assert "widemargin-model" not in model._repr_html_()
    shown = model.fit(X, SPECIES)._repr_html_()
    assert "150 rows by 4 features" in shown and "duality gap" in shown


def test_every_model_that_is_a_kernel_expansion_can_leave():
    """All estimators but those whose model is a plane, not rows with coefficients."""
    staying = {
        name
        for name in widemargin.__all__
        if hasattr(getattr(widemargin, name), "predict")
        and not hasattr(getattr(widemargin, name), "to_sklearn")
    }
    # the search has best_estimator_, as GridSearchCV
    assert staying == {"ChanceConstrainedSVC", "PrivateSVC", "SharedGridSearchCV"}
