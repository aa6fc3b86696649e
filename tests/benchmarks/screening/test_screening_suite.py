"""Screening in a plain SVM: what is measured of its rules, and the tables."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import scale

from suites.screening import plain_svm, rank_rule
from widemargin_papers.harness.missing_runs import run_missing
from widemargin_papers.harness.results import ResultStore
from widemargin_papers.ramp import printed


@pytest.fixture
def cancer(monkeypatch):
    X, y = load_breast_cancer(return_X_y=True)
    X, signs = scale(X), np.where(y, 1.0, -1.0)
    monkeypatch.setattr(printed, "load", lambda _, size: (X[:size], signs[:size]))


def test_cost_of_the_rank_rule_is_measured_beside_the_interval_rule(
    cancer, monkeypatch, tmp_path
):
    monkeypatch.setattr(rank_rule, "DATASETS", ("cancer",))
    monkeypatch.setattr(rank_rule, "SIZES", (200,))
    store = ResultStore(tmp_path / "rank.json")
    run_missing(store, rank_rule.work())
    assert set(store.records) == {"cancer linear n 200", "cancer kappa 0.5 n 200"}
    for record in store.records.values():
        rules = record["rules"]
        assert rules["rank"]["evaluated"] > rules["interval"]["evaluated"]
        assert 0.0 < rules["rank"]["share"] <= 1.0
    assert "times at 200 samples" in rank_rule.table(store)


def test_screening_in_a_plain_svm_is_measured_beside_none(
    cancer, monkeypatch, tmp_path
):
    monkeypatch.setattr(plain_svm, "DATASETS", ("cancer",))
    monkeypatch.setattr(plain_svm, "CACHES", (1.0,))
    monkeypatch.setattr(plain_svm, "PATH", np.array([0.5, 1.0]))
    store = ResultStore(tmp_path / "plain.json")
    run_missing(store, plain_svm.work())
    assert set(store.records) == {"cancer, cache 1 MB", "cancer, path in C"}
    for record in store.records.values():
        assert set(record["rules"]) == {"none", "safe"}
        assert record["rules"]["none"]["evaluated"] > 0
    assert "cancer, path in C" in plain_svm.table(store)
