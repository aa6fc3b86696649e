"""partial_fit after fit: it goes on from what was seen, and follows a drift."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from widemargin import ChanceConstrainedSVC, load, save

N, D = 2000, 5


def law(n, seed, angle=0.0, shift=0.0):
    """Draw from two normal clouds, two apart in the direction ``angle``."""
    rng = np.random.default_rng(seed)
    y = rng.integers(2, size=n)
    centre = np.zeros(D)
    centre[:2] = np.cos(angle), np.sin(angle)
    return rng.normal(size=(n, D)) + (2 * y[:, None] - 1) * centre + shift, y


def fitted(form, **options):
    X, y = law(N, 0)
    model = ChanceConstrainedSVC(solver="ssgd", random_state=0, **options)
    if form == "blocks":
        return model.fit_blocks([(X[:900], y[:900]), (X[900:], y[900:])])
    if form == "exact":
        return model.set_params(solver="newton").fit(X, y).set_params(solver="ssgd")
    return model.fit(X, y)


@pytest.mark.parametrize("form", ["memory", "blocks", "exact"])
@pytest.mark.parametrize("refine", [True, False])
def test_rows_of_the_same_law_leave_the_model_where_it_is(form, refine):
    """The defect: its sums began at zero again, and the norm fell.

    C is small: there the optimum's norm grows with C times the number of rows.
    """
    model, norms = fitted(form, C=3e-3, epochs=1, refine=refine), []
    before = np.linalg.norm(model.coef_), model.n_iter_
    X, y = law(800, 1)
    for rows in np.split(np.arange(800), 8):
        norms.append(np.linalg.norm(model.partial_fit(X[rows], y[rows]).coef_))
    assert_allclose(norms, before[0], rtol=0.1)
    assert model.n_iter_ == before[1] + 800


@pytest.mark.parametrize(("angle", "shift"), [(0.5, 0.0), (1.5, 0.0), (0.0, 1.0)])
@pytest.mark.parametrize("epochs", [5, 50])
def test_under_drift_it_comes_within_a_point_of_a_refit(angle, shift, epochs):
    model = fitted("memory", epochs=epochs)
    X, y = law(N, 5, angle, shift)
    new, labels = law(20_000, 7, angle, shift)
    before = model.score(new, labels)
    for rows in np.split(np.arange(N), 20):
        model.partial_fit(X[rows], y[rows])
    first = law(N, 0)
    on_all = ChanceConstrainedSVC().fit(
        np.vstack([first[0], X]), np.concatenate([first[1], y])
    )
    on_new = ChanceConstrainedSVC().fit(X, y)
    for refit in (on_all, on_new):
        assert refit.certificate_.gap <= 1e-9 * refit.certificate_.objective
        assert model.score(new, labels) >= refit.score(new, labels) - 0.01
    assert before < on_new.score(new, labels) - 0.02  # there was something to follow


def test_a_fit_leaves_nothing_of_the_model_before_it():
    X, y = law(100, 3)
    model = fitted("memory", epochs=2)
    names = set(vars(model))
    assert "certificate_" in names
    model.partial_fit(X, y)
    assert set(vars(model)) < names and "slack_" not in vars(model)
    assert set(vars(model.fit(X, y))) == names


def test_only_the_first_call_draws_from_the_random_state():
    X, y = law(100, 3)
    state = np.random.RandomState(0)
    model = fitted("memory", epochs=2).set_params(random_state=state)
    model.partial_fit(X, y)
    after_one = state.get_state()[2]
    model.partial_fit(X, y)
    assert state.get_state()[2] == after_one > 0


def test_a_stored_model_goes_on_as_the_one_in_memory(tmp_path):
    model = fitted("memory", epochs=5)
    save(model, tmp_path / "model.wm")
    again = load(tmp_path / "model.wm")
    X, y = law(100, 3)
    for part in (model, again):
        part.partial_fit(X, y).partial_fit(X, y)
    assert_array_equal(again.coef_, model.coef_)
    assert again.n_iter_ == model.n_iter_


def test_rows_without_weight_are_no_steps():
    X, y = law(100, 3)
    weights = np.ones(100)
    weights[::3] = 0.0
    y = np.where(weights == 0.0, 9, y)  # nor need their labels be known
    kept = weights > 0.0
    models = [fitted("memory", epochs=5) for _ in range(2)]
    models[0].partial_fit(X, y, sample_weight=weights)
    models[1].partial_fit(X[kept], y[kept])
    assert_array_equal(models[0].coef_, models[1].coef_)
    assert models[0].n_iter_ == models[1].n_iter_
