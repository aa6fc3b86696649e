"""Data larger than memory, in blocks, on disk, a part at a time."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from numpy.testing import assert_allclose

from widemargin import ChanceConstrainedSVC
from widemargin.estimators.chance_constrained import stochastic as solver
from widemargin.estimators.chance_constrained.block_sources import in_memory
from widemargin.estimators.chance_constrained.stochastic import refit


def cloud(n, d=5, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(2, size=n)
    return rng.normal(size=(n, d)) + 0.7 * y[:, None], y


@pytest.fixture(scope="module")
def exact():
    X, y = cloud(3000)
    model = ChanceConstrainedSVC().fit(X, y)
    assert model.certificate_.gap <= 1e-9 * model.certificate_.objective
    return X, y, model


def blocks_of(X, y, size=500, **extras):
    def blocks():
        for start in range(0, len(y), size):
            rows = slice(start, start + size)
            options = {name: values[rows] for name, values in extras.items()}
            yield (X[rows], y[rows], options) if options else (X[rows], y[rows])

    return blocks


@pytest.mark.parametrize("standardize", [True, False])
def test_blocks_reach_what_memory_reaches(exact, standardize):
    X, y, _ = exact
    options = {"standardize": standardize, "C": 1.0}
    reference = ChanceConstrainedSVC(**options).fit(X, y)
    model = ChanceConstrainedSVC(
        solver="ssgd", epochs=30, random_state=0, **options
    ).fit_blocks(blocks_of(X, y))
    best = reference.certificate_.objective
    assert best <= model.certificate_.objective <= 1.01 * best
    assert model.certificate_.gap is None
    assert model.slack_ is None
    assert_allclose(model.bounded_share_, reference.bounded_share_, atol=0.02)
    assert_allclose(model.covariances_, reference.covariances_, rtol=1e-9)
    assert model.n_features_in_ == 5
    assert np.mean(model.predict(X) == reference.predict(X)) > 0.97


def test_blocks_with_covariances_weights_and_three_classes(exact):
    X, y, _ = exact
    y = y + (X[:, 0] > 1.5)
    extras = {"covariance": np.full(X.shape, 0.05), "sample_weight": np.ones(len(y))}
    model = ChanceConstrainedSVC(solver="ssgd", epochs=20, random_state=0)
    model.fit_blocks(list(blocks_of(X, y, **extras)()))
    reference = ChanceConstrainedSVC().fit(X, y, **extras)
    for ours, theirs in zip(model.certificate_, reference.certificate_, strict=True):
        assert theirs.gap <= 1e-8 * theirs.objective
        assert theirs.objective <= ours.objective <= 1.03 * theirs.objective
    assert model.covariances_ is None
    assert model.bounded_share_.shape == (3,)


@pytest.mark.parametrize(
    ("n", "d"),
    [(200_000, 10), (28_000, 24), (12_000, 60)],  # in cells, just so, and as they are
)
def test_a_file_larger_than_the_budget_stays_within_it(tmp_path, n, d):
    budget = 4.0
    path = tmp_path / "means.dat"
    rng = np.random.default_rng(0)
    on_disk = np.memmap(path, dtype=np.float64, mode="w+", shape=(n, d))
    y = rng.integers(2, size=n).astype(np.int8)
    for start in range(0, n, 4_000):
        rows = slice(start, start + 4_000)
        on_disk[rows] = rng.normal(size=(4_000, d)) + 0.5 * y[rows, None]
    on_disk.flush()
    X = np.memmap(path, dtype=np.float64, mode="r", shape=(n, d))
    assert X.nbytes > budget * 1e6
    model = ChanceConstrainedSVC(
        solver="ssgd", epochs=2, memory_mb=budget, random_state=0, C=1e-3
    )
    tracemalloc.start()
    model.fit(X, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak <= budget * 1e6
    exact = ChanceConstrainedSVC(C=1e-3).fit(np.asarray(X), y)
    assert exact.certificate_.gap <= 1e-9 * exact.certificate_.objective
    best = exact.certificate_.objective
    assert best <= model.certificate_.objective <= 1.01 * best


def test_blocks_made_on_the_way_stay_within_the_budget():
    """As many rows as a generator cares to make; only one block is there at a time."""
    budget, size = 4.0, 5_000

    def blocks():
        for seed in range(20):
            yield cloud(size, d=10, seed=seed)

    total = 20 * sum(part.nbytes for part in next(blocks()))
    assert total > budget * 1e6
    model = ChanceConstrainedSVC(
        solver="ssgd", epochs=2, memory_mb=budget, random_state=0, C=1e-3
    )
    tracemalloc.start()
    model.fit_blocks(blocks)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak <= budget * 1e6
    X, y = (np.concatenate(parts) for parts in zip(*blocks(), strict=True))
    best = ChanceConstrainedSVC(C=1e-3).fit(X, y).certificate_
    assert best.gap <= 1e-9 * best.objective
    assert best.objective <= model.certificate_.objective <= 1.01 * best.objective


def test_cells_change_the_refit_hardly(exact):
    X, _, model = exact
    w = model.coef_[0]
    rng = np.random.default_rng(1)
    spread = np.where(rng.random(3000) < 0.5, 0.1, 0.2)
    signs = np.where(exact[1] == 1, 1.0, -1.0)
    scores = np.stack([X @ w, spread, signs, np.ones(3000)])
    kept = solver.gather_scores(in_memory([scores[None]]), 3000, 1, 100.0)[0]
    gathered = solver.gather_scores(in_memory([scores[None]]), 3000, 1, 1e-3)[0]
    assert_allclose(kept, scores)
    assert gathered.shape[1] < 3000
    assert_allclose(gathered[3].sum(), 3000.0)  # the costs
    values = []
    for part in (kept, gathered):
        ours, b = refit(part, w, 3.0, True)
        spreads = spread * np.linalg.norm(ours) / np.linalg.norm(w)
        slack = np.maximum(1.0 - signs * (X @ ours + b) + 3.0 * spreads, 0.0)
        values.append(0.5 * ours @ ours + slack.sum())
    assert_allclose(values[1], values[0], rtol=1e-5)  # with the fewest cells there are


def test_cells_follow_the_budget():
    many = solver.cells_along(1, 256.0)
    assert many == solver.ALONG
    assert solver.cells_along(1, 6.0) < many
    assert solver.cells_along(4, 1e-3) == solver.cells_along(1, 1e-3)


def test_published_method_on_blocks(exact):
    X, y, _ = exact
    model = ChanceConstrainedSVC(
        solver="ssgd", refine=False, epochs=2, random_state=0
    ).fit_blocks(blocks_of(X, y))
    assert model.certificate_.n_iter == 6000
    assert [stage["size"] for stage in model.history_] == [1, 2]


def test_every_epoch_on_blocks_is_recorded_and_the_refit(exact):
    X, y, _ = exact
    model = ChanceConstrainedSVC(solver="ssgd", epochs=4, random_state=0)
    model.fit_blocks(blocks_of(X, y))
    stages = [(stage["stage"], stage["size"]) for stage in model.history_]
    assert stages == [*(("epoch", k) for k in (1, 2, 3, 4)), ("refit", 4)]
    assert all(stage["objective"] is None for stage in model.history_)


def test_partial_fit_learns_and_counts(exact):
    X, y, reference = exact
    matrices = {k: reference.covariances_[k] for k in (0, 1)}
    model = ChanceConstrainedSVC(solver="ssgd", covariance=matrices, random_state=0)
    for _ in range(10):
        for block in blocks_of(X, y)():
            model.partial_fit(*block, classes=[0, 1], n_samples_total=3000)
    assert model.n_iter_ == 30_000
    assert np.mean(model.predict(X) == reference.predict(X)) > 0.97
    with pytest.raises(ValueError, match="not in classes"):
        model.partial_fit(X[:2], [0, 5])


def test_partial_fit_step_uses_the_rows_seen_or_the_given_total(exact):
    X, y, _ = exact
    options = {"solver": "ssgd", "refine": False, "covariance": np.zeros((5, 5))}
    first = X[:1], y[:1]
    seen = ChanceConstrainedSVC(**options).partial_fit(*first, classes=[0, 1])
    sign = 1.0 if y[0] == 1 else -1.0
    assert_allclose(seen.coef_[0], sign * X[0])  # C m / t with m = t = 1
    told = ChanceConstrainedSVC(**options).partial_fit(
        *first, classes=[0, 1], n_samples_total=7
    )
    assert_allclose(told.coef_[0], 7.0 * sign * X[0])


@pytest.mark.parametrize("total", [None, 7])
def test_partial_fit_counts_the_rows_of_all_calls(total):
    """The m of a step is all rows seen, not those of the call; t goes on."""
    X = np.array([[0.1, 0.2], [-0.3, 0.1], [0.2, -0.1]])  # all violate their margins
    y = np.array([1, 0, 1])
    model = ChanceConstrainedSVC(
        C=0.05, solver="ssgd", refine=False, covariance=np.zeros((2, 2))
    )
    w, b = np.zeros(2), 0.0
    for t in (1, 2, 3):
        row = slice(t - 1, t)
        model.partial_fit(X[row], y[row], classes=[0, 1], n_samples_total=total)
        sign = 2.0 * y[t - 1] - 1.0
        assert sign * (w @ X[t - 1] + b) < 1.0
        m = t if total is None else total
        w = (1.0 - 1.0 / t) * w + 0.05 * m / t * sign * X[t - 1]
        b += 0.05 * m / t * sign
        assert_allclose(model.coef_[0], w)
        assert_allclose(model.intercept_[0], b)
        assert model.n_iter_ == t


def test_partial_fit_goes_on_after_fit(exact):
    X, y, _ = exact
    model = ChanceConstrainedSVC(solver="ssgd", epochs=5, random_state=0).fit(X, y)
    before = model.coef_.copy()
    model.partial_fit(X[:100], y[:100], n_samples_total=3000)
    assert 0.0 < np.abs(model.coef_ - before).max() < np.abs(before).max()
    for name in ("certificate_", "history_", "slack_", "bounded_share_"):
        assert not hasattr(model, name)  # they spoke of the model before


def test_partial_fit_says_what_it_needs(exact):
    X, y, _ = exact
    assert not hasattr(ChanceConstrainedSVC(), "partial_fit")
    with pytest.raises(AttributeError, match="partial_fit"):
        _ = ChanceConstrainedSVC().partial_fit
    model = ChanceConstrainedSVC(solver="ssgd")
    with pytest.raises(ValueError, match="classes must be passed on the first call"):
        model.partial_fit(X, y)
    with pytest.raises(ValueError, match="cannot be estimated from a part"):
        model.partial_fit(X, y, classes=[0, 1])
    with pytest.raises(ValueError, match="standardize=True and"):
        ChanceConstrainedSVC(solver="ssgd", standardize=True).partial_fit(
            X, y, classes=[0, 1]
        )
    model = ChanceConstrainedSVC(solver="ssgd", covariance=np.eye(X.shape[1]))
    with pytest.raises(ValueError, match="n_samples_total must be at least 1, got 0"):
        model.partial_fit(X, y, classes=[0, 1], n_samples_total=0)
    with pytest.raises(ValueError, match="sample_weight has negative entries"):
        model.partial_fit(X, y, classes=[0, 1], sample_weight=-np.ones(len(y)))


def test_bad_blocks_are_explained(exact):
    X, y, _ = exact
    model = ChanceConstrainedSVC(solver="ssgd")
    with pytest.raises(ValueError, match="can be read only once"):
        model.fit_blocks(iter([(X, y)]))
    with pytest.raises(ValueError, match="a function or a sequence"):
        model.fit_blocks(3)
    with pytest.raises(ValueError, match="blocks is empty"):
        model.fit_blocks([])
    with pytest.raises(ValueError, match="NaN"):
        model.fit_blocks([(np.full((2, 2), np.nan), [0, 1])])
    with pytest.raises(ValueError, match="number of classes has to be greater"):
        model.fit_blocks([(X, np.zeros(3000))])
    with pytest.raises(ValueError, match="blocks have 5 and 4 features"):
        model.fit_blocks([(X, y), (X[:, :4], y)])
    variances = {"covariance": np.ones(X.shape)}
    with pytest.raises(ValueError, match="some blocks bring covariance"):
        model.fit_blocks([(X, y, variances), (X, y)])
    with pytest.raises(ValueError, match=r"extras hold \['variances'\]"):
        model.fit_blocks([(X, y, {"variances": np.ones(X.shape)})])
    with pytest.raises(ValueError, match="sample_weight has negative entries"):
        model.fit_blocks([(X, y, {"sample_weight": -np.ones(len(y))})])
