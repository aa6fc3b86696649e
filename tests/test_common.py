"""scikit-learn's own checks over every public estimator: no expected failures.

What scikit-learn itself skips (an optional package that is missing) is printed, and the
list must be the one stated here.
"""

from __future__ import annotations

import inspect
import warnings

import pytest
from sklearn.base import clone
from sklearn.exceptions import SkipTestWarning
from sklearn.utils.estimator_checks import check_estimator, parametrize_with_checks

import widemargin

# Estimators whose constructor needs an argument, or whose default is too slow to check.
SETTINGS: dict[str, dict[str, object]] = {}
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
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        check(estimator)


@pytest.mark.parametrize(
    "estimator", public_estimators(), ids=lambda e: type(e).__name__
)
def test_the_list_of_skipped_checks(estimator, capsys):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SkipTestWarning)
        warnings.simplefilter("ignore", UserWarning)
        results = check_estimator(clone(estimator), on_skip=None, on_fail=None)
    skipped = {
        result["check_name"]: str(result["exception"])
        for result in results
        if result["status"] == "skipped"
    }
    failed = [
        result["check_name"] for result in results if result["status"] == "failed"
    ]
    expected_to_fail = [r["check_name"] for r in results if r["expected_to_fail"]]
    with capsys.disabled():
        for name, reason in sorted(skipped.items()):
            print(f"\n{type(estimator).__name__}: {name} skipped: {reason}", end="")
    assert failed == [] and expected_to_fail == []
    assert set(skipped) <= set(SKIPPED_BY_SCIKIT_LEARN)


def test_svc_is_checked():
    assert "SVC" in [type(estimator).__name__ for estimator in public_estimators()]
