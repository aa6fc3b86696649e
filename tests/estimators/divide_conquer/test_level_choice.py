"""Which levels an exact fit solves by itself, and what it does with them."""

import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import make_moons

from widemargin import SVC, DivideConquerSVC
from widemargin.estimators.divide_conquer import estimator as estimator_module

X, y = make_moons(1500, noise=0.25, random_state=0)


def stages(model):
    return [stage["stage"] for stage in model.history_]


@pytest.fixture
def pays(monkeypatch):
    monkeypatch.setattr(estimator_module, "levels_pay", lambda *_: True)


def test_levels_that_do_not_pay_are_left_out():
    model = DivideConquerSVC(n_branches=2, random_state=0).fit(X, y)
    plain = SVC().fit(X, y)
    assert stages(model) == ["levels", "solve"]
    # SVC solves small problems in one compiled call: the same point, other rounding
    assert_allclose(model.decision_function(X), plain.decision_function(X), atol=1e-9)


def test_a_level_that_pays_is_where_the_finish_starts(pays):
    model = DivideConquerSVC(n_branches=2, random_state=0).fit(X, y)
    assert stages(model) == ["level 1", "refine", "finish"]
    assert "precision" in model.history_[0]
    assert model.n_iter_ != SVC().fit(X, y).n_iter_


@pytest.mark.usefixtures("pays", "interrupted_finish")
def test_the_level_is_kept_when_the_finish_is_stopped():
    model = DivideConquerSVC(n_branches=2, random_state=0)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert model.early_.n_clusters == 2 and model.fit_status_ == 1
    assert model.score(X, y) > 0.9


def test_a_time_limit_alone_costs_no_level_and_a_checkpoint_does(tmp_path):
    limited = DivideConquerSVC(n_branches=2, max_time=1e4, random_state=0).fit(X, y)
    assert stages(limited) == ["levels", "solve"]
    path = tmp_path / "fit.checkpoint"
    resumable = DivideConquerSVC(n_branches=2, checkpoint=path, random_state=0)
    assert stages(resumable.fit(X, y)) == ["level 1", "refine", "finish"]
