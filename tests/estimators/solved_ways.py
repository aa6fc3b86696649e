"""However a large problem is solved, its point is the same and certified."""

from __future__ import annotations

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone


def assert_every_way_is_certified(estimator, X, y):
    """Solve directly, divided and from a warm start; return the three models."""

    def fitted(**settings):
        return clone(estimator).set_params(**settings).fit(X, y)

    direct, divided = fitted(n_jobs=1), fitted(solver="divide")
    assert_array_equal(direct.dual_coef_, fitted(n_jobs=2).dual_coef_)
    assert "level 1" in [stage["stage"] for stage in divided.history_]
    warm = fitted(warm_start=True)
    steps = np.sum(warm.n_iter_)
    assert np.sum(warm.fit(X, y).n_iter_) < steps / 10
    for model in (direct, divided, warm):
        certificate = model.certificate_
        assert certificate.kkt_violation <= 1e-3
        assert_allclose(certificate.objective, direct.certificate_.objective, rtol=1e-3)
    return direct, divided, warm
