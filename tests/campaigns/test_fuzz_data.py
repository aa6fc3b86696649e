"""At least 100,000 malformed data files: each is read, or refused with its place."""

from __future__ import annotations

import gzip
import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from widemargin.cli import files, sample_collector
from widemargin.cli.files import read
from widemargin.cli.parsed_data import Data, DataError

from tests.campaigns.mutations import bytes_changed, data_mutant

SHARDS = 20
PER_SHARD = 5_000
LIBSVM = (
    b"+1 1:0.5 3:-2e-3 7:1\n-1 2:1 4:.25\n1 1:1\n\n# remark\n-1 3:7 9:8 10:9 # end\n"
    b"2 1:-1 2:-2 3:-3 4:-4 5:-5\n"
)
CSV = b'a,b,"c d",kind\n1,2,3,x\n4,5e-1,-6,"y, z"\n7,8,9,"""q"""\n\n1.5,.5,0,x\n'
PLACE = re.compile(r".*spoilt[.a-z]*(:[0-9]+:[0-9]+)?: \S.*", re.DOTALL)


def check(data: Data) -> None:
    """What was read must be whole: finite, in order, and one label a row."""
    X = data.X
    values = X.data if sparse.issparse(X) else X
    assert np.all(np.isfinite(values))
    assert data.y is None or len(data.y) == X.shape[0]
    if sparse.issparse(X):
        X.check_format(full_check=True)
        assert X.has_canonical_format


def campaign(folder: Path, seed: int, count: int) -> dict[str, int]:
    """Read ``count`` malformed files; anything but data or a `DataError` is raised."""
    rng = np.random.default_rng(seed)
    outcomes = {"refused": 0, "read": 0}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(count):
            csv = rng.random() < 0.4
            content = data_mutant(CSV if csv else LIBSVM, rng)
            path = folder / ("spoilt.csv" if csv else "spoilt")
            if rng.random() < 0.05:
                content = gzip.compress(content, 1)
                path = path.with_name(path.name + ".gz")
                if rng.random() < 0.5:
                    content = bytes_changed(content, rng)
            path.write_bytes(content)
            try:
                check(read(path, label="kind" if csv else None))
            except DataError as error:
                assert PLACE.fullmatch(str(error)), str(error)
                outcomes["refused"] += 1
                continue
            outcomes["read"] += 1
    return outcomes


@pytest.mark.campaign
@pytest.mark.parametrize("shard", range(SHARDS))
def test_malformed_data_files(shard: int, tmp_path: Path) -> None:
    outcomes = campaign(tmp_path, shard, PER_SHARD)
    assert sum(outcomes.values()) == PER_SHARD
    assert outcomes["refused"] > 0.5 * PER_SHARD


def test_a_few_malformed_data_files(tmp_path: Path) -> None:
    outcomes = campaign(tmp_path, 1234, 1_000)
    assert outcomes["refused"] > 500
    assert outcomes["read"] > 50


def test_a_bounds_check_that_is_gone_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without the check that an index is at least 1, the campaign fails."""
    whole = files._core.parse_svmlight

    class Unchecked:
        parse_csv = staticmethod(files._core.parse_csv)

        @staticmethod
        def parse_svmlight(text: bytes, line: int, serial: bool) -> Any:
            return whole(text, line, True)  # index 0 passes, and becomes -1

    monkeypatch.setattr(files, "_core", Unchecked)
    monkeypatch.setattr(sample_collector, "DENSE_SHARE", 2.0)  # or it overruns
    with pytest.raises(ValueError, match="indices"):
        campaign(tmp_path, 1234, 1_000)


def test_malformed_tables_with_categories(tmp_path: Path) -> None:
    """Categories and gaps: every code has its category, every gap its line."""
    table = b'a,b,c,kind\n1,NA,"u, v",x\n?,5,w,y\n3,,"u, v",x\n4,01,,y\n'
    rng = np.random.default_rng(7)
    outcomes = {"refused": 0, "read": 0}
    for _ in range(1_000):
        (tmp_path / "spoilt.csv").write_bytes(data_mutant(table, rng))
        try:
            data = read(tmp_path / "spoilt.csv", label="kind", mixed=("c",))
        except DataError as error:
            assert PLACE.fullmatch(str(error)), str(error)
            outcomes["refused"] += 1
            continue
        outcomes["read"] += 1
        assert data.mixed is not None and data.y is not None
        assert len(data.y) == len(data.X)
        gaps = np.isnan(data.X)
        assert set(data.mixed.missing) == set(np.flatnonzero(gaps.any(axis=0)))
        assert np.all(np.isfinite(data.X[~gaps]))
        for column, texts in data.mixed.categories.items():
            codes = data.X[~gaps[:, column], column]
            assert set(codes) == set(range(len(texts)))
            assert len(set(texts)) == len(texts)
    assert min(outcomes.values()) > 50, outcomes
