"""Typed boundaries: one status, one time limit, one place that stores a model."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from widemargin.engine.status import Status

PACKAGE = Path(__file__).resolve().parent.parent / "src" / "widemargin"
FOLDERS = ("engine", "multilevel", "estimators", "tuning", "numerics", "uncertainty")


@cache
def nodes() -> list[tuple[str, ast.AST]]:
    """Return every node of the modules in these folders, with its module."""
    paths = [path for folder in FOLDERS for path in (PACKAGE / folder).rglob("*.py")]
    return [
        (path.relative_to(PACKAGE).as_posix(), node)
        for path in sorted(paths)
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    ]


def found(*kinds: type[ast.AST]) -> Iterator[tuple[str, ast.AST]]:
    """Yield every node of these kinds."""
    return ((inside, node) for inside, node in nodes() if isinstance(node, kinds))


def at(inside: str, node: ast.AST) -> str:
    return f"{inside}:{node.lineno}: {ast.unparse(node)[:60]}"


def called(node: ast.AST) -> str:
    return node.func.id if isinstance(node.func, ast.Name) else ""


def test_a_status_is_a_member_of_the_one_enum():
    words = {status.value for status in Status} - {"early"}  # a value of prediction=

    def is_word(node: ast.AST) -> bool:
        inside = node.elts if isinstance(node, ast.Tuple | ast.List | ast.Set) else ()
        return any(map(is_word, inside)) or (
            isinstance(node, ast.Constant) and node.value in words
        )

    bare = [
        at(inside, node)
        for inside, node in found(ast.Compare)
        if any(map(is_word, (node.left, *node.comparators)))
    ]
    bare += [
        at(inside, node)
        for inside, node in found(ast.keyword)
        if node.arg in ("status", "ended") and isinstance(node.value, ast.Constant)
    ]
    for inside, node in found(ast.Assign):
        target = node.targets[0]
        name = getattr(target, "attr", getattr(target, "id", ""))
        if name == "status" and isinstance(node.value, ast.Constant):
            bare.append(at(inside, node))
    assert bare == []


#: what is called a time limit, and by whom: users, and the compiled core
LIMITS = {"max_time": {"__init__"}, "time_limit": set(), "timeout": set()}


def test_a_time_limit_is_a_deadline_but_for_the_parameter_of_users():
    others = [
        at(inside, node)
        for inside, node in found(ast.FunctionDef)
        for argument in (*node.args.args, *node.args.kwonlyargs)
        if node.name not in LIMITS.get(argument.arg, {node.name})
    ]
    assert others == []


#: functions that take named values of any name, and why
OPEN_ENDED = {
    "engine/solution.py": {"stage_record"},  # figures of a record, for a table
    "estimators/base/notebook.py": {"_repr_mimebundle_"},  # as IPython calls it
    "estimators/base/shared_fit.py": {"subset"},  # as Gram.subset, which has options
    "estimators/base/sklearn_compat.py": {"fit_and_close", "checked"},  # decorators
    "estimators/base/training_data.py": {"counting"},  # fields of a subclass
    "estimators/chance_constrained/cone_programs.py": {  # parts of x, by name
        "__init__",
        "rows",
        "add",
        "add_norms",
    },
    "estimators/divide_conquer/dask/workers.py": {"lazily"},  # hands on to dask
    "estimators/incremental/incremental_machine.py": {"update"},  # set_params
    "estimators/incremental/update_state.py": {"changed"},  # as dataclasses.replace
    "estimators/private/errors_without_values.py": {"without_values"},  # hands on
    "tuning/search.py": {"fit"},  # scikit-learn's
}


def test_options_are_structs_and_not_open_ended():
    there: dict[str, set[str]] = {}
    for inside, node in found(ast.FunctionDef):
        if node.args.kwarg is not None:
            there.setdefault(inside, set()).add(node.name)
    assert there == OPEN_ENDED


@pytest.mark.parametrize("owner", ["self", "model", "estimator", "machine"])
def test_attributes_are_asked_for_without_a_default(owner):
    guessed = [
        at(inside, node)
        for inside, node in found(ast.Call)
        if called(node) == "getattr"
        and len(node.args) == 3
        and ast.unparse(node.args[0]) == owner
        and inside != "estimators/base/sklearn_compat.py"  # attributes not of ours
    ]
    assert guessed == []


def test_attributes_are_not_reached_by_strings():
    reached = [
        at(inside, node)
        for inside, node in found(ast.Call)
        if called(node) in ("setattr", "delattr")
        and inside != "estimators/incremental/refused.py"  # methods of a class
    ]
    for inside, node in found(ast.Subscript):
        value = node.value
        by_vars = isinstance(value, ast.Call) and called(value) == "vars"
        if by_vars or (isinstance(value, ast.Attribute) and value.attr == "__dict__"):
            reached.append(at(inside, node))
    assert reached == []


#: where "not a number" is a value that users see
NANS = {
    "estimators/chance_constrained/training.py",  # slack of rows without weight
    "tuning/cells.py",  # scikit-learn's error_score
    "tuning/tuned.py",
    "uncertainty/error_columns.py",  # missing cells of a table
}


def test_not_a_number_is_no_message():
    users = {inside for inside, node in found(ast.Attribute) if node.attr == "nan"}
    assert users == NANS


#: what a kernel expansion consists of, under scikit-learn's names
MODEL = {"support_", "support_vectors_", "dual_coef_", "intercept_", "n_support_"}
WRITERS = {
    "estimators/base/fitted_model.py",
    "estimators/incremental/reserve_vectors.py",  # renumbers the rows
    "estimators/chance_constrained/uncertain_model.py",  # models with coef_ alone
    "estimators/private/estimator.py",
}


def test_one_place_writes_a_model_to_an_estimator():
    writers = set()
    for inside, node in found(ast.Attribute):
        if node.attr in MODEL and isinstance(node.ctx, ast.Store):
            writers.add(inside)
    assert writers == WRITERS
