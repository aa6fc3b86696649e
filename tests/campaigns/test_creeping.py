"""Fits of a few rows end, however extreme the data: no million pair steps a row.

``make campaign CAMPAIGN=tests/campaigns/test_creeping.py``
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import widemargin
from widemargin.engine.refinement import ENDLESS

from tests.campaigns.certificate_problems import Case, draw
from tests.campaigns.certificates import REFUSALS

SHARDS, SEEDS = 10, 90  # about half of the seeds have few rows
FIRST, MOST_ROWS = 20_000, 200
# Several solves, of rounds, outputs or multipliers, each may take as many steps as one.
LONGER = {"RampSVC": 6, "QuantileSVR": 6, "NuSVC": 4, "NuSVR": 4}
NAMES = (
    "SVC", "SVC", "SVC", "SVR", "NuSVC", "NuSVR", "OneClassSVM", "QuantileSVR",
    "CostSensitiveSVC", "RampSVC",
)  # fmt: skip
REFUSED = (*REFUSALS, "nu=")


def fitted(name: str, case: Case) -> Any:
    """Fit one kind of estimator, without a limit; None where it has to refuse."""
    kind = getattr(widemargin, name)
    given = case.parameters | {"nu": 0.1}
    model = kind(**{key: given[key] for key in kind().get_params().keys() & given})
    y = case.y + 0.1 * np.arange(len(case.y)) % 7 if "R" in name[-2:] else case.y
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # most of them stall, and say so
        try:
            return model.fit(case.X, y, sample_weight=case.weights)
        except ValueError as error:
            if not any(words in str(error) for words in REFUSED):
                raise
            return None


@pytest.mark.campaign
@pytest.mark.parametrize("shard", range(SHARDS))
def test_fits_of_few_rows_end(shard: int) -> None:
    for seed in range(FIRST + shard * SEEDS, FIRST + (shard + 1) * SEEDS):
        case = draw(seed)
        n = len(case.y)
        if not 5 <= n <= MOST_ROWS:
            continue
        name = NAMES[seed % len(NAMES)]
        model = fitted(name, case)
        if model is not None:
            most = LONGER.get(name, 2) * ENDLESS * n
            assert np.max(model.n_iter_) <= most, (seed, name, model.n_iter_)
