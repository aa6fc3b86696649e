"""Tables with categories and missing values, from the file to the prediction."""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_predict
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import widemargin
from widemargin import SVC
from widemargin.cli import files

from tests.cli.running import command
from tests.cli.test_mistakes import refusal

pandas = pytest.importorskip("pandas")
BOTH = ["--label", "buys", "--categorical", "auto", "--missing"]
NUMBERS, TEXT = ["age", "income"], ["city", "size"]


def customers(rows: int = 80, seed: int = 0) -> Any:
    """Numbers and text, with gaps in both; sizes are text that is mostly numbers."""
    rng = np.random.default_rng(seed)
    table = pandas.DataFrame(
        {
            "age": rng.normal(40, 9, rows).round(2),
            "city": np.array(["Bern", "Graz, AT", "Oslo"])[rng.integers(0, 3, rows)],
            "buys": "no",
            "income": rng.lognormal(size=rows).round(3),
            "size": np.array(["1", "2", "1.0", "XL"])[rng.integers(0, 4, rows)],
        }
    )
    table.loc[(table.city == "Oslo") | (table.income > 2), "buys"] = "yes"
    table.loc[rng.random(rows) < 0.2, "age"] = np.nan
    table.loc[rng.random(rows) < 0.1, "size"] = ""
    return table


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    customers().to_csv(tmp_path / "data.csv", index=False, na_rep="NA")
    return tmp_path


def trained(folder: Path, *options: str) -> str:
    done = command("train", "data.csv", "model", *options, cwd=folder)
    assert done.returncode == 0, done.stderr
    return done.stderr


def predicted(folder: Path, text: str) -> tuple[list[str], str]:
    (folder / "new.csv").write_text(text)
    done = command("predict", "new.csv", "model", "out", cwd=folder)
    assert done.returncode == 0, done.stderr
    return (folder / "out").read_text().split(), done.stderr


@pytest.mark.parametrize("missing", ["mean", "indicator"])
@pytest.mark.parametrize("scale", [[], ["--scale", "standard"]])
def test_the_model_is_that_of_scikit_learns_steps(
    folder: Path, missing: str, scale: list[str]
) -> None:
    trained(folder, *BOTH, missing, *scale)
    model = widemargin.load(folder / "model")
    table = customers()
    imputer = SimpleImputer(add_indicator=missing == "indicator")
    oracle = make_pipeline(
        make_column_transformer(
            (make_pipeline(imputer, StandardScaler()) if scale else imputer, NUMBERS),
            (OneHotEncoder(handle_unknown="ignore"), TEXT),
        ),
        SVC(),
    ).fit(table[NUMBERS + TEXT], table.buys)
    other = customers(30, seed=1)
    features = other.drop(columns="buys")
    assert_allclose(
        model.decision_function(features),
        oracle.decision_function(features[NUMBERS + TEXT]),
        atol=1e-7,
    )
    # the command gives the same, from other columns in another order
    shuffled = other[["size", "income", "age", "city"]].assign(note="some, text")
    labels, said = predicted(folder, shuffled.to_csv(index=False))
    assert_array_equal(labels, model.predict(features))
    assert said == ""
    # and evaluate has the labels beside them
    other.to_csv(folder / "other.csv", index=False)
    done = command("evaluate", "other.csv", "model", "--label", "buys", cwd=folder)
    share = np.mean(model.predict(features) == other.buys)
    assert f"accuracy           {share:.4f}" in done.stdout


def test_categories_that_training_has_not_seen(folder: Path) -> None:
    trained(folder, *BOTH, "mean")
    text = "age,city,income,size\n40,Rome,1,1\n,Oslo,1,XXL\n30,Bern,3,2\n"
    labels, said = predicted(folder, text)
    assert "count as none: 2 in column 'city', 'size'" in said
    model = widemargin.load(folder / "model")
    frame = pandas.read_csv(io.StringIO(text), dtype={"size": str})
    assert_array_equal(labels, model.predict(frame))
    encoded = model[0].transform(frame)
    encoded = encoded if isinstance(encoded, np.ndarray) else encoded.toarray()
    assert_array_equal(encoded[:, 2:].astype(float).sum(axis=1), [1, 1, 2])


def test_categories_that_look_like_numbers_stay_categories(folder: Path) -> None:
    trained(folder, *BOTH, "mean")
    labels, said = predicted(folder, "age,city,income,size\n40,Oslo,1,2\n")
    assert said == ""
    model = widemargin.load(folder / "model")
    row = {"age": [40.0], "city": ["Oslo"], "income": [1.0], "size": ["2"]}
    row = {name: row[name] for name in model.feature_names_in_}
    assert_array_equal(labels, model.predict(pandas.DataFrame(row)))


def test_columns_without_names(folder: Path) -> None:
    lines = (folder / "data.csv").read_text().splitlines()
    (folder / "data.csv").write_text("\n".join(lines[1:]))
    trained(folder, "--label", "3", "--categorical", "auto", "--missing", "mean")
    done = command("predict", "data.csv", "model", "out", "--label", "3", cwd=folder)
    assert done.returncode == 0 and "Accuracy" in done.stdout, done.stderr
    (folder / "narrow.csv").write_text("1,Bern,1\n")
    message = refusal("predict", "narrow.csv", "model", "out2", cwd=folder)
    assert message.endswith("3 columns of features, and the model has 4")


def test_what_is_refused_and_the_remedy(folder: Path) -> None:
    line = ["train", "data.csv", "model", "--label", "buys"]
    message = refusal(*line, cwd=folder)
    assert "--categorical auto" in message and message.startswith("Error: data.csv:2:")
    message = refusal(*line, "--missing", "mean", cwd=folder)
    assert message.endswith("for columns of categories: --categorical auto")
    for options in ([], ["--missing", "error"]):
        message = refusal(*line, "--categorical", "auto", *options, cwd=folder)
        assert "no value in column 'age', 'size'" in message
        assert message.endswith("--missing mean or --missing indicator")
    (folder / "gap.csv").write_text("a,b,kind\n1,2,p\n,3,n\n")
    message = refusal("train", "gap.csv", "model", "--label", "kind", cwd=folder)
    assert "gap.csv:3:1: empty value" in message and "--missing mean" in message
    private = ["--method", "private", "--classes", "no,yes", "--clip-norm", "1"]
    assert "voids" in refusal(*line, *BOTH[2:], "mean", *private, cwd=folder)
    bars = ["--method", "chance", "--error-columns", "age"]
    assert "no error bars" in refusal(*line, *BOTH[2:], "mean", *bars, cwd=folder)
    (folder / "svm").write_text("1 1:2\n0 1:3\n")
    message = refusal("train", "svm", "model", "--missing", "mean", cwd=folder)
    assert message.endswith("are for tables, as CSV")
    (folder / "bytes.csv").write_bytes(b"a,kind\n\xff\xfe,p\nb,n\n")
    line = ["train", "bytes.csv", "model", "--label", "kind", "--categorical", "auto"]
    assert refusal(*line, cwd=folder).endswith("save the table as UTF-8")


def test_decimal_commas_are_no_categories(folder: Path) -> None:
    """Each number would be a category of its own, and the training score perfect."""
    (folder / "commas.csv").write_text("a;b;kind\n1,5;x;p\n2,5;y;n\n3,25;x;p\n")
    line = ["train", "commas.csv", "model", "--label", "kind", "--categorical", "auto"]
    message = refusal(*line, cwd=folder)
    assert message.startswith("Error: commas.csv:2:1: '1,5' is not a finite number")
    assert message.endswith(": write numbers as 1234.5")
    (folder / "pairs.csv").write_text("a;kind\n1,5;p\nx;n\n3,25;p\n2,1;n\n")
    line[1] = "pairs.csv"
    assert command(*line, cwd=folder).returncode == 0


def test_files_that_do_not_fit_the_model(folder: Path) -> None:
    table = customers()
    table["size"] = "1" + table["size"]
    table.fillna(1).to_csv(folder / "data.csv", index=False)
    trained(folder, "--label", "buys", "--categorical", "auto")
    for text, message in [
        ("age,city,income,size\nold,Bern,1,1\n", "model has numbers in column 'age'"),
        ("age,city,income,size\n1,Bern,,1\n", "no value in column 'income'; train wi"),
        ("age,City,income,size\n1,Bern,1,1\n", "'city', which the model needs; did y"),
        ("age,city,income,size\n1,Bern,1\n", "new.csv:2:9: only 3 of 4 columns"),
    ]:
        (folder / "new.csv").write_text(text)
        assert message in refusal("predict", "new.csv", "model", "out", cwd=folder)


def test_cross_validation_learns_the_columns_anew(folder: Path) -> None:
    done = command("train", "data.csv", "-v", "4", *BOTH, "mean", cwd=folder)
    assert done.returncode == 0, done.stderr
    table = customers()
    oracle = make_pipeline(
        make_column_transformer(
            (SimpleImputer(), NUMBERS), (OneHotEncoder(handle_unknown="ignore"), TEXT)
        ),
        SVC(),
    )
    splits = StratifiedKFold(4, shuffle=True, random_state=0)
    found = cross_val_predict(oracle, table[NUMBERS + TEXT], table.buys, cv=splits)
    share = 100 * np.mean(found == table.buys)
    assert f"Cross Validation Accuracy = {share:.6g}%" in done.stdout


def test_a_column_that_names_the_rows_gets_a_hint(folder: Path) -> None:
    table = customers().assign(name=[f"customer {i}" for i in range(80)])
    table.to_csv(folder / "data.csv", index=False)
    assert "of their own in column 'name': leave" in trained(folder, *BOTH, "mean")


def test_four_hundred_columns(folder: Path) -> None:
    rng = np.random.default_rng(0)
    table = pandas.DataFrame(
        {f"c{i}": np.array(["a", "b", ""])[rng.integers(0, 3, 20)] for i in range(400)}
    ).assign(buys=["no", "yes"] * 10)
    table.to_csv(folder / "data.csv", index=False)
    message = refusal("train", "data.csv", "m", *BOTH, "error", cwd=folder)
    assert message.split(";")[0].endswith("'c11' and 388 more")
    trained(folder, *BOTH, "mean")
    assert widemargin.load(folder / "model").n_features_in_ == 400
    table.drop(columns=["c7", "buys"]).to_csv(folder / "data.csv", index=False)
    message = refusal("predict", "data.csv", "model", "out", cwd=folder)
    assert message.endswith("no column 'c7', which the model needs")


def test_text_that_shows_late_and_in_pieces(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Numbers before the first text keep the text they had, whatever the pieces."""
    lines = ["code,x,kind", *(f"0{i % 3},{i},p" for i in range(40)), "A,NA,n"]
    (tmp_path / "late.csv").write_text("\n".join(lines))
    whole = files.read(tmp_path / "late.csv", label="kind", mixed=())
    monkeypatch.setattr(files, "_PIECE", 16)
    pieces = files.read(tmp_path / "late.csv", label="kind", mixed=())
    assert_array_equal(pieces.X, whole.X)
    assert pieces.mixed == whole.mixed
    assert whole.mixed is not None
    assert whole.mixed.categories == {0: ["00", "01", "02", "A"]}
    assert whole.mixed.missing == {1: "42: no value"}
    assert_array_equal(whole.X[:5, 0], [0, 1, 2, 0, 1])


@pytest.mark.parametrize(
    "field",
    ["", " ", "?", "NA", "n/a", "#N/A", "<NA>", "NaN", "-nan", "None", "NULL", '""'],
)
def test_ways_to_write_that_there_is_no_value(tmp_path: Path, field: str) -> None:
    (tmp_path / "a.csv").write_text(f"a,b,kind\n{field},u,p\n2,{field},n\n")
    content = files.read(tmp_path / "a.csv", label="kind", mixed=())
    assert_array_equal(content.X, [[np.nan, 0], [2, np.nan]])


@pytest.mark.parametrize("missing", ["mean", "indicator"])
def test_tuning_learns_the_encoding_in_every_fold(folder: Path, missing: str) -> None:
    """The table of a grid is that of a Pipeline, the best model predicts the file."""
    grid = "C=0.5,20,gamma=0.1,1"
    options = [*BOTH, missing, "--scale", "standard", "--grid", grid, "-v", "3"]
    done = command("tune", "data.csv", "tuned", *options, cwd=folder)
    assert done.returncode == 0, done.stderr
    table = customers()
    fill = SimpleImputer(add_indicator=missing == "indicator")
    encoder = make_column_transformer(
        (make_pipeline(fill, StandardScaler()), NUMBERS),
        (OneHotEncoder(handle_unknown="ignore"), TEXT),
    )
    search = GridSearchCV(
        Pipeline([("encode", encoder), ("model", SVC())]),
        {"model__C": [0.5, 20], "model__gamma": [0.1, 1]},
        cv=StratifiedKFold(3, shuffle=True, random_state=0),
    ).fit(table.drop(columns="buys"), table.buys)
    shown = [float(word) for word in re.findall(r"\b\d\.\d{4}\b", done.stdout)][:4]
    assert_allclose(shown, search.cv_results_["mean_test_score"], atol=1e-4)
    done = command("predict", "data.csv", "tuned", "answers", cwd=folder)
    assert done.returncode == 0, done.stderr
    answers = (folder / "answers").read_text().split()
    assert_array_equal(answers, search.predict(table.drop(columns="buys")))


def test_tuning_names_the_option_that_a_table_needs(folder: Path) -> None:
    line = ["tune", "data.csv", "model", "--label", "buys"]
    assert "--categorical auto" in refusal(*line, cwd=folder)
    message = refusal(*line, "--categorical", "auto", cwd=folder)
    assert "--missing mean" in message
