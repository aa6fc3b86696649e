"""Support vectors found against time: levels, tolerances, and LIBSVM's pair steps."""

import numpy as np
import pytest
from sklearn.datasets import make_moons

from widemargin_papers.dcsvm import figures, support_found
from widemargin_papers.dcsvm.splits import Split
from widemargin_papers.harness.cells import by_row

N = 400
FIRST = 16


@pytest.fixture
def rows(monkeypatch):
    X, y = make_moons(N, noise=0.2, random_state=0)
    split = Split(X, 2.0 * y - 1, X, y)
    monkeypatch.setattr(support_found, "subset", lambda *_: split)
    monkeypatch.setattr(support_found, "FIRST_STEPS", FIRST)
    return [
        cell
        for title, shrinking in (("RBF", True), ("RBF", False), ("cubic", True))
        for cell in support_found.found_over_time(title, shrinking, N)
    ]


def test_every_curve_ends_with_the_support_vectors_of_the_whole(rows):
    found = by_row(rows, support_found.TABLE)
    panels = {row.rsplit(", ", 1)[0] for row in found}
    assert len(panels) == 3
    for panel in panels:
        for label in ("DC exact", "SVC tol 0.001", "LIBSVM to its end"):
            shares = found[f"{panel}, {label}"]
            assert min(shares["recall"], shares["precision"]) > 0.97
        # a pair step moves two coefficients at most
        first = found[f"{panel}, LIBSVM {FIRST} steps"]
        whole = found[f"{panel}, LIBSVM {2 * FIRST} steps"]
        assert 0 < first["recall"] < whole["recall"]
        clusters = found[f"{panel}, DC 4 clusters"]
        assert clusters["processor s"] < found[f"{panel}, DC exact"]["processor s"]


def test_libsvm_runs_until_it_takes_too_long(monkeypatch):
    X, y = make_moons(N, noise=0.2, random_state=0)
    monkeypatch.setattr(support_found, "LONGEST", 1e-9)
    monkeypatch.setattr(support_found, "FIRST_STEPS", FIRST)
    C, kernel = support_found.KERNELS["RBF"]
    split = Split(X, 2.0 * y - 1, X, y)
    (only,) = support_found.by_steps(split, C, kernel, True)
    assert only[0] == f"LIBSVM {support_found.FIRST_STEPS} steps"


def test_the_picture_has_a_panel_for_each_kernel_and_way(rows):
    drawn = figures.figures(rows)
    assert set(drawn) == {"figure2_time"}
    titles = [ax.get_title() for ax in drawn["figure2_time"].axes]
    assert titles[1] == f"covtype RBF without shrinking, {N} rows"
    labels = {line.get_label() for line in drawn["figure2_time"].axes[0].lines}
    assert labels == {"DC", "SVC", "LIBSVM"}
    heights = np.concatenate(
        [line.get_ydata() for line in drawn["figure2_time"].axes[0].lines]
    )
    assert heights.max() <= 1.0
