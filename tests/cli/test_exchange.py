"""``widemargin export`` and ``import``."""

from __future__ import annotations

import numpy as np
import onnxruntime
import pytest
from libsvm import svmutil
from numpy.testing import assert_array_equal
from sklearn.datasets import dump_svmlight_file, load_iris
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import widemargin

from tests.cli.running import command
from tests.saving import fitted

X, y = load_iris(return_X_y=True)


@pytest.fixture
def folder(tmp_path):
    widemargin.save(widemargin.SVC().fit(X, y), tmp_path / "model")
    dump_svmlight_file(X, y, str(tmp_path / "iris"), zero_based=False)
    return tmp_path


def test_a_model_goes_to_libsvm_and_comes_back(folder):
    done = command("export", "model", "out.libsvm", cwd=folder)
    assert (done.returncode, done.stdout) == (0, "")
    assert "SVC written to out.libsvm" in done.stderr
    model = svmutil.svm_load_model(str(folder / "out.libsvm"))
    labels, _, _ = svmutil.svm_predict([], X.tolist(), model, "-q")
    assert_array_equal(labels, widemargin.SVC().fit(X, y).predict(X))
    assert command("import", "out.libsvm", "again", "-q", cwd=folder).returncode == 0
    shown = command("info", "again", cwd=folder)
    assert shown.returncode == 0
    assert "3: 0, 1, 2" in shown.stdout
    for name in ("model", "again"):
        command("predict", "iris", name, f"{name}.out", cwd=folder)
    answers = (folder / "model.out").read_text()
    assert len(answers.split()) == 150
    assert (folder / "again.out").read_text() == answers


def test_a_pipeline_goes_to_onnx_with_its_scaling(folder):
    model = make_pipeline(StandardScaler(), widemargin.SVC()).fit(X, y)
    widemargin.save(model, folder / "scaled")
    done = command("export", "scaled", "out.onnx", cwd=folder)  # known by its name
    assert done.returncode == 0, done.stderr
    assert done.stderr == "SVC written to out.onnx\n"  # no warning of theirs
    named = command("export", "scaled", "named", "--to", "onnx", cwd=folder)
    assert named.returncode == 0, named.stderr
    assert (folder / "named").read_bytes() == (folder / "out.onnx").read_bytes()
    session = onnxruntime.InferenceSession((folder / "out.onnx").read_bytes())
    given = {session.get_inputs()[0].name: X.astype(np.float32)}
    assert_array_equal(session.run(None, given)[0], model.predict(X))
    refused = command("export", "scaled", "out", cwd=folder)
    assert refused.returncode == 2
    assert "no place for scaling or categories: use --to onnx" in refused.stderr


def test_categories_and_gaps_go_to_onnx(folder):
    """Each column is an input of its own; a category not seen counts as none."""
    rng = np.random.default_rng(0)
    age, city = rng.normal(size=60).round(3), rng.choice(["Bern", "Oslo"], 60)
    buys = np.where((age > 0) ^ (city == "Oslo"), "yes", "no")
    lines = [f"{a},{c},{b}" for a, c, b in zip(age, city, buys, strict=True)]
    (folder / "buys.csv").write_text("\n".join(["age,city,buys", ",Oslo,no", *lines]))
    options = "--label buys --categorical auto --missing mean".split()
    done = command("train", "buys.csv", "buys", *options, cwd=folder)
    assert done.returncode == 0, done.stderr
    done = command("export", "buys", "buys.onnx", cwd=folder)
    assert done.returncode == 0, done.stderr
    session = onnxruntime.InferenceSession((folder / "buys.onnx").read_bytes())
    given = {
        "age": np.array([[np.nan], *age[:, None], [1.0]], dtype=np.float32),
        "city": np.array([["Oslo"], *city[:, None], ["Rome"]], dtype=object),
    }
    (folder / "new.csv").write_text(
        "\n".join(["age,city", ",Oslo", *(line[: line.rindex(",")] for line in lines)])
        + "\n1.0,Rome\n"
    )
    command("predict", "new.csv", "buys", "out", cwd=folder)
    answers = (folder / "out").read_text().split()
    assert {"yes", "no"} == set(answers)
    assert session.run(None, given)[0].tolist() == answers


def test_what_has_no_such_form_is_refused(folder):
    laplacian = widemargin.SVC(kernel="laplacian").fit(X, y)
    widemargin.save(laplacian, folder / "laplacian")
    private, _ = fitted("PrivateSVC")
    widemargin.save(private, folder / "private")
    for name, why in (("laplacian", "has no place"), ("private", "not a kernel model")):
        done = command("export", name, "out", cwd=folder)
        assert done.returncode == 2
        assert why in done.stderr
        assert not (folder / "out").exists()


def test_mistakes(folder):
    (folder / "damaged").write_text("svm_type c_svc\nSV\n")
    for arguments, why in (
        (("export", "model", "model"), "would overwrite"),
        (("export", "none", "out"), "No such file"),
        (("export", "model", "no/out"), "No such file"),
        (("import", "damaged", "out"), "kernel_type: 1 expected, missing"),
        (("import", "none", "out"), "No such file"),
        (("import", "damaged", "damaged"), "would overwrite"),
    ):
        done = command(*arguments, cwd=folder)
        assert done.returncode == 2, arguments
        assert why in done.stderr
        assert "Traceback" not in done.stderr
