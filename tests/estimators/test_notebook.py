"""What a notebook shows: parameters as scikit-learn does, and what was proved."""

from __future__ import annotations

import warnings

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


def table_of(model):
    return model._repr_html_().split("widemargin-model")[1]


def test_error_bars_show_the_bound_and_whom_it_covers():
    model = widemargin.ChanceConstrainedSVC(risk=0.2).fit(X[:100], y[:100])
    table = table_of(model)
    assert "probability 0.2 at most, every distribution with these moments" in table
    assert f"of {model.bounded_share_:.1%} of the training samples" in table
    assert "duality gap" in table
    normal = widemargin.ChanceConstrainedSVC(bound="gaussian").fit(X[:100], y[:100])
    assert "0.1 at most, normal errors" in table_of(normal)


def test_privacy_is_shown_as_the_report_states_it():
    model = widemargin.PrivateSVC(
        2.0, clip_norm=1.0, classes=(0, 1), insecure_noise=True
    )
    assert "widemargin-model" not in model._repr_html_()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X[:100], y[:100])
    table = table_of(model)
    assert "Differentially private: epsilon = 2, delta = 1e-05" in table
    assert "gradient perturbation" in table
    assert " s<" not in table  # no time: it depends on the data
    assert "100" not in table  # nor the number of rows, which add-remove protects
    with pytest.warns(widemargin.PrivacyWarning):
        found = widemargin.PrivateSVC(2.0, clip_norm=1.0, insecure_noise=True)
        found.fit(X[:100], y[:100])
    assert "NO PRIVACY GUARANTEE" in table_of(found)


def test_dpwss_shows_that_nothing_is_guaranteed():
    model = widemargin.DPWSSClassifier(once=False, random_state=0).fit(X[:100], y[:100])
    assert "no guarantee" in table_of(model) and "KKT violation" in table_of(model)


def test_the_setting_that_switches_it_off_is_scikit_learns():
    model = widemargin.SVC().fit(X, y)
    with config_context(display="text"):
        with pytest.raises(AttributeError):
            model._repr_html_()
        assert set(model._repr_mimebundle_()) == {"text/plain"}
