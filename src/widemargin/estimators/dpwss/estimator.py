"""DPWSSClassifier: SMO whose working sets are drawn by the exponential mechanism."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from widemargin.engine.kernels import Kernel
from widemargin.engine.solution import Solution, summary
from widemargin.engine.solve import solve
from widemargin.engine.solve_options import DrawnPairs, SolveOptions
from widemargin.engine.status import Status
from widemargin.estimators.base.kernel_classifier import KernelClassifier
from widemargin.estimators.base.multiclass import BinaryTask
from widemargin.estimators.base.progress import Progress
from widemargin.estimators.base.sklearn_compat import Interval, StrOptions
from widemargin.estimators.base.task import Answer
from widemargin.estimators.base.training_data import LabelledData

from .composition import SelectionReport, selection_report
from .drawn_solution import DrawnSolution, free_intercept

_REASONS = {Status.CONVERGED: "stationary"}


class DPWSSClassifier(KernelClassifier):
    """Linear SVM trained by randomised working set selection, as published.

    Solves the plain linear C-SVC dual by pair steps. The first member of a pair is the
    steepest one; the second is drawn among sufficiently violating ones with probability
    proportional to exp(selection_epsilon q / (2 (1 - sigma))), q being its violation
    relative to the largest (Sun, Yang, Li and Zhang, 2021).

    **This is an optimiser, not a private estimator.** The paper's claim of differential
    privacy does not hold end to end; `privacy_report` says what the draws cover. Use
    `PrivateSVC` to publish a model.

    With ``once=True``, the paper's rule, every pair is drawn at most once and the run
    ends when no admissible pair is left ("exhausted"), usually well before optimality.
    ``once=False`` runs to the tolerance.

    Parameters
    ----------
    C : float, default=1.0
        Cost of a violated margin.
    selection_epsilon : float, default=1.0
        Epsilon of one draw. Infinity takes the best admissible pair instead of drawing.
    sigma : float in (0, 1], default=0.7
        Smallest admitted score. 1 draws uniformly among the maximal violating pairs.
    once : bool, default=True
        Whether a pair may be drawn only once in the whole run.
    robust_maximum : bool, default=False
        Whether scores are relative to the largest violation among unused pairs only;
        avoids runs that stop very early.
    shrinking : bool, default=True
        Whether bounded samples are set aside as LIBSVM does.
    intercept_rule : {"optimal", "free"}, default="optimal"
        "optimal": the intercept that minimises the primal for the weights found.
        "free": mean over free support vectors, as LIBSVM (and the paper) has it; after
        an "exhausted" run that is arbitrary.
    tol : float, default=1e-3
        KKT violation at which a run is stationary.
    class_weight : dict or "balanced", default=None
        Factors of C per class.
    max_iter : int, default=-1
        Limit of pair steps per class pair; -1 for none.
    max_time : float, optional
        Limit of the whole fit in seconds.
    cache_size : float or "auto", default="auto"
        Memory for kernel rows in megabytes.
    n_jobs : int, optional
        Threads.
    random_state : int, RandomState instance or None, default=None
        Seed of the draws; None draws anew in every fit.
    verbose : bool, default=False
        Show a progress bar on long fits.

    Attributes
    ----------
    objective_ : float, or array in pair order
        The minimised dual, negative, as LIBSVM prints it.
    stop_reason_ : str, or list in pair order
        "stationary", "exhausted", "max_iter", "max_time" or "interrupted".
    kkt_violation_ : float, or array in pair order
        At the end; above `tol` unless stationary.
    n_iter_ : array of shape (n_pairs,)
        Draws made.
    certificate_ : Certificate, or list in pair order
        Proof for the stored weights and intercept, whatever the run ended by. Only
        ``objective`` and ``gap`` depend on the intercept.
    coef_, intercept_, classes_, support_, dual_coef_, history_ : as in SVC

    Notes
    -----
    There is no ``sample_weight``: a weight of 2 cannot equal a repeated sample when a
    pair may be drawn only once.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from widemargin import DPWSSClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = DPWSSClassifier(once=False, random_state=0).fit(X[:100], y[:100])
    >>> model.stop_reason_
    'stationary'
    >>> model.privacy_report().guarantee
    False
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **KernelClassifier._parameter_constraints,
        "selection_epsilon": [Interval(Real, 0, None, closed="right")],
        "sigma": [Interval(Real, 0, 1, closed="right")],
        "once": ["boolean"],
        "robust_maximum": ["boolean"],
        "intercept_rule": [StrOptions({"optimal", "free"})],
    }

    # What the shared code asks for and this method has no choice in.
    kernel = "linear"
    gamma = "auto"
    degree = 3
    coef0 = 0.0
    probability = False
    fit_intercept = True
    warm_start = False
    solver = "direct"
    decision_function_shape = "ovr"
    break_ties = False

    def __init__(
        self,
        *,
        C: float = 1.0,
        selection_epsilon: float = 1.0,
        sigma: float = 0.7,
        once: bool = True,
        robust_maximum: bool = False,
        shrinking: bool = True,
        intercept_rule: str = "optimal",
        tol: float = 1e-3,
        class_weight: Any = None,
        max_iter: int = -1,
        max_time: float | None = None,
        cache_size: float | str = "auto",
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: bool = False,
    ) -> None:
        self.C = C
        self.selection_epsilon = selection_epsilon
        self.sigma = sigma
        self.once = once
        self.robust_maximum = robust_maximum
        self.shrinking = shrinking
        self.intercept_rule = intercept_rule
        self.tol = tol
        self.class_weight = class_weight
        self.max_iter = max_iter
        self.max_time = max_time
        self.cache_size = cache_size
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any) -> Self:  # type: ignore[override]
        """Train by drawn pairs.

        Parameters
        ----------
        X : array or CSR of shape (n_samples, n_features)
            Training samples.
        y : array of shape (n_samples,)
            Labels.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        return super().fit(X, y)

    def _seed(self) -> int:
        """Return the seed of a fit: here the draws are the method."""
        return int(check_random_state(self.random_state).randint(2**31 - 1))

    def _solve_task(self, task: BinaryTask) -> DrawnSolution:
        """Draw pairs until stationary, exhausted or out of budget."""
        draws = DrawnPairs(
            self.selection_epsilon, self.sigma, self.once, self.robust_maximum
        )
        with Progress(self.verbose, self.tol, type(self).__name__) as progress:
            options = SolveOptions(
                tol=self.tol,
                max_iter=self.max_iter,
                deadline=task.deadline,
                shrinking=self.shrinking,
                # Class pairs draw from streams of their own.
                seed=task.seed + 2**31 * (task.positive * 65537 + task.negative),
                selection=draws,
                monitor=progress.monitor,
            )
            solution = solve(self._problem(task), options)
        drawn = self._answer(solution)
        certificate = drawn.certificate
        figures = {"objective": certificate.objective, "gap": certificate.gap}
        task.history.append(summary(solution, "draws") | figures)
        return drawn

    def _point(self, task: BinaryTask) -> DrawnSolution | None:
        reached = super()._point(task)
        return self._answer(reached) if isinstance(reached, Solution) else None

    def _answer(self, solution: Solution) -> DrawnSolution:
        free = self.intercept_rule == "free"
        rule = free_intercept(solution) if free else solution.intercept
        return DrawnSolution(solution, rule)

    def _store(
        self,
        data: LabelledData,
        kernel: Kernel,
        tasks: Sequence[BinaryTask],
        answers: Sequence[DrawnSolution],
    ) -> None:
        super()._store(data, kernel, tasks, answers)
        objectives = [answer.dual_objective for answer in answers]
        reasons = [_REASONS.get(a.status, a.status.value) for a in answers]
        violations = [answer.certificate.kkt_violation for answer in answers]
        single = len(answers) == 1
        self.objective_ = objectives[0] if single else np.array(objectives)
        self.stop_reason_ = reasons[0] if single else reasons
        self.kkt_violation_ = violations[0] if single else np.array(violations)

    def _warn_unless_converged(self, answers: Sequence[Answer]) -> None:
        exhausted = [a for a in answers if a.status == Status.EXHAUSTED]
        if not exhausted:
            super()._warn_unless_converged(answers)
            return
        worst = max(a.certificate.kkt_violation or 0.0 for a in exhausted)
        warnings.warn(
            f"DPWSSClassifier ended 'exhausted': every admissible pair was drawn once, "
            f"KKT violation {worst:.2e} instead of tol={self.tol}. once=False runs to "
            "the tolerance; robust_maximum=True or a smaller sigma stops later.",
            ConvergenceWarning,
            stacklevel=4,
        )

    def _guarantees(self) -> dict[str, str]:
        """Return that the draws guarantee nothing of the model."""
        return {
            "privacy": "no guarantee: the model was trained on the data as they are"
        }

    def privacy_report(self, delta: float = 1e-5) -> SelectionReport:
        """Account for the draws of this run; it is no end-to-end guarantee.

        Parameters
        ----------
        delta : float, default=1e-5
            At which composed figures are stated.

        Returns
        -------
        SelectionReport
            Print it for the statement in plain words.
        """
        check_is_fitted(self)
        return selection_report(
            float(self.selection_epsilon), int(self.n_iter_.sum()), delta
        )
