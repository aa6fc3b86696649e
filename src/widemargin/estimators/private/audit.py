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
from functools import lru_cache
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.stats import beta as beta_law
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_scalar, check_X_y
from tqdm import tqdm

from widemargin.engine.sample_layout import refuse_damaged

from .errors_without_values import without_values
from .report import NoiseWarning, PrivacyWarning
from .sensitivity import ADJACENCIES

Vector = NDArray[np.float64]


@lru_cache(maxsize=1024)  # the thresholds tried share their counts
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


class Planted(NamedTuple):
    """A canary: at `place` D has the record `plain` and D' has `other`."""

    place: int
    plain: tuple[Any, Any]
    other: tuple[Any, Any]


def _checked(X: Any, y: Any) -> tuple[Vector, NDArray[Any]]:
    """Return dense float rows and labels of two classes or more."""
    if sparse.issparse(X):
        refuse_damaged(X)
    X, y = without_values(check_X_y, X, y, accept_sparse="csr", dtype=np.float64)
    if len(np.unique(y)) < 2:
        raise ValueError("privacy_audit needs records of two classes or more in y")
    return (X.toarray() if sparse.issparse(X) else X), y


def _planted(canary: Any, index: int, X: Vector, y: Any) -> Planted:
    """Return the user's canary in place of record `index`."""
    check_scalar(index, "index", Integral, min_val=0, max_val=len(X) - 1)
    try:
        record, label = canary
    except (TypeError, ValueError):
        raise ValueError("canary must be a pair (record, label)") from None
    record = without_values(np.asarray, record, dtype=np.float64)
    if record.shape != X[0].shape or not np.isfinite(record).all():
        raise ValueError(
            f"the canary's record must be {X.shape[1]} finite numbers, one per feature"
        )
    if label not in y:
        raise ValueError(
            "the canary's label is not among y: a new class would give it away"
        )
    return Planted(index, (X[index], y[index]), (record, label))


def canaries(X: Vector, y: Any) -> list[Planted]:
    """Compose records whose change should move the model far.

    First: the corner of the data's range that points to the last class, labelled as
    the first, in place of record 0. Second: the record most nearly at right angles to
    the difference of the classes, once with either label: undecided by all the others,
    it pulls with full weight both ways. Third: as long as the longest record, in the
    direction in which the data vary least, once with either label: the others hardly
    answer its pull, which is what the bound of a proof supposes.
    """
    first, last = np.unique(y)[[0, -1]]
    lean = X[y == last].mean(axis=0) - X[y == first].mean(axis=0)
    corner = np.where(lean >= 0, X.max(axis=0), X.min(axis=0))
    unit = lean / max(float(np.linalg.norm(lean)), 1e-300)
    squares = (X * X).sum(axis=1)
    aside = int(np.argmax(squares - (X @ unit) ** 2))
    least = np.linalg.eigh(X.T @ X)[1][:, 0]
    across = math.sqrt(float(squares.max())) * least
    return [
        Planted(0, (X[0], y[0]), (corner, first)),
        Planted(aside, (X[aside], last), (X[aside], first)),
        Planted(0, (across, last), (across, first)),
    ]


def neighbours(
    X: Vector, y: Any, planted: Planted, adjacency: str
) -> tuple[tuple[Any, Any], tuple[Any, Any]]:
    """Return D and D': they differ in one record."""
    if adjacency == "add-remove":
        record, label = planted.other
        return (X, y), (np.vstack([X, record]), np.append(y, [label]).astype(y.dtype))
    both = []
    for record, label in (planted.plain, planted.other):
        rows, labels = X.copy(), y.copy()
        rows[planted.place], labels[planted.place] = record, label
        both.append((rows, labels))
    return both[0], both[1]


def released_vector(model: Any) -> Vector:
    """All released numbers of a linear model: coefficients and intercepts."""
    if not hasattr(model, "coef_"):
        raise ValueError(
            "the fitted model has no coef_; give `release`, a function of it that "
            "returns what is published as a vector"
        )
    return np.concatenate([np.ravel(model.coef_), np.ravel(model.intercept_)])


def best_direction(plain: Vector, other: Vector) -> Vector:
    """Linear discriminant between two clouds of released vectors, with shrinkage."""
    centred = np.vstack([plain - plain.mean(axis=0), other - other.mean(axis=0)])
    spread = centred.T @ centred / max(1, len(centred) - 2)
    dimension = len(spread)
    gap = other.mean(axis=0) - plain.mean(axis=0)
    # Shrink towards a multiple of the identity, which a deterministic method, without
    # any spread, needs as well.
    mean = np.trace(spread) / dimension + 1e-9 * float(gap @ gap) + 1e-30
    share = min(1.0, dimension / len(centred))
    target = share * mean * np.eye(dimension)
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


def choose_test(
    plain: Vector, other: Vector, delta: float, error: float
) -> tuple[float, Vector, float]:
    """Fix a linear test on held-out models: its separation, direction, threshold."""
    direction = best_direction(plain, other)
    here, there = plain @ direction, other @ direction
    spread = math.sqrt(float(here.var() + there.var()) / 2) + 1e-300
    separation = float(there.mean() - here.mean()) / spread
    return separation, direction, best_threshold(here, there, delta, error)


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
    held_out : int >= 2, default=100
        Models per data set on which the test is chosen.
    canary : pair (record, label), default=None
        The record that D' has. None composes extreme ones from X and takes
        the one that the held-out models are best told apart by.
    index : int, default=0
        Record of D that a given canary replaces ("replace").
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
    if adjacency not in ADJACENCIES:
        raise ValueError(f"adjacency must be one of {ADJACENCIES}, got {adjacency!r}")
    check_scalar(runs, "runs", Integral, min_val=1)
    check_scalar(held_out, "held_out", Integral, min_val=2)
    check_scalar(delta, "delta", Real, min_val=0, max_val=1, include_boundaries="left")
    check_scalar(
        confidence,
        "confidence",
        Real,
        min_val=0,
        max_val=1,
        include_boundaries="neither",
    )
    if random_state is None and params.get("random_state") is not None:
        raise ValueError(
            "random_state of the estimator is fixed, so every run would be the same; "
            "set it to None or give privacy_audit a random_state"
        )
    X, y = _checked(X, y)
    plans = canaries(X, y) if canary is None else [_planted(canary, index, X, y)]
    total = 2 * (held_out * len(plans) + runs)
    seeds = iter(np.random.SeedSequence(random_state).generate_state(total).tolist())
    error = 1.0 - confidence
    tests = []
    with tqdm(total=total, disable=not progress, desc="audit") as bar:

        def released(data: tuple[Any, Any], count: int) -> Vector:
            rows = []
            for _ in range(count):
                model, seed = clone(estimator), next(seeds)
                if random_state is not None:
                    model.set_params(random_state=int(seed))
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", PrivacyWarning)
                    warnings.simplefilter("ignore", NoiseWarning)
                    warnings.simplefilter("ignore", ConvergenceWarning)
                    rows.append(release(model.fit(*data)))
                bar.update()
            return np.array(rows)

        for planted in plans:
            data = neighbours(X, y, planted, adjacency)
            trial = released(data[0], held_out), released(data[1], held_out)
            tests.append((*choose_test(*trial, delta, error), data))
        _, direction, threshold, data = max(tests, key=lambda test: test[0])
        scores = released(data[0], runs) @ direction
        neighbour_scores = released(data[1], runs) @ direction
    found = int((neighbour_scores > threshold).sum())
    false = int((scores > threshold).sum())
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
