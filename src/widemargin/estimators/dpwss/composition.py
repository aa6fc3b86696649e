"""What the draws of DPWSS would compose to, if each were private. They are not.

The paper spends epsilon in every iteration and states epsilon for the whole run; T
adaptive selections compose. The figures here are a hypothetical: even the largest does
not make the released weights private (mathematics 1.4), because the first member of
a pair, the candidates and the gradient update read the private data without noise.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from scipy.optimize import minimize_scalar


def basic(epsilon: float, draws: int) -> float:
    """Epsilons add up."""
    return draws * epsilon


def advanced(epsilon: float, draws: int, delta: float) -> float:
    """Return epsilon sqrt(2 T ln(1/delta)) + T epsilon (e^epsilon - 1).

    Dwork, Rothblum and Vadhan, 2010.
    """
    spread = epsilon * math.sqrt(2.0 * draws * math.log(1.0 / delta))
    return spread + draws * epsilon * math.expm1(epsilon)


def concentrated(rho: float, delta: float) -> float:
    """Epsilon of rho-zCDP at delta, by the best Renyi order.

    min over A > 1 of rho A + (ln(1/delta) + (A - 1) ln(1 - 1/A) - ln A) / (A - 1)
    (Canonne, Kamath and Steinke, 2020, Proposition 12).
    """
    if rho == 0.0:
        return 0.0

    def at(log_excess: float) -> float:
        excess = math.exp(log_excess)  # A - 1
        order = 1.0 + excess
        tail = math.log(1.0 / delta) + excess * math.log(excess / order)
        return rho * order + (tail - math.log(order)) / excess

    best = minimize_scalar(at, bounds=(-20.0, 30.0), method="bounded")
    return max(0.0, float(best.fun))


def pure_concentrated(epsilon: float, draws: int, delta: float) -> float:
    """Every draw epsilon-private, hence epsilon^2 / 2 - zCDP."""
    return concentrated(draws * epsilon**2 / 2.0, delta)


def bounded_range(epsilon: float, draws: int, delta: float) -> float:
    """Every draw of epsilon-bounded range, hence epsilon^2 / 8 - zCDP.

    The exponential mechanism has this sharper property (Dong, Durfee and Rogers, 2020;
    Cesar and Rogers, 2021).
    """
    return concentrated(draws * epsilon**2 / 8.0, delta)


STATEMENT = (
    "NO END-TO-END PRIVACY GUARANTEE. The paper's epsilon covers one thing: given the "
    "same first member, candidates and score range on both data sets, the draw of the "
    "second member is epsilon-private. All three depend on the private records, the "
    "output names records, and the update reads them. There are two neighbouring data "
    "sets of two records whose models differ with certainty. The composed figures say "
    "what the draws alone would cost if each were private; they do not make the model "
    "private. Use PrivateSVC to publish a model."
)


@dataclass(frozen=True)
class SelectionReport:
    """The accounting of a DPWSS run, and the statement that it is no guarantee.

    Attributes
    ----------
    guarantee : bool
        Always False.
    epsilon_per_draw : float
        `selection_epsilon`.
    n_draws : int
        Draws made: iterations, all class pairs together.
    delta : float
        At which the composed figures other than `basic` are stated.
    basic, advanced, pure_concentrated, bounded_range : float
        Hypothetical epsilon of all draws by basic composition, advanced composition,
        zCDP of a pure epsilon draw, and zCDP by bounded range.
    """

    guarantee: bool
    epsilon_per_draw: float
    n_draws: int
    delta: float
    basic: float
    advanced: float
    pure_concentrated: float
    bounded_range: float

    def __str__(self) -> str:
        """Return statement and figures in plain words."""
        return (
            f"{STATEMENT}\n"
            f"Draws: {self.n_draws} with epsilon = {self.epsilon_per_draw:g} each. "
            f"Composed, hypothetically (delta = {self.delta:g}): "
            f"basic {self.basic:.4g}, advanced {self.advanced:.4g}, "
            f"zCDP {self.pure_concentrated:.4g}, "
            f"zCDP by bounded range {self.bounded_range:.4g}."
        )


def selection_report(epsilon: float, draws: int, delta: float) -> SelectionReport:
    """Account for `draws` draws of `epsilon` each."""
    if not 0.0 < delta < 1.0:
        raise ValueError(f"delta must lie between 0 and 1, got {delta}")
    if math.isinf(epsilon):
        return SelectionReport(
            False, epsilon, draws, delta, math.inf, math.inf, math.inf, math.inf
        )
    return SelectionReport(
        guarantee=False,
        epsilon_per_draw=epsilon,
        n_draws=draws,
        delta=delta,
        basic=basic(epsilon, draws),
        advanced=advanced(epsilon, draws, delta),
        pure_concentrated=pure_concentrated(epsilon, draws, delta),
        bounded_range=bounded_range(epsilon, draws, delta),
    )
