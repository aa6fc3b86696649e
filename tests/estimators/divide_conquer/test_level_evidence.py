"""Early models that are right or say so: levels chosen by what held-out rows show."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import make_blobs, make_classification, make_moons
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import balanced_accuracy_score, roc_auc_score
from sklearn.preprocessing import scale

from widemargin import SVC, DivideConquerSVC
from widemargin.engine.gram import Gram
from widemargin.estimators.divide_conquer import early as early_models
from widemargin.estimators.divide_conquer import (
    evidence_rows,
    level_evidence,
    whole_problem,
)
from widemargin.estimators.divide_conquer.level_quality import (
    EarlyWarning,
    Evidence,
    Quality,
    area_under_curve,
    disappointing,
)
from widemargin.multilevel.router import InputRouter

TEST = 4000
RANKED = ((20, 0.95), (10, 0.9), (5, 0.92))  # one row of so many is wrong, and the AUC


@pytest.fixture(autouse=True)
def ask_of_few_rows_too(monkeypatch):
    monkeypatch.setattr(level_evidence, "AT_ONCE", 0)
    monkeypatch.setattr(level_evidence, "FEW", 0)


def generated(n, n_features, **keywords):
    """Overlapping classes of a smooth boundary, split into training and test rows."""
    X, y = make_classification(
        n + TEST, n_features, n_informative=n_features - 4, n_redundant=2,
        n_clusters_per_class=4, class_sep=0.8, random_state=0, **keywords,
    )  # fmt: skip
    X = scale(X)
    return X[TEST:], y[TEST:], X[:TEST], y[:TEST]


def early(**keywords):
    return DivideConquerSVC(prediction="early", **keywords)


def evidence_of(model):
    return [s for s in model.history_ if s["stage"].startswith("evidence")]


@pytest.fixture(scope="module")
def smooth():
    return generated(12_000, 20)


def balanced(model, Z, labels):
    return balanced_accuracy_score(labels, model.predict(Z))


def test_a_smooth_boundary_is_not_cut_into_pieces(smooth):
    X, y, Z, labels = smooth
    exact = balanced(SVC().fit(X, y), Z, labels)
    assert exact - balanced(early(early_level=2).fit(X, y), Z, labels) > 0.02
    model = early().fit(X, y)
    assert exact - balanced(model, Z, labels) <= 0.005
    assert [s["stage"][-1] for s in evidence_of(model)] == ["2", "1"]
    first = evidence_of(model)[0]
    assert first["coarser_balanced_accuracy"] > first["finer_balanced_accuracy"]
    assert first["expected_loss"] - first["deviation"] > 0.005
    assert 2000 <= first["held_out"] <= 10_000


def test_few_rows_are_solved_whole_and_nothing_is_asked(smooth, monkeypatch):
    X, y, Z, _ = smooth
    monkeypatch.setattr(level_evidence, "AT_ONCE", 4000**2)
    model = early().fit(X[:4000], y[:4000])
    assert evidence_of(model) == [] and model.early_.n_clusters == 1
    exact = SVC().fit(X[:4000], y[:4000])
    assert_allclose(model.decision_function(Z), exact.decision_function(Z), atol=0.01)
    monkeypatch.setattr(whole_problem, "WORTH", 0.0)  # whatever it costs
    assert evidence_of(early().fit(X[:4001], y[:4001]))


def test_few_rows_are_not_even_clustered(smooth, monkeypatch):
    X, y, Z, _ = smooth
    monkeypatch.setattr(level_evidence, "FEW", 3000)
    model = early(gamma=200.0).fit(X[:3000], y[:3000])  # local, if it were asked
    assert [stage["stage"] for stage in model.history_] == ["level 0"]
    exact = SVC(gamma=200.0).fit(X[:3000], y[:3000])
    assert_allclose(model.decision_function(Z), exact.decision_function(Z), atol=0.01)
    assert early(gamma=200.0).fit(X[:3001], y[:3001]).early_.n_clusters > 1


def test_evidence_takes_a_small_part_of_the_work(smooth, monkeypatch):
    """Counted: at most 40 % of the kernel entries of the fit, at every level asked."""
    X, y, _, _ = smooth
    handles, begin, compare = [], Gram.__init__, level_evidence.compare_levels

    def noted(self, *arguments, **options):
        begin(self, *arguments, **options)
        handles.append(self)

    def evaluated():
        return sum(handle.evaluated for handle in handles)

    asked = []

    def counted(*arguments):
        before = evaluated()
        found = compare(*arguments)
        asked.append(evaluated() - before)
        return found

    monkeypatch.setattr(Gram, "__init__", noted)
    monkeypatch.setattr(level_evidence, "compare_levels", counted)
    for tolerance in (0.005, 0.02, 1.0):  # one cluster, four, sixteen
        handles.clear(), asked.clear()
        early(early_tolerance=tolerance, n_jobs=1).fit(X, y)
        assert 0 < sum(asked) <= 0.4 * evaluated()


def test_nothing_is_asked_of_a_local_kernel():
    X, y = make_moons(3000, noise=0.2, random_state=0)
    model = early(gamma=200.0).fit(X, y)
    assert evidence_of(model) == [] and model.early_.n_clusters == 4


def test_pieces_that_lose_nothing_are_taken():
    X, y = make_blobs(3000, 12, cluster_std=0.3, random_state=0)
    model = early(gamma=0.05).fit(X, y % 2)
    assert len(evidence_of(model)) == 1 and model.early_.n_clusters == 4


def test_the_same_level_and_model_for_the_same_data(smooth):
    X, y, Z, _ = smooth
    one, two = (early().fit(X[:4000], y[:4000]) for _ in range(2))
    assert one.early_.n_clusters == two.early_.n_clusters
    assert_array_equal(one.decision_function(Z), two.decision_function(Z))


def test_rare_positives_are_ranked_as_by_the_exact_model():
    X, y, Z, labels = generated(10_000, 10, weights=[0.98], flip_y=0)
    weights = {0: 1, 1: 50}
    auc = [
        roc_auc_score(labels, model.fit(X, y).decision_function(Z))
        for model in (
            SVC(class_weight=weights),
            early(class_weight=weights),
            early(class_weight=weights, early_level=2),
        )
    ]
    assert auc[0] - auc[1] <= 0.01
    assert auc[0] - auc[2] > 0.02  # what was given before, without a word


def test_several_classes(smooth):
    X, y, Z, labels = generated(6000, 12, n_classes=3)
    model = early().fit(X, y)
    assert evidence_of(model)[0]["finer_auc"] is None
    exact = balanced(SVC().fit(X, y), Z, labels)
    assert exact - balanced(model, Z, labels) <= 0.005


def test_a_cut_that_both_levels_share_is_seen_by_random_rows():
    """Clusters that follow the classes cut along the boundary, on every level."""
    rng = np.random.default_rng(3)
    centres, y = rng.normal(size=(3, 8)), rng.integers(3, size=12_000 + TEST)
    X = scale(1.2 * centres[y] + rng.normal(size=(len(y), 8)))
    X, Z, y, labels = X[TEST:], X[:TEST], y[TEST:], y[:TEST]
    exact = balanced(SVC().fit(X, y), Z, labels)
    forced = early(early_level=2, random_state=0).fit(X, y)
    assert exact - balanced(forced, Z, labels) > 0.005
    model = early(random_state=0).fit(X, y)
    assert exact - balanced(model, Z, labels) <= 0.005
    finest = evidence_of(model)[0]
    assert finest["sampled_balanced_accuracy"] > finest["finer_balanced_accuracy"]


@pytest.mark.parametrize(
    ("most", "level", "sampled"),
    [(3e6, 2, "SVC(C=1) on 948"), (3e7, 1, "SVC(C=6.32) on 1899")],
)
def test_where_a_coarser_level_costs_too_much_the_figures_are_said(
    smooth, monkeypatch, most, level, sampled
):
    """At level 1 the rows that trained have the weight of all."""
    X, y, _, _ = smooth
    monkeypatch.setattr(level_evidence, "MOST_ENTRIES", most)
    with pytest.warns(EarlyWarning, match="clusters is expected to lose") as caught:
        model = early().fit(X, y)
    words = str(caught[0].message)
    assert model.early_.n_clusters == 4**level
    record = evidence_of(model)[-1]
    for figure in ("finer", "coarser"):
        assert f"{100 * record[f'{figure}_balanced_accuracy']:.1f} %" in words
    assert record["sampled_auc"] > record["finer_auc"]
    assert f"{sampled} random rows" in words
    assert sampled.endswith(str(record["sampled_rows"]))


def test_the_area_is_that_of_scikit_learn():
    rng = np.random.default_rng(0)
    values = np.round(rng.normal(size=300), 1)  # with ties
    positive = rng.random(300) < 0.1
    found = area_under_curve(values, positive)
    assert_allclose(found, roc_auc_score(positive, values), rtol=1e-12)


def test_rows_that_train_stand_for_all():
    """A smooth boundary that few rows do not show at C=1, and sixteen clusters lose."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20_000 + TEST, 6))
    y = (X[:, 0] * X[:, 1] + X[:, 2] + 0.5 * rng.normal(size=len(X)) > 0).astype(int)
    X = np.c_[X, np.full((len(X), 3), 7.0)]  # which gamma="scale" makes smaller
    X, Z, y, labels = X[TEST:], X[:TEST], y[TEST:], y[:TEST]
    exact = balanced(SVC().fit(X, y), Z, labels)
    assert exact - balanced(early(early_level=2).fit(X, y), Z, labels) > 0.015
    model = early().fit(X, y)
    assert exact - balanced(model, Z, labels) <= 0.005
    assert abs(exact - evidence_of(model)[-1]["coarser_balanced_accuracy"]) < 0.01


def test_against_the_whole_problem_no_error_is_allowed_for():
    truth = np.repeat([0, 1], 100)
    right = np.ones(200, dtype=bool)
    wrong = right.copy()
    wrong[:2] = False
    for level, exceeds in ((1, True), (2, False)):
        found = Evidence(
            level, Quality(wrong, truth, 0.9), Quality(right, truth, 0.9), truth,
            1, 50, 20, 0.0,
        )  # fmt: skip
        assert found.exceeds(0.009) == exceeds and not found.exceeds(0.02)


@pytest.mark.parametrize("figure", ["coarser", "sampled"])
def test_a_loss_above_the_tolerance_counts_but_where_few_rows_cannot_tell(figure):
    """An error above the tolerance cannot tell it from no loss."""
    truth = np.repeat([0, 1], 500)
    right = np.ones(1000, dtype=bool)
    wrong = right.copy()
    wrong[:5], wrong[500:503] = False, False
    better, worse = Quality(right, truth, None), Quality(wrong, truth, None)
    found = Evidence(
        2, worse, better if figure == "coarser" else worse, truth, 1, 50, 20, 0.0,
        sampled=better if figure == "sampled" else None,
    )  # fmt: skip
    scale = 1.5 if figure == "coarser" else 1.0
    loss, error = scale * 0.008, scale * worse.deviation_against(better)
    assert 2.0 * error < loss < 3.0 * error
    assert found.exceeds(0.99 * loss) and not found.exceeds(1.01 * loss)
    wrong[1:5], wrong[501:503] = True, True  # two rows: no loss to rely on
    few = Quality(wrong, truth, None)
    found = Evidence(2, few, better, truth, 1, 50, 20, 0.0)
    assert found.deviation < found.loss < 2.0 * found.deviation
    assert found.exceeds(1.01 * found.deviation)
    assert not found.exceeds(0.99 * found.deviation)


def test_where_random_rows_do_far_worse_the_standard_error_is_allowed_for():
    """Few rows near by are what is missing, in the parts that train above all."""
    truth = np.repeat([0, 1], 500)
    right = np.ones(1000, dtype=bool)
    finer, near, far = right.copy(), right.copy(), right.copy()
    finer[:8] = near[:50] = far[:120] = False
    finer[500:508] = near[500:550] = far[500:620] = False
    coarser = Quality(right, truth, None)
    for sampled, exceeds in ((None, True), (near, True), (far, False)):
        found = Evidence(
            2, Quality(finer, truth, None), coarser, truth, 1, 50, 20, 0.0,
            sampled=None if sampled is None else Quality(sampled, truth, None),
        )  # fmt: skip
        least = found.loss - found.deviation  # and above the error: no chance
        assert least > found.deviation
        assert found.exceeds(1.01 * least) == exceeds and found.exceeds(0.99 * least)
        assert found.may_pass(1.01 * least) and not found.may_pass(0.99 * least)


def test_few_regions_are_all_asked_and_of_many_a_share():
    """Regions differ: two of four may not show what the others lose."""
    draw = np.random.default_rng(0)
    for count in (1, 4):
        sizes = np.full(count, 100)
        assert_array_equal(evidence_rows.drawn_regions(sizes, draw), np.arange(count))
    some = evidence_rows.drawn_regions(np.full(64, 100), draw)
    assert len(np.unique(some)) == 26


def test_random_rows_are_named_only_where_they_win():
    truth = np.repeat([0, 1], 100)
    found = [Quality(np.arange(200) % k > 0, truth, auc) for k, auc in RANKED]
    for sampled, wins in zip(found, (True, False, False), strict=True):
        evidence = Evidence(
            1, found[1], found[0], truth, 1, 50, 20, 0.0, sampled=sampled
        )
        assert ("random rows" in disappointing(evidence, early(), 200)) == wins


def test_the_tolerance_is_the_users(smooth):
    X, y, _, _ = smooth
    model = early(early_tolerance=0.5).fit(X, y)
    assert model.early_.n_clusters == 16 and len(evidence_of(model)) == 1
    with pytest.raises(ValueError, match="early_tolerance"):
        early(early_tolerance=-1.0).fit(X, y)


def test_a_level_of_ones_own_is_not_questioned(smooth):
    X, y, _, _ = smooth
    model = early(early_level=2).fit(X, y)
    assert evidence_of(model) == [] and model.early_.n_clusters == 16


def test_class_and_sample_weights_reach_the_comparison(smooth, monkeypatch):
    X, y, _, _ = smooth
    seen = []
    compare = level_evidence.compare_levels
    monkeypatch.setattr(
        level_evidence,
        "compare_levels",
        lambda machine, own, *rest: seen.append(own) or compare(machine, own, *rest),
    )
    weights = np.linspace(1, 2, 3000)
    model = early(class_weight={0: 1, 1: 3}, C=2.0, early_tolerance=1.0)
    model.fit(X[:3000], y[:3000], weights)
    assert_array_equal(
        seen[0].sample.weights, weights * np.where(y[:3000] == 1, 3.0, 1.0)
    )


def test_a_time_limit_ends_the_comparison_too(smooth):
    X, y, _, _ = smooth
    with pytest.raises(ValueError, match="max_time"):
        early(max_time=1e-4).fit(X, y)
    with pytest.warns(ConvergenceWarning):
        early(max_iter=3).fit(X, y)


def test_the_loss_is_the_worse_of_two_figures_over_all_steps():
    truth = np.repeat([0, 1], 100)
    right = np.ones(200, dtype=bool)
    wrong = right.copy()
    wrong[:10] = False  # a tenth of one of two classes
    finer, coarser = Quality(wrong, truth, 0.9), Quality(right, truth, 0.93)
    found = Evidence(2, finer, coarser, np.arange(200), 1, 50, 20, 0.0)
    assert np.isclose(found.loss, 1.5 * 0.05)
    assert np.isclose(found.deviation, 1.5 * np.sqrt(0.1 * 0.9 / 100) / 2)
    ranked = Evidence(1, Quality(right, truth, 0.9), coarser, truth, 1, 50, 20, 0.0)
    assert np.isclose(ranked.loss, 0.03)
    assert ranked.entries(1000) == 400_000


def test_rows_whose_clusters_are_known_are_not_routed_again(smooth, monkeypatch):
    X, y, _, _ = smooth
    routed, assign = [], InputRouter.assign

    def counted(self, Z, threads=1):
        routed.append(Z.shape[0])
        return assign(self, Z, threads)

    monkeypatch.setattr(InputRouter, "assign", counted)
    model = early(early_tolerance=0.02).fit(X, y)
    assert len(evidence_of(model)) == 2
    assert routed == [len(X)] * 2  # the clusters asked about, and those taken


def test_values_of_few_pairs_are_those_of_many(monkeypatch):
    """A pair at a time or all together: the same to float32 entries."""
    X, y, Z, _ = generated(6000, 8, n_classes=3)
    model = early(early_level=2).fit(X, y)
    apart = model.decision_function(Z)
    monkeypatch.setattr(early_models, "FUSED", 0)
    assert_allclose(apart, model.decision_function(Z), atol=1e-4)
