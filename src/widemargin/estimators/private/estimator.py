"""PrivateSVC: a support vector classifier whose released weights are private."""

from __future__ import annotations

import math
import warnings
from numbers import Integral, Real
from typing import Any, ClassVar, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from widemargin.estimators.base.sklearn_compat import Interval, StrOptions, validated
from widemargin.estimators.base.validation import checked_samples

from .bounded_rows import PublicMap
from .errors_without_values import without_values
from .mechanisms import (
    GradientMechanism,
    Mechanism,
    ObjectiveMechanism,
    OutputMechanism,
    Public,
    Release,
)
from .noise import NoiseSource, noise_source
from .report import (
    CLASSES_FOUND,
    MINIMUM_MISSED,
    SEED_GIVEN,
    PrivacyReport,
    PrivacyWarning,
    build_report,
)
from .settings import (
    CLIP_NORM_MISSING,
    PrivateScores,
    class_factors,
    encode_labels,
    noise_law,
    refuse_out_of_range,
    refuse_unproven,
    warn_of_large_delta,
)

Vector = NDArray[np.float64]


class PrivateSVC(PrivateScores, ClassifierMixin, BaseEstimator):
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
        The class labels that are possible, known without looking at the data. If None
        the labels found are used: the set of labels is data, so that no guarantee is
        stated (`PrivacyWarning`, and the report's `guarantee` is False).
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
        X, y = self._samples(X, y)
        classes, y = encode_labels(y, self.classes)
        source = noise_source(law, self.random_state, self.insecure_noise)
        frequencies = self._frequencies(source)
        mapped = self._map(frequencies)
        rows = mapped.rows(X)
        positives = range(len(classes)) if len(classes) > 2 else (1,)
        weights = class_factors(self.class_weight, classes)
        public = Public(
            epsilon=self.epsilon / len(positives),
            delta=self.delta / len(positives),
            cost=float(self.C),
            weight=float(weights.max()),
            radius=mapped.radius,
            dimension=rows.shape[1],
            adjacency=self.adjacency,
        )
        plan = self._plan(public, law, rows.shape[0])
        releases = []
        for number, k in enumerate(positives):
            if self.verbose:
                print(f"[PrivateSVC] {self.mechanism}: problem {number + 1}")
            signs = np.where(y == k, 1.0, -1.0)
            releases.append(plan.release(rows, signs, weights[y], source))
        self._report = build_report(
            plan,
            adjacency=self.adjacency,
            n_problems=len(positives),
            clip_norm=mapped.clip_norm,
            radius=mapped.radius,
            noise_class=source.statement(plan.law),
            voided_by=self._voided_by(releases),
        )
        self.classes_, self.frequencies_ = classes, frequencies
        self._store(np.array([release.weights for release in releases]))
        return self

    def _settings(self) -> str:
        """Refuse what has no proof; return the noise's law."""
        if self.clip_norm is None:
            raise ValueError(CLIP_NORM_MISSING)
        refuse_unproven(self.mechanism, self.adjacency)
        return noise_law(self.mechanism, self.noise, self.delta)

    def _samples(self, X: Any, y: Any = "no_validation", *, reset: bool = True) -> Any:
        """Check samples (and labels); no error quotes a value of theirs."""
        return without_values(
            checked_samples, self, X, y, dtype=np.float64, order=None, reset=reset
        )

    def _voided_by(self, releases: list[Release]) -> tuple[str, ...]:
        """Return what voids the guarantee of these releases, and warn of it."""
        voids = {
            SEED_GIVEN: self.random_state is not None,
            CLASSES_FOUND: self.classes is None,
            MINIMUM_MISSED: not all(release.proven for release in releases),
        }
        reasons = tuple(reason for reason, applies in voids.items() if applies)
        for reason in reasons:
            warnings.warn(f"no privacy guarantee: {reason}", PrivacyWarning, 3)
        return reasons

    def _frequencies(self, source: NoiseSource) -> Vector | None:
        """Draw the public frequencies of kernel="rbf", without looking at the data."""
        if self.kernel == "linear":
            return None
        shape = self.n_features_in_, self.n_components
        return source.frequencies(shape, math.sqrt(2.0 * self.gamma))

    def _map(self, frequencies: Vector | None) -> PublicMap:
        """Return the public map from records to the rows trained on."""
        constant = float(self.intercept_scaling) if self.fit_intercept else 0.0
        return PublicMap(cast(float, self.clip_norm), frequencies, constant)

    def _plan(self, public: Public, law: str, n_samples: int) -> Mechanism:
        """Fix the noise of one binary problem from public numbers alone."""
        refuse_out_of_range(self.epsilon, public.cost * public.weight, public.radius)
        if self.adjacency == "replace":
            warn_of_large_delta(self.delta, n_samples)
        width = self.huber_width
        if self.mechanism == "objective":
            return ObjectiveMechanism.plan(public, width, n_samples)
        if self.mechanism == "gradient":
            return GradientMechanism.plan(public, width, self.n_steps, n_samples)
        return OutputMechanism.plan(public, law, self.tol)

    def _store(self, released: Vector) -> None:
        """Split released weights into coefficients and intercept (post-processing)."""
        if self.fit_intercept:
            self.coef_ = released[:, :-1].copy()
            self.intercept_ = self.intercept_scaling * released[:, -1]
        else:
            self.coef_, self.intercept_ = released, np.zeros(len(released))

    def privacy_report(self) -> PrivacyReport:
        """Return what is guaranteed about this model and what is not.

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
        images = self._map(self.frequencies_).images(self._samples(X, reset=False))
        scores = np.asarray(images @ self.coef_.T) + self.intercept_
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

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy on rows X with labels y; not private if they are.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_samples, n_features)
        y : array of shape (n_samples,)
        sample_weight : array of shape (n_samples,), default=None

        Returns
        -------
        float
        """
        check_is_fitted(self)
        return float(without_values(super().score, X, y, sample_weight))

    def __sklearn_tags__(self) -> Any:
        """Return the tags: noise may make scores poor."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.classifier_tags.poor_score = True
        return tags
