"""What every estimator refuses, before it has changed anything, in the same words."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import sklearn.svm
from numpy.testing import assert_allclose
from sklearn.datasets import make_classification

from widemargin import (
    SVC,
    ChanceConstrainedSVC,
    CostSensitiveSVC,
    DivideConquerSVC,
    DPWSSClassifier,
    RampSVC,
)

X, y = make_classification(60, 4, flip_y=0.2, random_state=0)
KERNEL_ESTIMATORS = [
    SVC, CostSensitiveSVC, RampSVC, DivideConquerSVC, DPWSSClassifier
]  # fmt: skip


@pytest.mark.parametrize("estimator", [*KERNEL_ESTIMATORS, ChanceConstrainedSVC])
@pytest.mark.parametrize("mistyped", [{0: 1.0, "1": 5.0}, {0: 2.0, 7: 3.0}])
def test_a_mistyped_class_is_refused_as_by_scikit_learn(estimator, mistyped):
    with pytest.raises(ValueError) as theirs:
        sklearn.svm.SVC(class_weight=mistyped).fit(X, y)
    with pytest.raises(ValueError) as ours:
        estimator(class_weight=mistyped).fit(X, y)
    assert str(ours.value).startswith(str(theirs.value))
    assert "[0, 1]" in str(ours.value)  # the labels that would do, as one types them


@pytest.mark.parametrize("factor", [0.0, -2.0, np.nan, np.inf, "5", None])
@pytest.mark.parametrize("estimator", [*KERNEL_ESTIMATORS, ChanceConstrainedSVC])
def test_a_factor_that_prices_nothing_is_refused(estimator, factor):
    with pytest.raises(ValueError, match=r"class_weight has .* for class 0; .* above"):
        estimator(class_weight={0: factor, 1: 1.0}).fit(X, y)


@pytest.mark.parametrize("class_weight", [{}, {1: 3.0}, {0: 2.0, 1: 3.0, 7: 1.0}])
def test_what_scikit_learn_takes_is_taken(class_weight):
    theirs = sklearn.svm.SVC(class_weight=class_weight).fit(X, y)
    ours = SVC(class_weight=class_weight).fit(X, y)
    assert_allclose(ours.class_weight_, theirs.class_weight_)


def test_damaged_sparse_samples_end_no_process():
    program = Path(__file__).with_name("damaged_sparse.py")
    done = subprocess.run(
        [sys.executable, program], capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, done.stderr
    *taken, count = done.stdout.splitlines()
    assert not taken, taken
    assert int(count.removesuffix(" calls")) > 400
