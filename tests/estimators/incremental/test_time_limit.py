"""An update that takes too long leaves the model as it was."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from widemargin import SVC


def test_max_time_leaves_the_model_before_an_update():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 3))
    y = (X[:, 0] + rng.normal(size=120) > 0).astype(int)
    hasty = SVC(gamma=0.3, max_time=1e-9)
    with pytest.warns(ConvergenceWarning, match="max_time"):
        hasty.partial_fit(X[:100], y[:100], classes=[0, 1])
    before = hasty.__dict__
    with pytest.raises(TimeoutError, match=r"partial_fit .* max_time=1e-09 .* before"):
        hasty.partial_fit(X[100:], y[100:])
    with pytest.raises(TimeoutError, match=r"update did not end within max_time"):
        hasty.update(C=3.0)
    assert hasty.__dict__ is before and hasty.C == 1.0
    hasty.forget([3])  # takes what it takes
    assert hasty.ids_.size == 99 and hasty.fit_status_ == 0
    hasty.set_params(max_time=None).partial_fit(X[100:], y[100:])
    assert hasty.fit_status_ == 0 and hasty.certificate_.kkt_violation <= 1e-8
