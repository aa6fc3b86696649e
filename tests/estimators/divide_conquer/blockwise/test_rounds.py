"""Exact fits in rounds: equal to SVC, warm, resumable, honest wherever they stop."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.datasets import make_moons
from sklearn.exceptions import ConvergenceWarning

from widemargin import SVC, DivideConquerSVC
from widemargin.estimators.divide_conquer.blockwise import gathered as gathering
from widemargin.estimators.divide_conquer.blockwise import rounds as loop
from widemargin.estimators.divide_conquer.blockwise.block_source import (
    LocalBlocks,
    one_label_a_row,
    sample_dtype,
)
from widemargin.estimators.divide_conquer.blockwise.exact_fit import fit_blocks
from widemargin.runtime.model_file_format import StorageError

from tests.oracles.rebuilt import assert_honest


class Listed(LocalBlocks):
    """Rows in memory, handed out in blocks of so many."""

    def __init__(self, X, y, weights=None, rows=250):
        self.X, self.y, self.weights = X, one_label_a_row(y, X.shape[0], "y"), weights
        self.n_features, self.dtype = X.shape[1], sample_dtype(X.dtype)
        n = X.shape[0]
        self.lengths = [min(rows, n - first) for first in range(0, n, rows)]
        self.loads = 0

    def load(self, number):
        self.loads += 1
        part = slice(self.offsets[number], self.offsets[number] + self.lengths[number])
        weights = None if self.weights is None else self.weights[part]
        return self.X[part], self.y[part], weights


def moons(n=2000, seed=0):
    return make_moons(n, noise=0.25, random_state=seed)


def fitted(blocks, **parameters):
    model = DivideConquerSVC(**({"gamma": 2.0} | parameters))
    assert fit_blocks(model, blocks)
    return model


@pytest.mark.parametrize(
    "parameters",
    [
        {"C": 3.0},
        {"kernel": "linear"},
        {"kernel": "poly", "coef0": 1.0},
        {"kernel": "laplacian", "fit_intercept": False},
        {"class_weight": "balanced", "gamma": "scale"},
    ],
)
def test_rounds_end_at_the_solution_of_all_rows(parameters):
    X, y = moons()
    common = {"gamma": 2.0, "tol": 1e-5} | parameters
    model, plain = fitted(Listed(X, y), **common), SVC(**common).fit(X, y)
    assert model.certificate_.status == "converged"
    assert model.certificate_.kkt_violation <= 1e-5
    assert_honest(model, X, y)
    assert_allclose(
        model.certificate_.objective, plain.certificate_.objective, rtol=1e-6
    )
    assert_allclose(model.decision_function(X), plain.decision_function(X), atol=2e-3)


def test_several_classes_with_weights_and_sorted_labels():
    X, y = moons()
    y = np.array(["a", "b", "c", "d"])[y + 2 * (X[:, 0] > 0.5)]
    order = np.argsort(y, kind="stable")  # most blocks have one class
    X, y = X[order], y[order]
    weights = np.random.default_rng(0).uniform(0.5, 2, len(y))
    weights[::7] = 0.0
    model = fitted(Listed(X, y, weights), tol=1e-5)
    plain = SVC(gamma=2.0, tol=1e-5).fit(X, y, sample_weight=weights)
    assert_honest(model, X, y, weights)
    assert_array_equal(model.predict(X), plain.predict(X))
    assert not np.isin(np.arange(0, len(y), 7), model.support_).any()


def test_sparse_rows_stay_sparse():
    rng = np.random.default_rng(0)
    X = sparse.random(600, 80, density=0.05, format="csr", rng=rng)
    y = np.asarray(X[:, :40].sum(axis=1)).ravel() > 1.0
    model = fitted(Listed(X, y, rows=100), tol=1e-4)
    plain = SVC(gamma=2.0, tol=1e-4).fit(X, y)
    assert sparse.issparse(model.support_vectors_) and sparse.issparse(model.dual_coef_)
    assert_honest(model, X.toarray(), y)
    assert_allclose(model.decision_function(X), plain.decision_function(X), atol=2e-3)


def test_a_round_starts_from_the_former_solution(monkeypatch):
    X, y = moons(12000)
    warm = fitted(Listed(X, y), C=10.0)
    monkeypatch.setattr(
        gathering, "solve", lambda problem, options, start: SOLVE(problem, options)
    )
    cold = fitted(Listed(X, y), C=10.0)

    def entries(model):
        return [stage["solve_entries"] for stage in model.history_[1:]]

    assert len(entries(warm)) == len(entries(cold)) >= 4
    assert sum(entries(warm)) < sum(entries(cold))
    assert entries(warm)[-1] < 0.8 * entries(cold)[-1]


SOLVE = gathering.solve


def test_a_round_of_mostly_new_support_vectors_starts_from_nothing(monkeypatch):
    """The former solution is in the way of their solve; the entries are counted."""
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(9000, 3))
    y = np.sin(12.0 * X).prod(axis=1) > 0.3 * rng.normal(size=9000)
    settings = {"C": 10.0, "gamma": 60.0}
    model = fitted(Listed(X, y, rows=1000), **settings)
    monkeypatch.setattr(gathering.Gathered, "without_start", lambda self: self)
    warm = fitted(Listed(X, y, rows=1000), **settings)

    rounds = model.history_[1:]
    new = [stage["violators"] > stage["n_support"] for stage in rounds]
    assert new[:2] == [True, True] and not any(new[2:])

    def entries(model):  # of the rounds that these enter
        return sum(stage["solve_entries"] for stage in model.history_[2:4])

    assert entries(model) < 0.7 * entries(warm)


def test_few_rows_are_held_and_few_passes_made():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20_000, 2)) + 4.0 * rng.integers(0, 2, size=20_000)[:, None]
    y = X.sum(axis=1) + 0.2 * rng.normal(size=20_000) > 4.0
    blocks = Listed(X, y, rows=2500)
    model = fitted(blocks, gamma=0.5)
    assert model.fit_status_ == 0
    rounds = model.history_[1:]
    assert rounds[-1]["size"] < 9000  # although most rows lie at the margin
    assert sum(stage["share"] for stage in rounds) <= 5.0
    assert blocks.loads == 8 * (1 + len(rounds))


class _Clock:
    """A limit that ends after so many looks at it."""

    limited = True

    def __init__(self, looks):
        self.looks = looks

    @property
    def passed(self):
        self.looks -= 1
        return self.looks < 0

    seconds_left = 1e9
    moment = np.inf


@pytest.mark.parametrize("kernel", ["rbf", "linear", "sigmoid"])
@pytest.mark.parametrize("looks", [0, 5, 30])
def test_time_that_ends_a_pass_leaves_a_rigorous_certificate(
    monkeypatch, kernel, looks
):
    X, y = moons(1200)
    monkeypatch.setattr(
        "widemargin.estimators.divide_conquer.blockwise.exact_fit.Deadline.after",
        lambda seconds: _Clock(looks),
    )
    with pytest.warns(ConvergenceWarning, match="proved over all rows"):
        model = fitted(Listed(X, y, rows=100), kernel=kernel, gamma=0.5, max_time=1.0)
    assert model.certificate_.status == "max_time" and model.fit_status_ == 1
    assert_honest(model, X, y, may_lack_bound=kernel == "sigmoid")
    if looks == 30 and kernel == "rbf":  # most blocks were judged
        assert model.score(X, y) > 0.9


@pytest.mark.parametrize("where", ["solve", "judge_block"])
def test_ctrl_c_leaves_the_point_reached(monkeypatch, where):
    X, y = moons(1200)
    calls = iter(range(100))
    place = gathering if where == "solve" else loop
    whole = getattr(place, where)

    def stopped(*args, **kwargs):
        if next(calls) == 2:
            raise KeyboardInterrupt
        return whole(*args, **kwargs)

    monkeypatch.setattr(place, where, stopped)
    model = DivideConquerSVC(gamma=2.0)
    assert not fit_blocks(model, Listed(X, y, rows=300))
    assert model.certificate_.status == "interrupted" and model.fit_status_ == 1
    assert_honest(model, X, y)


def test_ctrl_c_before_the_first_solve_is_raised(monkeypatch):
    def stopped(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr(gathering, "solve", stopped)
    model = DivideConquerSVC()
    with pytest.raises(KeyboardInterrupt):
        fit_blocks(model, Listed(*moons(500)))
    assert not hasattr(model, "support_")


def test_a_killed_fit_goes_on_from_its_checkpoint(monkeypatch, tmp_path):
    X, y = moons()
    path = tmp_path / "rounds"
    whole = fitted(Listed(X, y), tol=1e-5)
    calls = iter(range(100))

    def killed(*args, **kwargs):
        if next(calls) == 2:
            raise MemoryError
        return SOLVE(*args, **kwargs)

    with monkeypatch.context() as patch:
        patch.setattr(gathering, "solve", killed)
        with pytest.raises(MemoryError):
            fitted(Listed(X, y), tol=1e-5, checkpoint=path)
    assert path.exists()
    with pytest.raises(ValueError, match="on other data"):
        fitted(Listed(X[::-1], y[::-1]), tol=1e-5, checkpoint=path)
    with pytest.raises(ValueError, match="on other settings"):
        fitted(Listed(X, y), tol=1e-5, C=2.0, checkpoint=path)
    model = fitted(Listed(X, y), tol=1e-5, checkpoint=path)
    assert [stage.get("resumed") for stage in model.history_].count(True) == 1
    assert not path.exists()
    assert_honest(model, X, y)
    assert_allclose(model.decision_function(X), whole.decision_function(X), atol=1e-3)


def test_a_damaged_checkpoint_is_refused(tmp_path):
    X, y = moons(600)
    path = tmp_path / "rounds"
    path.write_bytes(b"nothing of ours")
    with pytest.raises(StorageError):
        fitted(Listed(X, y), checkpoint=path)
    assert path.read_bytes() == b"nothing of ours"


@pytest.mark.parametrize(
    ("spoilt", "message"),
    [
        (lambda X: X[:, :1], "from row 300 on has shape"),
        (lambda X: X[1:], "from row 300 on has shape"),
        (lambda X: X.astype(object), "type object; features must be numbers"),
    ],
)
def test_a_block_of_other_width_length_or_type(spoilt, message):
    class Spoilt(Listed):
        def load(self, number):
            X, y, w = super().load(number)
            return (spoilt(X) if number == 1 else X), y, w

    model = DivideConquerSVC(gamma=2.0)
    with pytest.raises(ValueError, match=message):
        fit_blocks(model, Spoilt(*moons(900), rows=300))
    assert not hasattr(model, "support_")
