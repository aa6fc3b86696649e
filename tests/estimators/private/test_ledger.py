"""The ledger: whatever is called, in which order and by whom, it is not overdrawn."""

from __future__ import annotations

import copy
import math
import multiprocessing
import pickle
import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import stats
from sklearn.base import clone

import widemargin
from widemargin import PrivacyBudgetError, PrivacyLedger, PrivateSVC
from widemargin.estimators.private import estimator as module
from widemargin.estimators.private import ledger as ledger_module
from widemargin.estimators.private.calibration import (
    gaussian_delta,
    gaussian_epsilon,
    gaussian_mu,
)
from widemargin.estimators.private.mechanisms import Cost

pytestmark = pytest.mark.filterwarnings("ignore::widemargin.NoiseWarning")

COSTS = st.one_of(
    st.floats(1e-3, 0.5).map(lambda mu: Cost(mu, 0.0)),
    st.floats(1e-3, 0.8).map(lambda epsilon: Cost(0.0, epsilon)),
)
LEDGERS = st.builds(
    lambda epsilon, delta, share: PrivacyLedger(
        epsilon, delta, pure_epsilon=None if share is None else share * epsilon
    ),
    st.floats(0.05, 5.0),
    st.sampled_from([0.0, 1e-9, 1e-5]),
    st.none() | st.floats(0.0, 1.0),
)


def exact_delta(costs, epsilon):
    """Delta of all releases together, each the worst of its kind, by their losses.

    A pure release is at worst randomised response, with a loss of +-epsilon; the
    Gaussian ones are one of the root of the sum of squares.
    """
    mu = math.sqrt(sum(cost.mu**2 for cost in costs))
    losses = {0.0: 1.0}
    for cost in costs:
        if cost.epsilon:
            truth = 1 / (1 + math.exp(-cost.epsilon))
            grown = {}
            for loss, chance in losses.items():
                for step, share in ((1, truth), (-1, 1 - truth)):
                    at = round(loss + step * cost.epsilon, 12)
                    grown[at] = grown.get(at, 0.0) + chance * share
            losses = grown
    if mu == 0.0:
        return sum(
            chance * max(0.0, -math.expm1(epsilon - loss))
            for loss, chance in losses.items()
        )
    return sum(
        chance * gaussian_delta(epsilon - loss, 1 / mu)
        for loss, chance in losses.items()
    )


def paid(ledger, costs):
    """Spend what can be spent; a refusal must leave the ledger as it was."""
    accepted = []
    for cost in costs:
        before = ledger.spendings, ledger.spent_epsilon
        try:
            ledger.spend(cost, "test")
            accepted.append(cost)
        except PrivacyBudgetError:
            assert (ledger.spendings, ledger.spent_epsilon) == before
    return accepted


@settings(deadline=None, max_examples=100)
@given(LEDGERS, st.lists(COSTS, max_size=9), st.randoms(use_true_random=False))
def test_no_order_of_calls_overspends(ledger, costs, random):
    random.shuffle(costs)
    accepted = paid(ledger, costs)
    assert ledger.spent_epsilon <= ledger.epsilon * (1 + 1e-9)
    allowed = ledger.delta * (1 + 1e-6) + 1e-12
    assert exact_delta(accepted, ledger.epsilon * (1 + 1e-9)) <= allowed


@settings(deadline=None, max_examples=50)
@given(LEDGERS, st.lists(COSTS, max_size=6), st.lists(COSTS, max_size=6))
def test_copies_share_and_unpickled_ones_cannot_spend(ledger, first, second):
    paid(ledger, first)
    for same in (copy.copy(ledger), copy.deepcopy(ledger)):
        assert same is ledger
    other = pickle.loads(pickle.dumps(ledger))
    assert other.spendings == ledger.spendings
    assert_allclose(other.spent_epsilon, ledger.spent_epsilon)
    for cost in second:
        with pytest.raises(PrivacyBudgetError, match="only the original can spend"):
            other.spend(cost, "test")
    assert other.spendings == ledger.spendings
    assert "cannot spend" in str(other) and "cannot spend" not in str(ledger)


@settings(deadline=None, max_examples=20)
@given(LEDGERS, st.lists(COSTS, min_size=4, max_size=24))
def test_threads_do_not_overspend(ledger, costs):
    start = threading.Barrier(4)

    def spend(part):
        start.wait()
        paid_quietly(ledger, part)

    threads = [
        threading.Thread(target=spend, args=(costs[number::4],)) for number in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert ledger.spent_epsilon <= ledger.epsilon * (1 + 1e-9)


def paid_quietly(ledger, costs):
    for cost in costs:
        try:
            ledger.spend(cost, "test")
        except PrivacyBudgetError:
            continue


def test_checking_and_taking_are_one_step(monkeypatch):
    # A second thread that comes between the check and the entry would spend twice.
    ledger = PrivacyLedger(1.0)
    cost, inside, outcomes = Cost(0.9 * ledger.mu, 0.0), threading.Event(), []
    real = PrivacyLedger._affordable

    def slow(self, *arguments):
        found = real(self, *arguments)
        inside.set()
        threading.Event().wait(0.05)
        return found

    monkeypatch.setattr(PrivacyLedger, "_affordable", slow)

    def spend():
        try:
            ledger.spend(cost, "test")
            outcomes.append("paid")
        except PrivacyBudgetError:
            outcomes.append("refused")

    first = threading.Thread(target=spend)
    first.start()
    inside.wait()
    spend()
    first.join()
    assert sorted(outcomes) == ["paid", "refused"]


def test_equal_shares_use_the_ledger_up():
    ledger = PrivacyLedger(1.0, 1e-5)
    share = ledger.equal_shares(10)
    assert_allclose(share["epsilon"], gaussian_epsilon(ledger.mu / math.sqrt(10), 1e-5))
    assert share["epsilon"] > 2.5 * 0.1  # adding epsilons up would allow a tenth
    each = Cost(gaussian_mu(**share), 0.0)
    assert len(paid(ledger, [each] * 12)) == 10
    assert_allclose(ledger.spent_epsilon, 1.0, rtol=1e-6)
    pure = PrivacyLedger(1.0, 0.0)
    share = pure.equal_shares(4)
    assert len(paid(pure, [Cost(0.0, share["epsilon"])] * 6)) == 4
    with pytest.raises(ValueError, match="count must be at least 1"):
        ledger.equal_shares(0)


def test_pure_releases_draw_on_either_part():
    ledger = PrivacyLedger(2.0, 1e-5, pure_epsilon=1.0)
    ledger.spend(Cost(0.0, 1.0), "all of the pure part")
    ledger.spend(Cost(0.0, 0.1), "by its mu")
    last = ledger.spendings[-1]
    assert last.pure_epsilon == 0.0
    assert_allclose(last.mu, 2 * stats.norm.ppf(1 / (1 + math.exp(-0.1))))
    with pytest.raises(PrivacyBudgetError, match="Nothing was spent"):
        ledger.spend(Cost(0.0, 0.9), "too much")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0.0,), "epsilon must be positive"),
        ((math.nan,), "epsilon must be positive"),
        ((1.0, 1.0), r"delta must be in \[0, 1\)"),
        ((1.0, -0.1), r"delta must be in \[0, 1\)"),
    ],
)
def test_bad_budgets_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        PrivacyLedger(*arguments)
    with pytest.raises(ValueError, match="pure_epsilon must be between"):
        PrivacyLedger(1.0, pure_epsilon=1.5)


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    return rng.normal(size=(40, 3)), np.arange(40) % 2


def fitting(ledger, epsilon, **more):
    public = {"clip_norm": 1.0, "classes": [0, 1], "n_steps": 2}
    return PrivateSVC(epsilon, ledger=ledger, **public, **more)


def test_fits_and_their_clones_draw_from_one_ledger(data):
    ledger = PrivacyLedger(1.0, 1e-5)
    share = ledger.equal_shares(3)
    model = fitting(ledger, **share)
    other = clone(model)
    assert other.ledger is ledger
    for each in (model, other, clone(other)):
        each.fit(*data)
    assert len(ledger.spendings) == 3
    assert_allclose(ledger.spent_epsilon, 1.0, rtol=1e-6)
    before = model.coef_.copy()
    with pytest.raises(PrivacyBudgetError, match="too little left for this fit"):
        model.fit(*data)
    assert len(ledger.spendings) == 3
    assert_allclose(model.coef_, before)  # the released model is whole


@pytest.mark.parametrize(
    ("more", "pure"),
    [({"mechanism": "output"}, False), ({"mechanism": "output", "delta": 0.0}, True),
     ({"mechanism": "objective"}, True), ({"mechanism": "gradient"}, False)],
)  # fmt: skip
def test_every_mechanism_spends_what_it_states(data, more, pure):
    ledger = PrivacyLedger(2.0, 1e-5, pure_epsilon=1.0)
    report = fitting(ledger, 0.4, **more).fit(*data).privacy_report()
    (spending,) = ledger.spendings
    assert spending.what == f"PrivateSVC, {report.mechanism}"
    if pure:
        assert (spending.mu, spending.pure_epsilon) == (0.0, 0.4)
    else:
        assert_allclose(spending.mu, gaussian_mu(0.4, 1e-5))


def test_budget_is_spent_before_noise_is_drawn(data, monkeypatch):
    # A fit that fails afterwards has spent: its noise may have been seen.
    ledger = PrivacyLedger(1.0)

    def failing(*_):
        assert len(ledger.spendings) == 1
        raise KeyboardInterrupt

    monkeypatch.setattr(module.GradientMechanism, "release", failing)
    with pytest.raises(KeyboardInterrupt):
        fitting(ledger, 0.2).fit(*data)
    assert len(ledger.spendings) == 1


def test_settings_that_are_refused_spend_nothing(data):
    ledger = PrivacyLedger(1.0)
    with pytest.raises(ValueError, match="proven for adjacency"):
        fitting(ledger, 0.2, mechanism="objective", adjacency="add-remove").fit(*data)
    with pytest.raises(ValueError, match="not in the parameter classes"):
        fitting(ledger, 0.2).fit(data[0], data[1] + 5)
    assert ledger.spendings == ()


def test_a_saved_model_shows_its_ledger_and_cannot_spend(data, tmp_path):
    ledger = PrivacyLedger(1.0)
    model = fitting(ledger, 0.25).fit(*data)
    widemargin.save(model, tmp_path / "model")
    for other in (
        widemargin.load(tmp_path / "model"),
        pickle.loads(pickle.dumps(model)),
    ):
        assert_allclose(other.coef_, model.coef_)
        assert str(other.ledger).startswith("0.25 of epsilon = 1 spent by 1 fit")
        with pytest.raises(PrivacyBudgetError, match="only the original can spend"):
            other.fit(*data)
    assert len(ledger.spendings) == 1


def test_a_spoilt_ledger_in_a_file_is_refused():
    state = PrivacyLedger(1.0).__getstate__()
    for name, value in (("_epsilon", "one"), ("_delta", 2.0), ("_spendings", [1])):
        ledger = PrivacyLedger.__new__(PrivacyLedger)
        with pytest.raises((ValueError, TypeError)):
            ledger.__setstate__(state | {name: value})


def _spend_elsewhere(answers):
    try:
        _INHERITED.spend(Cost(0.01, 0.0), "test")
        answers.put("paid")
    except PrivacyBudgetError:
        answers.put("refused")


_INHERITED = PrivacyLedger(1.0)


def test_another_process_cannot_spend(monkeypatch):
    # A forked process inherits the ledger without pickling it.
    monkeypatch.setattr(ledger_module.os, "getpid", lambda: -1)
    with pytest.raises(PrivacyBudgetError, match="in another process"):
        _INHERITED.spend(Cost(0.01, 0.0), "test")
    monkeypatch.undo()
    context = multiprocessing.get_context("fork")
    answers = context.Queue()
    child = context.Process(target=_spend_elsewhere, args=(answers,))
    child.start()
    assert answers.get(timeout=60) == "refused"
    child.join()
    _INHERITED.spend(Cost(0.01, 0.0), "test")
