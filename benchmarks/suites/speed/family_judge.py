"""The judge of regressors, one-class and nu models: sums over their problems."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from widemargin_papers.harness.contestants import Settings
from widemargin_papers.harness.measuring import judged_classifier
from widemargin_papers.harness.objective import Judgement, KernelChoice, judge_pairs
from widemargin_papers.harness.results import Record

from .expansion_objective import judge_expansion, terms_of
from .nu_objective import judge_nu

Vector = NDArray[np.float64]


def judged_family(
    choice: KernelChoice, X: Any, y: Vector, settings: Settings, beta: Vector
) -> Record:
    """Judge the answer of any estimator of the family."""
    if settings.estimator == "SVC":
        return judged_classifier(choice, X, y, settings, beta)
    if settings.estimator in ("NuSVC", "NuSVR"):

        def judged(X: Any, y: Vector, beta: Vector) -> Judgement:
            return judge_nu(choice, X, y, settings, beta)

        several = beta.ndim == 2
        found = judge_pairs(judged, X, y, beta) if several else judged(X, y, beta)
        return asdict(found)
    outputs = [
        asdict(judge_expansion(choice, X, terms, own))
        for terms, own in zip(terms_of(settings, y), np.atleast_2d(beta), strict=True)
    ]
    return {name: sum(one[name] for one in outputs) for name in outputs[0]}
