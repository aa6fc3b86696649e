"""scikit-learn's own checks over every public estimator: no expected failures.

What scikit-learn itself skips (an optional package that is missing) is printed, and the
list must be the one stated here.
"""

from __future__ import annotations

import inspect
import warnings
from unittest import SkipTest

from sklearn.utils.estimator_checks import (
    estimator_checks_generator,
    parametrize_with_checks,
)

import widemargin

# Estimators whose constructor needs an argument, or whose default is too slow to check.
SETTINGS: dict[str, dict[str, object]] = {
    "PrivateSVC": {"clip_norm": 10.0},  # has no default: it must be public knowledge
    "PublicBoundsScaler": {"lower": -10.0, "upper": 10.0},
}
# Checks that scikit-learn skips by itself, with its reason.
SKIPPED_BY_SCIKIT_LEARN = {
    "check_array_api_input": "array API dispatch is off or its packages are missing",
}


def public_estimators():
    """Return one instance of every public estimator that exists."""
    found = []
    for name in widemargin.__all__:
        thing = getattr(widemargin, name)
        if inspect.isclass(thing) and hasattr(thing, "fit"):
            found.append(thing(**SETTINGS.get(name, {})))
    return found


@parametrize_with_checks(public_estimators())
def test_scikit_learn_check(estimator, check):
    name = getattr(check, "func", check).__name__
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            check(estimator)
        except SkipTest as reason:  # pytest prints it: nothing is skipped in silence
            assert name in SKIPPED_BY_SCIKIT_LEARN, f"{name} was skipped: {reason}"
            raise


def test_no_check_is_expected_to_fail():
    for estimator in public_estimators():
        for _, check in estimator_checks_generator(estimator, mark="xfail"):
            assert not hasattr(check, "marks")


def test_svc_is_checked():
    assert "SVC" in [type(estimator).__name__ for estimator in public_estimators()]
