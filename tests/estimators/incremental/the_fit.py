"""The model that a learning and forgetting one has to be."""

from __future__ import annotations

from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone


def certificates(model):
    """Return the certificates of all pairs as a list."""
    found = model.certificate_
    return found if isinstance(found, list) else [found]


def assert_is_the_fit(model, samples, labels, weight=None, atol=1e-8):
    """Assert that the model is that of fit on these rows, exactly optimal."""
    for certificate in certificates(model):
        assert certificate.kkt_violation <= 1e-8
        assert certificate.gap >= 0
    fresh = clone(model).set_params(gamma=model.gamma_ or 1.0, polish=True)
    fresh.fit(samples, labels, sample_weight=weight)
    expected = fresh.decision_function(samples)
    assert_allclose(model.decision_function(samples), expected, rtol=0, atol=atol)
    for ours, theirs in zip(certificates(model), certificates(fresh), strict=True):
        assert_allclose(ours.objective, theirs.objective, rtol=1e-8)
    assert_array_equal(model.classes_, fresh.classes_)
    assert len(model.support_vectors_.shape) == 2
    assert model.shape_fit_ == (len(labels), samples.shape[1])
