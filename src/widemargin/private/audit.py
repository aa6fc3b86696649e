"""Measure from outside how much a training method tells about one record.

Differential privacy promises that no test on the released model can tell data D from a
neighbour D' well: for every event, P(event | D) <= e^epsilon P(event | D') + delta. The
audit trains many models on both, looks for an event that separates them, and turns the
error rates on fresh models into a lower bound on epsilon (Jagielski et al., 2020). It
can refute a claim; it can never prove one.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import beta as beta_law
from sklearn.base import clone
from tqdm import tqdm

from widemargin.private.report import PrivacyWarning

Vector = NDArray[np.float64]


def proportion_bounds(hits: int, runs: int, error: float) -> tuple[float, float]:
    """Clopper-Pearson bounds of a proportion, each wrong with probability `error`."""
    lower = 0.0 if hits == 0 else float(beta_law.ppf(error, hits, runs - hits + 1))
    upper = 1.0 if hits == runs else float(beta_law.isf(error, hits + 1, runs - hits))
    return lower, upper


def epsilon_bound(
    true_positives: int, false_positives: int, runs: int, delta: float, error: float
) -> float:
    """Lower bound on epsilon from a test's counts on `runs` models of each kind.

    ln((TPR_low - delta) / FPR_high), each rate bounded at confidence 1 - error/2.
    """
    low = proportion_bounds(true_positives, runs, error / 2)[0] - delta
    high = proportion_bounds(false_positives, runs, error / 2)[1]
    return max(0.0, math.log(low / high)) if low > 0 else 0.0


def largest_bound(runs: int, delta: float = 0.0, error: float = 0.05) -> float:
    """Return the bound of a perfect test: what this number of runs can show at most."""
    return epsilon_bound(runs, 0, runs, delta, error)


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

    @property
    def caught(self) -> bool:
        """Whether the bound exceeds the nominal epsilon: the claim is refuted."""
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


def extreme_record(X: Any, y: Any) -> tuple[Vector, Any]:
    """Compose a canary: the corner of the data's range that its label fits worst.

    Each feature takes the end of its range that points to the second class while the
    label is the first class: about the largest pull one in-range record can have.
    """
    X = np.asarray(X.toarray() if hasattr(X, "toarray") else X, dtype=np.float64)
    first, second = np.unique(y)[[0, -1]]
    lean = X[y == second].mean(axis=0) - X[y == first].mean(axis=0)
    return np.where(lean >= 0, X.max(axis=0), X.min(axis=0)), first


def neighbours(
    X: Any, y: Any, canary: tuple[Any, Any], index: int, adjacency: str
) -> tuple[tuple[Any, Any], tuple[Any, Any]]:
    """Return D and D': the canary in place of record `index`, or added at the end."""
    X = np.asarray(X.toarray() if hasattr(X, "toarray") else X)
    y = np.asarray(y)
    record, label = canary
    if adjacency == "add-remove":
        return (X, y), (np.vstack([X, record]), np.append(y, [label]).astype(y.dtype))
    other_X, other_y = X.astype(np.result_type(X, np.float64)), y.copy()
    other_X[index], other_y[index] = record, label
    return (X, y), (other_X, other_y)


def released_vector(model: Any) -> Vector:
    """All released numbers of a linear model: coefficients and intercepts."""
    return np.concatenate([np.ravel(model.coef_), np.ravel(model.intercept_)])


def best_direction(plain: Vector, other: Vector) -> Vector:
    """Linear discriminant between two clouds of released vectors, with shrinkage."""
    centred = np.vstack([plain - plain.mean(axis=0), other - other.mean(axis=0)])
    spread = centred.T @ centred / max(1, len(centred) - 2)
    dimension = len(spread)
    # Shrink towards a multiple of the identity; 1e-300 serves deterministic methods.
    mean = np.trace(spread) / dimension
    share = min(1.0, dimension / len(centred))
    target = (share * mean + 1e-9 * mean + 1e-300) * np.eye(dimension)
    gap = other.mean(axis=0) - plain.mean(axis=0)
    direction = np.linalg.solve((1 - share) * spread + target, gap)
    length = float(np.linalg.norm(direction))
    return direction / length if length > 0 else np.ones(dimension)


def best_threshold(plain: Vector, other: Vector, delta: float, error: float) -> float:
    """Threshold on held-out scores that would give the largest bound there."""
    values = np.unique(np.concatenate([plain, other]))
    middles = (values[1:] + values[:-1]) / 2 if len(values) > 1 else values
    bounds = [
        epsilon_bound(
            int((other > t).sum()), int((plain > t).sum()), len(plain), delta, error
        )
        for t in middles
    ]
    best = np.flatnonzero(np.array(bounds) == max(bounds))
    # Among equals the middle one: the widest margin on both sides.
    return float(middles[best[len(best) // 2]])


def privacy_audit(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    runs: int = 200,
    held_out: int = 100,
    canary: tuple[Any, Any] | None = None,
    index: int = 0,
    adjacency: str | None = None,
    nominal: float | None = None,
    delta: float | None = None,
    confidence: float = 0.95,
    release: Callable[[Any], Vector] = released_vector,
    random_state: int | None = None,
    progress: bool = False,
) -> AuditResult:
    """Bound from below the epsilon of a training method, by telling neighbours apart.

    Trains `held_out` models on D and on D' to choose a linear test on the released
    numbers and its threshold, then counts its errors on `runs` fresh models of each.

    Parameters
    ----------
    estimator : classifier
        Cloned for every run. Its own randomness is fresh in each.
    X, y : training data D
    runs : int, default=200
        Counted models per data set; sets the largest bound that can be shown.
    held_out : int, default=100
        Models per data set on which the test is chosen.
    canary : pair (record, label), default=None
        The record that D' has. None composes an extreme one within the range of X.
    index : int, default=0
        Record of D that the canary replaces ("replace").
    adjacency : {"replace", "add-remove"}, default=None
        None takes the estimator's own, else "replace".
    nominal : float, default=None
        The stated epsilon. None takes the estimator's `epsilon` or
        `selection_epsilon`.
    delta : float, default=None
        Delta granted. None takes the estimator's `delta`, else 0.
    confidence : float, default=0.95
        Confidence of the bound.
    release : callable, default=coefficients and intercepts
        What an attacker sees of a fitted model, as a vector.
    random_state : int, default=None
        None leaves the estimator's `random_state` alone, which must then be None; an
        int gives run r the seed of its own derived from it, for reproducible studies.
    progress : bool, default=False
        Show a progress bar.

    Returns
    -------
    AuditResult
        Print it for the finding in words; `PrivacyDisplay.from_audit` draws it.
    """
    params = estimator.get_params()
    if adjacency is None:
        adjacency = params.get("adjacency", "replace")
    if nominal is None:
        nominal = params.get("epsilon", params.get("selection_epsilon"))
    if delta is None:
        delta = float(params.get("delta", 0.0))
    if random_state is None and params.get("random_state") is not None:
        raise ValueError(
            "random_state of the estimator is fixed, so every run would be the same; "
            "set it to None or give privacy_audit a random_state"
        )
    data = neighbours(X, y, canary or extreme_record(X, y), index, adjacency)
    bar = tqdm(total=2 * (held_out + runs), disable=not progress, desc="audit")
    seeds = np.random.SeedSequence(random_state).generate_state(2 * (held_out + runs))

    def released(which: int, first: int, count: int) -> Vector:
        rows = []
        for run in range(first, first + count):
            model = clone(estimator)
            if random_state is not None:
                seed = int(seeds[2 * run + which])
                model.set_params(random_state=seed)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", PrivacyWarning)
                rows.append(release(model.fit(*data[which])))
            bar.update()
        return np.array(rows)

    error = 1.0 - confidence
    trial = released(0, 0, held_out), released(1, 0, held_out)
    direction = best_direction(*trial)
    threshold = best_threshold(trial[0] @ direction, trial[1] @ direction, delta, error)
    scores = released(0, held_out, runs) @ direction
    neighbour_scores = released(1, held_out, runs) @ direction
    bar.close()
    found, false = (
        int((neighbour_scores > threshold).sum()),
        int((scores > threshold).sum()),
    )
    return AuditResult(
        epsilon_lower=epsilon_bound(found, false, runs, delta, error),
        epsilon_limit=largest_bound(runs, delta, error),
        nominal=nominal,
        delta=delta,
        confidence=confidence,
        runs=runs,
        true_positives=found,
        false_positives=false,
        threshold=threshold,
        scores=scores,
        neighbour_scores=neighbour_scores,
    )
