"""What an attacker finds in DPWSS, which the paper does not ask.

All contestants are held to the same attack with the same settings: DPWSS, a
`PrivateSVC` with half of the noise that its proof asks for, and the real one, by noise
on the output and on the gradients.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer

from widemargin.estimators.dpwss import DPWSSClassifier
from widemargin.estimators.private import PrivateSVC, privacy_audit
from widemargin.estimators.private.mechanisms import Mechanism
from widemargin_papers.harness.cells import Cell

AUDIT = "Audit: epsilon at least, 2,000 runs in all"
RUNS, HELD_OUT = 900, 100  # on each of two data sets
TOO_LITTLE = 2.0


class TooLittleNoise(PrivateSVC):
    """A broken `PrivateSVC`: half of the noise that its proof asks for."""

    def _plan(self, *arguments: Any) -> Mechanism:
        plan = super()._plan(*arguments)
        return replace(plan, scale=plan.scale / TOO_LITTLE)


def patients() -> tuple[NDArray[np.float64], NDArray[Any]]:
    """Return the records audited: 60 rows and 10 features of breast cancer, scaled."""
    X, y = load_breast_cancer(return_X_y=True)
    X, y = X[:60, :10], y[:60]
    return 2 * (X - X.min(axis=0)) / (X.max(axis=0) - X.min(axis=0)) - 1, y


def contestants() -> dict[str, Any]:
    """Return the methods under audit by name."""
    # The length bound that is known of ten features in [-1, 1].
    public: Any = {"clip_norm": math.sqrt(10.0), "classes": (0, 1)}
    methods: dict[str, Any] = {
        "DPWSS, stated 0.1": DPWSSClassifier(selection_epsilon=0.1, n_jobs=1)
    }
    for mechanism in ("output", "gradient"):
        name = f"PrivateSVC, {mechanism}, stated 1"
        methods[name] = PrivateSVC(1.0, mechanism=mechanism, **public)
        methods[f"{name}, half the noise"] = TooLittleNoise(
            1.0, mechanism=mechanism, **public
        )
    return methods


def audit(
    name: str, seed: int, runs: int = RUNS, held_out: int = HELD_OUT
) -> Iterable[Cell]:
    """Attack a contestant; the settings are the same for all."""
    found = privacy_audit(
        contestants()[name],
        *patients(),
        runs=runs,
        held_out=held_out,
        random_state=seed,
    )
    counts = f"{found.true_positives} found, {found.false_positives} false alarms"
    verdict = "refuted" if found.caught else "not caught"
    note = f"{counts}; {verdict}; at most {found.epsilon_limit:.2f}"
    yield Cell(AUDIT, name, f"seed {seed}", found.epsilon_lower, note=note)
