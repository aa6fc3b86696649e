"""``widemargin export`` and ``widemargin import``: exchange of models."""

from __future__ import annotations

import warnings
from typing import Any

import click
from sklearn.pipeline import Pipeline

from widemargin.cli.column_encoding import categorical_columns, encoding_step
from widemargin.cli.system_errors import refusal
from widemargin.persistence.libsvm_models import from_libsvm
from widemargin.runtime.atomic_file import replacing

from .output import InputError, check_model_path, load_model, remark, save_model


@click.command()
@click.argument("model", metavar="MODEL", type=click.Path())
@click.argument("output", metavar="OUTPUT", type=click.Path())
@click.option(
    "--to",
    "form",
    type=click.Choice(["libsvm", "onnx"]),
    help="LIBSVM's model file, for svm-predict; or ONNX (needs skl2onnx).  [default: "
    "onnx where OUTPUT ends so, else libsvm]",
)
@click.option("-q", "--quiet", is_flag=True, help="Say nothing but errors.")
def export(model: str, output: str, form: str | None, quiet: bool) -> None:
    """Write MODEL in another program's form to OUTPUT.

    Not every model has one: a Laplacian kernel, early prediction, and costs of several
    classes are refused, with the reason.
    """
    check_model_path(output, model)
    estimator = load_model(model)
    final = estimator[-1] if isinstance(estimator, Pipeline) else estimator
    if not hasattr(final, "to_sklearn"):
        raise InputError(
            f"{model}: a {type(final).__name__} is not a kernel model: it has no form "
            "that another program reads; its weights are in Python, by widemargin.load"
        )
    try:
        if form == "onnx" or (form is None and output.lower().endswith(".onnx")):
            _write_onnx(estimator, output)
        elif isinstance(estimator, Pipeline):
            raise InputError(
                f"{model}: LIBSVM's form has no place for scaling or categories: use "
                "--to onnx, or prepare the files and train without these options"
            )
        else:
            final.to_libsvm(output)
    except (ValueError, ImportError) as error:
        raise InputError(f"{model}: {error}") from error
    except OSError as error:
        raise InputError(f"{output}: {refusal(error)}") from error
    remark(f"{type(final).__name__} written to {output}", quiet)


def _write_onnx(estimator: Any, path: str) -> None:
    """Convert by skl2onnx, with all that comes before the SVM."""
    try:
        from skl2onnx import to_onnx
        from skl2onnx.common.data_types import FloatTensorType, StringTensorType
    except ImportError as error:
        raise ImportError("--to onnx needs skl2onnx: pip install skl2onnx") from error
    if isinstance(estimator, Pipeline):
        *before, (name, final) = estimator.steps
        portable: Any = Pipeline([*before, (name, final.to_sklearn())])
    else:
        portable = estimator.to_sklearn()
    d, step = estimator.n_features_in_, encoding_step(estimator)
    text = set() if step is None else set(categorical_columns(step))
    inputs = [("X", FloatTensorType([None, d]))]
    if text:  # an input for each column: text and numbers have no table in common
        names = getattr(estimator, "feature_names_in_", range(1, d + 1))
        kinds = [StringTensorType if i in text else FloatTensorType for i in range(d)]
        columns = zip(names, kinds, strict=True)
        inputs = [(f"{name}", kind([None, 1])) for name, kind in columns]
    with warnings.catch_warnings():
        # skl2onnx reads attributes that scikit-learn is about to remove
        warnings.simplefilter("ignore", FutureWarning)
        converted = to_onnx(portable, initial_types=inputs)
    with replacing(path) as file:
        file.write(converted.SerializeToString())


@click.command("import")
@click.argument("source", metavar="SOURCE", type=click.Path())
@click.argument("model", metavar="MODEL", type=click.Path())
@click.option(
    "--n-features",
    type=click.IntRange(min=1),
    help="Features of a sample; by default the largest index in SOURCE.",
)
@click.option("-q", "--quiet", is_flag=True, help="Say nothing but errors.")
def import_model(source: str, model: str, n_features: int | None, quiet: bool) -> None:
    """Read SOURCE, a model file of LIBSVM's svm-train, and write MODEL."""
    check_model_path(model, source)
    try:
        estimator = from_libsvm(source, n_features)
    except ValueError as error:
        raise InputError(str(error)) from error
    except (OSError, MemoryError) as error:
        raise InputError(f"{source}: {refusal(error)}") from error
    save_model(estimator, model)
    remark(f"{type(estimator).__name__} written to {model}", quiet)
