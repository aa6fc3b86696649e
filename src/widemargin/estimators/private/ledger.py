"""A privacy budget that several fits draw from, and that none can overdraw.

Each fit's cost is known before it reads the data (`mechanisms.Cost`). Two sums are
kept, and each has an allowance that is fixed when the ledger is made:

- mu: Gaussian releases, sum of squares at most the square of the allowance;
- pure: releases without a delta, sum of epsilons at most `pure_epsilon`.

Both are valid however the next fit is chosen, also by the results of those before it:
the sum of squares by the filter of Gaussian differential privacy (Koskela, Tobaben and
Honkela, 2023), the sum of epsilons since it bounds the privacy loss of every run. The
allowances are not exchanged for one another as one goes: which exchange is best would
depend on results, and no composition theorem covers that (mathematics 1.5).
"""

from __future__ import annotations

import math
import os
import threading
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from .calibration import gaussian_epsilon, gaussian_mu, mu_of_pure
from .mechanisms import Cost

_ROUNDING = 1e-12  # relative, of the sums; scales are widened by 1e-9


class PrivacyBudgetError(ValueError):
    """A fit would spend more than is left of a `PrivacyLedger`, which is unchanged."""


class Spending(NamedTuple):
    """One fit's cost: what it was, and what was taken from either sum."""

    what: str
    mu: float
    pure_epsilon: float


class PrivacyLedger:
    """A budget (epsilon, delta) for all models that are trained on the same records.

    Give it to `PrivateSVC(ledger=...)`. Every ``fit`` draws its own epsilon and delta
    from it before any noise is drawn, and is refused (`PrivacyBudgetError`) where too
    little is left. Whatever is fitted, in which order, by how many threads and chosen
    by whatever results: all models together are (epsilon, delta)-private.

    Clones share the ledger of their original. A copy that was pickled or saved shows
    what had been spent and cannot spend: two copies would each spend the whole. So do
    other processes: fit in threads or one after the other.

    Parameters
    ----------
    epsilon : float > 0
        Budget of all fits together.
    delta : float in [0, 1), default=1e-5
        Probability with which the epsilon bound may fail. 0 allows mechanisms without
        a delta only.
    pure_epsilon : float in [0, epsilon], default=None
        Part of epsilon that is set aside for mechanisms without a delta (Laplace and
        spherical noise, "objective"), whose epsilons add up. The rest is for Gaussian
        noise, which composes better; a mechanism without a delta may draw on that as
        well, by the smallest mu that covers it. None: nothing, or all if delta is 0.

    Examples
    --------
    Ten Gaussian fits, of which each may have much more than a tenth:

    >>> from widemargin import PrivacyLedger
    >>> ledger = PrivacyLedger(epsilon=1.0, delta=1e-5)
    >>> share = ledger.equal_shares(10)
    >>> print(f"{share['epsilon']:.2f}")
    0.28
    >>> print(ledger)
    0 of epsilon = 1 spent by 0 fits (delta = 1e-05)
    """

    def __init__(
        self, epsilon: float, delta: float = 1e-5, *, pure_epsilon: float | None = None
    ) -> None:
        if pure_epsilon is None:
            pure_epsilon = epsilon if delta == 0 else 0.0
        if not 0.0 < epsilon < math.inf:
            raise ValueError(f"epsilon must be positive and finite, got {epsilon}")
        if not 0.0 <= delta < 1.0:
            raise ValueError(f"delta must be in [0, 1), got {delta}")
        if not 0.0 <= pure_epsilon <= epsilon:
            raise ValueError(
                f"pure_epsilon must be between 0 and epsilon, got {pure_epsilon}"
            )
        self._epsilon, self._delta = float(epsilon), float(delta)
        self._pure_epsilon = float(pure_epsilon)
        self._spendings: list[Spending] = []
        self._process: int | None = os.getpid()
        self._lock = threading.Lock()
        self._write: Callable[[Spending], None] | None = None

    @property
    def epsilon(self) -> float:
        """Return the budget of all fits together."""
        return self._epsilon

    @property
    def delta(self) -> float:
        """Return the delta of all fits together."""
        return self._delta

    @property
    def pure_epsilon(self) -> float:
        """Return the part of epsilon for mechanisms without a delta."""
        return self._pure_epsilon

    @property
    def mu(self) -> float:
        """Return what Gaussian releases may spend, as mu."""
        rest = self._epsilon - self._pure_epsilon
        return gaussian_mu(rest, self._delta) if rest > 0 < self._delta else 0.0

    @property
    def spendings(self) -> tuple[Spending, ...]:
        """Return what the fits so far have cost, in the order of their calls."""
        with self._lock:
            return tuple(self._spendings)

    @property
    def spent_epsilon(self) -> float:
        """Return the epsilon, at the ledger's delta, of all fits so far together."""
        spendings = self.spendings
        pure = math.fsum(spending.pure_epsilon for spending in spendings)
        mu = _mu(spendings)
        return pure + (gaussian_epsilon(mu, self._delta) if mu > 0 else 0.0)

    def equal_shares(self, count: int) -> dict[str, float]:
        """Return epsilon and delta of each of `count` fits that use up the ledger.

        Parameters
        ----------
        count : int
            Number of fits, with Gaussian noise unless the ledger's delta is 0.

        Returns
        -------
        dict with epsilon and delta, as `PrivateSVC` takes them
        """
        if count < 1:
            raise ValueError(f"count must be at least 1, got {count}")
        if self.mu == 0.0:
            return {"epsilon": self._pure_epsilon / count, "delta": 0.0}
        share = self.mu / math.sqrt(count)
        return {"epsilon": gaussian_epsilon(share, self._delta), "delta": self._delta}

    def spend(self, cost: Cost, what: str) -> None:
        """Take a cost from the budget, or raise `PrivacyBudgetError` and take nothing.

        Parameters
        ----------
        cost : Cost
            mu of a Gaussian release or epsilon of a pure one.
        what : str
            What it is for, from public facts alone.
        """
        if self._process != os.getpid():
            raise PrivacyBudgetError(
                "this PrivacyLedger is a copy (unpickled, loaded from a file, or in "
                "another process), and only the original can spend: two copies would "
                "each spend the whole. Fit with the original, in threads or one after "
                "the other"
            )
        with self._lock:
            spending = self._affordable(cost, what)
            if spending is None:
                raise PrivacyBudgetError(self._refusal(cost))
            if self._write is not None:
                self._write(spending)
            self._spendings.append(spending)

    def written_by(self, write: Callable[[Spending], None]) -> None:
        """Let every spending be written down before it counts; see `ledger_file`."""
        self._write = write

    def recall(self, spendings: Iterable[Spending]) -> None:
        """Add what had been spent before, without asking for it."""
        self._spendings.extend(spendings)

    def _affordable(self, cost: Cost, what: str) -> Spending | None:
        """Return how a cost can be paid, None if it cannot; the lock is held."""
        pure = math.fsum(spending.pure_epsilon for spending in self._spendings)
        if cost.mu == 0.0 and pure + cost.epsilon <= self._pure_epsilon * (
            1.0 + _ROUNDING
        ):
            return Spending(what, 0.0, cost.epsilon)
        mu = cost.mu if cost.mu > 0.0 else mu_of_pure(cost.epsilon)
        spending = Spending(what, mu, 0.0)
        total = _mu((*self._spendings, spending))
        return spending if total <= self.mu * (1.0 + _ROUNDING) else None

    def _refusal(self, cost: Cost) -> str:
        """Name what was asked for and what is left; the lock is held."""
        left = math.sqrt(max(0.0, self.mu**2 - _mu(self._spendings) ** 2))
        pure = math.fsum(spending.pure_epsilon for spending in self._spendings)
        most = gaussian_epsilon(left, self._delta) if left > 0 else 0.0
        asked = f"mu = {cost.mu:.6g}" if cost.mu else f"pure epsilon {cost.epsilon:g}"
        return (
            f"the PrivacyLedger has too little left for this fit ({asked}): another "
            f"Gaussian one may have epsilon = {most:.6g} at delta = {self._delta:g}, "
            f"one without delta {self._pure_epsilon - pure:.6g}. Nothing was spent; "
            "lower epsilon, or leave it"
        )

    def __str__(self) -> str:
        """Return what has been spent, in words."""
        spent, count = self.spent_epsilon, len(self.spendings)
        fits = f"{count} fit{'' if count == 1 else 's'}"
        copy = "" if self._process is not None else "; a copy, which cannot spend"
        return (
            f"{spent:.6g} of epsilon = {self._epsilon:g} spent by {fits} "
            f"(delta = {self._delta:g}{copy})"
        )

    def __repr__(self) -> str:
        """Return the budget as it was asked for."""
        return f"PrivacyLedger(epsilon={self._epsilon:g}, delta={self._delta:g})"

    def __copy__(self) -> PrivacyLedger:
        """Return the ledger itself: a budget has one owner."""
        return self

    def __deepcopy__(self, memo: Any) -> PrivacyLedger:
        """Return the ledger itself, so that clones of an estimator share it."""
        return self

    @classmethod
    def _get_param_names(cls) -> tuple[str, ...]:
        """Return what a stored ledger must have (as model files ask estimators)."""
        return ("_epsilon", "_delta", "_pure_epsilon", "_spendings")

    def __getstate__(self) -> dict[str, Any]:
        """Return budget and spendings as plain values; a copy of them cannot spend."""
        return {
            "_epsilon": self._epsilon,
            "_delta": self._delta,
            "_pure_epsilon": self._pure_epsilon,
            "_spendings": [tuple(spending) for spending in self.spendings],
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Make a copy that shows what was spent and cannot spend."""
        allowed = {
            "epsilon": state["_epsilon"],
            "delta": state["_delta"],
            "pure_epsilon": state["_pure_epsilon"],
        }
        if not all(isinstance(value, float) for value in allowed.values()):
            raise ValueError("a PrivacyLedger's budget must be numbers")
        self.__init__(**allowed)  # type: ignore[misc]  # the same checks
        self.recall(
            Spending(str(what), float(mu), float(pure_epsilon))
            for what, mu, pure_epsilon in state["_spendings"]
        )
        self._process = None


def _mu(spendings: tuple[Spending, ...] | list[Spending]) -> float:
    return math.sqrt(math.fsum(spending.mu**2 for spending in spendings))
