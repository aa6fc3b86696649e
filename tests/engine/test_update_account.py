"""The account of updates in a row: what they cost, however wrong the guesses were."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from widemargin.engine import updates
from widemargin.engine.gram import Gram
from widemargin.engine.kernels import Gaussian
from widemargin.engine.path import PathAccount, follow, path_seconds
from widemargin.engine.problem import classification_problem
from widemargin.engine.solve import solve
from widemargin.engine.solve_options import SolveOptions
from widemargin.engine.update_routes import (
    CREDIT,
    SUMMED,
    Prices,
    Route,
    cheapest,
    credit_left,
    prices,
    refit_seconds,
)

from tests.certified import assert_certified, kernel_matrix


@pytest.mark.parametrize("keeps_columns", [False, True])
@pytest.mark.parametrize("summed", [False, True])
@pytest.mark.parametrize("compiled", [False, True])
def test_updates_in_a_row_cost_no_more_than_their_account_allows(
    compiled, summed, keeps_columns
):
    """At most 1.2 k + 1.5 refits: paths end as they like, or are given up.

    A path ends by its events, or after repairs; what is given up is followed by a
    refit. The events are counted, so this holds however wrong their number was, and of
    problems with a kink, too, whose paths leave no columns.
    """
    rng, paths, settings = np.random.default_rng(0), 0, {"compiled": compiled}
    for n, share, part in product((1500, 5000, 20_000), (4, 10, 40), (2, 5, 20)):
        support, credit, total = n // share, CREDIT, 0.0
        margin = support // part
        for number in range(1, 41):
            sizes = n, support, int(rng.integers(1, 40)), margin
            held = margin if summed else 0
            settings = {"exact": compiled, "compiled": compiled, "held": held}
            costs = prices(*sizes, **settings, summed=summed)
            route, events = cheapest(
                *sizes, costs, exact=compiled, warm=False, compiled=compiled,
                to_come=float(keeps_columns and number > 1), credit=credit,
            )  # fmt: skip
            refits = 1.0
            if route == Route.PATH:
                paths += 1
                rounds = int(rng.integers(1, 3))
                left = max(1, events - costs.events_of_repair * (rounds - 1))
                ends = bool(rng.integers(2))
                steps = int(rng.integers(1, left + 1)) if ends else left
                if events > costs.events_of_repair * (rounds - 1):
                    path = PathAccount("path", steps=steps, rounds=rounds)
                    refits = costs.refits(path) + (not ends)
            total += refits
            one_event = number * costs.event / costs.refit  # the least a path takes
            assert total <= 1.2 * number + CREDIT + one_event
            credit = credit_left(credit, refits)
    assert paths or not (compiled or summed or keeps_columns)


@pytest.mark.parametrize("compiled", [False, True])
def test_no_path_is_begun_that_would_cost_a_fifth_more_than_a_refit(compiled):
    """By the estimate, what it leaves for the updates to come included."""
    begun = 0
    for n, share, moving in product((1500, 5000, 20_000), (4, 10, 40), (1, 10, 40)):
        for part in (2, 5, 20):
            sizes = n, n // share, moving, n // share // part
            settings = {"exact": compiled, "compiled": compiled}
            costs = prices(*sizes, **settings, summed=False)
            route, _ = cheapest(*sizes, costs, **settings, warm=False, to_come=1.0)
            if route == Route.PATH:
                begun += 1
                along = path_seconds(n, moving, sizes[3]) + SUMMED * n * sizes[1]
                assert along <= 1.2 * refit_seconds(n, *sizes[1::2], **settings)
    assert begun


def test_a_repair_is_paid_as_the_events_it_costs_as_much_as(monkeypatch):
    """Where the account has no more, the path is given up before it."""
    monkeypatch.setattr(follow, "WATCH_ALL_BELOW", 5)
    monkeypatch.setattr(follow, "WATCH_SHARE", 1)
    rng = np.random.default_rng(10)
    X = rng.normal(size=(200, 3))
    signs = np.where(X[:, 0] + rng.normal(size=200) > 0.0, 1.0, -1.0)
    kernel = Gaussian(0.5)
    before = classification_problem(Gram(X[:150], kernel), signs[:150], 2.0)
    solved = solve(before, SolveOptions(exact=True))
    target = classification_problem(Gram(X, kernel), signs, 2.0)
    monkeypatch.setattr(updates, "cheapest", lambda *_, **__: (Route.PATH, 10**6))
    accounts = {}
    for repair in (0.0, 1e7):
        costs = Prices(refit=1e6, begun=0.0, repair=repair, event=1.0)
        monkeypatch.setattr(updates, "prices", lambda *_, costs=costs, **__: costs)
        moved, accounts[repair] = updates.add(solved, target)
        assert_certified(moved, kernel_matrix(kernel, X), tol=1e-3)
    assert accounts[0.0].route == "path" and accounts[0.0].rounds > 1
    assert accounts[0.0].refits == accounts[0.0].steps / 1e6
    assert accounts[1e7].route == "refit" and accounts[1e7].refits > 1.0
