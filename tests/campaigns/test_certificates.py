"""10,000 random problems over the extremes: no certificate claims more than is true.

Shards leave their records in ``build/certificates`` (``WIDEMARGIN_CAMPAIGN`` names
another folder); with ``WIDEMARGIN_RESUME=1`` those that are there are not run again.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from itertools import count

import pytest

from tests.campaigns.certificate_problems import ROUTES, draw
from tests.campaigns.certificates import FOLDER, examine, stored, summary

SHARDS = 100
PER_SHARD = 100
STATUSES = (
    "converged", "polished", "stalled", "max_time", "max_iter", "interrupted", "early",
)  # fmt: skip


@pytest.mark.campaign
@pytest.mark.parametrize("shard", range(SHARDS))
def test_no_certificate_claims_more_than_is_true(shard: int) -> None:
    path = FOLDER / f"shard_{shard:03d}.json"
    if not (path.exists() and os.environ.get("WIDEMARGIN_RESUME")):
        seeds = range(shard * PER_SHARD, (shard + 1) * PER_SHARD)
        records = [record for seed in seeds for record in examine(seed)]
        FOLDER.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(records))
    records = json.loads(path.read_text())
    false = {record["seed"]: record["false"] for record in records if record["false"]}
    assert not false, "rerun: python -m tests.campaigns.certificates SEED"
    if len(list(FOLDER.glob("shard_*.json"))) == SHARDS:
        check_the_whole()


def check_the_whole() -> None:
    """Assert what holds of all shards together; the last one to end gets here."""
    records = [record for record in stored() if record["status"] != "refused"]
    figures = summary(records)
    (FOLDER / "summary.json").write_text(json.dumps(figures, indent=1))
    counts = Counter(record["status"].split(":")[0] for record in records)
    assert all(counts[status] >= 500 for status in STATUSES), counts
    assert sum(record["route"] == "dask" for record in records) >= 500
    assert figures["median claimed / true gap"] <= 10.0, figures
    assert figures["without a bound"] < 0.01 * len(records), figures


@pytest.mark.parametrize("route", sorted({*ROUTES} - {"interrupted", "seconds"}))
def test_a_small_problem_of_each_route(route: str) -> None:
    """The campaign itself works; what it finds is the campaign's business."""
    seeds = (seed for seed in count() if ROUTES[seed % len(ROUTES)] == route)
    small = next(seed for seed in seeds if len(draw(seed).y) <= 60)
    assert all(record["seed"] == small for record in examine(small))
