"""Probabilities, which no estimator here has, and what to use instead."""

from __future__ import annotations

from typing import ClassVar, NoReturn

CALIBRATE = """Calibrate the scores instead:
    from sklearn.calibration import CalibratedClassifierCV
    CalibratedClassifierCV({model}, ensemble=False).fit(X, y)"""


class WithoutProbabilities:
    """An estimator whose missing ``predict_proba`` says what to use instead.

    ``hasattr`` is still False, as scikit-learn requires.
    """

    _calibration: ClassVar[str] = CALIBRATE

    @property
    def predict_proba(self) -> NoReturn:
        """Not offered; the error says what to use instead."""
        self._no_probabilities("predict_proba")

    @property
    def predict_log_proba(self) -> NoReturn:
        """Not offered; the error says what to use instead."""
        self._no_probabilities("predict_log_proba")

    def _no_probabilities(self, method: str) -> NoReturn:
        name = type(self).__name__
        remedy = self._calibration.format(model=f"{name}()")
        raise AttributeError(f"{name} has no {method}. {remedy}")
