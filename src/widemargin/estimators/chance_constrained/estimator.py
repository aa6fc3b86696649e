"""The chance-constrained support vector classifier."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets

from widemargin.estimators.base.sklearn_compat import Interval, StrOptions, validated
from widemargin.estimators.base.validation import checked_samples
from widemargin.runtime.dask_collections import is_dask
from widemargin.uncertainty.covariances import CLASS

from .block_sources import (
    Block,
    Source,
    dask_blocks,
    file_blocks,
    in_memory,
    refuse_large,
    user_blocks,
)
from .training import stepped, train
from .uncertain_model import UncertainModel


def _is_stochastic(estimator: Any) -> bool:
    if estimator.solver == "ssgd":
        return True
    raise AttributeError(
        "partial_fit and fit_blocks need solver='ssgd': the other solvers see all "
        f"samples at once (solver={estimator.solver!r})."
    )


def _takes_steps(estimator: Any) -> bool:
    if estimator.kernel == "rbf":
        raise AttributeError(
            "partial_fit needs kernel='linear': the random features of kernel='rbf' "
            "are scaled by all rows; fit_blocks reads rows in parts."
        )
    return _is_stochastic(estimator)


class ChanceConstrainedSVC(UncertainModel):
    """SVM for samples with error bars: bounded risk of violating the margin.

    Each sample is a distribution of which only mean and covariance are known. Solves

        minimise  1/2 ||w||^2 + C sum_i c_i slack_i,
        sup over all such distributions of P{y_i (w'x_i + b) <= 1 - slack_i} <= risk,

    which equals the hinge loss with the margin widened by ``kappa ||L_i'w||``,
    ``kappa^2 = (1 - risk) / risk``, ``L_i L_i'`` the covariance. The constraint bounds
    the probability of *misclassification* only for samples with slack below one.

    Parameters
    ----------
    C : float, default=1.0
        Price of a unit of slack.
    risk : float, default=0.1
        Probability with which a sample may violate its margin; in (0, 1).
    bound : {"moments", "gaussian"}, default="moments"
        Over all distributions with these moments (Cantelli), or the normal one (needs
        ``risk <= 0.5``, less cautious).
    kernel : {"linear", "rbf"}, default="linear"
        "rbf" takes the samples as normal: the same problem in random Fourier features,
        whose mean and covariance are exact. Its bounds hold for normal errors only.
    gamma : "scale" or float, default="scale"
        For "rbf": ``exp(-gamma ||x - x'||^2)``; "scale" is 1 / (d var(X)), of the
        scaled samples with ``standardize=True``.
    n_components : int, default=50
        For "rbf": random frequencies, two features each.
    covariance : "class", array of shape (d, d) or dict, default="class"
        Sample covariance of each class times ``covariance_scale``, one matrix for all
        samples, or a matrix for each label. Single samples' covariances go to `fit`.
    covariance_scale : float, default=0.01
        Factor on the class covariances.
    standardize : bool, default=False
        Scale means and covariances together before solving; attributes stay in the
        units of X. A scaler in a Pipeline in front would scale the means only.
    fit_intercept : bool, default=True
        Whether the boundary may leave the origin.
    class_weight : dict or "balanced", optional
        Factor on C for each class.
    solver : {"newton", "ssgd", "socp", "sdp"}, default="newton"
        Smoothed Newton (exact); stochastic subgradient (large streams);
        Clarabel on cones or on the moment SDP (tiny problems).
    refine : bool, default=True
        For "ssgd": False is the published method.
    epochs : int, default=50
        For "ssgd": passes over the data.
    sampling : {"permutation", "replacement"}, default="permutation"
        For "ssgd": order of visits within an epoch.
    tol : float, default=1e-6
        Relative duality gap at which the other solvers stop.
    max_iter : int, default=1000
        Newton steps at most.
    max_time : float, optional
        Seconds for the whole fit; the best model so far is kept, with a warning.
    memory_mb : float, default=256
        For "ssgd" on memory-mapped files and blocks: budget for copies of the data;
        for "rbf" the most that covariances of the features may take.
    n_jobs : int, optional
        For "ssgd": workers whose iterates are averaged after each epoch; None for one.
    random_state : int, RandomState or None, default=None
        Order of visits of "ssgd", frequencies of "rbf"; the others do not draw.
    verbose : bool, default=False
        Show progress.

    Attributes
    ----------
    coef_, intercept_ : ndarray of shape (1 or n_classes, d) and (1 or n_classes,)
        The boundaries, in the units of X; of the 2 n_components features with "rbf".
    frequencies_ : ndarray of shape (n_components, d) or None
        Rows w of the features cos(w'x) and sin(w'x), in the units of X; None if linear.
    slack_ : ndarray of shape (n,) or (n, n_classes), or None
        Slack of each training sample (NaN for rows of weight zero); None after
        training on blocks.
    bounded_share_ : float or ndarray
        Share of samples with slack below one: theirs is a bound on misclassification.
    covariances_ : ndarray of shape (n_classes, d, d) or None
        Covariance of each class where samples share them.
    certificate_ : Certificate or list of Certificate
        Upper bound of the model's objective, lower bound of the optimum (None for
        "ssgd" and "sdp"), gap, status; rounding is included (mathematics 2.5).
    history_ : list of dict
        Stages of the solver.
    scale_ : ndarray of shape (d,)
        Unit of each feature in the penalty ``1/2 ||scale_ * coef_||^2``: ones, or the
        standard deviations with ``standardize=True``.
    fit_status_ : int
        0, or 1 where the certificate's status is not that of a solved problem.
    classes_, n_features_in_, n_iter_ : as in scikit-learn.

    See Also
    --------
    widemargin.SVC : the same loss for samples known exactly, with kernels.

    References
    ----------
    X. Wang, N. Fan, P. M. Pardalos (2016), Stochastic subgradient descent method for
    large-scale robust chance-constrained support vector machines.

    Examples
    --------
    >>> import numpy as np
    >>> from widemargin import ChanceConstrainedSVC
    >>> X = np.array([[-2.0, 0.0], [-1.0, 0.0], [1.0, 0.0], [2.0, 0.0]])
    >>> variances = np.full((4, 2), 0.01)
    >>> model = ChanceConstrainedSVC().fit(X, [0, 0, 1, 1], covariance=variances)
    >>> bool(model.certificate_.gap < 1e-8)
    True
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "C": [Interval(Real, 0.0, None, closed="neither")],
        "risk": [Real],
        "bound": [StrOptions({"moments", "gaussian"})],
        "kernel": [StrOptions({"linear", "rbf"})],
        "gamma": [StrOptions({"scale"}), Interval(Real, 0.0, None, closed="neither")],
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "covariance": [StrOptions({CLASS}), "array-like", dict],
        "covariance_scale": [Interval(Real, 0.0, None, closed="left")],
        "standardize": ["boolean"],
        "fit_intercept": ["boolean"],
        "class_weight": [StrOptions({"balanced"}), dict, None],
        "solver": [StrOptions({"newton", "ssgd", "socp", "sdp"})],
        "refine": ["boolean"],
        "epochs": [Interval(Integral, 1, None, closed="left")],
        "sampling": [StrOptions({"permutation", "replacement"})],
        "tol": [Interval(Real, 0.0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "max_time": [Interval(Real, 0.0, None, closed="neither"), None],
        "memory_mb": [Interval(Real, 0.0, None, closed="neither")],
        "n_jobs": [
            Interval(Integral, None, -1, closed="right"),
            Interval(Integral, 1, None, closed="left"),
            None,
        ],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        C: float = 1.0,
        *,
        risk: float = 0.1,
        bound: str = "moments",
        kernel: str = "linear",
        gamma: Any = "scale",
        n_components: int = 50,
        covariance: Any = "class",
        covariance_scale: float = 0.01,
        standardize: bool = False,
        fit_intercept: bool = True,
        class_weight: Any = None,
        solver: str = "newton",
        refine: bool = True,
        epochs: int = 50,
        sampling: str = "permutation",
        tol: float = 1e-6,
        max_iter: int = 1000,
        max_time: float | None = None,
        memory_mb: float = 256.0,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: bool = False,
    ) -> None:
        self.C = C
        self.risk = risk
        self.bound = bound
        self.kernel = kernel
        self.gamma = gamma
        self.n_components = n_components
        self.covariance = covariance
        self.covariance_scale = covariance_scale
        self.standardize = standardize
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.solver = solver
        self.refine = refine
        self.epochs = epochs
        self.sampling = sampling
        self.tol = tol
        self.max_iter = max_iter
        self.max_time = max_time
        self.memory_mb = memory_mb
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    # ---- fitting --------------------------------------------------------------------

    @validated
    def fit(
        self,
        X: Any,
        y: Any,
        covariance: Any = None,
        covariance_factor: Any = None,
        sample_weight: Any = None,
    ) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array, CSR matrix, numpy.memmap or dask array of shape (n, d)
            Means of the samples.
        y : array of shape (n,)
            Labels.
        covariance : array of shape (n, d) or (n, d, d), optional
            Variances, or covariance matrix, of each sample; instead of the
            constructor's.
        covariance_factor : array of shape (n, d, r), optional
            Factors L of the covariances ``L L'``.
        sample_weight : array of shape (n,), optional
            Number of times each row counts.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        rows = Block(X, y, covariance, covariance_factor, sample_weight)
        return self._all_or_nothing(lambda new: new._train_on(new._source(rows)))

    def _source(self, rows: Block) -> Source[Block]:
        """Return the rows as blocks; those in memory are checked."""
        if is_dask(rows.X):
            return dask_blocks(rows, self.solver)
        if isinstance(rows.X, np.memmap) and self.solver == "ssgd":
            return file_blocks(rows, self.memory_mb)
        return in_memory([self._checked_rows(rows, reset=True)])

    def _checked_rows(self, rows: Block, *, reset: bool) -> Block:
        """Return samples checked as scikit-learn does, without changing float32."""
        X, y = checked_samples(self, rows.X, rows.y, reset=reset)
        check_classification_targets(y)
        refuse_large(X)
        return rows._replace(X=X, y=y)

    def _train_on(self, source: Source[Block]) -> None:
        trained = train(source, self, self._generator())
        self._keep(trained.model)
        trained.raise_or_warn(self.tol)

    def _generator(self) -> np.random.Generator:
        seed = check_random_state(self.random_state).randint(np.iinfo(np.int32).max)
        return np.random.default_rng(int(seed))

    @available_if(_is_stochastic)  # type: ignore[untyped-decorator]
    @validated
    def fit_blocks(self, blocks: Any) -> Self:
        """Fit to data that comes in blocks, each pass reading them anew.

        Parameters
        ----------
        blocks : callable or sequence
            A function that returns a new iterator over the blocks, or a list of them.
            A block is ``(X, y)`` or ``(X, y, extras)`` with a dict of `fit`'s other
            arguments for these rows.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        return self._all_or_nothing(lambda new: new._train_on(user_blocks(blocks)))

    @available_if(_takes_steps)  # type: ignore[untyped-decorator]
    @validated
    def partial_fit(
        self,
        X: Any,
        y: Any,
        classes: Any = None,
        covariance: Any = None,
        covariance_factor: Any = None,
        sample_weight: Any = None,
        n_samples_total: int | None = None,
    ) -> Self:
        """Take one stochastic step for each given row.

        After `fit` it goes on from the model and from what was seen of its rows (their
        number and size; the rows are not kept). No pass over all rows is made, so
        there is no certificate and no slack after it.

        Parameters
        ----------
        X, y, covariance, covariance_factor, sample_weight : as for `fit`
            The new rows.
        classes : array, optional
            All labels; needed in the first call.
        n_samples_total : int, optional
            The m of the step ``C m / t``; the rows seen so far by default, those of
            `fit` included. Give it where rows are passed several times.

        Returns
        -------
        self : object
            The estimator.
        """
        rows = Block(X, y, covariance, covariance_factor, sample_weight)

        def step(new: Self) -> None:
            former = new._kept()
            checked = new._checked_rows(rows, reset=former is None)
            draws = new._generator
            new._keep(stepped(former, checked, new, classes, n_samples_total, draws))

        return self._all_or_nothing(step)
