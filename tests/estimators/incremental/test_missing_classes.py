"""Classes of which no row is live."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.datasets import load_iris

from widemargin import SVC, CostSensitiveSVC

from tests.estimators.incremental.the_fit import assert_is_the_fit

iris, species = load_iris(return_X_y=True)


@pytest.mark.parametrize("estimator", [SVC, CostSensitiveSVC])
def test_a_class_without_rows_is_not_predicted_without_an_intercept_either(estimator):
    """A boundary through the origin cannot have all rows on one side."""
    model = estimator(keep_rows=True, kernel="linear", fit_intercept=False).fit(
        iris, species
    )
    model.forget(np.flatnonzero(species == 1))
    two = estimator(kernel="linear", fit_intercept=False)
    two.fit(iris[species != 1], species[species != 1])
    assert_array_equal(model.predict(-iris), two.predict(-iris))
    model.forget(np.flatnonzero(species == 0))
    assert_array_equal(model.predict(-iris), 2)
    rows = np.r_[np.flatnonzero(species == 2), np.flatnonzero(species != 2)]
    model.partial_fit(iris[species != 2], species[species != 2])
    assert_is_the_fit(model, iris[rows], species[rows])
    assert_array_equal(model.intercept_, 0.0)
