"""Measure from outside how much a training method tells about one record.

Differential privacy promises that no test on the released model can tell data D from a
neighbour D' well: for every event, P(event | D) <= e^epsilon P(event | D') + delta. The
audit trains many models on both, looks for an event that separates them, and turns the
error rates on fresh models into a lower bound on epsilon (Jagielski et al., 2020).
Where a method states that its noise is Gaussian, the bound is on mu of Gaussian
differential privacy, which the same errors bound much more tightly, and epsilon follows
from it. An audit can refute a claim; it can never prove one.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_scalar, check_X_y
from tqdm import tqdm

from widemargin.engine.sample_layout import refuse_damaged

from .audit_result import AuditResult
from .audit_statistics import (
    Trial,
    best_threshold,
    choose_test,
    epsilon_bound,
    largest_bound,
    middle,
    mu_bound,
)
from .calibration import gaussian_epsilon
from .canaries import Planted, canaries, neighbours
from .errors_without_values import without_values
from .estimator import PrivateSVC
from .report import NoiseWarning, PrivacyWarning
from .sensitivity import ADJACENCIES

Vector = NDArray[np.float64]


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


def released_vector(model: Any) -> Vector:
    """All released numbers of a linear model: coefficients and intercepts."""
    if not hasattr(model, "coef_"):
        raise ValueError(
            "the fitted model has no coef_; give `release`, a function of it that "
            "returns what is published as a vector"
        )
    return np.concatenate([np.ravel(model.coef_), np.ravel(model.intercept_)])


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
    For a linear `PrivateSVC` the attacker also knows the weights without noise on both,
    which give the canary that moves them most and the direction of the test.

    A budget (`ledger`) is not drawn on: nothing of an audit may be published either.

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
    claim = _Claim.of(params, adjacency, nominal, delta)
    _check_runs(runs, held_out, confidence, random_state, params)
    X, y = _checked(X, y)
    if "ledger" in params:
        estimator = clone(estimator).set_params(ledger=None)
    plans = (
        canaries(X, y, params.get("clip_norm"))
        if canary is None
        else [_planted(canary, index, X, y)]
    )
    pairs = [neighbours(X, y, planted, claim.adjacency) for planted in plans]
    gaps, nominal_mu = _without_noise(estimator, pairs, release)
    if gaps is not None:  # only the pair whose weights are farthest apart
        most = int(np.argmax([np.linalg.norm(gap) for gap in gaps]))
        pairs, gaps = [pairs[most]], [gaps[most]]
    error = 1.0 - confidence
    place = partial(best_threshold, delta=claim.delta, error=error)
    rule = place if nominal_mu is None else middle
    total = 2 * (held_out * len(pairs) + runs)
    with tqdm(total=total, disable=not progress, desc="audit") as bar:
        seeds = _seeds(random_state, total)
        released = partial(_released, estimator, release, seeds, bar.update)
        test, data = _best_test(released, pairs, gaps, held_out, rule)
        scores = released(data[0], runs) @ test.direction
        neighbour_scores = released(data[1], runs) @ test.direction
    found = int((neighbour_scores > test.threshold).sum())
    false = int((scores > test.threshold).sum())
    return AuditResult(
        **_bounds(found, false, runs, claim.delta, error, nominal_mu is not None),
        nominal=claim.epsilon,
        delta=claim.delta,
        confidence=confidence,
        runs=runs,
        true_positives=found,
        false_positives=false,
        threshold=test.threshold,
        scores=scores,
        neighbour_scores=neighbour_scores,
        nominal_mu=nominal_mu,
    )


@dataclass(frozen=True)
class _Claim:
    """What is stated: which data are neighbours, epsilon if known, and delta."""

    adjacency: str
    epsilon: float | None
    delta: float

    @classmethod
    def of(
        cls,
        params: dict[str, Any],
        adjacency: str | None,
        epsilon: float | None,
        delta: float | None,
    ) -> _Claim:
        """Return what was given, and the estimator's own where nothing was."""
        if adjacency is None:
            adjacency = str(params.get("adjacency", "replace"))
        if epsilon is None:
            epsilon = params.get("epsilon", params.get("selection_epsilon"))
        if delta is None:
            delta = float(params.get("delta", 0.0))
        if adjacency not in ADJACENCIES:
            raise ValueError(
                f"adjacency must be one of {ADJACENCIES}, got {adjacency!r}"
            )
        limits: dict[str, Any] = {"min_val": 0, "max_val": 1}
        check_scalar(delta, "delta", Real, **limits, include_boundaries="left")
        return cls(adjacency, epsilon, delta)


def _check_runs(
    runs: int,
    held_out: int,
    confidence: float,
    random_state: int | None,
    params: dict[str, Any],
) -> None:
    check_scalar(runs, "runs", Integral, min_val=1)
    check_scalar(held_out, "held_out", Integral, min_val=2)
    limits: dict[str, Any] = {"min_val": 0, "max_val": 1}
    check_scalar(confidence, "confidence", Real, **limits, include_boundaries="neither")
    if random_state is None and params.get("random_state") is not None:
        raise ValueError(
            "random_state of the estimator is fixed, so every run would be the same; "
            "set it to None or give privacy_audit a random_state"
        )


def _seeds(random_state: int | None, count: int) -> Iterator[int] | None:
    """Return a seed for every run, None where the estimator draws its own."""
    if random_state is None:
        return None
    seeds: list[int] = (
        np.random.SeedSequence(random_state).generate_state(count).tolist()
    )
    return iter(seeds)


def _best_test(
    released: Callable[[Any, int], Vector],
    pairs: list[Any],
    gaps: list[Vector] | None,
    held_out: int,
    rule: Callable[[Vector, Vector], float],
) -> tuple[Trial, Any]:
    """Return the test that tells held-out models of a pair apart best, and the pair."""
    tests = []
    for number, data in enumerate(pairs):
        trial = released(data[0], held_out), released(data[1], held_out)
        gap = None if gaps is None else gaps[number]
        tests.append((choose_test(*trial, gap, rule), data))
    return max(tests, key=lambda pair: pair[0].separation)


def _released(
    estimator: Any,
    release: Callable[[Any], Vector],
    seeds: Iterator[int] | None,
    done: Callable[[], Any],
    data: tuple[Any, Any],
    count: int,
) -> Vector:
    """Return what `count` models of the data release, one row each."""
    rows = []
    for _ in range(count):
        model = clone(estimator)
        if seeds is not None:
            model.set_params(random_state=int(next(seeds)))
        rows.append(release(_silently(model.fit, *data)))
        done()
    return np.array(rows)


def _bounds(
    found: int, false: int, runs: int, delta: float, error: float, gaussian: bool
) -> dict[str, Any]:
    """Return the lower bound that the errors prove, and the largest there could be."""
    if not gaussian:
        return {
            "epsilon_lower": epsilon_bound(found, false, runs, delta, error),
            "epsilon_limit": largest_bound(runs, delta, error),
        }
    mu = mu_bound(found + runs - false, 2 * runs, error)
    most = mu_bound(2 * runs, 2 * runs, error)
    return {
        "mu_lower": mu,
        "epsilon_lower": gaussian_epsilon(mu, delta),
        "epsilon_limit": gaussian_epsilon(most, delta),
    }


def _silently(fit: Callable[..., Any], X: Any, y: Any) -> Any:
    """Fit without the warnings that hundreds of fits would repeat."""
    with warnings.catch_warnings():
        for kind in (PrivacyWarning, NoiseWarning, ConvergenceWarning):
            warnings.simplefilter("ignore", kind)
        return fit(X, y)


def _without_noise(
    estimator: Any, pairs: list[Any], release: Callable[[Any], Vector]
) -> tuple[list[Vector] | None, float | None]:
    """Return how far each pair's weights without noise are apart, and the mu stated.

    Both are None of a method that has no such weights: other estimators, and kernels
    by random features, which every fit draws anew.
    """
    if not isinstance(estimator, PrivateSVC) or estimator.kernel != "linear":
        return None, None
    gaps = []
    for pair in pairs:
        ends = [_silently(clone(estimator).fit_without_noise, *data) for data in pair]
        gaps.append(release(ends[1]) - release(ends[0]))
    mu: float | None = ends[0].privacy_report().mu
    return gaps, mu
