"""Contestants: scikit-learn's SVMs and LinearSVC, scikit-learn-intelex, widemargin.

A contestant is a function from the settings of a run to an unfitted estimator, plus one
that reads the signed dual answer back. Adding a solver is one entry in
``CONTESTANTS``. Each runs in a process of its own (`worker.py`), so that no patching,
thread pool or memory of one touches another.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]


@dataclass(frozen=True)
class Settings:
    """One run: the problem's parameters, the same for every contestant."""

    C: float = 1.0
    kernel: str = "rbf"
    gamma: float = 1.0
    degree: int = 3
    coef0: float = 0.0
    tol: float = 1e-3
    cache_size: float = 1000.0
    threads: int = 2
    fit_intercept: bool = True
    estimator: str = "SVC"
    epsilon: float = 0.1
    nu: float = 0.5
    quantiles: int = 1  # of QuantileSVR: the median, or as many evenly spaced ones

    @property
    def levels(self) -> list[float]:
        """Return the quantiles: 1/(k + 1), ..., k/(k + 1)."""
        return [(k + 1) / (self.quantiles + 1) for k in range(self.quantiles)]

    def of_estimator(self) -> dict[str, Any]:
        """Return the keyword arguments of the estimator that all contestants have."""
        names = [*KERNEL_NAMES, *OWN_NAMES[self.estimator]]
        parameters = self.parameters(*names)
        if self.estimator == "QuantileSVR":
            parameters["quantile"] = self.levels
            parameters["calibrate"] = False  # further fits, which are not judged
        return parameters

    def parameters(self, *names: str) -> dict[str, Any]:
        """Return the named settings as keyword arguments of an estimator."""
        every = asdict(self)
        return {name: every[name] for name in names}


KERNEL_NAMES = ("kernel", "gamma", "degree", "coef0", "tol", "cache_size")
OWN_NAMES = {
    "SVC": ("C",),
    "SVR": ("C", "epsilon"),
    "QuantileSVR": ("C",),
    "OneClassSVM": ("nu",),
    "NuSVC": ("nu",),
    "NuSVR": ("C", "nu"),
}


@dataclass(frozen=True)
class Contestant:
    """A solver under measurement.

    ``module`` must be importable for it to take part; ``build`` makes the unfitted
    estimator; ``answer`` returns the signed dual variable over all n samples (a row
    a class but one where there are several, as in ``dual_coef_``), None for a primal
    solver, whose ``coef_`` is judged instead.
    """

    name: str
    module: str
    build: Callable[[Settings], Any]
    answer: Callable[[Any, int], Vector | None]

    @property
    def present(self) -> bool:
        """Whether the contestant is installed."""
        return importlib.util.find_spec(self.module) is not None


def _dual_answer(model: Any, n: int) -> Vector:
    """Spread ``dual_coef_`` over all n samples; of two classes it is one row."""
    coefficients = model.dual_coef_
    if hasattr(coefficients, "toarray"):
        coefficients = coefficients.toarray()
    beta = np.zeros((len(coefficients), n))
    beta[:, np.asarray(model.support_)] = np.asarray(coefficients)
    return beta[0] if len(beta) == 1 else beta


def _no_dual_answer(model: Any, n: int) -> None:
    """LinearSVC keeps no dual variable."""


def _scikit_learn(settings: Settings) -> Any:
    from sklearn import svm

    return getattr(svm, settings.estimator)(**settings.of_estimator())


def _linear_svc(settings: Settings) -> Any:
    from sklearn.svm import LinearSVC

    return LinearSVC(
        loss="hinge",
        dual=True,
        max_iter=1_000_000,
        random_state=0,
        **settings.parameters("C", "tol", "fit_intercept"),
    )


def _intelex(settings: Settings) -> Any:
    import daal4py
    from sklearnex import svm

    daal4py.daalinit(settings.threads)
    return getattr(svm, settings.estimator)(**settings.of_estimator())


def _widemargin(settings: Settings) -> Any:
    import widemargin

    own = settings.of_estimator()
    if settings.estimator != "OneClassSVM":  # it has no other
        own["fit_intercept"] = settings.fit_intercept
    return getattr(widemargin, settings.estimator)(n_jobs=settings.threads, **own)


CONTESTANTS = {
    contestant.name: contestant
    for contestant in (
        Contestant("widemargin", "widemargin", _widemargin, _dual_answer),
        Contestant("scikit-learn", "sklearn", _scikit_learn, _dual_answer),
        Contestant("intelex", "sklearnex", _intelex, _dual_answer),
        Contestant("LinearSVC", "sklearn", _linear_svc, _no_dual_answer),
    )
}
