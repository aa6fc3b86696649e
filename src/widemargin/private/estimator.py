"""PrivateSVC: a support vector classifier whose released weights are private."""

from __future__ import annotations

import math
import warnings
from numbers import Integral, Real
from typing import Any, ClassVar, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from .._sklearn import Interval, StrOptions, validated
from ..validation import checked_samples
from .features import fourier_features
from .mechanisms import (
    GradientMechanism,
    Mechanism,
    ObjectiveMechanism,
    OutputMechanism,
    Public,
)
from .noise import NoiseSource, noise_source
from .report import PrivacyReport, PrivacyWarning, build_report
from .sensitivity import clip_rows, row_bound
from .settings import (
    CLIP_NORM_MISSING,
    class_factors,
    encode_labels,
    noise_law,
    refuse_out_of_range,
    refuse_unproven,
)

Vector = NDArray[np.float64]


class PrivateSVC(ClassifierMixin, BaseEstimator):
    """Support vector classifier with a differential privacy guarantee.

    Trains weights w of

        F(w) = 1/2 ||w||^2 + C sum_i loss(y_i <w, x_i>),   ||x_i|| <= R

    and releases them with noise, so that the released model has nearly the same
    distribution whether or not any one record was in the data. The constant feature of
    the intercept is regularised like every other and counted in R: an unregularised
    intercept can be flipped by a single record.

    Only `coef_`, `intercept_` and public parameters are kept. There is no certificate,
    objective or iteration count: they depend on the data.

    Parameters
    ----------
    epsilon : float, default=1.0
        Privacy budget of the whole model; smaller is more private.
    delta : float, default=1e-5
        Probability with which the epsilon bound may fail; far below 1/n (a
        `PrivacyWarning` says when it is not). 0 asks for pure epsilon-privacy ("output"
        then uses Laplace noise; "gradient" needs > 0; "objective" never spends it).
    mechanism : {"output", "objective", "gradient"}, default="output"
        Where the noise goes. "output": on the trained weights. "objective": a random
        linear term in the training problem with the Huber hinge. "gradient": on every
        step of gradient descent (zero-concentrated accounting).
    C : float, default=0.1
        Cost of a violated margin. Noise grows with C: 0.01 to 0.1 is usual. Tuning it
        on the private data is not covered by the guarantee.
    clip_norm : float, default=None
        Public bound on a row's Euclidean length; longer rows are shortened to it,
        silently, in `fit` and `predict`. Required. With the linear kernel the noise
        grows with it; "rbf" features have length 1 whatever the row, so that a generous
        bound costs nothing there and only keeps the features finite.
    adjacency : {"replace", "add-remove"}, default="replace"
        Which data sets are neighbours. "objective" and "gradient" are proven for
        "replace" only and refuse the other.
    noise : {"auto", "gaussian", "laplace", "spherical"}, default="auto"
        Law for "output"; the other mechanisms have one each. "auto": Gaussian if
        delta > 0, else Laplace, both drawn by OpenDP and safe against floating-point
        attacks. "spherical" (uniform direction, Gamma length) needs less noise than
        Laplace but is proven in real arithmetic only.
    kernel : {"linear", "rbf"}, default="linear"
        "rbf" approximates exp(-gamma ||x - x'||^2) by random Fourier features whose
        frequencies are drawn independently of the data and published.
    gamma : float, default=1.0
        Width of the rbf kernel; a number, since "scale" would look at the data.
    n_components : int, default=100
        Number of random frequencies (two features each).
    fit_intercept : bool, default=True
        Append a constant feature.
    intercept_scaling : float, default=1.0
        Its value, counted in the length bound.
    huber_width : float in (0, 1), default=0.5
        Half-width of the rounded corner of the loss ("objective", "gradient").
    n_steps : int, default=100
        Steps of "gradient"; the budget is spread over them.
    class_weight : dict, default=None
        Public factors of C per class. "balanced" would look at the data: refused.
    classes : array of shape (n_classes,), default=None
        The class labels if they are public. If None the labels found are used and the
        report says that they were treated as public.
    tol : float >= 1e-12, default=1e-6
        Training stops at an objective gap of tol times the squared sensitivity, and
        goes on until it is there. The noise covers that gap, not the one reached
        ("output"); a smaller one than 1e-6 lessens the noise by 0.3 % at most.
    insecure_noise : bool, default=False
        Permit floating-point noise where OpenDP is wanted but not installed.
    random_state : int, default=None
        None draws noise from the operating system. An int makes the noise
        reproducible for studies and voids the guarantee (`PrivacyWarning`).
    verbose : int, default=0
        1 prints which public step is running, never anything about the data.

    Attributes
    ----------
    coef_ : array of shape (1 or n_classes, n_features or 2 n_components)
        Released weights.
    intercept_ : array of shape (1 or n_classes,)
        Released intercepts.
    classes_ : array of shape (n_classes,)
        Class labels.
    frequencies_ : array of shape (n_features, n_components), or None
        Public frequencies (kernel="rbf").
    n_features_in_ : int
        Number of features.

    See Also
    --------
    privacy_audit, PublicBoundsScaler

    References
    ----------
    Chaudhuri, Monteleoni, Sarwate: Differentially private empirical risk minimization,
    JMLR 12 (2011). Rubinstein et al.: Learning in a large function space, JPC 4 (2012).

    Examples
    --------
    >>> import numpy as np
    >>> from widemargin import PrivateSVC
    >>> X = np.repeat([[-1.0, 0.5], [1.0, -0.5]], 500, axis=0)
    >>> y = np.repeat(["no", "yes"], 500)
    >>> model = PrivateSVC(epsilon=2.0, clip_norm=1.2, classes=["no", "yes"]).fit(X, y)
    >>> model.predict([[1.0, -0.5]]).shape  # the answer itself is random
    (1,)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "epsilon": [Interval(Real, 0, None, closed="neither")],
        "delta": [Interval(Real, 0, 1, closed="left")],
        "mechanism": [StrOptions({"output", "objective", "gradient"})],
        "C": [Interval(Real, 0, None, closed="neither")],
        "clip_norm": [None, Interval(Real, 0, None, closed="neither")],
        "adjacency": [StrOptions({"replace", "add-remove"})],
        "noise": [StrOptions({"auto", "gaussian", "laplace", "spherical"})],
        "kernel": [StrOptions({"linear", "rbf"})],
        "gamma": [Interval(Real, 0, None, closed="neither")],
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "fit_intercept": ["boolean"],
        "intercept_scaling": [Interval(Real, 0, None, closed="neither")],
        "huber_width": [Interval(Real, 0, 1, closed="neither")],
        "n_steps": [Interval(Integral, 1, None, closed="left")],
        "class_weight": [None, dict],
        "classes": [None, "array-like"],
        "tol": [Interval(Real, 1e-12, None, closed="left")],
        "insecure_noise": ["boolean"],
        "random_state": [None, Integral],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        epsilon: float = 1.0,
        *,
        delta: float = 1e-5,
        mechanism: str = "output",
        C: float = 0.1,
        clip_norm: float | None = None,
        adjacency: str = "replace",
        noise: str = "auto",
        kernel: str = "linear",
        gamma: float = 1.0,
        n_components: int = 100,
        fit_intercept: bool = True,
        intercept_scaling: float = 1.0,
        huber_width: float = 0.5,
        n_steps: int = 100,
        class_weight: dict[Any, float] | None = None,
        classes: ArrayLike | None = None,
        tol: float = 1e-6,
        insecure_noise: bool = False,
        random_state: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.mechanism = mechanism
        self.C = C
        self.clip_norm = clip_norm
        self.adjacency = adjacency
        self.noise = noise
        self.kernel = kernel
        self.gamma = gamma
        self.n_components = n_components
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.huber_width = huber_width
        self.n_steps = n_steps
        self.class_weight = class_weight
        self.classes = classes
        self.tol = tol
        self.insecure_noise = insecure_noise
        self.random_state = random_state
        self.verbose = verbose

    @validated
    def fit(self, X: Any, y: Any) -> PrivateSVC:
        """Train and release the weights with noise.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_samples, n_features)
        y : array of shape (n_samples,)
            Labels; any number of classes from two on.

        Returns
        -------
        self
        """
        law = self._settings()
        X, y = checked_samples(self, X, y, dtype="numeric", order=None)
        classes, y = encode_labels(y, self.classes)
        source = noise_source(law, self.random_state, self.insecure_noise)
        frequencies = self._frequencies(source)
        rows = self._rows(X, frequencies)
        positives = range(len(classes)) if len(classes) > 2 else (1,)
        weights = class_factors(self.class_weight, classes)
        plan = self._plan(rows.shape, law, len(positives), float(weights.max()))
        released = []
        for number, k in enumerate(positives):
            if self.verbose:
                print(f"[PrivateSVC] {self.mechanism}: problem {number + 1}")
            signs = np.where(y == k, 1.0, -1.0)
            released.append(plan.release(rows, signs, weights[y], source))
        self.classes_, self.frequencies_ = classes, frequencies
        self._store(np.array(released))
        self._report = self._describe(plan, source, len(positives))
        return self

    def _settings(self) -> str:
        """Refuse what has no proof, warn of what voids it; return the noise's law."""
        if self.clip_norm is None:
            raise ValueError(CLIP_NORM_MISSING)
        refuse_unproven(self.mechanism, self.adjacency)
        if self.random_state is not None:
            warnings.warn(
                "random_state makes the noise reproducible: no privacy guarantee; "
                "leave it None to release a model",
                PrivacyWarning,
                stacklevel=3,
            )
        return noise_law(self.mechanism, self.noise, self.delta)

    def _frequencies(self, source: NoiseSource) -> Vector | None:
        """Draw the public frequencies of kernel="rbf", without looking at the data."""
        if self.kernel == "linear":
            return None
        shape = self.n_features_in_, self.n_components
        return source.frequencies(shape, math.sqrt(2.0 * self.gamma))

    def _mapped(self, X: Any, frequencies: Vector | None) -> Any:
        """Clip rows to the public length and apply the Fourier features."""
        X = clip_rows(X, cast(float, self.clip_norm))
        return X if frequencies is None else fourier_features(X, frequencies)

    def _rows(self, X: Any, frequencies: Vector | None) -> Any:
        """Rows as trained on: mapped, with the constant feature appended."""
        X = self._mapped(X, frequencies)
        if not self.fit_intercept:
            return X
        constant = np.full((X.shape[0], 1), float(self.intercept_scaling))
        return (
            sparse.hstack([X, constant], format="csr")
            if sparse.issparse(X)
            else np.hstack([X, constant])
        )

    def _radius(self) -> float:
        """Return the length bound R of a row of `_rows`."""
        length = 1.0 if self.kernel == "rbf" else cast(float, self.clip_norm)
        return row_bound(length, self.intercept_scaling if self.fit_intercept else 0.0)

    def _plan(
        self, shape: tuple[int, int], law: str, n_problems: int, weight: float
    ) -> Mechanism:
        """Fix the noise of one binary problem from public numbers alone."""
        n_samples, dimension = shape
        refuse_out_of_range(self.epsilon, self.C * weight, self._radius())
        if self.adjacency == "replace" and self.delta * n_samples >= 1:
            warnings.warn(
                "delta is not below 1/n: it allows publishing a whole record",
                PrivacyWarning,
                stacklevel=3,
            )
        public = Public(
            epsilon=self.epsilon / n_problems,
            delta=self.delta / n_problems,
            cost=float(self.C),
            weight=weight,
            radius=self._radius(),
            dimension=dimension,
            adjacency=self.adjacency,
        )
        if self.mechanism == "objective":
            return ObjectiveMechanism.plan(public, self.huber_width, n_samples)
        if self.mechanism == "gradient":
            return GradientMechanism.plan(
                public, self.huber_width, self.n_steps, n_samples
            )
        return OutputMechanism.plan(public, law, self.tol)

    def _store(self, released: Vector) -> None:
        """Split released weights into coefficients and intercept (post-processing)."""
        if self.fit_intercept:
            self.coef_ = released[:, :-1].copy()
            self.intercept_ = self.intercept_scaling * released[:, -1]
        else:
            self.coef_, self.intercept_ = released, np.zeros(len(released))

    def _describe(
        self, plan: Mechanism, source: NoiseSource, n_problems: int
    ) -> PrivacyReport:
        origin = "found in the data" if self.classes is None else "given by the user"
        public = ["number and names of features", f"class labels ({origin})"]
        if self.adjacency == "replace":
            public.append("number of records")
        return build_report(
            plan,
            adjacency=self.adjacency,
            n_problems=n_problems,
            clip_norm=cast(float, self.clip_norm),
            radius=self._radius(),
            noise_class=source.statement(plan.law),
            public=tuple(public),
        )

    def privacy_report(self) -> PrivacyReport:
        """Say what is guaranteed about this model and what is not.

        Returns
        -------
        PrivacyReport
            Print it for the statement in plain words.
        """
        check_is_fitted(self)
        return self._report

    def decision_function(self, X: Any) -> Vector:
        """Compute the released model's scores; rows are clipped as in `fit`.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples,) for two classes, else (n_samples, n_classes)
        """
        check_is_fitted(self)
        X = checked_samples(self, X, dtype="numeric", order=None, reset=False)
        mapped = self._mapped(X, self.frequencies_)
        scores = np.asarray(mapped @ self.coef_.T) + self.intercept_
        return scores.ravel() if len(self.coef_) == 1 else scores

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the class of each row.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples,)
        """
        scores = self.decision_function(X)
        index = (scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)
        return np.asarray(self.classes_[index])

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn that noise may make scores poor."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.classifier_tags.poor_score = True
        return tags
