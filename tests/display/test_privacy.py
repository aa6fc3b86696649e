"""The picture of an audit shows its numbers."""

from __future__ import annotations

import numpy as np
import pytest

from widemargin.estimators.private.audit_result import AuditResult
from widemargin.estimators.private.audit_statistics import largest_bound

pyplot = pytest.importorskip("matplotlib.pyplot")


@pytest.fixture
def result():
    rng = np.random.default_rng(0)
    return AuditResult(
        epsilon_lower=2.5,
        epsilon_limit=largest_bound(50),
        nominal=0.1,
        delta=0.0,
        confidence=0.95,
        runs=50,
        true_positives=40,
        false_positives=1,
        threshold=0.5,
        scores=rng.normal(size=50),
        neighbour_scores=rng.normal(2, size=50),
    )


def test_histograms_hold_every_run(result):
    from widemargin.display import PrivacyDisplay

    figure, ax = pyplot.subplots()
    display = PrivacyDisplay.from_audit(result, ax=ax)
    assert display.ax_ is ax
    assert sum(patch.get_height() for patch in ax.patches) == 100
    assert "2.50" in ax.get_title() and "stated 0.1" in ax.get_title()
    assert f"{largest_bound(50):.2f}" in ax.get_title()
    assert [float(line.get_xdata()[0]) for line in ax.lines] == [0.5]
    pyplot.close(figure)


def test_from_estimator_audits():
    from sklearn.datasets import load_iris
    from sklearn.linear_model import LogisticRegression

    from widemargin.display import PrivacyDisplay

    X, y = load_iris(return_X_y=True)
    figure, ax = pyplot.subplots()
    display = PrivacyDisplay.from_estimator(
        LogisticRegression(), X[:100], y[:100], ax=ax, runs=3, held_out=3
    )
    assert display.result.runs == 3
    pyplot.close(figure)
