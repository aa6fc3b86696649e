"""Checkpoints: a killed fit goes on, and no other file is mistaken for one."""

import os
import signal
import subprocess
import sys
import textwrap

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import make_moons
from sklearn.metrics.pairwise import rbf_kernel

from widemargin import DivideConquerSVC
from widemargin.estimators.divide_conquer import checkpoint
from widemargin.estimators.divide_conquer import estimator as estimator_module
from widemargin.multilevel.level import solve_level
from widemargin.runtime import model_file_format


def moons(n=1200, seed=0):
    return make_moons(n, noise=0.25, random_state=seed)


def fit_until_the_finish(model, X, y, monkeypatch, end=MemoryError):
    """Fit, and end where the whole problem would be solved."""

    def killed(*args, **kwargs):
        raise end("killed here")

    with monkeypatch.context() as patch:
        patch.setattr(estimator_module, "conquer", killed)
        with pytest.raises(end):
            model.fit(X, y)
    return model


def count_levels(monkeypatch):
    solved = []

    def counting(number, *args, **kwargs):
        solved.append(number)
        return solve_level(number, *args, **kwargs)

    monkeypatch.setattr("widemargin.multilevel.driver.solve_level", counting)
    return solved


@pytest.mark.parametrize("clustering", ["input", "kernel", "random"])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_a_killed_fit_resumes_above_its_last_level(
    tmp_path, monkeypatch, clustering, fit_intercept
):
    X, y = moons()
    path = tmp_path / "fit.checkpoint"
    model = DivideConquerSVC(
        n_levels=2, random_state=0, checkpoint=path, clustering=clustering,
        fit_intercept=fit_intercept,
    )  # fmt: skip
    fit_until_the_finish(clone(model), X, y, monkeypatch)
    assert path.exists()
    solved = count_levels(monkeypatch)
    resumed = clone(model).fit(X, y)
    assert solved == []  # both levels were there
    assert resumed.history_[1]["resumed"]
    assert not path.exists()  # complete: nothing to resume
    fresh = clone(model).set_params(checkpoint=None).fit(X, y)
    assert_array_equal(resumed.support_, fresh.support_)
    assert_array_equal(resumed.dual_coef_, fresh.dual_coef_)
    assert [stage["stage"] for stage in resumed.history_] == [
        stage["stage"] for stage in fresh.history_
    ]


def test_a_level_from_a_file_is_a_model_too(tmp_path, monkeypatch):
    X, y = moons()
    path = tmp_path / "fit.checkpoint"
    model = DivideConquerSVC(n_levels=2, random_state=0, checkpoint=path)
    first, again = (
        fit_until_the_finish(clone(model), X, y, monkeypatch, KeyboardInterrupt)
        for _ in range(2)
    )
    assert again.history_[1]["resumed"]
    for early in (first, again):
        assert early.early_ is not None
        assert early.certificate_.status == "interrupted"
    assert again.certificate_.gap == first.certificate_.gap
    assert_array_equal(again.decision_function(X), first.decision_function(X))


def test_resuming_between_levels(tmp_path, monkeypatch):
    X, y = moons()
    path = tmp_path / "fit.checkpoint"
    model = DivideConquerSVC(n_levels=3, random_state=0, checkpoint=path)

    def dies_at_level_1(number, *args, **kwargs):
        if number == 1:
            raise MemoryError("killed here")
        return solve_level(number, *args, **kwargs)

    with monkeypatch.context() as patch:
        patch.setattr("widemargin.multilevel.driver.solve_level", dies_at_level_1)
        with pytest.raises(MemoryError):
            clone(model).fit(X, y)
    solved = count_levels(monkeypatch)
    resumed = clone(model).fit(X, y)
    assert solved == [1]
    fresh = clone(model).set_params(checkpoint=None).fit(X, y)
    assert_array_equal(resumed.dual_coef_, fresh.dual_coef_)


def test_a_process_killed_for_real_resumes(tmp_path):
    path = tmp_path / "fit.checkpoint"
    script = textwrap.dedent(
        f"""
        import os, signal
        from sklearn.datasets import make_moons
        from widemargin import DivideConquerSVC
        from widemargin.estimators.divide_conquer import estimator
        estimator.conquer = lambda *a, **k: os.kill(os.getpid(), signal.SIGKILL)
        X, y = make_moons(1200, noise=0.25, random_state=0)
        DivideConquerSVC(n_levels=1, random_state=0, checkpoint={str(path)!r}).fit(X, y)
        """
    )
    done = subprocess.run([sys.executable, "-c", script], check=False)
    assert done.returncode == -signal.SIGKILL
    X, y = moons()
    model = DivideConquerSVC(n_levels=1, random_state=0, checkpoint=path).fit(X, y)
    assert model.history_[0]["resumed"]


def test_several_classes_resume(tmp_path, monkeypatch):
    X, y = moons()
    y = y + 2 * (X[:, 0] > 0.5)
    path = tmp_path / "fit.checkpoint"
    model = DivideConquerSVC(n_levels=1, random_state=0, checkpoint=path, n_jobs=1)
    fit_until_the_finish(clone(model), X, y, monkeypatch)
    resumed = clone(model).fit(X, y)
    fresh = clone(model).set_params(checkpoint=None).fit(X, y)
    assert_array_equal(resumed.dual_coef_, fresh.dual_coef_)


@pytest.mark.parametrize("change", ["rows", "labels", "weights"])
def test_a_checkpoint_of_other_data_is_refused(tmp_path, monkeypatch, change):
    X, y = moons()
    path = tmp_path / "fit.checkpoint"
    model = DivideConquerSVC(n_levels=1, random_state=0, checkpoint=path, gamma=1.0)
    fit_until_the_finish(clone(model), X, y, monkeypatch)
    before = path.read_bytes()
    weights = None
    if change == "rows":
        X = X + 1e-9
    elif change == "labels":
        y = 1 - y
    else:
        weights = np.full(len(y), 2.0)
    with pytest.raises(ValueError, match=r"other data: delete the file"):
        clone(model).fit(X, y, weights)
    assert path.read_bytes() == before  # never overwritten


@pytest.mark.parametrize(
    "parameters", [{"gamma": 2.0}, {"n_branches": 3}, {"tol": 1e-4}, {"kernel": "poly"}]
)
def test_a_checkpoint_of_other_settings_is_refused(tmp_path, monkeypatch, parameters):
    X, y = moons()
    path = tmp_path / "fit.checkpoint"
    model = DivideConquerSVC(n_levels=1, random_state=0, checkpoint=path, gamma=1.0)
    fit_until_the_finish(clone(model), X, y, monkeypatch)
    with pytest.raises(ValueError, match=r"other settings: delete the file"):
        clone(model).set_params(**parameters).fit(X, y)


def gaussian(gamma):
    """Kernels that differ in their values, not in their names."""
    return lambda A, B: rbf_kernel(A, B, gamma=gamma)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_a_checkpoint_of_another_callable_kernel_is_refused(
    tmp_path, monkeypatch, form
):
    X, y = moons(300)
    X = form(X)
    path = tmp_path / "fit.checkpoint"
    model = DivideConquerSVC(
        n_levels=1, random_state=0, checkpoint=path, kernel=gaussian(1.0)
    )
    fit_until_the_finish(model, X, y, monkeypatch)
    before = path.read_bytes()
    for other in (gaussian(2.0), gaussian(1.001), lambda A, B: A @ B.T):
        model.set_params(kernel=other)
        with pytest.raises(ValueError, match=r"on other settings.*: delete the file"):
            model.fit(X, y)
        assert path.read_bytes() == before
    model.set_params(kernel=gaussian(2.0))
    with pytest.raises(ValueError, match=r"the kernel gives other values"):
        model.fit(X, y)

    def rounded(A, B):  # as another machine may compute it
        return gaussian(1.0)(A, B) * (1.0 + 1e-15)

    rounded.__qualname__ = gaussian(1.0).__qualname__
    for same in (gaussian(1.0), rounded):
        path.write_bytes(before)
        model.set_params(kernel=same).fit(X, y)
        assert model.history_[0]["resumed"]


@pytest.mark.parametrize("damage", ["truncated", "flipped", "foreign", "other kind"])
def test_a_damaged_or_foreign_file_is_refused(tmp_path, monkeypatch, damage):
    X, y = moons()
    path = tmp_path / "fit.checkpoint"
    model = DivideConquerSVC(n_levels=1, random_state=0, checkpoint=path)
    fit_until_the_finish(clone(model), X, y, monkeypatch)
    content = path.read_bytes()
    if damage == "truncated":
        path.write_bytes(content[: len(content) // 2])
    elif damage == "flipped":
        middle = len(content) // 2
        changed = bytes([content[middle] ^ 1])
        path.write_bytes(content[:middle] + changed + content[middle + 1 :])
    elif damage == "foreign":
        path.write_bytes(b"\x80\x04pickle" + content)
    else:
        model_file_format.write(path, "model", {}, {})
    with pytest.raises(ValueError, match=r"fit\.checkpoint"):
        clone(model).fit(X, y)


def test_a_hostile_file_with_a_true_checksum_is_refused(tmp_path, monkeypatch):
    X, y = moons()
    path = tmp_path / "fit.checkpoint"
    model = DivideConquerSVC(n_levels=1, random_state=0, checkpoint=path)
    fit_until_the_finish(clone(model), X, y, monkeypatch)
    stored = model_file_format.read(path)
    hostile = [
        {"groups": stored.arrays["groups"] + 1000},
        {"cells": stored.arrays["cells"][:-1]},
        {"cells": stored.arrays["cells"] * 0 - 1},
        {"beta 0": stored.arrays["beta 0"][:-1]},
        {"beta 0": stored.arrays["beta 0"] * np.nan},
        {"intercepts": stored.arrays["intercepts"][:, :0]},
        {"centres": stored.arrays["centres"][:, :1]},
    ]
    for change in hostile:
        model_file_format.write(
            path, stored.kind, stored.header, stored.arrays | change
        )
        with pytest.raises(ValueError, match="start anew"):
            clone(model).fit(X, y)
    for change in (
        {"level": np.inf}, {"level": 2**40}, {"level": 0}, {"level": "1"},
        {"parts": 3}, {"history": None}, {"history": []}, {"history": ["solve"]},
        {"router": []},
    ):  # fmt: skip
        model_file_format.write(
            path, stored.kind, stored.header | change, stored.arrays
        )
        with pytest.raises(ValueError, match="start anew"):
            clone(model).fit(X, y)


def test_a_pipe_is_no_checkpoint(tmp_path):
    X, y = moons()
    path = tmp_path / "pipe"
    os.mkfifo(path)
    with pytest.raises(ValueError, match="regular file"):
        DivideConquerSVC(n_levels=1, checkpoint=path).fit(X, y)


def test_digest_sees_every_array():
    X = np.arange(6.0).reshape(3, 2)
    same = checkpoint.data_digest(X, np.ones(3))
    assert same == checkpoint.data_digest(X.copy(), np.ones(3))
    assert same != checkpoint.data_digest(X.reshape(2, 3), np.ones(3))
    assert same != checkpoint.data_digest(X, np.zeros(3))


@pytest.mark.parametrize("n_levels", ["auto", 0, 1])
def test_a_folder_that_is_not_there_is_named_before_any_work(tmp_path, n_levels):
    path = tmp_path / "nowhere" / "file"
    model = DivideConquerSVC(checkpoint=path, n_levels=n_levels)
    with pytest.raises(FileNotFoundError, match=r"checkpoint: .*folder.*nowhere.file'"):
        model.fit([[0.0], [1.0]], [0, 0])  # labels that would be refused
