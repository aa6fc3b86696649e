"""Error bars from columns beside their values, in a data frame or a CSV file."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from widemargin import ChanceConstrainedSVC, load, split_error_columns

from tests.cli.running import command


@pytest.fixture
def frame():
    """Return two features with error bars, in a mixed order, and a label."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 30)
    return pd.DataFrame(
        {
            "size_sd": 0.3 * rng.random(60),
            "mass": rng.normal(size=60) + 2 * y,
            "kind": y,
            "size": rng.normal(size=60) - 2 * y,
            "mass_err": 0.5 * rng.random(60),
        }
    )


def test_columns_are_paired_by_suffix(frame):
    X, variances = split_error_columns(frame.drop(columns="kind"))
    assert list(X.columns) == ["mass", "size"]
    assert_array_equal(variances, np.square(frame[["mass_err", "size_sd"]]))
    renamed = frame.drop(columns="kind").rename(
        columns={"mass_err": "sigma(mass)", "size_sd": "sigma(size)"}
    )
    same, again = split_error_columns(renamed, "sigma(*)")
    pd.testing.assert_frame_equal(same, X)
    assert_array_equal(again, variances)


def spoilt(frame, what):
    """Return the frame with one mistake."""
    frame = frame.drop(columns="kind")
    if what == "negative":
        frame.loc[7, "mass_err"] = -0.25
    elif what == "missing value":
        frame.loc[3, "size_sd"] = np.nan
    elif what == "missing column":
        frame = frame.drop(columns="mass_err")
    elif what == "missing feature":
        frame = frame.drop(columns="size")
    elif what == "two error columns":
        frame["mass_sd"] = 0.1
    else:
        frame.columns = ["mass", *frame.columns[1:]]
    return frame


@pytest.mark.parametrize(
    ("what", "message"),
    [
        ("negative", "'mass_err' has -0.25 in row 7"),
        ("missing value", "'size_sd' has nan in row 3"),
        ("missing column", "'mass' has no error column: 'mass_err' or 'mass_sd'"),
        ("missing feature", "'size_sd' belongs to a column 'size', which is not"),
        ("two error columns", "'mass' has two error columns"),
        ("one name twice", "two columns are called 'mass'"),
    ],
)
def test_mistakes_name_the_column(frame, what, message):
    with pytest.raises(ValueError, match=message):
        split_error_columns(spoilt(frame, what))


@pytest.mark.parametrize("pattern", ["err", "*_*", "*"])
def test_a_pattern_has_one_place_for_the_name(frame, pattern):
    with pytest.raises(ValueError, match="must hold one"):
        split_error_columns(frame, pattern)


TRAIN = ("train", "--method", "chance", "--label", "kind")


def test_a_csv_file_gives_the_model_of_its_frame(frame, tmp_path):
    frame.to_csv(tmp_path / "stars.csv", index=False)
    pattern = ("--error-columns", "*_err,*_sd")
    done = command(*TRAIN, *pattern, "stars.csv", "model", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    model = load(tmp_path / "model")
    X, variances = split_error_columns(frame.drop(columns="kind"))
    expected = ChanceConstrainedSVC().fit(X, frame["kind"], covariance=variances)
    assert_allclose(model.coef_, expected.coef_, rtol=1e-9)
    assert list(model.feature_names_in_) == ["mass", "size"]
    assert_allclose(
        model.error_probability_bound(X, variances),
        expected.error_probability_bound(X, variances),
        rtol=1e-9,
    )
    # prediction takes its columns by name: the error columns may be there or not
    frame.drop(columns="kind").to_csv(tmp_path / "new.csv", index=False)
    done = command("predict", "new.csv", "model", "out", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    answers = (tmp_path / "out").read_text().split()
    assert answers == [str(label) for label in expected.predict(X)]
    done = command(*TRAIN, *pattern, "-v", "3", "stars.csv", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "Cross Validation Accuracy" in done.stdout


def test_folds_are_fitted_with_their_error_bars(frame, tmp_path, monkeypatch):
    given = []
    fit = ChanceConstrainedSVC.fit

    def watched(self, X, y, covariance=None, **others):
        given.append(covariance)
        return fit(self, X, y, covariance=covariance, **others)

    monkeypatch.setattr(ChanceConstrainedSVC, "fit", watched)
    frame.to_csv(tmp_path / "stars.csv", index=False)
    line = (*TRAIN, "--error-columns", "*_err,*_sd", "-v", "3", "stars.csv")
    assert command(*line, cwd=tmp_path).returncode == 0
    assert [part.shape for part in given] == [(40, 2)] * 3


@pytest.mark.parametrize(
    ("what", "message"),
    [
        ("negative", "stars.csv: the error column 'mass_err' has -0.25 in row 7"),
        ("missing column", "stars.csv: column 'mass' has no error column"),
        ("missing feature", "stars.csv: the error column 'size_sd' belongs to"),
    ],
)
def test_the_command_refuses_the_same_in_one_line(frame, what, message, tmp_path):
    spoilt(frame, what).assign(kind=frame["kind"]).to_csv(
        tmp_path / "stars.csv", index=False
    )
    line = (*TRAIN, "--error-columns", "*_err,*_sd", "stars.csv", "model")
    done = command(*line, cwd=tmp_path)
    assert done.returncode == 2 and message in done.stderr
    assert "Traceback" not in done.stderr and not (tmp_path / "model").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--method", "svc"), "--error-columns needs --method chance"),
        (("--method", "chance", "--scale", "standard"), "use --standardize true"),
    ],
)
def test_error_columns_where_nothing_reads_them(frame, arguments, message, tmp_path):
    frame.to_csv(tmp_path / "stars.csv", index=False)
    line = ("train", *arguments, "--label", "kind", "--error-columns", "*_err")
    done = command(*line, "stars.csv", "model", cwd=tmp_path)
    assert done.returncode == 2 and message in done.stderr


def test_a_file_without_names_has_no_error_columns(tmp_path):
    (tmp_path / "rows.csv").write_text("1,0.1,0\n2,0.1,1\n3,0.1,0\n4,0.1,1\n")
    line = ("train", "--method", "chance", "--label", "3", "--error-columns", "*_err")
    done = command(*line, "rows.csv", "model", cwd=tmp_path)
    assert done.returncode == 2
    assert "needs CSV whose first line names the columns" in done.stderr


def test_one_covariance_for_all_from_a_file(frame, tmp_path):
    table = frame[["mass", "size", "kind"]]
    table.to_csv(tmp_path / "stars.csv", index=False)
    (tmp_path / "matrix.csv").write_text("0.2,0.05\n0.05,0.1\n")
    line = (*TRAIN, "--covariance", "matrix.csv", "stars.csv", "model")
    done = command(*line, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    expected = ChanceConstrainedSVC(covariance=[[0.2, 0.05], [0.05, 0.1]])
    expected.fit(table[["mass", "size"]], table["kind"])
    assert_allclose(load(tmp_path / "model").coef_, expected.coef_, rtol=1e-9)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("0.2,x\n0.05,0.1\n", "not a matrix"),
        ("0.2,0.05\n", "1 rows of [2] numbers"),
        ("", "0 rows of [] numbers"),
        (None, "No such file"),
    ],
)
def test_a_file_that_is_no_covariance_is_refused(frame, text, message, tmp_path):
    frame[["mass", "size", "kind"]].to_csv(tmp_path / "stars.csv", index=False)
    if text is not None:
        (tmp_path / "matrix.csv").write_text(text)
    line = (*TRAIN, "--covariance", "matrix.csv", "stars.csv", "model")
    done = command(*line, cwd=tmp_path)
    assert done.returncode == 2 and "Traceback" not in done.stderr
    assert message in " ".join(done.stderr.split())
