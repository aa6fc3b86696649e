"""What a fit that was stopped must leave: a point with a true certificate."""

from __future__ import annotations

import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning


def assert_limits_leave_a_certified_model(estimator, X, y, objective):
    """Stop a fit by steps and by time; `objective` judges the model."""
    best = clone(estimator).fit(X, y).certificate_
    for limit in ({"max_iter": 50}, {"max_time": 1e-3}):
        with pytest.warns(ConvergenceWarning, match=next(iter(limit))):
            model = clone(estimator).set_params(**limit).fit(X, y)
        assert model.fit_status_ == 1
        assert objective(model) <= model.certificate_.objective
        assert model.certificate_.bound <= best.objective


def assert_ctrl_c_leaves_the_point_reached(estimator, X, y, objective, key):
    """Stop a fit by Ctrl-C, which `key` presses; `objective` judges the model."""
    model = clone(estimator).set_params(tol=1e-7, n_jobs=1, verbose=True)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    certificate = model.certificate_
    assert key.pressed and certificate.status == "interrupted"
    assert certificate.bound <= objective(model) <= certificate.objective
