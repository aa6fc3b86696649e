"""What every estimator refuses, before it has changed anything, in the same words."""

from __future__ import annotations

import inspect
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import sklearn.svm
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.datasets import make_classification

import widemargin
from widemargin import (
    SVC,
    ChanceConstrainedSVC,
    CostSensitiveSVC,
    DivideConquerSVC,
    DPWSSClassifier,
    NuSVC,
    NuSVR,
    RampSVC,
)
from widemargin.estimators.base import validation

X, y = make_classification(60, 4, flip_y=0.2, random_state=0)
KERNEL_ESTIMATORS = [
    SVC, CostSensitiveSVC, RampSVC, DivideConquerSVC, DPWSSClassifier
]  # fmt: skip

THREADED = [
    name
    for name in widemargin.__all__
    if hasattr(getattr(widemargin, name), "fit")
    and "n_jobs" in inspect.signature(getattr(widemargin, name)).parameters
]


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


@pytest.mark.parametrize("name", THREADED)
def test_no_thread_at_all_is_refused(name):
    estimator = getattr(widemargin, name)
    given = (SVC(), {"C": [1.0]}) if name == "SharedGridSearchCV" else ()
    with pytest.raises(ValueError, match="n_jobs"):
        estimator(*given, n_jobs=0).fit(X, y)


def test_damaged_sparse_samples_end_no_process():
    program = Path(__file__).parents[1] / "damaged_sparse.py"
    done = subprocess.run(
        [sys.executable, program], capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, done.stderr
    *taken, count = done.stdout.splitlines()
    assert not taken, taken
    assert int(count.removesuffix(" calls")) > 400


TOO_LARGE = {
    "degree": ({"kernel": "poly", "degree": 60, "gamma": 1e6}, X),
    "samples": ({"kernel": "linear"}, 1e200 * X),
    "single precision": ({"kernel": "linear"}, 1e25 * X),
}
NOT_FINITE = "dual coefficients or intercepts are not finite. .* need to be preproc"


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(("gamma", "size"), [(1.0, 1e200), (1e308, 1.0)])
def test_distances_beyond_all_numbers_are_far(gamma, size):
    """A Gaussian of them is zero: the kernel matrix is the identity."""
    ours = SVC(gamma=gamma).fit(size * X, y)
    identity = np.eye(len(X))
    theirs = sklearn.svm.SVC(kernel="precomputed").fit(identity, y)
    expected = theirs.decision_function(identity)
    assert_allclose(ours.decision_function(size * X), expected, rtol=0, atol=2e-3)
    assert ours.certificate_.kkt_violation <= 1e-9


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("case", TOO_LARGE)
@pytest.mark.parametrize("divided", [False, True])
@pytest.mark.parametrize("estimator", [SVC, CostSensitiveSVC, RampSVC])
def test_a_kernel_that_overflows_is_refused(estimator, divided, case):
    parameters, samples = TOO_LARGE[case]
    solver = "divide" if divided else "direct"
    with pytest.raises(ValueError, match=NOT_FINITE):
        estimator(solver=solver, **parameters).fit(samples, y)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("case", TOO_LARGE)
def test_a_kernel_that_overflows_is_refused_by_the_others(case):
    parameters, samples = TOO_LARGE[case]
    early = {"prediction": "early", "n_levels": 1, "n_branches": 2}
    for model in (
        DivideConquerSVC(**parameters),
        DivideConquerSVC(**parameters, **early),
    ):
        with pytest.raises(ValueError, match=NOT_FINITE):
            model.fit(samples, y)
    with pytest.raises(ValueError, match=NOT_FINITE):
        DPWSSClassifier().fit(1e200 * X, y)


BEYOND = [
    (SVC(kernel="poly", degree=1000), 1.0),  # entries of which float32 makes NaN
    (NuSVR(kernel="poly", degree=1000), 1.0),
    (NuSVC(nu=0.3, kernel="poly", coef0=1e300), 1.0),
]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(("model", "scale"), BEYOND)
def test_numbers_beyond_float64_are_refused_in_words_of_the_user(model, scale):
    """They were refused as NaN in "lower", "kink" or "entry_error"."""
    apart = X + 4.0 * np.outer(y == y[0], np.ones(X.shape[1]))
    with pytest.raises(ValueError, match=NOT_FINITE):
        model.fit(scale * apart, y)


def test_a_cache_larger_than_any_memory_is_what_fits():
    assert SVC(cache_size=1e300).fit(X, y).fit_status_ == 0


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_model_outlives_rows_that_are_too_large():
    model = SVC(kernel="linear", keep_rows=True).fit(X, y)
    before = model.decision_function(X)
    with pytest.raises(ValueError, match=NOT_FINITE):
        model.partial_fit(1e200 * X, y)
    assert_allclose(model.decision_function(X), before)
    assert model.ids_.size == len(X)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("scale", [1e200, 1e-155])
@pytest.mark.parametrize("kernel", ["rbf", "laplacian", "poly", "sigmoid"])
def test_a_variance_without_a_gamma_is_named(kernel, scale, form):
    with pytest.raises(ValueError, match=r"Var\(X\) is .* StandardScaler"):
        SVC(kernel=kernel).fit(form(scale * X), y)
    assert SVC(kernel=kernel).fit(np.zeros((60, 2)), y).gamma_ == 1.0  # as before


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("scale", [1e131, 1e200])
def test_error_bars_around_too_large_values_are_refused(scale, form):
    samples = form(-scale * np.abs(X))
    for solver in ("newton", "ssgd", "socp"):
        with pytest.raises(ValueError, match="large values and need to be preproc"):
            ChanceConstrainedSVC(solver=solver).fit(samples, y)
    model = ChanceConstrainedSVC(solver="ssgd", random_state=0)
    with pytest.raises(ValueError, match="large values and need to be preproc"):
        model.fit_blocks([(samples, y)])
    with pytest.raises(ValueError, match="large values and need to be preproc"):
        model.partial_fit(samples, y, classes=[0, 1])


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("estimator", [SVC, CostSensitiveSVC, RampSVC])
def test_a_matrix_that_is_not_symmetric_is_refused(estimator, form, monkeypatch):
    monkeypatch.setattr(validation, "TILE", 16)  # the last tiles are partial
    for row, column in ((59, 0), (3, 4), (20, 50)):
        K = X @ X.T
        K[row, column] += 0.5
        model = estimator(kernel="precomputed")
        with pytest.raises(ValueError, match=r"not symmetric.*up to 0\.5,.*K\.T\) / 2"):
            model.fit(form(K), y)
        rest = np.arange(60) != row  # a row without weight is as if absent
        model.fit(form(K), y, sample_weight=rest.astype(float))
    single = (X @ X.T).astype(np.float32)
    single[0, 1] = np.nextafter(single[0, 1], np.float32(9.0))
    assert estimator(kernel="precomputed").fit(form(single), y).support_.size


@pytest.mark.parametrize("name", ["SVC", "SVR", "OneClassSVM", "ChanceConstrainedSVC"])
def test_whole_numbers_beyond_float64_are_refused(name):
    X = np.arange(12.0).reshape(6, 2).astype(object)
    X[3, 1] = 10**400
    with pytest.raises(ValueError, match="beyond the largest float64"):
        getattr(widemargin, name)().fit(X, [0, 1] * 3)
