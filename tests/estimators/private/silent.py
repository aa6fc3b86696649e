"""A source of noise that adds none: what is left is the mechanism itself."""

from widemargin.estimators.private.noise import NoNoise, SeededNoise


class Silent(NoNoise, SeededNoise):
    """Adds nothing; draws the same frequencies every time."""

    def __init__(self):
        SeededNoise.__init__(self, 7)
