"""The DPWSS paper's module: the printed table, the tasks, the scores, the figures."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from widemargin import PrivateSVC
from widemargin.engine.solve import DrawnPairs
from widemargin_papers.dpwss import audit as dpwss_extra
from widemargin_papers.dpwss import iteration_cost
from widemargin_papers.dpwss import report as dpwss_report
from widemargin_papers.dpwss import runs as dpwss_runs
from widemargin_papers.dpwss import tasks as dpwss
from widemargin_papers.dpwss.printed import printed
from widemargin_papers.harness.cells import Cell


@pytest.fixture
def small(monkeypatch):
    """A stand-in of 60 rows under the name of heart."""
    rng = np.random.default_rng(0)
    y = np.where(np.arange(60) % 2 == 0, 1.0, -1.0)
    X = rng.normal(size=(60, 4)) + 0.5 * y[:, None]
    from scipy import sparse

    monkeypatch.setattr(dpwss_runs, "labelled", lambda name: (sparse.csr_matrix(X), y))
    dpwss_runs.problem_of.cache_clear()
    yield X, y
    dpwss_runs.problem_of.cache_clear()


def test_printed_table_is_whole_and_consistent():
    table = printed()
    assert len({key[0] for key in table}) == 16
    assert table["heart", 0, "iteration", "wss2"] == 1010
    assert table["ijcnn1", 0, "iteration", "1/0.1"] == 45191
    for (name, shrinking, metric, column), f1 in table.items():
        if metric != "f1":
            continue
        precision = table.get((name, shrinking, "precision", column))
        recall = table.get((name, shrinking, "recall", column))
        if precision is not None and recall is not None:
            # Means of five runs need not satisfy it exactly; misread cells are far off.
            mean = 2 * precision * recall / (precision + recall)
            assert_allclose(f1, mean, atol=2e-3)


def test_every_task_names_its_file_and_the_short_version_is_short():
    full, quick = dpwss.tasks(False), dpwss.tasks(True)
    assert len({task.name for task in full}) == len(full)
    assert {task.needs[0] for task in quick if task.needs} == {
        "heart_scale",
        "breast-cancer_scale",
        "sonar_scale",
    }
    assert full[-1].needs == ("ijcnn1",)  # the slowest last
    needed = {name for task in full for name in task.needs}
    assert {"gisette_scale", "rcv1_train.binary", "a1a"} <= needed


def test_scores_by_hand():
    y = np.array([1.0, 1.0, 1.0, -1.0, -1.0])
    scores = dpwss_runs.scores_of(y, np.array([3.0, 1.0, -1.0, 2.0, -2.0]))
    assert_allclose(scores["accuracy"], 3 / 5)
    assert_allclose(scores["precision"], 2 / 3)
    assert_allclose(scores["recall"], 2 / 3)
    assert_allclose(scores["f1"], 2 / 3)
    assert_allclose(scores["auc"], 4 / 6)
    assert_allclose(scores["mcc"], (2 * 1 - 1 * 1) / np.sqrt(3 * 3 * 2 * 2))


def test_wss2_is_libsvms_run_to_the_iteration(small):
    pytest.importorskip("libsvm.svm")
    ours = dpwss_runs.train("heart", "libsvm_second_order")
    theirs = dpwss_runs.libsvm_run("heart", shrinking=False)
    assert ours.iterations == theirs.iterations
    assert_allclose(ours.objective, theirs.objective, rtol=1e-5)
    assert_allclose(list(ours.scores.values()), list(theirs.scores.values()), atol=1e-9)


def test_cells_carry_reason_and_violation(small):
    cells = list(dpwss._drawn("heart", "1/0.7", 0, 2))
    violation = next(c for c in cells if c.column.endswith("KKT violation"))
    assert violation.note == "2 exhausted" and violation.ours > 1e-3
    run = dpwss_runs.train("heart", DrawnPairs(1.0, 0.7), seed=0)
    other = dpwss_runs.train("heart", DrawnPairs(1.0, 0.7), seed=1)
    objective = next(c for c in cells if c.column.endswith(" obj"))
    assert_allclose(objective.ours, (run.objective + other.objective) / 2)
    error = next(c for c in cells if c.column.startswith("objError"))
    assert_allclose(error.ours, abs(objective.ours - -92.47))
    ratio = next(c for c in cells if c.column.startswith("iterationRatio"))
    assert_allclose(ratio.ours, (run.iterations + other.iterations) / 2 / 1010)


def test_rules_apart_and_sweep(small):
    apart = list(dpwss._apart("heart", 1))
    by_rule = {(c.row, c.column): c for c in apart}
    assert by_rule["heart: WSS2", "KKT violation"].ours <= 1e-3
    assert by_rule["heart: DPWSS", "obj"].note == "1 stationary"
    once = by_rule["heart: DPWSS, once", "obj"].ours
    assert once >= by_rule["heart: DPWSS", "obj"].ours - 1e-6
    assert len(list(dpwss._sweep("heart", 1))) == 27


def test_figures_are_of_the_cells_there_are(small):
    pytest.importorskip("matplotlib")
    drawn = dpwss_report.figures(list(dpwss._drawn("heart", "1/0.7", 0, 1)))
    assert set(drawn) == {"dpwss_objerror", "dpwss_iteration_ratio"}
    assert dpwss_report.figures([Cell("other", "row", "column", 1.0)]) == {}


def test_the_audit_task_tells_a_leak_from_sound_noise():
    # The whole size is tests/estimators/private/test_audit.py.
    names = ("DPWSS, stated 0.1", "PrivateSVC, output, stated 1")
    leak, sound = (
        next(iter(dpwss_extra.audit(name, 0, runs=40, held_out=20))) for name in names
    )
    assert leak.ours > 1.5 and "; refuted;" in leak.note
    assert sound.ours < 1.0 and "; not caught;" in sound.note
    assert len(dpwss_extra.contestants()) == 5


@pytest.mark.filterwarnings("ignore::widemargin.NoiseWarning")
def test_half_of_the_noise_is_all_that_is_broken():
    X, y = dpwss_extra.patients()
    public = {"clip_norm": 1.0, "classes": [0, 1]}
    whole = PrivateSVC(1.0, **public).fit(X, y).privacy_report()
    broken = dpwss_extra.TooLittleNoise(1.0, **public).fit(X, y).privacy_report()
    assert_allclose(broken.noise_scale, whole.noise_scale / 2)
    assert broken.sensitivity == whole.sensitivity


def test_cost_of_an_iteration(small, monkeypatch):
    monkeypatch.setattr(iteration_cost, "STEPS", 50)
    cells = list(iteration_cost.cost_of_an_iteration("heart"))
    assert len(cells) == 4 and all(cell.ours > 0 for cell in cells)
    assert cells[0].note.startswith("1.00 of WSS2")


def test_the_parts_of_the_pages_are_written_from_the_cells():
    cells = [
        Cell("Table 3", "heart shrinking=0", "WSS2 obj", -92.4734, -92.47, 0.00501),
        Cell("Table 3", "heart shrinking=0", "WSS2 auc", 0.9, 0.8, 0.00005),
        Cell(
            iteration_cost.COST, "ijcnn1 (49990 rows)", "WSS2", 512.0, note="1.00 of it"
        ),
        Cell(dpwss_extra.AUDIT, "DPWSS", "seed 0", 3.98, note="200 found; refuted; at"),
        Cell(dpwss_extra.AUDIT, "DPWSS", "seed 1", 3.5, note="190 found; refuted; at"),
    ]
    column = "DPWSS epsilon/sigma=1/0.1"
    for metric, ours, paper in (
        ("obj", -92.19, -92.2),
        ("iteration", 1081.0, 1097.0),
        ("KKT violation", 0.32, None),
    ):
        note = "5 exhausted"
        name = f"{column} {metric}"
        cells.append(
            Cell("Table 3", "heart shrinking=0", name, ours, paper, None, note)
        )
    cells += [
        Cell("Randomness and early stopping apart", "heart: WSS1", metric, value)
        for metric, value in (("obj", -1.0), ("iteration", 2e3), ("KKT violation", 0.1))
    ]
    text = {name: part(cells) for name, part in dpwss_report.PARTS.items()}
    assert "1 of 2 legible printed cells" in text["dpwss_exact.inc"]
    assert "- WSS2 auc\n     - 0.9\n     - 0.8\n" in text["dpwss_exact.inc"]
    ours = "-92.19 / 1,081 / 0.32 (5 exhausted)\n     - -92.20 / 1,097\n"
    assert ours in text["dpwss_drawn.inc"]
    assert "1 of 168 settings" in text["dpwss_drawn.inc"]
    assert "- 512\n     - 1.00 of it" in text["dpwss_cost.inc"]
    assert "- 3.50\n     - 3.98\n     - 200 found\n" in text["private_audit.inc"]
    assert "refuted with 2 of 2 seeds" in text["private_audit.inc"]
    assert "-1.00 / 2,000 / 0.1" in text["dpwss_apart.inc"]
    composed = "- 0.1, 400\n     - 40.0\n     - 13.8\n     - 10.7\n     - 4.7\n"
    assert composed in text["private_composed.inc"]


def test_the_rule_for_sigma_takes_the_largest_that_loses_little():
    cells = []
    for name in dpwss.APART:
        best = {"obj": -100.0, "iteration": 50.0}
        table = "Randomness and early stopping apart"
        cells += [Cell(table, f"{name}: WSS2", key, own) for key, own in best.items()]
        for sigma in dpwss.SWEEP:
            lost = 0.4 if sigma < 0.55 else 2.0
            row = f"{name} sigma={sigma}"
            cells.append(Cell("Sweep of sigma", row, "obj", -100.0 + lost))
            cells.append(Cell("Sweep of sigma", row, "iteration", 25.0))
    text = dpwss_report.sweep(cells)
    assert "by half: choose: 0.5; check: 0.5" in text
    assert "- 0.7\n     - 2.00 % / 0.50\n     - 2.00 % / 0.50\n" in text
    halves = dpwss_report.HALVES
    assert not set(halves["choose"]) & set(halves["check"])
    assert dpwss_report.sweep([]) == "(Not measured.)\n"
