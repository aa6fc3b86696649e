"""Values that occur in the data alone are in no message, repr, file or log."""

from __future__ import annotations

import io
import logging
import pickle
import struct
import warnings
from contextlib import redirect_stderr, redirect_stdout

import numpy as np
import pytest
from click.testing import CliRunner
from scipy import sparse

import widemargin
from widemargin import PrivacyLedger, PrivateSVC
from widemargin.cli.__main__ import widemargin as command
from widemargin.estimators.private.ledger_file import create_ledger, drawing_from

NUMBERS = (73519.4271, -48261.75, 6.62607015e-3)
#: as text, whole and as numpy or a format may shorten it, and as bytes
TEXTS = ("73519", "7.35", "48261", "4.82", "0.00662", "6.626", "Quixote")
BYTES = [struct.pack("<d", number) for number in NUMBERS]
BYTES += [struct.pack("<f", number) for number in NUMBERS]
PUBLIC = {"clip_norm": 1e5, "classes": ["ill", "well"]}
MECHANISMS = ["output", "objective", "gradient"]


def samples():
    X = np.random.default_rng(0).normal(size=(12, 3))
    X[4], y = NUMBERS, np.array(["ill", "well"] * 6, dtype=object)
    return X, y


def told(capture, action):
    """All that is said while something is done: output, warnings, logs, the error."""
    stream, handler = io.StringIO(), logging.StreamHandler(capture)
    root = logging.getLogger()
    level = root.level
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    words = []
    try:
        with (
            redirect_stdout(stream),
            redirect_stderr(stream),
            warnings.catch_warnings(record=True) as caught,
        ):
            warnings.simplefilter("always")
            try:
                action()
            except Exception as error:
                while error is not None:  # what it was raised from travels with it
                    words += [str(error), repr(error), repr(error.args)]
                    error = error.__cause__ or (
                        None if error.__suppress_context__ else error.__context__
                    )
    finally:
        root.removeHandler(handler)
        root.setLevel(level)
    words += [str(warning.message) for warning in caught]
    return "\n".join([stream.getvalue(), capture.getvalue(), *words])


def assert_nothing_told(text):
    for sentinel in TEXTS:
        assert sentinel not in text


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_nothing_of_a_fit_tells_a_value(mechanism, tmp_path):
    X, y = samples()
    ledger = PrivacyLedger(1.5)
    if mechanism == "objective":
        ledger = PrivacyLedger(1.5, pure_epsilon=1.5)
    model = PrivateSVC(1.0, mechanism=mechanism, ledger=ledger, verbose=True, **PUBLIC)
    assert_nothing_told(told(io.StringIO(), lambda: model.fit(X, y)))
    again = told(io.StringIO(), lambda: model.set_params(epsilon=1.4).fit(X, y))
    assert "too little left" in again  # refused, and what it says is public
    assert_nothing_told(again)
    shown = [repr(model), str(model.privacy_report()), repr(model.privacy_report())]
    shown += [model._repr_html_(), str(ledger), repr(ledger), str(ledger.spendings)]
    assert_nothing_told("\n".join(shown))
    widemargin.save(model, tmp_path / "model")
    for blob in ((tmp_path / "model").read_bytes(), pickle.dumps(model)):
        for sentinel in (*BYTES, b"Quixote"):
            assert sentinel not in blob


def spoilt():
    """Samples and labels that are refused, each with sentinels beside the fault."""
    X, y = samples()
    missing, endless, other, named = X.copy(), X.copy(), y.copy(), X.astype(object)
    missing[4, 1], endless[4, 0], named[4, 1] = np.nan, np.inf, "Quixote"
    other[4] = "Quixote"
    one_class = np.full(12, "Quixote", dtype=object)
    numbers = np.array([*NUMBERS, *range(9)])
    yield "missing", missing, y
    yield "infinite", endless, y
    yield "text", named, y
    yield "label", X, other
    yield "one label", X, one_class
    yield "numbers as labels", X, numbers
    yield "too few labels", X, other[:5]
    yield "sparse", sparse.csr_matrix(missing), y
    yield "flat", X.ravel(), y
    yield "labels in two columns", X, np.column_stack([y, other])


@pytest.mark.parametrize(
    ("X", "y"), [pytest.param(*case[1:], id=case[0]) for case in spoilt()]
)
@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_no_error_of_a_fit_tells_a_value(mechanism, X, y):
    model = PrivateSVC(
        1.0, mechanism=mechanism, ledger=PrivacyLedger(9.0, pure_epsilon=5.0), **PUBLIC
    )
    said = told(io.StringIO(), lambda: model.fit(X, y))
    assert "Error" in said  # it was refused
    assert_nothing_told(said)


def test_the_ledger_in_a_file_holds_public_facts_alone(tmp_path):
    X, y = samples()
    path = str(tmp_path / "budget")
    create_ledger(path, PrivacyLedger(3.0))
    with drawing_from(path) as ledger, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        PrivateSVC(1.0, ledger=ledger, **PUBLIC).fit(X, y)
    assert_nothing_told((tmp_path / "budget").read_text())


@pytest.mark.parametrize(
    "row", ["1,2,x,ill", "1,2", "1,,3,well", "nan,2,3,well", "1,2,3,Quixote"]
)
def test_the_command_tells_no_value(tmp_path, monkeypatch, row):
    monkeypatch.chdir(tmp_path)
    X, y = samples()
    lines = [
        ",".join([*map(repr, map(float, x)), label])
        for x, label in zip(X, y, strict=True)
    ]
    fits = "\n".join(["a,b,c,state", *lines])
    (tmp_path / "good.csv").write_text(fits)
    sentinels = ",".join(map(str, NUMBERS))
    (tmp_path / "bad.csv").write_text(f"{fits}\n{row}\n{sentinels},Quixote\n")
    flags = ["--method", "private", "--clip-norm", "3", "--label", "state"]
    flags += ["--classes", "ill,well"]
    for data, code in (("good.csv", 0), ("bad.csv", 2)):
        done = CliRunner().invoke(command, ["train", *flags, data, f"{data}.model"])
        assert done.exit_code == code, done.output
        assert_nothing_told(done.output)
    shown = CliRunner().invoke(command, ["info", "good.csv.model"])
    assert_nothing_told(shown.output)
    blob = (tmp_path / "good.csv.model").read_bytes()
    assert not any(sentinel in blob for sentinel in (*BYTES, b"Quixote"))
    assert not (tmp_path / "bad.csv.model").exists()
