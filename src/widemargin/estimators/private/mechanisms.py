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
    concentrated_budget,
    gaussian_scale,
    gradient_scale,
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


class Public(NamedTuple):
    """The public numbers of one binary problem."""

    epsilon: float
    delta: float
    cost: float  # C
    weight: float  # largest class weight; the largest cost is C times it
    radius: float  # R, constant feature included
    dimension: int  # coordinates of w, constant feature included
    adjacency: str


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

    @classmethod
    def plan(cls, public: Public, law: str, tolerance: float) -> OutputMechanism:
        """Fix gap and noise scale; `tolerance` is tau in units of Delta squared."""
        largest = public.cost * public.weight
        exact = weight_sensitivity(largest, public.radius, public.adjacency)
        gap = tolerance * exact**2
        sensitivity = inflated_sensitivity(exact, gap)
        epsilon, delta = public.epsilon, 0.0
        if law == "gaussian":
            delta = public.delta
            scale = gaussian_scale(epsilon, delta, sensitivity)
        elif law == "laplace":
            wide = coordinate_sensitivity(sensitivity, public.dimension)
            scale = laplace_scale(epsilon, wide)
        else:
            scale = spherical_scale(epsilon, sensitivity)
        return cls(law, epsilon, delta, public.cost, sensitivity, gap, scale)

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

    @classmethod
    def plan(cls, public: Public, width: float, n_samples: int) -> ObjectiveMechanism:
        """Split the budget: curvature, linear term, distance; delta stays unspent."""
        covering = COVER_SHARE * public.epsilon
        budget = objective_budget(
            public.epsilon - covering, public.cost * public.weight, public.radius, width
        )
        of_noise, of_pulls = OBJECTIVE_ACCURACY
        distance = budget.cost * (
            of_noise * public.dimension * budget.scale
            + of_pulls * n_samples * public.radius
        )
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
    determine, and adaptive composition allows exactly that (zCDP adds up; Bun and
    Steinke, 2016, Lemma 2.3). Step 1/smoothness, Nesterov's momentum, projection on a
    ball that holds the minimiser, and averaging the last half only combine what was
    released already: post-processing, which costs nothing.
    """

    name: ClassVar[str] = "gradient"
    gap: ClassVar[None] = None
    distance: ClassVar[None] = None

    law: str
    epsilon: float
    delta: float
    cost: float
    sensitivity: float
    rho: float
    n_steps: int
    scale: float
    width: float
    step: float
    ball: float

    @classmethod
    def plan(
        cls, public: Public, width: float, n_steps: int, n_samples: int
    ) -> GradientMechanism:
        """Fix noise and step size; under replace-one n is the same for neighbours."""
        rho = concentrated_budget(public.epsilon, public.delta)
        sensitivity = gradient_sensitivity(public.weight, public.radius, n_samples)
        regulariser = 1.0 / (n_samples * public.cost)
        smoothness = public.weight * public.radius**2 / (2.0 * width) + regulariser
        return cls(
            law="gaussian",
            epsilon=public.epsilon,
            delta=public.delta,
            cost=public.cost,
            sensitivity=sensitivity,
            rho=rho,
            n_steps=n_steps,
            scale=gradient_scale(rho, n_steps, sensitivity),
            width=width,
            step=1.0 / smoothness,
            # J(minimiser) <= J(0) <= weight, and the loss is not negative.
            ball=math.sqrt(2.0 * public.weight / regulariser),
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
