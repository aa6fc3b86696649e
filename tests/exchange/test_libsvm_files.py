"""LIBSVM's model files, both ways, with LIBSVM itself as the oracle."""

from __future__ import annotations

import ctypes
import re

import numpy as np
import pytest
from libsvm import svmutil
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.exceptions import NotFittedError
from threadpoolctl import threadpool_limits

import widemargin

from tests.exchange.models import (
    IRIS,
    KERNELS,
    KINDS,
    MORE,
    NUMBERS_OUT,
    SPECIES,
    TWO,
    X,
    fitted,
    values,
)

EVERY = [(kind, kernel) for kind in KINDS for kernel in KERNELS]
# LIBSVM's own options: -s kind -t kernel
TYPES = {"c_svc": 0, "nu_svc": 1, "one_class": 2, "epsilon_svr": 3, "nu_svr": 4}
NUMBERS = {"linear": 0, "poly": 1, "rbf": 2, "sigmoid": 3}


@pytest.fixture(autouse=True)
def one_thread():
    """LIBSVM's OpenMP threads spin while they wait, which a busy machine pays for."""
    with threadpool_limits(1):
        yield


def libsvm_answers(path, samples):
    """Return labels and decision values as ``svm-predict`` finds them.

    By LIBSVM's C function: its Python one has too small a buffer for ``nu_svc`` models
    of several classes, and crashes.
    """
    model = svmutil.svm_load_model(str(path))
    assert model is not None
    precomputed = model.param.kernel_type == svmutil.kernel_names.PRECOMPUTED
    n_classes = model.get_nr_class()
    decided = (ctypes.c_double * max(1, n_classes * (n_classes - 1) // 2))()
    labels, rows = [], []
    for sample in samples.tolist():
        given = dict(enumerate(sample)) if precomputed else sample
        nodes, _ = svmutil.gen_svm_nodearray(given, isKernel=precomputed)
        labels.append(svmutil.libsvm.svm_predict_values(model, nodes, decided))
        rows.append(list(decided))
    return np.array(labels), np.array(rows)


@pytest.mark.parametrize(("kind", "kernel"), EVERY)
def test_libsvm_reads_what_we_write(kind, kernel, tmp_path):
    ours, path = fitted(kind, kernel), tmp_path / "model"
    ours.to_libsvm(path)
    for samples in (X, MORE):
        labels, decided = libsvm_answers(path, samples)
        if kind in NUMBERS_OUT:
            assert_allclose(labels, ours.predict(samples), rtol=1e-9, atol=1e-9)
            continue
        assert_array_equal(labels, ours.predict(samples))
        pairs = ours._values(samples).reshape(len(samples), -1)
        sign = -1.0 if kind in ("two classes", "costs", "ramp") else 1.0
        assert_allclose(decided, sign * pairs, rtol=1e-5, atol=1e-6)


TRAINED = [(name, False) for name in TYPES] + [("c_svc", True), ("nu_svc", True)]


@pytest.mark.parametrize(("svm_type", "several"), TRAINED)
@pytest.mark.parametrize("kernel", NUMBERS)
def test_we_read_what_libsvm_writes(svm_type, kernel, several, tmp_path):
    target = SPECIES[::-1] if several else TWO  # the labels' order is that of the rows
    samples = X[::-1] if several else X
    options = f"-s {TYPES[svm_type]} -t {NUMBERS[kernel]} -n 0.3 -e 0.01 -q"
    options += " -g 0.3 -r 0.1 -d 2"
    trained = svmutil.svm_train(target.tolist(), samples.tolist(), options)
    path = tmp_path / "model"
    svmutil.svm_save_model(str(path), trained)
    ours = widemargin.from_libsvm(path)
    assert not hasattr(ours, "certificate_")
    for given in (X, MORE):
        labels, decided = libsvm_answers(path, given)
        if svm_type.endswith("svr"):
            assert_allclose(ours.predict(given), labels, rtol=1e-9, atol=1e-12)
            continue
        if svm_type == "one_class":
            scale = abs(ours.offset_[0])
            assert_allclose(
                ours.decision_function(given), decided[:, 0], atol=1e-8 * scale
            )
            # on the boundary LIBSVM decides by rounding; ours is inside
            clear = np.abs(decided[:, 0]) > 1e-8 * scale
            given, labels = given[clear], labels[clear]
        assert_array_equal(ours.predict(given), labels)
    if several and svm_type == "c_svc":
        assert ours.classes_.tolist() == [2, 1, 0]  # ties of votes go by this order
    if not several and svm_type == "c_svc":
        assert ours.classes_.tolist() == [-1, 1]
        first = ours.n_support_[0]  # class by class, and the second counts as positive
        assert (ours.dual_coef_[0, :first] < 0).all()
        assert (ours.dual_coef_[0, first:] > 0).all()


@pytest.mark.parametrize(("kind", "kernel"), EVERY)
@pytest.mark.parametrize("as_sparse", [False, True], ids=["dense", "sparse"])
def test_there_and_back(kind, kernel, as_sparse, tmp_path):
    ours = fitted(kind, kernel, as_sparse=as_sparse)
    ours.to_libsvm(tmp_path / "model")
    widemargin.save(widemargin.from_libsvm(tmp_path / "model"), tmp_path / "saved")
    again = widemargin.load(tmp_path / "saved")
    assert_allclose(values(again, MORE), values(ours, MORE), rtol=1e-5, atol=1e-6)
    again.to_libsvm(tmp_path / "again")
    if kind != "one class":  # whose offset moves by its tolerance each time
        assert (tmp_path / "again").read_text() == (tmp_path / "model").read_text()


def test_ties_of_votes_go_to_the_class_that_libsvm_names_first(tmp_path):
    """Rock, paper, scissors: each class beats one other."""
    path = tmp_path / "model"
    path.write_text(
        "svm_type c_svc\nkernel_type linear\nnr_class 3\ntotal_sv 0\n"
        "rho -1 1 -1\nlabel 7 3 5\nnr_sv 0 0 0\nSV\n"
    )
    labels, _ = libsvm_answers(path, X[:2])
    assert labels.tolist() == [7, 7]
    assert widemargin.from_libsvm(path, n_features=4).predict(X[:2]).tolist() == [7, 7]


def test_a_precomputed_kernel(tmp_path):
    gram, rows = X @ X.T, MORE @ X.T
    ours = widemargin.SVC(kernel="precomputed").fit(gram, SPECIES)
    path = tmp_path / "model"
    ours.to_libsvm(path)
    serial = np.column_stack([np.arange(1, len(rows) + 1), rows])
    labels, _ = libsvm_answers(path, serial)
    assert_array_equal(labels, ours.predict(rows))
    again = widemargin.from_libsvm(path, n_features=len(X))
    assert_array_equal(again.predict(rows), ours.predict(rows))
    assert widemargin.from_libsvm(path).n_features_in_ == ours.support_.max() + 1


def test_features_that_no_support_vector_has(tmp_path):
    wide = sparse.csr_matrix((X[:, 0], (np.arange(150), np.full(150, 2))), (150, 50))
    ours = widemargin.SVC().fit(wide, SPECIES)
    ours.to_libsvm(tmp_path / "model")
    assert widemargin.from_libsvm(tmp_path / "model").n_features_in_ == 3
    again = widemargin.from_libsvm(tmp_path / "model", n_features=50)
    assert sparse.issparse(again.support_vectors_)
    assert_array_equal(again.predict(wide), ours.predict(wide))
    assert_array_equal(again.predict(wide.toarray()), ours.predict(wide))
    with pytest.raises(ValueError, match="n_features=2, but the model has 3"):
        widemargin.from_libsvm(tmp_path / "model", n_features=2)


def test_calibration_is_left_out(tmp_path):
    trained = svmutil.svm_train(TWO.tolist(), X.tolist(), "-b 1 -q")
    svmutil.svm_save_model(str(tmp_path / "model"), trained)
    assert "probA" in (tmp_path / "model").read_text()
    labels, _ = libsvm_answers(tmp_path / "model", MORE)
    assert_array_equal(widemargin.from_libsvm(tmp_path / "model").predict(MORE), labels)


@pytest.mark.parametrize("labels", [["a", "b", "c"], [0, 1, 2**40]])
def test_labels_that_libsvm_has_not(labels, tmp_path):
    model = widemargin.SVC().fit(X, np.array(labels)[SPECIES])
    with pytest.raises(ValueError, match=r"integers, and classes_ has 'a'|end at"):
        model.to_libsvm(tmp_path / "model")
    assert list(tmp_path.iterdir()) == []


def test_a_model_from_elsewhere_learns_no_rows_and_can_be_fitted(tmp_path):
    fitted("two classes", "rbf").to_libsvm(tmp_path / "model")
    model = widemargin.from_libsvm(tmp_path / "model")
    assert not hasattr(model, "forget")
    model.fit(X, SPECIES)
    assert len(model.certificate_) == 3
    empty = tmp_path / "nothing"
    with pytest.raises(FileNotFoundError):
        widemargin.from_libsvm(empty)
    with pytest.raises(NotFittedError):
        widemargin.SVC().to_libsvm(empty)


GOOD = (
    "svm_type c_svc\nkernel_type rbf\ngamma 0.5\nnr_class 2\ntotal_sv 2\nrho 0.25\n"
    "label 1 -1\nnr_sv 1 1\nSV\n1 1:0.5 3:2 \n-1 2:1.5 \n"
)
DAMAGED = {
    "nothing": ("", "", "no line 'SV'"),
    "binary": ("svm_type", "\x00\xff\x81", "line 1: .* is not expected here"),
    "other type": ("c_svc", "d_svc", "svm_type 'd_svc' is none of c_svc"),
    "other kernel": ("rbf", "laplacian", "kernel_type 'laplacian' is none of"),
    "no gamma": ("gamma 0.5\n", "", "gamma: 1 expected, missing"),
    "gamma is text": ("gamma 0.5", "gamma x", "gamma is not made of finite"),
    "gamma is nan": ("gamma 0.5", "gamma nan", "gamma is not made of finite"),
    "gamma below 0": ("gamma 0.5", "gamma -1", "gamma is negative"),
    "two gammas": ("gamma 0.5\n", "gamma 1\ngamma 1\n", "line 4: 'gamma'"),
    "classes": ("nr_class 2", "nr_class 999999999", "no LIBSVM model: nr_class"),
    "labels": ("label 1 -1", "label 1", "label: 2 expected, 1 values"),
    "label twice": ("label 1 -1", "label 1 1", "names a class twice"),
    "label is no integer": ("label 1 -1", "label 1 2.5", "label is not made of int"),
    "counts": ("nr_sv 1 1", "nr_sv 3 -1", "nr_sv does not sum"),
    "total": ("total_sv 2", "total_sv 5", "nr_sv does not sum"),
    "cut": ("-1 2:1.5 \n", "", "total_sv is 2, but 1 support vectors follow"),
    "no coefficient": ("-1 2:1.5", "2:1.5", "line 11: not 1 coefficients"),
    "text": ("2:1.5", "2:x", "line 11: not 1 coefficients"),
    "stray word": ("2:1.5", "2:1.5 7", "line 11: not 1 coefficients"),
    "infinite": ("2:1.5", "2:inf", "not a finite number"),
    "index 0": ("2:1.5", "0:1.5", "numbered from 1"),
    "index below 0": ("2:1.5", "-2:1.5", "not a number from 1 on"),
    "index beyond": ("2:1.5", "99999999999:1.5", "not a number from 1 on"),
    "descending": ("1:0.5 3:2", "3:2 1:0.5", "do not ascend"),
    "twice": ("1:0.5 3:2", "3:2 3:0.5", "do not ascend"),
}


@pytest.mark.parametrize("case", DAMAGED)
def test_damaged_files_are_refused_with_the_place(case, tmp_path):
    old, new, why = DAMAGED[case]
    path = tmp_path / "model"
    path.write_bytes((GOOD.replace(old, new, 1) if old else new).encode("latin-1"))
    with pytest.raises(ValueError, match=why) as refused:
        widemargin.from_libsvm(path)
    assert str(refused.value).startswith(str(path))


def test_any_line_may_be_missing_or_doubled(tmp_path):
    """Whatever is done to the lines: a model, or a ValueError."""
    lines = GOOD.splitlines(keepends=True)
    path = tmp_path / "model"
    models = 0
    for number in range(len(lines)):
        for kept in (lines[:number] + lines[number + 1 :], lines[: number + 1] * 2):
            path.write_text("".join(kept))
            try:
                widemargin.from_libsvm(path).predict(X[:, :3])
                models += 1
            except ValueError as error:
                assert re.match(r".*no LIBSVM model", str(error))
    assert models == 0


def test_an_odd_target_is_left_as_it_was(tmp_path):
    model = fitted("regression", "rbf")
    with pytest.raises(OSError, match=r"Is a directory|regular"):
        model.to_libsvm(tmp_path)
    with pytest.raises(FileNotFoundError):
        model.to_libsvm(tmp_path / "no" / "model")
    assert_allclose(model.predict(IRIS).shape, (150,))
