"""What the compiled solvers are told: named values, refused before a solve begins."""

from __future__ import annotations

import numpy as np
import pytest

from widemargin import _core


def test_options_are_named_values_with_defaults():
    options = _core.SolverOptions(tolerance=0.5, seed=7)
    assert (options.tolerance, options.seed) == (0.5, 7)
    assert options.max_steps == -1 and options.max_seconds == np.inf
    assert options.shrinking and options.single_precision
    assert not options.every_gradient


def test_options_are_not_given_by_position():
    with pytest.raises(TypeError):
        _core.SolverOptions(0.5)  # type: ignore[misc]


@pytest.mark.parametrize(
    "wrong",
    [
        {"tolerance": np.nan},
        {"tolerance": -np.inf},
        {"max_seconds": np.nan},
        {"max_seconds": -1.0},
        {"max_steps": -2},
    ],
)
def test_options_with_which_no_solve_would_end_are_refused(wrong):
    (name,) = wrong
    with pytest.raises(ValueError, match=name):
        _core.SolverOptions(**wrong)
