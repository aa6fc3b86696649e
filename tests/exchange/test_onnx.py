"""ONNX by skl2onnx, run by onnxruntime: in float32, which is the operator's."""

from __future__ import annotations

import numpy as np
import onnxruntime
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from skl2onnx import to_onnx
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

import widemargin

from tests.exchange.models import (
    IRIS,
    KERNELS,
    KINDS,
    MORE,
    NUMBERS_OUT,
    SPECIES,
    fitted,
)

EVERY = [(kind, kernel) for kind in KINDS for kernel in KERNELS]
pytestmark = pytest.mark.filterwarnings(
    "ignore:Attribute `prob[AB]_` was deprecated:FutureWarning"  # skl2onnx reads them
)


def answers(model, samples):
    """Return the first output of an ONNX model, by onnxruntime."""
    converted = to_onnx(model, samples[:1].astype(np.float32))
    session = onnxruntime.InferenceSession(converted.SerializeToString())
    given = {session.get_inputs()[0].name: samples.astype(np.float32)}
    return session.run(None, given)[0].ravel()


@pytest.mark.parametrize(("kind", "kernel"), EVERY)
def test_round_trip(kind, kernel):
    ours = fitted(kind, kernel)
    found = answers(ours.to_sklearn(), MORE)
    same = MORE.astype(np.float32).astype(np.float64)
    if kind in NUMBERS_OUT:
        scale = np.abs(ours.dual_coef_).sum()
        assert_allclose(found, ours.predict(same), atol=1e-4 * scale)
    else:
        assert_array_equal(found, ours.predict(same))


def test_a_pipeline_with_its_scaling():
    steps = [("scale", StandardScaler()), ("svc", widemargin.SVC())]
    ours = Pipeline(steps).fit(IRIS, SPECIES)
    theirs = Pipeline([steps[0], ("svc", ours[-1].to_sklearn())])
    same = IRIS.astype(np.float32).astype(np.float64)
    assert_array_equal(answers(theirs, IRIS), ours.predict(same))
