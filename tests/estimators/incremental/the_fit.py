"""The model that a learning and forgetting one has to be."""

from __future__ import annotations

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from widemargin import OneClassSVM


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


def outputs(model, samples):
    """Return the values of all outputs."""
    detects = isinstance(model, OneClassSVM)
    return model.decision_function(samples) if detects else model.predict(samples)


def assert_outputs_are_the_fit(model, samples, targets, weight=None):
    """Assert the same of a regressor or a one-class model."""
    fresh = clone(model).set_params(gamma=model.gamma_ or 1.0, polish=True)
    fresh.fit(samples, targets, sample_weight=weight)
    for ours, theirs in zip(certificates(model), certificates(fresh), strict=True):
        unit = 1.0 + abs(theirs.objective)
        assert ours.kkt_violation <= 1e-8 * unit
        assert 0 <= ours.gap <= 1e-7 * unit
        assert_allclose(ours.objective, theirs.objective, rtol=1e-7, atol=1e-9)
    expected = outputs(fresh, samples)
    unit = 1.0 + np.abs(expected).max()
    assert_allclose(outputs(model, samples), expected, rtol=0, atol=1e-7 * unit)
    assert model.shape_fit_ == (samples.shape[0], samples.shape[1])
    assert_array_equal(model.support_ < samples.shape[0], True)
