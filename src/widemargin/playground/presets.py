"""Data to begin with, each in the square from -1 to 1."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Table = NDArray[np.float64]  # columns: x, y, label


@dataclass(frozen=True)
class Preset:
    """Named points, the mode they are for, and where the sliders begin."""

    title: str
    regression: bool
    make: Callable[[np.random.Generator], Table]
    C: float = 1.0
    gamma: float = 4.0


def _labelled(points: Table, labels: Table) -> Table:
    return np.column_stack([np.clip(points, -0.97, 0.97), labels])


def _moons(rng: np.random.Generator, n: int = 120, noise: float = 0.1) -> Table:
    angle = rng.uniform(0, np.pi, n)
    label = np.where(np.arange(n) % 2, 1.0, -1.0)
    x = label * 0.5 * np.cos(angle) - 0.22 * label
    y = label * 0.55 * np.sin(angle) - 0.16 * label
    return _labelled(np.column_stack([x, y]) + noise * rng.normal(size=(n, 2)), label)


def _many(rng: np.random.Generator) -> Table:
    return _moons(rng, 500, 0.17)


def _wrong(
    rng: np.random.Generator, n: int = 140, noise: float = 0.09, share: float = 1 / 8
) -> Table:
    """Moons, and some labels are wrong."""
    table = _moons(rng, n, noise)
    wrong = rng.choice(n, int(share * n), replace=False)
    table[wrong, 2] *= -1
    return table


def _crowd(rng: np.random.Generator) -> Table:
    """Enough points for an update to be far less work than a retrain."""
    return _wrong(rng, 1200, 0.1, 1 / 20)


def _rings(rng: np.random.Generator, n: int = 140) -> Table:
    label = np.where(np.arange(n) % 2, 1.0, -1.0)
    radius = np.where(label > 0, 0.28, 0.72) + 0.08 * rng.normal(size=n)
    angle = rng.uniform(0, 2 * np.pi, n)
    return _labelled(
        np.column_stack([radius * np.cos(angle), radius * np.sin(angle)]), label
    )


def _rare(rng: np.random.Generator, n: int = 150) -> Table:
    """One sample in ten is of the class that is costly to miss."""
    label = np.where(np.arange(n) % 10 == 0, 1.0, -1.0)
    centre = np.where(label[:, None] > 0, [0.28, 0.22], [-0.18, -0.12])
    return _labelled(centre + 0.26 * rng.normal(size=(n, 2)), label)


def _wave(rng: np.random.Generator, n: int = 130) -> Table:
    """A wave whose scatter grows to the right."""
    x = rng.uniform(-0.97, 0.97, n)
    scatter = 0.05 + 0.14 * (x + 1)
    y = 0.5 * np.sin(3.2 * x) + scatter * rng.normal(size=n)
    return _labelled(np.column_stack([x, y]), np.ones(n))


def _empty(_: np.random.Generator) -> Table:
    return np.empty((0, 3))


PRESETS = {
    "moons": Preset("Two moons", False, _moons),
    "wrong": Preset("Wrong labels", False, _wrong, C=30.0, gamma=8.0),
    "rings": Preset("Rings", False, _rings),
    "rare": Preset("A rare class", False, _rare),
    "many": Preset("500 points", False, _many),
    "crowd": Preset("1,200, some wrong", False, _crowd, C=30.0, gamma=8.0),
    "empty": Preset("Empty", False, _empty),
    "wave": Preset("A widening wave", True, _wave, C=3.0),
    "blank": Preset("Empty", True, _empty, C=3.0),
}


def points_of(preset: str, seed: int = 0) -> Table:
    """Return the rows (x, y, label) of a preset."""
    return PRESETS[preset].make(np.random.default_rng(seed)).round(4)
