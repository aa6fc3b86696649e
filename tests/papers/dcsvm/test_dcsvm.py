"""The divide-and-conquer paper: contestants, cells, and the printed figures."""

from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from threadpoolctl import threadpool_limits

from widemargin import SVC, DivideConquerSVC
from widemargin.engine.gram import Gram
from widemargin.engine.kernels import Gaussian
from widemargin_papers.dcsvm import curves as dcsvm_curves
from widemargin_papers.dcsvm import printed as paper
from widemargin_papers.dcsvm import report as dcsvm_report
from widemargin_papers.dcsvm import tasks as dcsvm
from widemargin_papers.dcsvm.methods import (
    METHODS,
    Cascade,
    Subsampled,
    bagging,
    committee,
    make_method,
    naive_sum,
)

ROOT = Path(__file__).parents[3]
SYSTEMS = ROOT / "docs" / "systems"


@pytest.mark.parametrize("name", METHODS)
def test_every_contestant_learns(moons, name):
    model = make_method(name, C=10.0, gamma=2.0, rank=50)
    with threadpool_limits(1):  # OpenMP's idle threads spin: ten times the work
        model.fit(moons.X, moons.y)
    assert np.mean(model.predict(moons.X_test) == moons.y_test) > 0.9


def test_naive_sum_and_committee_of_one_cluster_are_the_model(moons):
    model = DivideConquerSVC(
        gamma=2.0, fit_intercept=False, prediction="early", early_level=0
    ).fit(moons.X, moons.y)
    decisions = model.decision_function(moons.X_test)
    assert_allclose(naive_sum(model.early_, moons.X_test), decisions, atol=1e-5)
    odds = committee(model.early_, moons.X, moons.y, moons.X_test)
    assert_array_equal(np.sign(odds), np.sign(decisions))


def test_an_expert_that_knows_nothing_has_no_say(moons):
    model = DivideConquerSVC(
        gamma=5.0, fit_intercept=False, prediction="early", early_level=2,
        random_state=0,
    ).fit(moons.X, moons.y)  # fmt: skip
    far = np.full((1, 2), 100.0)  # from every cluster
    assert_allclose(committee(model.early_, moons.X, moons.y, far), 0.0, atol=1e-9)


def test_cascade_ends_with_one_set_of_support_vectors(moons):
    cascade = Cascade(SVC(gamma=2.0), n_parts=4).fit(moons.X, moons.y)
    assert len(cascade.rounds_) == 3
    assert len(cascade.rounds_[-1]) < len(cascade.rounds_[0])
    assert set(cascade.rounds_[-1]) <= set(cascade.rounds_[0])


def test_bagging_and_a_fifth(moons):
    votes = bagging(SVC(gamma=2.0), 5).fit(moons.X, moons.y)
    assert [len(rows) for rows in votes.estimators_samples_] == [180] * 5
    for model, rows in zip(votes.estimators_, votes.estimators_samples_, strict=True):
        assert set(model.support_) <= set(rows)
    assert np.mean(votes.predict(moons.X_test) == moons.y_test) > 0.85
    fifth = Subsampled(SVC(gamma=2.0)).fit(moons.X, moons.y)
    assert fifth.estimator.shape_fit_[0] == 180


def test_tables_yield_cells_beside_the_printed_ones(moons):
    cells = [
        *dcsvm.table_1(50, None),
        *dcsvm.table_2("ijcnn1", "DC early", None, 50),
        *dcsvm.table_5(900),
        *dcsvm.table_6("ijcnn1", 16, None),
        *dcsvm.grid_point("ijcnn1", 1, 1, None),
    ]
    printed = {(c.table, c.row, c.column): c.paper for c in cells}
    assert printed["Table 1", "early, k=50", "accuracy %"] == 96.1
    assert printed["Table 2", "ijcnn1, DC early", "processor s"] == 12
    assert printed["Table 5", "level 4, 900 rows", "clustering s"] == 43.2
    assert printed["Table 6", "ijcnn1, k=16", "bagging %"] == 98.24
    assert printed["grid ijcnn1", "C=2^1 gamma=2^1", "exact s"] == 43.5
    assert all(cell.ours is not None and np.isfinite(cell.ours) for cell in cells)
    assert all(0 < c.ours <= 100 for c in cells if c.column.endswith("%"))


def test_figure_1_never_exceeds_its_bound(moons):
    cells = list(dcsvm_curves.figure_1(8, 300))
    values = {(c.row.split(",")[0], c.column): c.ours for c in cells}
    for way in ("kernel", "input", "random"):
        difference = values[f"{way} clustering", "difference"]
        assert -1e-3 <= difference <= values[f"{way} clustering", "bound C^2 D / 2"]
    assert not any(cell.note for cell in cells)


def test_mass_between_clusters_is_the_double_sum():
    X = np.random.default_rng(0).normal(size=(50, 2))
    labels = np.arange(50) % 3
    gram = Gram(X, Gaussian(1.0))
    K = gram.rows(np.arange(50))
    expected = K[labels[:, None] != labels].sum()
    assert_allclose(
        dcsvm_curves.mass_between(gram, labels, rows=7), expected, rtol=1e-6
    )


def test_figures_2_to_4_and_their_pictures(moons, monkeypatch):
    cells = [
        *dcsvm_curves.figure_1(4, 200),
        *dcsvm_curves.figure_2("ijcnn1", 400),
        *dcsvm_curves.figure_3("ijcnn1", 400, (20,)),
        *dcsvm_curves.figure_4(300),
        *dcsvm.grid_point("ijcnn1", 1, 1, 300),
        *dcsvm.grid_point("ijcnn1", 6, 1, 300),
    ]
    shares = [c.ours for c in cells if c.table == "Figure 2"]
    assert min(shares) >= 0 and max(shares) <= 1
    errors = [c.ours for c in cells if c.column == "relative error"]
    assert min(errors) > -1e-3
    for table, n in (("Figure 3", 400), ("Figure 4", 300)):  # curves end at the optimum
        (end,) = [
            c.ours for c in cells
            if (c.table, c.column) == (table, "relative error")
            and c.row == f"{'ijcnn1' if n == 400 else 'covtype'}, {n} rows, DC exact"
        ]  # fmt: skip
        assert abs(end) < 1e-3
    drawn = dcsvm_report.figures(cells)
    curves = {"figure3", "figure3_objective", "figure4", "figure4_objective"}
    assert set(drawn) == {"figure1", "figure2", *curves}
    (ax,) = drawn["figure3"].axes
    assert ax.get_title() == "ijcnn1, 400 rows"
    assert {"DC", "SVC", "random landmarks"} <= {line.get_label() for line in ax.lines}
    (ax,) = drawn["figure2"].axes
    labels = {line.get_label() for line in ax.lines}
    assert {"DC, recall", "cascade, precision"} <= labels
    (early, exact) = dcsvm_report.totals(cells)  # Table 4
    spent = [c.ours for c in cells if c.column == "exact s"]
    assert_allclose(exact.ours, sum(spent))
    assert early.paper == 16.4 * 60 and early.note == "2 of 25 points"
    assert early.row == "ijcnn1, early, 300 rows"


def test_printed_grids_are_complete():
    powers = [-10, -6, 1, 6, 10]
    for name in ("ijcnn1", "covtype", "census"):
        assert sorted(paper.GRIDS[name]) == [(C, g) for C in powers for g in powers]
    assert paper.GRIDS["covtype"][6, 6] == ((96.3, 356), (96.2, 9510), (96.2, 92951))
    assert paper.GRIDS["covtype"][1, 10][2] == (None, None)  # over 300,000 s
    assert paper.GRIDS["census"][10, 10][0] == (61.14, 206)


def test_tasks_have_unique_names_and_name_what_is_missing():
    for quick in (True, False):
        work = dcsvm.tasks(quick)
        names = [task.name for task in work]
        assert len(set(names)) == len(names)
        for gone in paper.UNAVAILABLE:
            assert any(task.needs == (gone,) for task in work)
