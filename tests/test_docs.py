"""The documentation runs: every example on a page and in a public docstring."""

from __future__ import annotations

import doctest
import importlib
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
    assert {"saving", "errata", "api", "command", "reproduce"} <= stems
