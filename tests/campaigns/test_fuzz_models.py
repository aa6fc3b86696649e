"""At least 100,000 spoilt model files: each is refused, or is a model that predicts."""

from __future__ import annotations

import math
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_iris
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder, StandardScaler

import widemargin
from widemargin.runtime import model_file_format
from widemargin.runtime.model_file_format import StorageError

from tests.campaigns.mutations import model_mutant

SHARDS = 25
PER_SHARD = 4_000


def good_models(folder: Path) -> list[tuple[bytes, np.ndarray]]:
    """Small models of every kind, as files, with a few rows to predict."""
    X, y = load_iris(return_X_y=True)
    X, y = X[::5], y[::5]
    pair = y < 2
    columns = make_column_transformer(
        (make_pipeline(SimpleImputer(), StandardScaler()), [0, 1]),
        (OneHotEncoder(handle_unknown="ignore"), slice(2, 3)),
        remainder="passthrough",
    )
    models: list[Any] = [
        widemargin.SVC().fit(X, y),
        widemargin.SVC(keep_rows=True).fit(X, y),
        widemargin.SVC(kernel="poly").fit(sparse.csr_matrix(X), y),
        make_pipeline(StandardScaler(), widemargin.SVC(C=3)).fit(X, y),
        make_pipeline(MinMaxScaler(), widemargin.RampSVC()).fit(X, y),
        make_pipeline(columns, widemargin.SVC()).fit(X, y),
        widemargin.CostSensitiveSVC(cost_positive=2.0).fit(X[pair], y[pair]),
        widemargin.ChanceConstrainedSVC().fit(X, y),
        widemargin.PrivateSVC(clip_norm=8.0, epsilon=50.0, classes=[0, 1, 2]).fit(X, y),
        widemargin.DPWSSClassifier(random_state=0).fit(X[pair], y[pair]),
        widemargin.DivideConquerSVC(
            prediction="early", n_levels=1, early_level=1, random_state=0
        ).fit(X, y),
    ]
    files = []
    for model in models:
        widemargin.save(model, folder / "good")
        files.append(((folder / "good").read_bytes(), X[:3]))
    return files


def campaign(folder: Path, seed: int, count: int) -> dict[str, int]:
    """Open ``count`` spoilt files; whatever is no refusal and no model is raised."""
    rng = np.random.default_rng(seed)
    outcomes = {"refused": 0, "opened": 0}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        good = good_models(folder)
        path = folder / "spoilt"
        for _ in range(count):
            content, rows = good[int(rng.integers(len(good)))]
            path.write_bytes(model_mutant(content, rng))
            try:
                model = widemargin.load(path)
            except StorageError:
                outcomes["refused"] += 1
                continue
            outcomes["opened"] += 1
            if not hasattr(model, "classes_"):
                continue
            width = model.n_features_in_
            model.predict(rows if width == rows.shape[1] else np.zeros((2, width)))
    return outcomes


@pytest.mark.campaign
@pytest.mark.parametrize("shard", range(SHARDS))
def test_spoilt_model_files(shard: int, tmp_path: Path) -> None:
    outcomes = campaign(tmp_path, shard, PER_SHARD)
    assert sum(outcomes.values()) == PER_SHARD
    assert outcomes["refused"] > 0.5 * PER_SHARD


def test_a_few_spoilt_model_files(tmp_path: Path) -> None:
    outcomes = campaign(tmp_path, 1234, 400)
    assert outcomes["refused"] > 200
    assert outcomes["opened"] > 5


@pytest.mark.campaign
def test_a_bounds_check_that_is_gone_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without the check that no extent of an array is negative, the campaign fails."""

    def unchecked(name: str, shape: list[int], itemsize: int) -> int:
        return 0 if 0 in shape else itemsize * math.prod(max(n, 1) for n in shape)

    monkeypatch.setattr(model_file_format, "_checked_bytes", unchecked)
    with pytest.raises((ValueError, TypeError, MemoryError)) as caught:
        campaign(tmp_path, 0, PER_SHARD)
    assert not isinstance(caught.value, StorageError)
