"""The shape of the code: layers, file length, documentation, honest assertions."""

from __future__ import annotations

import ast
import importlib
import inspect
import os
import pkgutil
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

import suites
import widemargin
import widemargin_papers
from widemargin import _core

ROOT = Path(__file__).resolve().parent.parent
BUDGET = 400
# File to reason: a file may be longer only for a stated reason.
LONGER: dict[str, str] = {}
SOURCES = sorted(
    path
    for folder in ("src", "core", "tests", "benchmarks", "examples")
    for path in (ROOT / folder).rglob("*")
    if path.suffix in (".py", ".cpp", ".hpp", ".h", ".inl")
)
SUITES = ROOT / "benchmarks" / "suites"
PYTHON = sorted([*(ROOT / "src").rglob("*.py"), *SUITES.rglob("*.py")])
TESTS = sorted((ROOT / "tests").rglob("*.py"))


def relative(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@cache
def nodes(path: Path) -> list[ast.AST]:
    """Return the syntax tree of a file, flat; several tests walk it."""
    return list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))


def at(path: Path, node: ast.AST, text: str) -> str:
    return f"{relative(path)}:{node.lineno}: {text}"


def test_import_layers_are_kept():
    command = [str(Path(sys.executable).parent / "lint-imports"), "--no-cache"]
    if not Path(command[0]).exists():
        pytest.skip("import-linter is not installed (make check installs it)")
    done = subprocess.run(
        command,
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": "benchmarks"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout[-3000:]


def test_files_are_within_the_budget():
    lengths = {
        relative(path): len(path.read_text(encoding="utf-8").splitlines())
        for path in SOURCES
    }
    long = {name: length for name, length in lengths.items() if length > BUDGET}
    assert long.keys() == LONGER.keys(), f"split by idea, or strike off: {long}"


def walked():
    """Yield every module of the package, of the papers and of the suites."""
    for package in (widemargin, widemargin_papers, suites):
        yield from pkgutil.walk_packages(package.__path__, f"{package.__name__}.")


def public_objects():
    """Yield every public name of every public module with its object."""
    for module in walked():
        if any(part.startswith("_") for part in module.name.split(".")[1:]):
            continue
        loaded = __import__(module.name, fromlist=["_"])
        yield module.name, loaded
        for name, thing in vars(loaded).items():
            own = getattr(thing, "__module__", None) == module.name
            if name.startswith("_") or not own:
                continue
            if inspect.isclass(thing) or inspect.isfunction(thing):
                yield f"{module.name}.{name}", thing


def test_no_module_is_hidden_by_a_name_of_its_package():
    hidden = []
    for module in walked():
        package, _, name = module.name.rpartition(".")
        loaded = importlib.import_module(module.name)
        if getattr(sys.modules[package], name) is not loaded:
            hidden.append(module.name)
    assert hidden == []


def test_every_public_name_is_documented():
    bare = []
    for name, thing in public_objects():
        text = inspect.getdoc(thing) or ""
        if len(text.split()) < 3 or text.startswith(f"{name.split('.')[-1]}("):
            bare.append(name)
    assert bare == []


def test_every_estimator_documents_its_parameters():
    missing = []
    for name in widemargin.__all__:
        thing = getattr(widemargin, name)
        if not inspect.isclass(thing) or not hasattr(thing, "fit"):
            continue
        text = inspect.getdoc(thing) or ""
        if "SVC`" in text or "as in SVC" in text:  # shared words are documented once
            text += "\n" + (inspect.getdoc(widemargin.SVC) or "")
        for parameter in inspect.signature(thing.__init__).parameters:
            if parameter not in ("self", "args", "kwargs") and not re.search(
                rf"^\s*(\w+, )*{parameter}(, \w+)* ?:", text, re.MULTILINE
            ):
                missing.append(f"{name}.{parameter}")
    assert missing == []


COMPARISONS = {"allclose", "isclose", "array_equal"}


def test_no_comparison_is_dropped_or_bare():
    found = []
    for path in TESTS:
        for node in nodes(path):
            if isinstance(node, ast.Attribute) and node.attr == "allclose":
                found.append(at(path, node, "use numpy.testing.assert_allclose"))
            if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
                function = node.value.func
                if isinstance(function, ast.Attribute) and function.attr in COMPARISONS:
                    found.append(at(path, node, "the result is dropped"))
    assert found == []


def test_every_test_asserts_something():
    asserts = re.compile(r"\bassert|raises|warns|fail\(|check_|check\(")
    empty = [
        at(path, node, node.name)
        for path in TESTS
        for node in nodes(path)
        if isinstance(node, ast.FunctionDef)
        and node.name.startswith("test_")
        and not asserts.search(ast.unparse(node))
    ]
    assert empty == []


def test_only_the_shim_imports_private_scikit_learn():
    private = []
    for path in PYTHON:
        if path.name == "sklearn_compat.py":
            continue
        for node in nodes(path):
            names = []
            if isinstance(node, ast.ImportFrom) and node.module:
                names = [f"{node.module}.{alias.name}" for alias in node.names]
            elif isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            for name in names:
                if name.startswith("sklearn.") and "._" in name:
                    private.append(at(path, node, name))
    assert private == []


CORE_CALLERS = {
    "numerics/class_pairs.py",
    "numerics/products.py",
    "numerics/cholesky.py",
    "numerics/sample_statistics.py",
    "engine/few_rows.py",
    "engine/gram.py",
    "engine/kernel_table.py",
    "engine/refinement.py",
    "engine/warm_start_chain.py",
    "engine/removals.py",
    "engine/path/follow.py",
    "estimators/chance_constrained/descent.py",
    "cli/doctor_command.py",
    "cli/files.py",
    "cli/csv_tables.py",
    "cli/mixed_tables.py",
}
PACKAGE = ROOT / "src" / "widemargin"
MODULES = sorted(PACKAGE.rglob("*.py"))


def test_what_is_taken_from_the_package_itself():
    """Relative imports within a folder only; _core by its few callers only."""
    found = []
    for path in MODULES:
        inside = path.relative_to(PACKAGE).as_posix()
        above = inside.startswith("cli/")  # uses the public names, as users do
        for node in nodes(path):
            if not isinstance(node, ast.ImportFrom):
                continue
            if node.level > 1:
                found.append(at(path, node, "imports of other folders are absolute"))
            if node.level == 0 and node.module == "widemargin":
                names = {alias.name for alias in node.names}
                if "_core" in names and inside not in CORE_CALLERS:
                    found.append(at(path, node, "calls the core"))
                if names - {"_core"} and not above:
                    found.append(at(path, node, f"{names} come from above"))
    assert found == []


def test_the_folders_show_the_architecture():
    """Nothing stands loose at the root, and no file name has to be guessed between."""
    assert {path.name for path in PACKAGE.glob("*.py")} == {"__init__.py"}
    names = [path.stem for path in MODULES]
    twice = {name for name in names if names.count(name) > 1}
    assert twice <= {"__init__", "estimator"}


def test_every_paper_has_the_same_three_files():
    papers = ROOT / "src" / "widemargin_papers"
    for paper in widemargin_papers.PAPERS:
        names = {path.stem for path in (papers / paper).glob("*.py")}
        assert {"printed", "tasks", "report"} <= names, paper
    loose = {path.stem for path in papers.glob("*.py")}
    assert loose == {"__init__", "commands", "running"}


def test_the_types_of_the_core_are_those_it_has():
    """The stub is all that mypy sees of compiled code."""
    stub = ROOT / "src" / "widemargin" / "_core.pyi"
    named = (ast.ClassDef, ast.FunctionDef)
    written = ast.parse(stub.read_text(encoding="utf-8")).body
    scopes = [(_core, written)]
    scopes += [
        (getattr(_core, node.name), node.body)
        for node in written
        if isinstance(node, ast.ClassDef)
    ]
    for compiled, body in scopes:
        names = {node.name for node in body if isinstance(node, named)}
        stated = {name for name in names if not name.startswith("_")}
        there = {name for name in dir(compiled) if not name.startswith("_")}
        assert stated == there


def test_the_core_includes_no_python_outside_its_bindings():
    for path in (ROOT / "core").rglob("*.?pp"):
        if "bindings" in path.parts or path.stem == "bindings":
            continue
        text = path.read_text(encoding="utf-8")
        assert "nanobind" not in text and "Python.h" not in text, relative(path)


CORE_LAYERS = (
    "path", "solver", "kernel", "numerics", "threads", "simd", "memory", "text",
)  # fmt: skip


def test_a_folder_of_the_core_includes_only_what_stands_below_it():
    core = ROOT / "core"
    assert {path.name for path in core.glob("*.*")} == {"common.hpp"}
    above = {"bindings", "tests"}
    assert {path.name for path in core.iterdir() if path.is_dir()} == {
        *CORE_LAYERS,
        *above,
    }
    upward = []
    for path in core.rglob("*.*"):
        text = path.read_text(encoding="utf-8")
        for included in re.findall(r'^#include "(.+)"', text, re.MULTILINE):
            assert (core / included).exists(), f"{relative(path)}: {included}"
            here, there = path.parent.name, included.split("/")[0]
            if here in above or included == "common.hpp":
                continue
            if there in above or CORE_LAYERS.index(there) < CORE_LAYERS.index(here):
                upward.append(f"{relative(path)}: {included}")
    assert upward == []


def test_nothing_is_left_for_later_and_no_machine_is_named():
    word = re.compile(r"\b(TO" r"DO|FIX" r"ME|XX" r"X|NotImplemented" r"Error)\b")
    place = re.compile(r"(?<![\w.])/(work|farm|root)/")
    found = [
        f"{relative(path)}:{number}: {line.strip()[:60]}"
        for path in SOURCES
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1)
        if word.search(line)
        or (place.search(line) and path.name != Path(__file__).name)
    ]
    assert found == []


#: turns that an engineer of the field stumbles over, and what to write instead
BANNED = {
    r'"""(say|tell) ': 'what is returned or done: "Whether ...", "Mask of ..."',
    r"(?<!anyone )\bwho(m|ever)?\b": "samples are no persons; a person is anyone who",
    r"\b(every|any|some|no)body\b|\beveryone\b": "all samples, no sample, no caller",
    r"\bwish(es|ed)?\b": "what is requested; a target",
    r"\bfore(told|tells?)\b": "predicted",
    r"(?<![a-z])owe[sd]?\b": "pending; updated lazily",
    r"\btold\b(?! apart)": "given, passed, called with",
    r"\b(hears?|word) of\b": "receives, is notified",
    r"\bin_company\b|\bgo_on\b|\bladder\b|\bclimb|\bstrangers?\b": "what it is",
    r"\bin play\b": "active",
    r"\bdear(er)?\b": "costly",
    r"\bassume_the_worst\b": "bound_unseen_gradients",
    r"\boffences?\b": "error",
    r"\bbeyond floating point\b|\bleaves? floating point\b": "overflows",
    r"\bin the place of\b": "in place of, instead of",
    r"\btells? of\b": "describes, reveals, depends on",
}
#: the same of Python alone
UNITS = "row|class|pair|task|line|sample|record|setting|thread|output|member|feature"
UNITS += "|problem|peer|step|instance|cluster|block|model|run|data set|measurement"
BANNED_IN_PYTHON = {
    r"\bso (many|often)\b": "the number, by its name: `count`; this many",
    rf"\b(entry|row|column|line|label|number|one|steps) an? ({UNITS})\b": "... per ...",
    r"\b(in vain|no harm|by heart|pile up|to be had|next to nothing)\b": "plainer",
    r"\bmend(s|ed)?\b": "repaired",
    r"\baffair\b": "what decides it",
    r"(?<!there )\b(is|are) no (number|list|object|parameter|class)": "is not a",
    r"^\s+(?-i:Of) [a-z]": "the noun: Names of the features, not Of the features",
}
#: the acts of the demo talk to spectators, of patients and hospitals
SPOKEN = PACKAGE / "cli" / "demo"


@pytest.mark.parametrize("folder", ["src", "core", "benchmarks"])
def test_words_are_plain(folder):
    banned = BANNED | (BANNED_IN_PYTHON if folder != "core" else {})
    found = [
        f"{relative(path)}:{number}: {line.strip()[:60]} -> {instead}"
        for path in SOURCES
        if path.is_relative_to(ROOT / folder) and not path.is_relative_to(SPOKEN)
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1)
        for pattern, instead in banned.items()
        if re.search(pattern, line, re.IGNORECASE)
    ]
    assert found == []


#: what draws data; titles, ticks and legends are anybody's
DRAWING = {"bar", "barh", "boxplot", "contour", "contourf", "errorbar", "fill_between"}
DRAWING |= {"hist", "imshow", "loglog", "pcolormesh", "scatter", "semilogx", "semilogy"}
DRAWING |= {"axhline", "axvline", "stackplot", "violinplot"}
DISPLAY = ROOT / "src" / "widemargin" / "display"
PICTURES = [
    *(path for path in PYTHON if not path.is_relative_to(DISPLAY)),
    *sorted((ROOT / "examples").glob("*.py")),
    *sorted((ROOT / "tools").glob("*.py")),
]


def test_pictures_are_drawn_by_the_display_classes_alone():
    """Demo, documentation and reproduction use these and nothing else."""
    found = []
    for path in PICTURES:
        for node in nodes(path):
            call = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
            if not call:
                continue
            name = node.func.attr
            # a display's plot takes no data: everything it draws it has already
            if name in DRAWING or (name == "plot" and node.args):
                found.append(at(path, node, f"{name} outside display/"))
    assert found == []
