"""What an attacker finds in DPWSS, which the paper does not ask.

Three contestants are held to the same attack with the same settings: DPWSS, a
`PrivateSVC` whose noise was divided by 20, and the real one.
"""

from __future__ import annotations

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

AUDIT = "Audit: epsilon at least, 200 + 200 runs"
TOO_LITTLE = 20.0


class TooLittleNoise(PrivateSVC):
    """A broken `PrivateSVC`: a twentieth of the noise that its proof asks for."""

    def _plan(self, *arguments: Any) -> Mechanism:
        plan = super()._plan(*arguments)
        return replace(plan, scale=plan.scale / TOO_LITTLE)


def patients() -> tuple[NDArray[np.float64], NDArray[Any]]:
    """Return the records audited: 60 rows and 10 features of breast cancer, scaled."""
    X, y = load_breast_cancer(return_X_y=True)
    X, y = X[:60, :10], y[:60]
    return 2 * (X - X.min(axis=0)) / (X.max(axis=0) - X.min(axis=0)) - 1, y


def contestants() -> dict[str, Any]:
    """Return the three methods under audit by name."""
    public: Any = {"mechanism": "output", "clip_norm": 1.0, "classes": (0, 1)}
    return {
        "DPWSS, stated 0.1": DPWSSClassifier(selection_epsilon=0.1, n_jobs=1),
        "PrivateSVC, stated 1, noise/20": TooLittleNoise(1.0, **public),
        "PrivateSVC, stated 1": PrivateSVC(1.0, **public),
    }


def audit(name: str, seed: int, runs: int = 200, held_out: int = 100) -> Iterable[Cell]:
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
