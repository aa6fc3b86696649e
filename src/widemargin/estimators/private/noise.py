"""Where the random numbers come from, and what can honestly be said of each source.

A source adds a Gaussian or Laplace vector to given values and draws the spherical law
(uniform direction, Gamma length). The three sources differ in what an attacker with the
floating-point bits of the release could undo (Mironov, 2012):

- `OpenDPNoise`: Gaussian and Laplace by OpenDP's exact samplers on the grid of the
  smallest float, safe against such attacks;
- `SystemNoise`: the same laws in floating point from the operating system's generator;
- `SeededNoise`: a reproducible generator, for studies only: anyone who knows the seed
  can subtract the noise.
"""

from __future__ import annotations

import math
import random
from importlib import import_module
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]

EXACT = "floating-point safe (OpenDP)"
REAL_ARITHMETIC = (
    "proven in real arithmetic; floating-point attacks not excluded "
    "(operating system's generator)"
)
SEEDED = "seeded: no guarantee"
NONE = "no noise: no guarantee"


class NoiseSource(Protocol):
    """What a mechanism asks of a source of noise."""

    def statement(self, law: str) -> str:
        """Return in one phrase how safe this source is for the given law."""

    def gaussian(self, values: Vector, scale: float) -> Vector:
        """Return `values` plus independent normal noise of that standard deviation."""

    def laplace(self, values: Vector, scale: float) -> Vector:
        """Return `values` plus independent Laplace noise of that scale."""

    def spherical(self, dimension: int, scale: float) -> Vector:
        """Draw a vector of uniform direction and Gamma(dimension, scale) length."""

    def frequencies(self, shape: tuple[int, int], scale: float) -> Vector:
        """Draw the public normal frequencies of random Fourier features."""


class SystemNoise:
    """Floating-point samplers fed by the operating system's generator."""

    _statement: ClassVar[str] = REAL_ARITHMETIC

    def __init__(self) -> None:
        self._random: random.Random = random.SystemRandom()

    def statement(self, law: str) -> str:
        """Return in one phrase how safe this source is for the given law."""
        return self._statement

    def _normal(self, size: int) -> Vector:
        return np.array([self._random.gauss(0.0, 1.0) for _ in range(size)])

    def gaussian(self, values: Vector, scale: float) -> Vector:
        """Return `values` plus independent normal noise of that standard deviation."""
        return values + scale * self._normal(len(values))

    def laplace(self, values: Vector, scale: float) -> Vector:
        """Return `values` plus independent Laplace noise of that scale."""
        # The difference of two exponentials is Laplace.
        draws = [
            self._random.expovariate(1.0) - self._random.expovariate(1.0)
            for _ in range(len(values))
        ]
        return values + scale * np.array(draws)

    def spherical(self, dimension: int, scale: float) -> Vector:
        """Draw a vector of uniform direction and Gamma(dimension, scale) length."""
        direction = self._normal(dimension)
        length = self._random.gammavariate(dimension, scale)
        return direction * (length / math.sqrt(float(direction @ direction)))

    def frequencies(self, shape: tuple[int, int], scale: float) -> Vector:
        """Draw the public normal frequencies of random Fourier features."""
        return scale * self._normal(shape[0] * shape[1]).reshape(shape)


class SeededNoise(SystemNoise):
    """The same samplers from a seeded generator: reproducible, hence not private."""

    _statement: ClassVar[str] = SEEDED

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)


class NoNoise(SystemNoise):
    """Adds nothing: for audits, and for tests of what a mechanism does bare."""

    _statement: ClassVar[str] = NONE

    def gaussian(self, values: Vector, scale: float) -> Vector:
        """Return `values`."""
        return values

    def laplace(self, values: Vector, scale: float) -> Vector:
        """Return `values`."""
        return values

    def spherical(self, dimension: int, scale: float) -> Vector:
        """Return zeros."""
        return np.zeros(dimension)


class OpenDPNoise(SystemNoise):
    """Exact Gaussian and Laplace samplers of OpenDP; the spherical law in floats.

    OpenDP samples integers on the grid of 2^-1074 and rounds once, so the output's bits
    carry nothing of the input's. Its Gaussian is the discrete one on that grid; its
    distance from the continuous law that `calibration` uses is of the order of the
    grid over sigma, far below the 1e-9 by which `gaussian_scale` is widened.
    """

    def __init__(self) -> None:
        super().__init__()
        self._opendp: Any = import_opendp()
        self._measurements: dict[tuple[str, float], Any] = {}

    def statement(self, law: str) -> str:
        """Return in one phrase how safe this source is for the given law."""
        return EXACT if law in ("gaussian", "laplace") else REAL_ARITHMETIC

    def _measure(self, law: str, values: Vector, scale: float) -> Vector:
        """Add noise by a measurement that is made once: descent asks in every step."""
        opendp = self._opendp
        if (law, scale) not in self._measurements:
            domain = opendp.vector_domain(opendp.atom_domain(T=float, nan=False))
            make, metric = {
                "gaussian": (opendp.m.make_gaussian, opendp.l2_distance),
                "laplace": (opendp.m.make_laplace, opendp.l1_distance),
            }[law]
            self._measurements[law, scale] = make(domain, metric(T=float), scale)
        return np.array(self._measurements[law, scale](values.tolist()))

    def gaussian(self, values: Vector, scale: float) -> Vector:
        """Return `values` plus independent normal noise of that standard deviation."""
        return self._measure("gaussian", values, scale)

    def laplace(self, values: Vector, scale: float) -> Vector:
        """Return `values` plus independent Laplace noise of that scale."""
        return self._measure("laplace", values, scale)


def import_opendp() -> Any:
    """Import OpenDP with its contributed samplers switched on, or say how to get it."""
    try:
        opendp = import_module("opendp.prelude")
    except ImportError as error:
        raise ImportError(
            "this mechanism draws its noise with OpenDP, which is not installed: "
            "install widemargin[private], or pass insecure_noise=True to accept noise "
            "that is proven in real arithmetic only"
        ) from error
    opendp.enable_features("contrib")
    return opendp


def noise_source(law: str, seed: int | None, insecure_noise: bool) -> NoiseSource:
    """Choose the source: seeded if asked, else OpenDP, else what the user permitted."""
    if seed is not None:
        return SeededNoise(seed)
    if law == "spherical":
        return SystemNoise()
    try:
        return OpenDPNoise()
    except ImportError:
        if insecure_noise:
            return SystemNoise()
        raise
