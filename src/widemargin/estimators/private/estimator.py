"""PrivateSVC: a support vector classifier whose released weights are private."""

from __future__ import annotations

import math
import warnings
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from widemargin.estimators.base.sklearn_compat import Interval, StrOptions, validated

from .ledger import PrivacyLedger
from .mechanisms import (
    GradientMechanism,
    Mechanism,
    ObjectiveMechanism,
    OutputMechanism,
    Public,
    Release,
)
from .noise import NoiseSource, NoNoise, noise_source
from .released_model import ReleasedModel
from .report import (
    CLASSES_FOUND,
    MINIMUM_MISSED,
    NOISE_LEFT_OUT,
    SEED_GIVEN,
    PrivacyWarning,
    build_report,
)
from .settings import (
    CLIP_NORM_MISSING,
    chosen_mechanism,
    class_factors,
    encode_labels,
    noise_law,
    refuse_out_of_range,
    refuse_unproven,
    warn_of_drowned_signal,
    warn_of_large_delta,
)

Vector = NDArray[np.float64]


class PrivateSVC(ReleasedModel):
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
    mechanism : {"auto", "gradient", "objective", "output"}, default="auto"
        Where the noise goes. "gradient": on every step of gradient descent; all steps
        together are one Gaussian release. "objective": a random linear term in the
        training problem with the Huber hinge. "output": on the trained weights.
        "auto": "gradient", which was the most accurate of those whose noise is safe
        against floating-point attacks, where it is proven (delta > 0, "replace");
        else "output".
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
    group_size : int, default=1
        Records that one person may have. The guarantee is then for persons; that no
        person has more is yours to ensure. Noise grows in proportion.
    ledger : PrivacyLedger, default=None
        Budget that this fit's epsilon and delta are drawn from, before any noise is
        drawn; a fit that it cannot pay is refused.
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
    n_steps : int or "auto", default="auto"
        Steps of "gradient"; the budget is spread over them. "auto": from 5 to 100, the
        fewer the more noise there is, by public numbers alone.
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
        "mechanism": [StrOptions({"auto", "output", "objective", "gradient"})],
        "C": [Interval(Real, 0, None, closed="neither")],
        "clip_norm": [None, Interval(Real, 0, None, closed="neither")],
        "adjacency": [StrOptions({"replace", "add-remove"})],
        "group_size": [Interval(Integral, 1, None, closed="left")],
        "ledger": [None, PrivacyLedger],
        "noise": [StrOptions({"auto", "gaussian", "laplace", "spherical"})],
        "kernel": [StrOptions({"linear", "rbf"})],
        "gamma": [Interval(Real, 0, None, closed="neither")],
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "fit_intercept": ["boolean"],
        "intercept_scaling": [Interval(Real, 0, None, closed="neither")],
        "huber_width": [Interval(Real, 0, 1, closed="neither")],
        "n_steps": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"})],
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
        mechanism: str = "auto",
        C: float = 0.1,
        clip_norm: float | None = None,
        adjacency: str = "replace",
        group_size: int = 1,
        ledger: PrivacyLedger | None = None,
        noise: str = "auto",
        kernel: str = "linear",
        gamma: float = 1.0,
        n_components: int = 100,
        fit_intercept: bool = True,
        intercept_scaling: float = 1.0,
        huber_width: float = 0.5,
        n_steps: int | str = "auto",
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
        self.group_size = group_size
        self.ledger = ledger
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
        shadow = self._shadow()
        _, law = shadow._settings()
        source = noise_source(law, shadow.random_state, shadow.insecure_noise)
        return self._replaced_by(shadow._fit(X, y, source))

    def fit_without_noise(self, X: Any, y: Any) -> PrivateSVC:
        """Train the same model and add no noise: what an audit compares with.

        Nothing is guaranteed of it, and the report says so.

        Parameters
        ----------
        X, y : as for `fit`

        Returns
        -------
        self
        """
        return self._replaced_by(self._shadow()._fit(X, y, NoNoise()))

    def _fit(self, X: Any, y: Any, source: NoiseSource) -> PrivateSVC:
        """Train and release with noise of the given source."""
        mechanism, law = self._settings()
        X, y = self._samples(X, y)
        classes, y = encode_labels(y, self.classes)
        frequencies = self._frequencies(source)
        mapped = self._map(frequencies)
        rows = mapped.rows(X)
        positives = range(len(classes)) if len(classes) > 2 else (1,)
        weights = class_factors(self.class_weight, classes)
        public = Public(
            epsilon=float(self.epsilon),
            delta=float(self.delta),
            cost=float(self.C),
            weight=float(weights.max()),
            radius=mapped.radius,
            dimension=rows.shape[1],
            adjacency=self.adjacency,
            n_problems=len(positives),
            group_size=int(self.group_size),
        )
        plan = self._plan(public, mechanism, law, rows.shape[0])
        if self.ledger is not None:  # before anything is drawn, whatever comes of it
            self.ledger.spend(plan.price, f"PrivateSVC, {plan.name}")
        releases = []
        for number, k in enumerate(positives):
            if self.verbose:
                print(f"[PrivateSVC] {plan.name}: problem {number + 1}")
            signs = np.where(y == k, 1.0, -1.0)
            releases.append(plan.release(rows, signs, weights[y], source))
        self._report = build_report(
            plan,
            public,
            clip_norm=mapped.clip_norm,
            noise_class=source.statement(plan.law),
            voided_by=self._voided_by(releases, source),
        )
        self.classes_, self.frequencies_ = classes, frequencies
        self._store(np.array([release.weights for release in releases]))
        return self

    def _settings(self) -> tuple[str, str]:
        """Refuse what has no proof; return the mechanism and the noise's law."""
        if self.clip_norm is None:
            raise ValueError(CLIP_NORM_MISSING)
        mechanism = chosen_mechanism(
            self.mechanism, self.noise, self.delta, self.adjacency
        )
        refuse_unproven(mechanism, self.adjacency)
        return mechanism, noise_law(mechanism, self.noise, self.delta)

    def _voided_by(
        self, releases: list[Release], source: NoiseSource
    ) -> tuple[str, ...]:
        """Return what voids the guarantee of these releases, and warn of it."""
        voids = {
            NOISE_LEFT_OUT: isinstance(source, NoNoise),
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

    def _plan(
        self, public: Public, mechanism: str, law: str, n_samples: int
    ) -> Mechanism:
        """Fix the noise from public numbers alone."""
        refuse_out_of_range(self.epsilon, public.largest, public.radius)
        known = n_samples if self.adjacency == "replace" else None
        if known is not None:
            warn_of_large_delta(self.delta, known)
        width = self.huber_width
        plan: Mechanism
        if mechanism == "objective":
            plan = ObjectiveMechanism.plan(public, width, n_samples)
        elif mechanism == "gradient":
            steps = None if isinstance(self.n_steps, str) else self.n_steps
            plan = GradientMechanism.plan(public, width, steps, n_samples)
        else:
            plan = OutputMechanism.plan(public, law, self.tol, known)
        warn_of_drowned_signal(plan.noise_to_signal)
        return plan

    def _store(self, released: Vector) -> None:
        """Split released weights into coefficients and intercept (post-processing)."""
        if self.fit_intercept:
            self.coef_ = released[:, :-1].copy()
            self.intercept_ = self.intercept_scaling * released[:, -1]
        else:
            self.coef_, self.intercept_ = released, np.zeros(len(released))
