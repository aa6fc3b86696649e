"""The certificate of a ramp fit, with the loss of the clipped samples."""

from __future__ import annotations

import numpy as np
from numpy.testing import assert_allclose
from sklearn.datasets import make_moons

from widemargin import RampSVC


def test_the_objective_of_the_certificate_bounds_the_ramp_objective():
    """The loss of the clipped samples, a constant of the convex problem, is in it."""
    X, y = make_moons(300, noise=0.25, random_state=0)
    y = np.where(np.arange(300) % 7 == 0, 1 - y, y)
    model = RampSVC(C=10.0, gamma=1.0, s=-0.5).fit(X, y)
    assert len(model.outliers_) > 5
    certificate = model.certificate_
    assert certificate.objective >= model.objective_ - 1e-9
    assert_allclose(certificate.objective, model.objective_, rtol=1e-6)
    assert certificate.gap >= certificate.objective - certificate.bound
