"""``widemargin train`` needs at most twice the size of the parsed data.

The peak of a process of its own, less that of the same command on a few rows; the same
on files of 1 GB is ``python benchmarks/command.py memory``.
"""

from __future__ import annotations

import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from suites.command.memory import METHODS, SHAPES, train_memory
from widemargin.cli.train_command import scale_in_place
from widemargin.engine.kernels import scale_gamma
from widemargin.estimators.base.feature_scales import scale_ratio
from widemargin.estimators.incremental.live_rows import lasting

BUFFERS_MB = 14.0  # read ahead, and a few numbers a row for the certificate
linux = pytest.mark.skipif(
    sys.platform != "linux", reason="the peak of a process is read from /proc"
)


@linux
@pytest.mark.parametrize("kind", ["CSV", "svmlight, sparse"])
def test_training_on_a_file(kind: str) -> None:
    found = train_memory(SHAPES[kind], 100.0, METHODS["svc, 200 steps"], distinct=4)
    assert found["parsed_mb"] > 80
    # Reading runs ahead by some blocks, more of them the freer the machine is.
    assert found["ratio"] < 2.0 + BUFFERS_MB / found["parsed_mb"]


@linux
@pytest.mark.campaign
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("kind", SHAPES)
def test_training_on_a_large_file(kind: str, method: str) -> None:
    assert train_memory(SHAPES[kind], 500.0, METHODS[method])["ratio"] < 2.0


@pytest.mark.parametrize("scaler", [StandardScaler(), MinMaxScaler()])
def test_scaling_in_place(scaler, monkeypatch) -> None:
    monkeypatch.setattr("widemargin.cli.train_command._BLOCK", 64)
    X = np.random.default_rng(0).normal(3.0, 5.0, (101, 7))
    asked = type(scaler)().fit_transform(X)
    scale_in_place(scaler, X)
    assert_allclose(X, asked, rtol=1e-12, atol=1e-12)
    assert scaler.n_samples_seen_ == 101


def test_scaling_sparse_rows_in_place(monkeypatch) -> None:
    monkeypatch.setattr("widemargin.cli.train_command._BLOCK", 64)
    X = sparse.random(50, 20, 0.2, format="csr", rng=np.random.default_rng(0))
    asked = StandardScaler(with_mean=False).fit_transform(X.copy()).toarray()
    scale_in_place(StandardScaler(with_mean=False), X)
    assert_allclose(X.toarray(), asked, rtol=1e-12)


def test_what_goes_through_sparse_rows_goes_block_by_block() -> None:
    rng = np.random.default_rng(0)
    X = sparse.random(40_000, 30, 0.1, format="csr", rng=rng)  # three blocks
    dense = X.toarray()
    weights = rng.random(40_000)
    assert_allclose(scale_gamma(X, weights), scale_gamma(dense, weights), rtol=1e-9)
    X.data[-1] = 1e4
    spread = np.abs(X.toarray()).max(axis=0)
    assert_allclose(scale_ratio(X), spread.max() / spread.min())


def test_only_what_nobody_can_change_is_kept_without_a_copy() -> None:
    X = np.ones((3, 2))
    assert lasting(X) is not X
    view = X[:]
    view.flags.writeable = False  # but X can still be written to
    assert lasting(view) is not view
    X.flags.writeable = False
    assert lasting(X) is X and lasting(view) is view
    S = sparse.csr_matrix(np.eye(3))
    assert lasting(S) is not S
