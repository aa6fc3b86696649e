"""Contestants: scikit-learn's SVC and LinearSVC, scikit-learn-intelex, widemargin.

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

    def parameters(self, *names: str) -> dict[str, Any]:
        """Return the named settings as keyword arguments of an estimator."""
        every = asdict(self)
        return {name: every[name] for name in names}


KERNEL_NAMES = ("C", "kernel", "gamma", "degree", "coef0", "tol", "cache_size")


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
    from sklearn.svm import SVC

    return SVC(**settings.parameters(*KERNEL_NAMES))


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
    from sklearnex.svm import SVC

    daal4py.daalinit(settings.threads)
    return SVC(**settings.parameters(*KERNEL_NAMES))


def _widemargin(settings: Settings) -> Any:
    from widemargin import SVC

    return SVC(
        n_jobs=settings.threads,
        **settings.parameters(*KERNEL_NAMES, "fit_intercept"),
    )


CONTESTANTS = {
    contestant.name: contestant
    for contestant in (
        Contestant("widemargin", "widemargin", _widemargin, _dual_answer),
        Contestant("scikit-learn", "sklearn", _scikit_learn, _dual_answer),
        Contestant("intelex", "sklearnex", _intelex, _dual_answer),
        Contestant("LinearSVC", "sklearn", _linear_svc, _no_dual_answer),
    )
}
