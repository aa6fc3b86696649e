"""The capability table says what the estimators do, and the docs print that table."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.utils.estimator_checks import ignore_warnings

import widemargin
from widemargin.cli.capabilities import COLUMNS, as_rst, capability_table
from widemargin.cli.estimator_names import METHODS, estimator_class

REQUIRED = {"private": {"clip_norm": 2.0}}


@pytest.fixture(scope="module")
def table() -> dict[str, dict[str, str]]:
    return {row["estimator"]: row for row in capability_table()}


def test_every_public_estimator_has_a_row(table: dict[str, dict[str, str]]) -> None:
    public = {
        name
        for name in widemargin.__all__
        if hasattr(getattr(widemargin, name), "predict")
        and getattr(widemargin, name).__module__.startswith("widemargin.estimators.")
    }  # what chooses among models of these has no row of its own
    assert public == set(table)
    assert all(tuple(row) == COLUMNS for row in table.values())


@pytest.mark.parametrize(
    ("estimator", "column", "expected"),
    [
        ("SVC", "kernels", "all"),
        ("PrivateSVC", "kernels", "linear, rbf"),
        ("SVC", "forget", "``keep_rows=True``"),
        ("SVC", "sliding window", "yes"),
        ("OneClassSVM", "sliding window", "yes"),
        ("RampSVC", "sliding window", "no"),
        ("ChanceConstrainedSVC", "sliding window", "no"),
        ("SVC", "multiclass", "one-vs-one"),
        ("SVC", "certificate", "duality gap"),
        ("DivideConquerSVC", "early prediction", "yes"),
        ("DivideConquerSVC", "dask", "yes"),
        ("DivideConquerSVC", "forget", "no"),
        ("RampSVC", "partial_fit", "no"),
        ("RampSVC", "sample_weight", "yes"),
        ("RampSVC", "suspects", "yes"),
        ("SVC", "suspects", "no"),
        ("CostSensitiveSVC", "costs", "by class, matrix, by row"),
        ("SVC", "costs", "by class"),
        ("CostSensitiveSVC", "partial_fit", "yes"),
        ("ChanceConstrainedSVC", "kernels", "linear, rbf"),
        ("ChanceConstrainedSVC", "partial_fit", 'solver="ssgd"'),
        ("ChanceConstrainedSVC", "multiclass", "one-vs-rest"),
        ("PrivateSVC", "private", "yes"),
        ("PrivateSVC", "sample_weight", "no"),
        ("PrivateSVC", "certificate", "none: it would leak"),
        ("SVR", "multiclass", "regression"),
        ("NuSVR", "multiclass", "regression"),
        ("NuSVR", "certificate", "duality gap"),
        ("NuSVC", "multiclass", "one-vs-one"),
        ("NuSVC", "certificate", "duality gap"),
        ("SVR", "certificate", "duality gap"),
        ("QuantileSVR", "multiclass", "regression"),
        ("QuantileSVR", "partial_fit", "yes"),
        ("OneClassSVM", "multiclass", "outliers"),
        ("OneClassSVM", "certificate", "duality gap"),
        ("DPWSSClassifier", "kernels", "linear"),
        ("DPWSSClassifier", "private", "no: selection only"),
    ],
)
def test_known_facts(
    table: dict[str, dict[str, str]], estimator: str, column: str, expected: str
) -> None:
    assert table[estimator][column] == expected


@pytest.mark.parametrize("method", METHODS)
def test_sparse_rows_are_taken_where_the_table_says_so(
    table: dict[str, dict[str, str]], method: str
) -> None:
    cls = estimator_class(method)
    X = sparse.random(60, 4, density=0.5, format="csr", rng=np.random.default_rng(0))
    y = np.arange(60) % 2
    model = cls(**REQUIRED.get(method, {}))
    if table[cls.__name__]["sparse"] == "yes":
        with ignore_warnings():
            assert model.fit(X, y).predict(X).shape == (60,)
    else:
        with pytest.raises(TypeError, match=r"[Ss]parse"):
            model.fit(X, y)


def test_the_table_as_text(table: dict[str, dict[str, str]]) -> None:
    """Classifiers first: one table of all is wider than a page."""
    text = as_rst()
    classifiers, others = text.split("**Regression and outliers**")
    assert text.startswith("**Classifiers**\n\n.. list-table::")
    assert text.count("   * -") == 2 * len(COLUMNS)
    assert text.count("     - ") == len(COLUMNS) * len(table)
    assert others.count("     - ") == len(COLUMNS) * 4
    assert "* - forget\n     - ``keep_rows=True``\n     - no" in classifiers
    assert "* - multiclass\n     - regression\n" in others
