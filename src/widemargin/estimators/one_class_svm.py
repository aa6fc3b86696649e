"""Outlier detection: the one-class support vector machine."""

from __future__ import annotations

from dataclasses import replace
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import OutlierMixin

from widemargin.engine.problem import Terms
from widemargin.exchange.libsvm_form import LibsvmModel, SvmType
from widemargin.numerics.compensated import NEARLY_ALL, sum_within

from .base.kernel_expansion import ExpansionMachine
from .base.sklearn_compat import Interval
from .base.task import BoxTask
from .base.training_data import TrainingData, validate_unlabelled
from .incremental import IncrementalMachine
from .incremental.chunk import Chunk, Given, unlabelled_chunk
from .incremental.live_rows import LiveRows, check_row_ids
from .incremental.refused import needs_rows
from .incremental.update_state import UpdateState

Vector = NDArray[np.float64]

ON_BOUNDARY = 1e-9  # of the offset: nearer than this is rounding, and counts as inside


class OneClassSVM(
    OutlierMixin,
    IncrementalMachine[TrainingData, BoxTask],
    ExpansionMachine[TrainingData],
):
    """One-class SVM: a boundary around most of the samples, with a certificate.

    Minimises ``1/2 ||w||^2 + sum_i max(0, rho - <w, phi(x_i)>) - nu n rho`` over w and
    the offset rho (Schölkopf et al., Neural Computation 13, 2001, on scikit-learn's
    scale): at most a share nu of the training samples lies outside, and at least that
    share are support vectors. Same parameters, attributes and answers as
    :class:`sklearn.svm.OneClassSVM`; in addition threads, a time limit, Ctrl-C, warm
    starts and ``certificate_``.

    Parameters
    ----------
    kernel : str or callable, default="rbf"
        As in :class:`widemargin.SVC`.
    degree : int, default=3
        Degree of "poly", from 0 to 1000.
    gamma : {"scale", "auto"} or float, default="scale"
        Kernel coefficient, as in SVC.
    coef0 : float, default=0.0
        Constant of "poly" and "sigmoid".
    tol : float, default=1e-3
        Largest violation of the optimality conditions at the end. Fits of at most 2,000
        rows go on to about 1e-9 where they can.
    nu : float in (0, 1], default=0.5
        Upper bound on the share of outliers among the training samples, by weight.
    shrinking : bool, default=True
        Kept for compatibility: samples do not leave the active set here, where that
        measured slower.
    cache_size : float or "auto", default="auto"
        Memory for kernel rows in megabytes, as in SVC.
    verbose : bool, default=False
        Show a progress bar on fits that take longer than a second.
    max_iter : int, default=-1
        Limit of pair steps; -1 for none.
    random_state : int, RandomState instance or None, default=None
        Seed of the start; the optimum does not depend on it.
    n_jobs : int, default=None
        Threads; None for all cores. The model is bitwise the same for any number.
    max_time : float, optional
        Limit of ``fit`` in seconds.
    warm_start : bool, default=False
        Start from the last fit's solution when rows and kernel are the same.
    solver : {"auto", "direct", "divide"}, default="auto"
        "divide" goes through levels of clusters to the same solution, as in SVC.
    polish : {"auto", True, False}, default="auto"
        Whether a fit goes on to the exact solution, as in SVC.
    keep_rows : bool, default=False
        Keep all training rows, which ``partial_fit``, ``forget`` and ``update`` need,
        as in SVC.
    exact_updates : bool or "auto", default="auto"
        Whether updates end at the exact solution, or at ``tol`` where a solve takes
        less work; "auto": a path ends exactly, a solve where ``fit`` does.

    Attributes
    ----------
    ids_ : ndarray
        Ids of the rows, which ``forget`` takes; only where rows are kept.
    offset_ : ndarray of shape (1,)
        rho: ``decision_function`` is ``score_samples`` minus it. An array of one value,
        as scikit-learn has it.
    certificate_ : Certificate
        Objective, lower bound, duality gap, KKT violation, iterations, status.
    history_ : list of dict
        Stage records.
    support_, support_vectors_, n_support_, dual_coef_, intercept_, coef_, n_iter_, \
fit_status_, shape_fit_, n_features_in_, feature_names_in_
        As in scikit-learn.
    gamma_ : float
        The kernel coefficient used.

    Examples
    --------
    >>> from widemargin import OneClassSVM
    >>> model = OneClassSVM(nu=0.2).fit([[0.0], [0.44], [0.45], [0.46], [1.0]])
    >>> model.predict([[0.45], [3.0]]).tolist()
    [1, -1]
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **IncrementalMachine._parameter_constraints,
        "nu": [Interval(Real, 0.0, 1.0, closed="right")],
    }
    _svm_type = SvmType.ONE_CLASS

    fit_intercept = True  # rho, always
    nu: float

    def __init__(
        self,
        *,
        kernel: Any = "rbf",
        degree: int = 3,
        gamma: float | str = "scale",
        coef0: float = 0.0,
        tol: float = 1e-3,
        nu: float = 0.5,
        shrinking: bool = True,
        cache_size: float | str = "auto",
        verbose: bool = False,
        max_iter: int = -1,
        random_state: Any = None,
        n_jobs: int | None = None,
        max_time: float | None = None,
        warm_start: bool = False,
        solver: str = "auto",
        polish: bool | str = "auto",
        keep_rows: bool = False,
        exact_updates: bool | str = "auto",
    ) -> None:
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.tol = tol
        self.nu = nu
        self.shrinking = shrinking
        self.cache_size = cache_size
        self.verbose = verbose
        self.max_iter = max_iter
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.max_time = max_time
        self.warm_start = warm_start
        self.solver = solver
        self.polish = polish
        self.keep_rows = keep_rows
        self.exact_updates = exact_updates

    def fit(
        self, X: Any, y: Any = None, sample_weight: Any = None, ids: Any = None
    ) -> Self:
        """Find the boundary of the samples; whatever was learnt before is gone.

        Parameters
        ----------
        X : array or CSR of shape (n_samples, n_features)
            Training samples; the (n, n) kernel matrix with ``kernel="precomputed"``.
        y : ignored
            There for scikit-learn's conventions.
        sample_weight : array of shape (n_samples,), optional
            Weights of the rows; rows with weight <= 0 are as if absent.
        ids : array of shape (n_samples,), optional
            Unique integers or strings by which ``forget`` will know the rows, which are
            then kept; with ``keep_rows=True`` and no ids rows are numbered 0, 1, 2, ...
            over all calls.

        Returns
        -------
        self : object
            The fitted estimator.

        Raises
        ------
        KeyboardInterrupt
            On Ctrl-C. A former model stays; an estimator without one has the point
            reached, with ``fit_status_ = 1``, if there is one.
        """
        return self._fitted(X, None, sample_weight, check_row_ids(ids, X))

    @needs_rows
    def partial_fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        ids: Any = None,
        *,
        forget_ids: Any = None,
        window: Any = None,
    ) -> Self:
        """Add rows, let others go; the boundary becomes that of ``fit`` on live rows.

        One update for both, all of it or, after an error, nothing.

        Parameters
        ----------
        X : array or CSR of shape (n_samples, n_features)
            New samples.
        y : ignored
            There for scikit-learn's conventions.
        sample_weight : array of shape (n_samples,), optional
            Weights of the rows; rows with weight <= 0 are as if absent.
        ids : array of shape (n_samples,), optional
            Unique integers or strings; given in every call or in none.
        forget_ids : int, str or array of them, optional
            Rows that leave in the same update, by their entries in ``ids_``.
        window : int, optional
            How many rows stay at most: the oldest leave in the same update, in the
            order in which they came.

        Returns
        -------
        self : object
            The estimator, with the new rows and without those that left.
        """
        leavers = {"forget_ids": forget_ids, "window": window}
        return self._added(Given(X, None, sample_weight, ids, **leavers))

    def _validated(self, X: Any, y: Any, sample_weight: Any, ids: Any) -> TrainingData:
        return validate_unlabelled(self, X, sample_weight, ids)

    def _checked_chunk(self, given: Given, former: UpdateState | None) -> Chunk:
        return unlabelled_chunk(self, given, former)

    def _every_row_counts(self) -> bool:
        return True  # the sum is nu times all weights

    def _targets(self, data: TrainingData) -> None:
        return None

    def _training(self, rows: LiveRows) -> TrainingData:
        return TrainingData(
            X=rows.X, rows=np.arange(rows.n), n_given=rows.n,
            n_features=self.n_features_in_, weights=rows.weights, ids=rows.ids,
        )  # fmt: skip

    def _terms(self, data: TrainingData) -> list[Terms]:
        weights = np.ones(data.rows.size) if data.weights is None else data.weights
        nothing = np.zeros(weights.size)
        total = self.nu * float(weights.sum())
        if self.nu > NEARLY_ALL:
            total = min(total, sum_within(weights))
        return [Terms(nothing, nothing, weights, total)]

    @property
    def offset_(self) -> Vector:
        """The offset rho between ``score_samples`` and ``decision_function``."""
        model = self._at_once()
        model._check_fitted()
        return -model.intercept_

    def decision_function(self, X: Any) -> Vector:
        """Return how far inside the boundary the samples are; negative is outside.

        Parameters
        ----------
        X : array or CSR of shape (n_samples, n_features)
            Samples; with ``kernel="precomputed"`` of shape (n_samples, n_training).

        Returns
        -------
        ndarray of shape (n_samples,)
            ``score_samples`` minus ``offset_``; 0 where they are equal up to rounding,
            as at the free support vectors of an exact model.
        """
        model = self._at_once()
        values = model._values(X)
        values[np.abs(values) <= ON_BOUNDARY * abs(model.offset_)] = 0.0
        return values

    def score_samples(self, X: Any) -> Vector:
        """Return the values of the kernel expansion: large where samples are dense.

        Parameters
        ----------
        X : array or CSR of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples,)
            Scores, without the offset.
        """
        model = self._at_once()
        return model.decision_function(X) + model.offset_

    def predict(self, X: Any) -> NDArray[np.intp]:
        """Return 1 for samples inside the boundary, -1 for outliers.

        Parameters
        ----------
        X : array or CSR of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples,)
            1 or -1.
        """
        inside = self.decision_function(X) >= 0
        return np.where(inside, 1, -1).astype(np.intp)

    def _libsvm_model(self) -> LibsvmModel:
        # LIBSVM and scikit-learn have no tolerance at the boundary: the offset does it.
        model = super()._libsvm_model()
        return replace(model, rho=model.rho - ON_BOUNDARY * np.abs(model.rho))
