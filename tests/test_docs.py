"""The documentation runs: every example on a page and in a public docstring."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
import re
import warnings
from pathlib import Path

import matplotlib
import pytest

import widemargin
import widemargin.display

ROOT = Path(__file__).parent.parent
PAGES = sorted((ROOT / "docs").glob("**/*.rst"))
PAGES = [p for p in PAGES if not {"generated", "auto_examples"} & set(p.parts)]
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
PUBLIC = [
    (module, name)
    for module in (widemargin, widemargin.display)
    for name in module.__all__
]


@pytest.fixture(autouse=True)
def _quiet() -> None:
    matplotlib.use("agg")
    warnings.simplefilter("ignore")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_page(page: Path) -> None:
    result = doctest.testfile(
        str(page), module_relative=False, optionflags=FLAGS, encoding="utf-8"
    )
    assert result.failed == 0


@pytest.mark.parametrize(("module", "name"), PUBLIC, ids=[name for _, name in PUBLIC])
def test_docstring(module: object, name: str) -> None:
    thing = getattr(module, name)
    home = importlib.import_module(thing.__module__)
    found = doctest.DocTestFinder(recurse=False).find(thing, name, module=home)
    examples = [test for test in found if test.examples]
    if isinstance(thing, type) and not issubclass(thing, Exception):
        assert examples, f"{name} has no example in its docstring"
    runner = doctest.DocTestRunner(optionflags=FLAGS)
    for test in examples:
        runner.run(test)
    assert runner.summarize(verbose=False).failed == 0


def test_pages_that_were_promised_are_there() -> None:
    stems = {page.stem for page in PAGES}
    assert {"quickstart", "which_one", "from_sklearn", "from_libsvm"} <= stems
    assert {"saving", "errata", "api", "command", "reproduce", "mathematics"} <= stems
    assert "glossary" in stems


def test_names_on_pages_are_linked() -> None:
    """`SVC` leads to the API, as ``conf.py`` has it; two backquotes lead nowhere."""
    public = {name for _, name in PUBLIC}
    plain = [
        f"{page.relative_to(ROOT)}: ``{name}``"
        for page in [*PAGES, *sorted((ROOT / "examples").glob("*.py"))]
        for name in re.findall(r"``(\w+)``", page.read_text(encoding="utf-8"))
        if name in public
    ]
    assert plain == [], "write `Name`, or `~widemargin.display.Name`"


def test_names_on_the_api_page_are_there() -> None:
    page = (ROOT / "docs" / "api.rst").read_text(encoding="utf-8")
    found = re.findall(
        r"^\.\. currentmodule:: (\S+)|^   ([A-Za-z_][\w.]*)$", page, re.MULTILINE
    )
    home, missing = "", []
    for module, name in found:
        home = module or home
        try:
            pkgutil.resolve_name(home if module else f"{home}.{name}")
        except (AttributeError, ImportError):
            missing.append(f"{home}.{name}")
    assert len(found) > 20
    assert missing == []


def test_files_named_in_contributing_are_there() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`([a-z_0-9/]+\.(?:py|hpp|cpp|inl|rst|md|toml))`", text))
    files = [
        "/" + path.relative_to(ROOT).as_posix()
        for folder in ("src", "core", "tests", "docs", "benchmarks", "tools")
        for path in (ROOT / folder).rglob("*.*")
    ]
    files += ["/" + path.name for path in ROOT.glob("*.*")]
    missing = [n for n in named if not any(f.endswith(f"/{n}") for f in files)]
    assert len(named) > 40
    assert missing == []


def test_cited_sections_of_the_mathematics_are_there() -> None:
    page = (ROOT / "docs" / "mathematics.rst").read_text(encoding="utf-8")
    sections = set(re.findall(r"^(\d(?:\.\d)?) [^\n]+\n[-~]{3}", page, re.MULTILINE))
    # "mathematics 5.1, 5.4", perhaps on two lines of a comment
    citation = re.compile(
        r"\bmathematics(?: |\n[ #/]*)(\d(?:\.\d+)?(?:, \d\.\d+)*)", re.IGNORECASE
    )
    cited = [
        (section, str(path.relative_to(ROOT)))
        for folder in ("src", "core", "tests", "benchmarks", "examples")
        for path in sorted((ROOT / folder).rglob("*"))
        if path.suffix in (".py", ".hpp", ".cpp", ".inl")
        for found in citation.findall(path.read_text(encoding="utf-8"))
        for section in found.split(", ")
    ]
    assert {"0", "0.3", "3.2", "4.5", "5.3"} <= {section for section, _ in cited}
    assert [(s, path) for s, path in cited if s not in sections] == []
