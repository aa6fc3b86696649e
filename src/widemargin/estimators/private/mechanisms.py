"""Three ways to train a private linear SVM: noise on the output, objective, gradient.

A mechanism is first *planned* from public numbers alone (budget, C, the length bound R,
dimension, adjacency) and then *releases* weights from the data. Everything that the
privacy report says is a field of the plan, so nothing in it can depend on the data.

One record's change of the problem is bounded in `sensitivity`, the noise scale follows
in `calibration`, the training problems are solved in `hinge` and `minimum`, the noise
is drawn in `noise`. Proofs: mathematics 1.5.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .calibration import (
    gaussian_scale,
    laplace_scale,
    objective_budget,
    spherical_scale,
)
from .hinge import minimise_hinge
from .huber import slope
from .huber_minimum import minimise_huber
from .noise import NoiseSource
from .sensitivity import (
    coordinate_sensitivity,
    gradient_sensitivity,
    inflated_sensitivity,
    weight_sensitivity,
)

Vector = NDArray[np.float64]

OBJECTIVE_ACCURACY = 1e-12, 1e-13
"""Distance from the minimiser that objective perturbation goes down to: in units of the
linear term's expected length, plus in units of all records' pulls, for rounding."""

COVER_SHARE = 1e-3
"""Share of epsilon for the noise that covers this distance (objective perturbation)."""


STEPS = 10.0, 5, 100
"""Steps of gradient descent: this over the noise-to-signal ratio, at least, at most.

Chosen on the choosing half of ``python benchmarks/helps.py private``: a noisier
gradient is worth fewer steps, and what a step costs does not depend on their number."""


class Public(NamedTuple):
    """The public numbers of a fit: of all its binary problems together."""

    epsilon: float  # of the whole model, as delta
    delta: float
    cost: float  # C
    weight: float  # largest class weight; the largest cost is C times it
    radius: float  # R, constant feature included
    dimension: int  # coordinates of w, constant feature included
    adjacency: str
    n_problems: int = 1  # one against the rest; every record takes part in each
    group_size: int = 1  # records that neighbouring data sets may differ in

    @property
    def largest(self) -> float:
        """Return the largest cost of a record, C times the largest class weight."""
        return self.cost * self.weight

    @property
    def apart(self) -> float:
        """Return how far a vector moves whose n_problems parts move by 1 each."""
        return math.sqrt(self.n_problems)


class Cost(NamedTuple):
    """What a release costs: mu of a Gaussian one, or epsilon of a pure one."""

    mu: float
    epsilon: float


class Release(NamedTuple):
    """Released weights, and whether training came as near as the proof needs."""

    weights: Vector
    proven: bool


@dataclass(frozen=True)
class OutputMechanism:
    """Minimise the hinge problem to a fixed gap, then add noise to the weights.

    Attributes
    ----------
    sensitivity : float
        Delta + 2 sqrt(2 tau): how far neighbours' weights can differ (Euclidean).
    gap : float
        tau, the public objective gap at which training stops; never the gap reached.
    scale : float
        Standard deviation (gaussian), Laplace scale, or Gamma scale (spherical).
    price : Cost
        Cost of all problems together. With Gaussian noise they are one release, whose
        sensitivity is sqrt(n_problems) times that of one; with the other laws
        epsilon / n_problems each, which one release would not better.
    noise_to_signal : float
        Standard deviation of the score of a row as long as R, over the margin 1 or,
        where all records together cannot reach it, over what they can: n C R^2.
    """

    name: ClassVar[str] = "output"
    distance: ClassVar[None] = None

    law: str
    epsilon: float
    delta: float
    cost: float
    sensitivity: float
    gap: float
    scale: float
    price: Cost
    noise_to_signal: float

    @classmethod
    def plan(
        cls, public: Public, law: str, tolerance: float, n_samples: int | None
    ) -> OutputMechanism:
        """Fix gap and noise scale; `tolerance` is tau in units of Delta squared.

        `n_samples` is None where it is not public ("add-remove").
        """
        exact = public.group_size * weight_sensitivity(
            public.largest, public.radius, public.adjacency
        )
        gap = tolerance * exact**2
        sensitivity = inflated_sensitivity(exact, gap)
        epsilon, delta, dimension = public.epsilon, 0.0, public.dimension
        price, each = Cost(0.0, epsilon), epsilon / public.n_problems
        if law == "gaussian":
            delta, joint = public.delta, sensitivity * public.apart
            scale = deviation = gaussian_scale(epsilon, delta, joint)
            price = Cost(joint / scale, 0.0)
        elif law == "laplace":
            scale = laplace_scale(each, coordinate_sensitivity(sensitivity, dimension))
            deviation = scale * math.sqrt(2.0)
        else:
            scale = spherical_scale(each, sensitivity)
            deviation = scale * math.sqrt(dimension + 1.0)
        pulls = math.inf if n_samples is None else n_samples * public.largest
        signal = min(1.0, pulls * public.radius**2)
        return cls(
            law=law,
            epsilon=epsilon,
            delta=delta,
            cost=public.cost,
            sensitivity=sensitivity,
            gap=gap,
            scale=scale,
            price=price,
            noise_to_signal=deviation * public.radius / signal,
        )

    def release(
        self, X: Any, y: Vector, weights: Vector, source: NoiseSource
    ) -> Release:
        """Train on rows within the length bound and return the noisy weights."""
        w = minimise_hinge(X, y, self.cost * weights, self.gap)
        if self.law == "gaussian":
            noisy = source.gaussian(w, self.scale)
        elif self.law == "laplace":
            noisy = source.laplace(w, self.scale)
        else:
            noisy = w + source.spherical(len(w), self.scale)
        return Release(noisy, True)


@dataclass(frozen=True)
class ObjectiveMechanism:
    """Add a random linear term to the Huber problem, then minimise it.

    The proof is for the exact minimiser, which floating point cannot reach. It reaches
    one within a public distance r of it, and that is covered as a second release: the
    error is at most r long for every data set, so that noise for the sensitivity 2r,
    paid for by `COVER_SHARE` of epsilon, makes it private given the exact minimiser,
    and the two compose (mathematics 1.5).

    Attributes
    ----------
    cost : float
        C actually used: lowered when the curvature would take over half of epsilon.
    noise_epsilon : float
        epsilon', what is left of epsilon for the linear term.
    scale, cover : float
        Gamma scales of the linear term and of the noise on the minimiser.
    width : float
        Half-width h of the Huber hinge.
    distance : float
        r, the public distance from the exact minimiser.
    price : Cost
        Cost of all problems together.
    noise_to_signal : float
        Mean length of the linear term over half of the largest length of all records'
        pulls, n C R: pulls of two classes cancel for a good part.
    """

    name: ClassVar[str] = "objective"
    sensitivity: ClassVar[None] = None
    gap: ClassVar[None] = None

    law: str
    epsilon: float
    delta: float
    cost: float
    noise_epsilon: float
    scale: float
    width: float
    largest: float  # C times the largest class weight: the factor of the noise term
    distance: float
    cover: float
    price: Cost
    noise_to_signal: float

    @classmethod
    def plan(cls, public: Public, width: float, n_samples: int) -> ObjectiveMechanism:
        """Split the budget: curvature, linear term, distance; delta stays unspent."""
        epsilon = public.epsilon / public.n_problems
        covering = COVER_SHARE * epsilon
        budget = objective_budget(
            epsilon - covering, public.largest, public.radius, width, public.group_size
        )
        of_noise, of_pulls = OBJECTIVE_ACCURACY
        length, pulls = public.dimension * budget.scale, n_samples * public.radius
        distance = budget.cost * (of_noise * length + of_pulls * pulls)
        return cls(
            law="spherical",
            epsilon=public.epsilon,
            delta=0.0,
            cost=budget.cost / public.weight,
            noise_epsilon=budget.epsilon,
            scale=budget.scale,
            width=width,
            largest=budget.cost,
            distance=distance,
            cover=spherical_scale(covering, 2.0 * distance),
            price=Cost(0.0, public.epsilon),
            noise_to_signal=2.0 * length / pulls,
        )

    def release(
        self, X: Any, y: Vector, weights: Vector, source: NoiseSource
    ) -> Release:
        """Draw the linear term, minimise, and cover what the minimum may be off by."""
        dimension, costs = X.shape[1], self.cost * weights
        linear = self.largest * source.spherical(dimension, self.scale)
        w, off = minimise_huber(X, y, costs, self.width, linear, self.distance)
        cover = source.spherical(dimension, self.cover)
        return Release(w + cover, off <= self.distance)


@dataclass(frozen=True)
class GradientMechanism:
    """Descend on the mean Huber loss with Gaussian noise on every full gradient.

    J(w) = lambda/2 ||w||^2 + (1/n) sum_i weights_i loss_h(y_i <w, x_i>) with
    lambda = 1/(nC) has the minimiser of F. The data are read in one place, the T noisy
    gradients; each is taken at a point that earlier noisy gradients and public numbers
    determine, and adaptive composition allows exactly that: T of them, of each of the
    problems, are one Gaussian release of sqrt(n_problems T) times the sensitivity
    (Dong, Roth and Su, 2022). Step 1/smoothness, Nesterov's momentum, projection on a
    ball that holds the minimiser, and averaging the last half only combine what was
    released already: post-processing, which costs nothing.

    Attributes
    ----------
    sensitivity, scale : float
        Sensitivity and noise scale of one gradient.
    price : Cost
        Cost of all steps and problems together.
    noise_to_signal : float
        Length of the noise that all steps together leave on a gradient over half of
        the largest gradient, R times the largest class weight.
    """

    name: ClassVar[str] = "gradient"
    gap: ClassVar[None] = None
    distance: ClassVar[None] = None

    law: str
    epsilon: float
    delta: float
    cost: float
    sensitivity: float
    n_steps: int
    scale: float
    width: float
    step: float
    ball: float
    price: Cost
    noise_to_signal: float

    @classmethod
    def plan(
        cls, public: Public, width: float, n_steps: int | None, n_samples: int
    ) -> GradientMechanism:
        """Fix noise and step size; under replace-one n is the same for neighbours.

        Without `n_steps` their number follows from the noise, see `STEPS`.
        """
        sensitivity = public.group_size * gradient_sensitivity(
            public.weight, public.radius, n_samples
        )
        joint = gaussian_scale(
            public.epsilon, public.delta, sensitivity * public.apart
        )  # the noise that all steps together leave on a gradient
        left = 2.0 * joint * math.sqrt(public.dimension)
        noise_to_signal = left / (public.weight * public.radius)
        if n_steps is None:
            worth, least, most = STEPS
            n_steps = round(min(max(worth / noise_to_signal, least), most))
        scale = joint * math.sqrt(n_steps)
        regulariser = 1.0 / (n_samples * public.cost)
        smoothness = public.weight * public.radius**2 / (2.0 * width) + regulariser
        return cls(
            law="gaussian",
            epsilon=public.epsilon,
            delta=public.delta,
            cost=public.cost,
            sensitivity=sensitivity,
            n_steps=n_steps,
            scale=scale,
            width=width,
            step=1.0 / smoothness,
            # J(minimiser) <= J(0) <= weight, and the loss is not negative.
            ball=math.sqrt(2.0 * public.weight / regulariser),
            price=Cost(sensitivity * public.apart / joint, 0.0),
            noise_to_signal=noise_to_signal,
        )

    def release(
        self, X: Any, y: Vector, weights: Vector, source: NoiseSource
    ) -> Release:
        """Run the noisy descent from 0 and return the averaged iterate."""
        n_samples, dimension = X.shape
        w, total, kept = np.zeros(dimension), np.zeros(dimension), 0
        ahead = w  # where the gradient is taken: w plus momentum
        for index in range(self.n_steps):
            pulls = weights * y * slope(1.0 - y * (X @ ahead), self.width)
            loss = -np.asarray(X.T @ pulls) / n_samples
            noisy = source.gaussian(loss, self.scale)
            moved = ahead - self.step * (noisy + ahead / (n_samples * self.cost))
            moved *= min(1.0, self.ball / max(float(np.linalg.norm(moved)), self.ball))
            ahead = moved + index / (index + 3.0) * (moved - w)
            w = moved
            if 2 * index >= self.n_steps - 1:
                kept, total = kept + 1, total + w
        return Release(total / kept, True)


Mechanism = OutputMechanism | ObjectiveMechanism | GradientMechanism
