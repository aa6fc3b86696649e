"""The ramp-loss classifier: a hinge loss clipped at a ceiling."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from widemargin.engine.kernels import Kernel
from widemargin.engine.problem import DualProblem
from widemargin.engine.screening.screener import Screener
from widemargin.engine.solution import Solution
from widemargin.engine.solve_options import SolveOptions
from widemargin.engine.status import Status
from widemargin.estimators.base.kernel_classifier import KernelClassifier
from widemargin.estimators.base.multiclass import BinaryTask, class_pairs
from widemargin.estimators.base.sklearn_compat import Interval, StrOptions
from widemargin.estimators.base.task import Answer
from widemargin.estimators.base.training_data import LabelledData

from .concave_convex import Outcome, RampProblem, descend, resume
from .continuation import Plan, continuation, economical_descent
from .out_of_fold import out_of_fold
from .ramp_solution import RampSolution, convex_record, finished

STARTS = {"continuation": continuation, "out_of_fold": out_of_fold}
ROUGH = 1e-2  # tolerance of the stages that only find which samples to clip


class RampSVC(KernelClassifier):
    """Kernel classifier with the ramp loss: wrong labels pull only so far.

    Minimises ``1/2 ||w||^2 + C sum_i min(1 - s, max(0, 1 - y_i F(x_i)))`` with
    ``F(x) = <w, phi(x)> + b``: the hinge loss of an SVM, flat below the margin ``s``.
    A sample beyond it, deep inside the other class, no longer pulls on the boundary and
    is listed in ``outliers_``. The concave-convex procedure finds a stationary point,
    not the global minimum, through a few SVM problems that share their kernel rows.

    Parameters
    ----------
    C : float, default=1.0
        Price of a unit of margin violation.
    s : float, default=-1.0
        Margin below which the loss is flat, at most 0. ``-1`` gives up the samples that
        are farther on the wrong side than a support vector is on the right one, ``0``,
        the paper's choice, every misclassified sample (of a rare class that can be all
        of them), ``-inf`` none: the plain SVM.
    init : {"out_of_fold", "continuation", "svm"}, default="out_of_fold"
        Where the procedure starts: without the samples that fivefold cross-validation
        of the plain SVM gets wrong, at C or, as long as that gets fewer wrong, a tenth,
        a hundredth, a thousandth of it (those that the model then does not put below
        ``s`` come back); without those clipped at C/1000, C/100 and C/10; or at the
        plain SVM. With a flexible kernel that has already bent around the wrong
        labels, and a start there often stays there. Where a fine boundary is real,
        "continuation" gives up right labels: look at the length of ``outliers_``, and
        see the page of this estimator.
    max_cccp_iter : int, default=50
        Most convex problems solved at each C.
    screening : "safe" or None, default=None
        "safe" decides samples as soon as their value is certain and takes them out
        where that pays. Each convex problem has the same solution; in this engine it
        was measured not to save time (see the page of this estimator), so it is off.
        Only above 2,000 rows, and with a positive semi-definite kernel (not "sigmoid",
        nor "poly" with a negative ``coef0``).
    kernel, degree, gamma, coef0, shrinking, probability, tol, cache_size, \
class_weight, verbose, max_iter, decision_function_shape, break_ties, random_state, \
fit_intercept, n_jobs, max_time, warm_start, solver, polish
        As in :class:`widemargin.SVC`, for each convex problem; ``max_time`` is for all
        together.

    Attributes
    ----------
    outliers_ : ndarray of int
        Training rows clipped at the end: those the model believes to be mislabelled.
        With more than two classes, clipped in at least one of their class pairs.
    suspects_ : ndarray of int
        The same rows, ranked: first those farthest beyond the cut.
    suspect_scores_ : ndarray of float
        By how much the margin of each is below ``s``, in the order of ``suspects_``;
        with more than two classes the most of its class pairs.
    objective_ : float, or ndarray in pair order
        The primal ramp objective J.
    certificate_ : Certificate, or list of them in pair order
        Proof for the last convex problem; ``kkt_violation`` is that of J. The status
        "class_clipped", with a warning, says that the procedure went on to give up more
        than half of a class, and that the model is the last one before that.
    history_ : list of dict
        One record per convex problem: ``objective`` (J), ``gap``, ``clipped`` and, with
        screening, ``screened``: the share of samples decided against iteration and
        time. Stage "loose" marks those solved loosely on the way.
    n_cccp_iter_ : ndarray of int
        Convex problems solved, in pair order.
    classes_, support_, support_vectors_, n_support_, dual_coef_, intercept_, coef_, \
n_iter_, fit_status_, shape_fit_, class_weight_, n_features_in_, feature_names_in_
        As in scikit-learn's SVC.

    See Also
    --------
    widemargin.SVC : The same with the hinge loss.

    References
    ----------
    R. Collobert, F. Sinz, J. Weston and L. Bottou, "Trading convexity for scalability",
    ICML 2006; Z. Zhai, B. Gu, X. Li and H. Huang, "Safe sample screening for robust
    support vector machine", AAAI 2020 (its screening rules are corrected here).

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from widemargin import RampSVC
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> flipped = np.random.default_rng(0).choice(569, size=57, replace=False)
    >>> y[flipped] = 1 - y[flipped]
    >>> model = RampSVC().fit(scale(X), y)
    >>> len(model.outliers_) >= 30, np.isin(model.outliers_, flipped).mean() > 0.9
    (True, np.True_)
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **KernelClassifier._parameter_constraints,
        "s": [Interval(Real, None, 0.0, closed="both")],
        "screening": [StrOptions({"safe"}), None],
        "init": [StrOptions({"svm", "continuation", "out_of_fold"})],
        "max_cccp_iter": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self,
        *,
        C: float = 1.0,
        s: float = -1.0,
        kernel: Any = "rbf",
        degree: int = 3,
        gamma: float | str = "scale",
        coef0: float = 0.0,
        init: str = "out_of_fold",
        max_cccp_iter: int = 50,
        screening: str | None = None,
        shrinking: bool = True,
        probability: Any = False,
        tol: float = 1e-3,
        cache_size: float | str = "auto",
        class_weight: Any = None,
        verbose: bool = False,
        max_iter: int = -1,
        decision_function_shape: str = "ovr",
        break_ties: bool = False,
        random_state: Any = None,
        fit_intercept: bool = True,
        n_jobs: int | None = None,
        max_time: float | None = None,
        warm_start: bool = False,
        solver: str = "auto",
        polish: bool | str = "auto",
    ) -> None:
        self.C = C
        self.s = s
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.init = init
        self.max_cccp_iter = max_cccp_iter
        self.screening = screening
        self.shrinking = shrinking
        self.probability = probability
        self.tol = tol
        self.cache_size = cache_size
        self.class_weight = class_weight
        self.verbose = verbose
        self.max_iter = max_iter
        self.decision_function_shape = decision_function_shape
        self.break_ties = break_ties
        self.random_state = random_state
        self.fit_intercept = fit_intercept
        self.n_jobs = n_jobs
        self.max_time = max_time
        self.warm_start = warm_start
        self.solver = solver
        self.polish = polish

    def _solve_task(self, task: BinaryTask) -> RampSolution:
        """Run the concave-convex procedure on two classes."""
        ramp = self._ramp(task)
        earlier = task.history.append  # levels, where a problem is solved by division

        def options(problem: DualProblem) -> SolveOptions:
            asked = self._solve_options(problem.n, task)
            screen = None if self.screening is None else Screener()
            # The next clipped set is read off all values.
            return replace(asked, screen=screen, every_value=True, certify=False)

        def solver(problem: DualProblem, start: Solution | None) -> Solution:
            return self._solve(problem, options(problem), start, earlier)

        def rough(problem: DualProblem, start: Solution | None) -> Solution:
            loose = replace(options(problem), tol=max(self.tol, ROUGH), exact=False)
            return self._solve(problem, loose, start, earlier)

        def record(figures: dict[str, Any], solution: Solution) -> None:
            task.history.append(convex_record(figures, solution))

        plan = Plan(solver, rough, self.max_cccp_iter, record, task.seed)
        if task.start is not None:
            clipped, start = resume(ramp, task.start)
            end = descend(
                ramp, solver, clipped=clipped, start=start,
                max_rounds=plan.max_rounds, record=record,
            )  # fmt: skip
        elif self.init == "svm" or np.isinf(self.s):
            end = economical_descent(ramp, plan)
        else:
            end = economical_descent(ramp, plan, STARTS[self.init](ramp, plan))
        return finished(ramp, end, task.history, self.tol)

    def _ramp(self, task: BinaryTask) -> RampProblem:
        s, intercept = float(self.s), self.fit_intercept
        return RampProblem(task.gram, task.y, task.costs, s, intercept, self.tol)

    def _point(self, task: BinaryTask) -> RampSolution | None:
        """Return where Ctrl-C met a convex problem; one at a lower C has no point."""
        if task.stopped is None:
            return None
        convex = task.stopped.problem
        if not np.array_equal(convex.upper - convex.lower, task.costs):
            return None
        ramp, solution = self._ramp(task), task.stopped.solution()
        objective = ramp.objective(solution)
        figures = {"objective": objective, "clipped": ramp.clips(solution)}
        task.history.append(convex_record(figures, solution))
        # Not those below s at this point: the flat loss is that of the problem's own.
        clipped = task.y * (convex.lower + convex.upper) < 0.0
        end = Outcome(solution, clipped, objective, settled=False)
        return finished(ramp, end, task.history, self.tol)

    def _store(
        self,
        data: LabelledData,
        kernel: Kernel,
        tasks: Sequence[BinaryTask],
        answers: Sequence[RampSolution],
    ) -> None:
        super()._store(data, kernel, tasks, answers)
        beyond = np.full(len(data.labels), -np.inf)
        for task, answer in zip(tasks, answers, strict=True):
            rows = task.rows[answer.clipped]
            beyond[rows] = np.maximum(beyond[rows], answer.beyond_cut[answer.clipped])
        clipped = np.flatnonzero(beyond > -np.inf)
        ranked = clipped[np.argsort(-beyond[clipped], kind="stable")]
        self.outliers_ = data.rows[clipped]
        self.suspects_ = data.rows[ranked]
        self.suspect_scores_ = beyond[ranked]
        objectives = np.array([answer.objective for answer in answers])
        self.objective_ = float(objectives[0]) if len(tasks) == 1 else objectives
        self.n_cccp_iter_ = np.array([answer.rounds for answer in answers])

    def _warn_unless_converged(self, answers: Sequence[Answer]) -> None:
        lost = self._lost_classes(answers)
        if lost:
            warnings.warn(
                f"RampSVC would have given up more than half of {', '.join(lost)}: "
                f"those samples are below the margin s={self.s:g}. The model is the "
                "last one before that, not a minimum of the ramp loss. Try "
                "class_weight='balanced', a larger C, or a lower s (-inf is the SVM).",
                ConvergenceWarning,
                stacklevel=3,
            )
        if any(answer.status == Status.MAX_ROUNDS for answer in answers):
            warnings.warn(
                f"RampSVC solved max_cccp_iter={self.max_cccp_iter} convex problems "
                "and the clipped samples still change. Increase max_cccp_iter.",
                ConvergenceWarning,
                stacklevel=3,
            )
        elif not lost:
            super()._warn_unless_converged(answers)

    def _lost_classes(self, answers: Sequence[Answer]) -> list[str]:
        """Return which classes would have been clipped for the most part, in words."""
        pairs = class_pairs(len(self.classes_))
        lost = []
        for (positive, negative), answer in zip(pairs, answers, strict=True):
            if answer.status == Status.CLASS_CLIPPED:
                assert isinstance(answer, RampSolution)
                sides = (positive, negative)
                own, other = sides if answer.lost_side > 0.0 else sides[::-1]
                against = f" (against {self.classes_[other]})" if len(pairs) > 1 else ""
                lost.append(f"class {self.classes_[own]}{against}")
        return lost
