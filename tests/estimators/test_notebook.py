"""What a notebook shows: parameters as scikit-learn does, and what was proved."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn import config_context
from sklearn.datasets import load_iris

import widemargin

X, y = load_iris(return_X_y=True)


def test_certificate_and_shape_are_shown():
    model = widemargin.SVC().fit(X, y)
    for text in (model._repr_html_(), model._repr_mimebundle_()["text/html"]):
        assert "150 rows by 4 features" in text
        assert "polished" in text
        assert "duality gap" in text
        total = sum(one.objective for one in model.certificate_)
        assert f"{total:.8g}" in text
        assert f">{int(model.n_support_.sum())}<" in text


def test_nothing_is_added_without_a_model():
    assert "widemargin-model" not in widemargin.SVC()._repr_html_()


def test_labels_are_escaped():
    model = widemargin.SVC().fit(X[:100], np.array(["<b>", "&x"])[y[:100]])
    assert "&amp;x, &lt;b&gt;" in model._repr_html_()
    assert "<b>" not in model._repr_html_().split("widemargin-model")[1]


def test_a_kernel_without_a_bound_shows_none():
    model = widemargin.SVC(kernel="sigmoid", gamma=0.01).fit(X, y)
    table = model._repr_html_().split("widemargin-model")[1]
    assert "duality gap" not in table
    assert "KKT violation" in table


def test_regression_and_outliers_have_a_table():
    for model in (widemargin.SVR().fit(X, y), widemargin.OneClassSVM().fit(X)):
        assert "KKT violation" in model._repr_html_()


def test_the_setting_that_switches_it_off_is_scikit_learns():
    model = widemargin.SVC().fit(X, y)
    with config_context(display="text"):
        with pytest.raises(AttributeError):
            model._repr_html_()
        assert set(model._repr_mimebundle_()) == {"text/plain"}
