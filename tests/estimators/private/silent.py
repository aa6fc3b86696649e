"""A source of noise that adds none: what is left is the mechanism itself."""

import numpy as np

from widemargin.estimators.private.noise import SeededNoise


class Silent(SeededNoise):
    """Adds nothing; draws the same frequencies every time."""

    def __init__(self):
        super().__init__(7)

    def gaussian(self, values, scale):
        return values

    def laplace(self, values, scale):
        return values

    def spherical(self, dimension, scale):
        return np.zeros(dimension)
