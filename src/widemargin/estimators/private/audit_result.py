"""What an audit of a private training method found, in figures and in words."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]


@dataclass(frozen=True)
class AuditResult:
    """What an audit found.

    Attributes
    ----------
    epsilon_lower : float
        Lower bound on epsilon, valid with the stated confidence.
    epsilon_limit : float
        Largest value that this number of runs could have shown.
    nominal : float or None
        The epsilon that the method or its paper states.
    mu_lower, nominal_mu : float or None
        Lower bound on mu and the mu stated, of a method with Gaussian noise (None: of
        others). The bounds on epsilon are then those that follow from mu.
    delta : float
        The delta that was granted to the method.
    confidence : float
        Probability with which the bound holds.
    runs : int
        Models trained on each data set and counted; the test was fixed on others.
    true_positives, false_positives : int
        Models on D' and on D that the test attributes to D'.
    threshold : float
        Threshold of the test.
    scores, neighbour_scores : array of shape (runs,)
        The test's statistic for the counted models on D and on D'.
    """

    epsilon_lower: float
    epsilon_limit: float
    nominal: float | None
    delta: float
    confidence: float
    runs: int
    true_positives: int
    false_positives: int
    threshold: float
    scores: Vector
    neighbour_scores: Vector
    mu_lower: float | None = None
    nominal_mu: float | None = None

    @property
    def caught(self) -> bool:
        """Whether the bound exceeds what is stated: the claim is refuted."""
        if self.mu_lower is not None and self.nominal_mu is not None:
            return self.mu_lower > self.nominal_mu
        return self.nominal is not None and self.epsilon_lower > self.nominal

    def __str__(self) -> str:
        """Return the finding in plain words."""
        head = (
            f"epsilon >= {self.epsilon_lower:.2f} with confidence "
            f"{self.confidence:.0%} ({self.runs} + {self.runs} runs can show at most "
            f"{self.epsilon_limit:.2f}; delta = {self.delta:g}). The test finds "
            f"{self.true_positives} of {self.runs} models with the canary at "
            f"{self.false_positives} false alarms."
        )
        if self.mu_lower is not None:
            head += (
                f" Gaussian noise: mu >= {self.mu_lower:.3f}, stated "
                f"{self.nominal_mu:.3f}."
            )
        if self.nominal is None:
            return head
        if self.caught:
            return (
                f"{head} The stated epsilon = {self.nominal:g} is REFUTED: the method "
                "leaks more than it says."
            )
        return (
            f"{head} Not caught: this test with this many runs does not contradict "
            f"epsilon = {self.nominal:g}. That is not evidence of privacy; only a "
            "proof is."
        )
