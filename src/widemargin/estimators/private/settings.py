"""What users ask of `PrivateSVC`, checked before any data are trained on.

Refusals name the parameter and the remedy and never quote a value of the data.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.multiclass import check_classification_targets

from widemargin.estimators.base.probabilities import WithoutProbabilities

from .errors_without_values import without_values
from .report import NoiseWarning, PrivacyWarning

CLIP_NORM_MISSING = (
    "clip_norm bounds each row's length and must be known without looking at the data; "
    "e.g. sqrt(n_features) for features in [-1, 1]"
)


class PrivateScores(WithoutProbabilities):
    """Scores that must not be calibrated on the rows they were trained on."""

    _calibration: ClassVar[str] = """Calibrated on its training rows it would have \
no guarantee. Calibrate the fitted model on other, public ones:
    from sklearn.calibration import CalibratedClassifierCV
    from sklearn.frozen import FrozenEstimator
    CalibratedClassifierCV(FrozenEstimator(model)).fit(X_public, y_public)"""


def chosen_mechanism(mechanism: str, noise: str, delta: float, adjacency: str) -> str:
    """Return what "auto" stands for: "gradient" where it has a proof, else "output"."""
    if mechanism != "auto":
        return mechanism
    proven = adjacency == "replace" and delta > 0 and noise in ("auto", "gaussian")
    return "gradient" if proven else "output"


def noise_law(mechanism: str, noise: str, delta: float) -> str:
    """Return the law of the noise: "gaussian", "laplace" or "spherical"."""
    only = {"objective": "spherical", "gradient": "gaussian"}.get(mechanism, noise)
    if noise not in ("auto", only):
        raise ValueError(
            f"noise={noise!r} is for mechanism='output'; mechanism={mechanism!r} is "
            f"proven with {only} noise: leave noise='auto'"
        )
    law = only if only != "auto" else "gaussian" if delta > 0 else "laplace"
    if law == "gaussian" and delta == 0:
        raise ValueError(
            f"delta=0 with Gaussian noise (mechanism={mechanism!r}) has no guarantee; "
            "give delta > 0, or mechanism='output' with noise='laplace'"
        )
    return law


def refuse_unproven(mechanism: str, adjacency: str) -> None:
    """Refuse a combination that mathematics 1.5 has no proof for."""
    if adjacency == "add-remove" and mechanism != "output":
        raise ValueError(
            f"mechanism={mechanism!r} is proven for adjacency='replace' only; "
            "use mechanism='output' with adjacency='add-remove'"
        )


def refuse_out_of_range(epsilon: float, cost: float, radius: float) -> None:
    """Refuse public numbers whose squares and products would overflow.

    Training would fail on them for some data and not for others.
    """
    for name, value in {
        "epsilon": epsilon,
        "C times the largest class weight": cost,
        "the row length bound (clip_norm, intercept)": radius,
    }.items():
        if not 1e-50 <= value <= 1e50:
            raise ValueError(f"{name} is {value:g}; it must lie between 1e-50 and 1e50")


def warn_of_large_delta(delta: float, n_samples: int) -> None:
    """Warn of a delta that allows a mechanism to publish a record now and then."""
    if delta * n_samples >= 1:
        warnings.warn(
            "delta is not below 1/n: it allows publishing a whole record. Choose a "
            "delta far below 1/n",
            PrivacyWarning,
            stacklevel=4,
        )


#: ratio of noise to signal above which `fit` warns. Chosen on half of the data sets,
#: checked on the others: python benchmarks/helps.py private --print
DROWNED = 0.4


def warn_of_drowned_signal(noise_to_signal: float) -> None:
    """Warn of noise that may drown the signal, as far as public numbers tell."""
    if noise_to_signal > DROWNED:
        warnings.warn(
            f"the noise is {noise_to_signal:.3g} times the signal that it hides in "
            f"(from public numbers alone); above {DROWNED:g} fits often lose more than "
            "half of what could be learnt. Remedies: "
            "a larger epsilon, more records, fewer features, mechanism='auto', and for "
            "mechanism='output' a smaller C or clip_norm",
            NoiseWarning,
            stacklevel=5,
        )


def encode_labels(
    y: Any, classes: ArrayLike | None
) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """Return the classes, given or found, and each label's place among them.

    With given classes a label is either among them or not; what scikit-learn says of
    odd labels (that many of them are distinct, say) would tell about the data.
    """
    if classes is None:
        without_values(check_classification_targets, y)
        known = without_values(np.unique, y)
    else:
        known = np.unique(np.asarray(classes))
    if len(known) < 2:
        raise ValueError(
            "PrivateSVC needs two or more classes, got 1 class; give them with the "
            "parameter classes if they are public"
        )
    places = {label: place for place, label in enumerate(known.tolist())}
    index = without_values(lambda: [places.get(label, -1) for label in y.tolist()])
    if -1 in index:
        raise ValueError("y holds a label that is not in the parameter classes")
    return known, np.array(index, dtype=np.intp)


def class_factors(
    class_weight: Mapping[Any, float] | None, classes: NDArray[Any]
) -> NDArray[np.float64]:
    """Return one public factor of C per class."""
    given = class_weight or {}
    if not set(given) <= set(classes.tolist()):
        raise ValueError(
            "class_weight names a class that is not in classes_; remove it"
        )
    numbers = [given.get(label, 1.0) for label in classes.tolist()]
    if not all(isinstance(factor, Real) for factor in numbers):
        raise ValueError("class_weight must map each class to a number")
    factors = np.array(numbers, dtype=np.float64)
    if not (np.isfinite(factors).all() and (factors >= 0).all() and factors.any()):
        raise ValueError("class_weight must be finite, not negative, and not all zero")
    return factors
