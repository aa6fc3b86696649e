"""What a ramp-loss fit that takes up an earlier one claims."""

from __future__ import annotations

import numpy as np

from widemargin import RampSVC

from tests.oracles.rebuilt import assert_honest


def test_a_warm_start_that_ends_after_one_round_tells_the_truth():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(234, 5))
    y = (X[:, 0] + 0.5 * np.sin(3 * X[:, 1]) > 0) ^ (rng.random(234) < 0.2)
    model = RampSVC(gamma=0.3, warm_start=True).fit(X, y)
    one_round = 0
    for C in (2.0, 5.0, 10.0, 100.0):
        model.set_params(C=C).fit(X, y)
        assert_honest(model, X, y)
        one_round += model.n_cccp_iter_[0] == 1 and model.history_[-1]["clipped"] > 0
    assert one_round > 0
