"""The reproduction names the paper's ``s``: RampSVC's own default is another one."""

from __future__ import annotations

import ast
from pathlib import Path

import suites.screening
import widemargin_papers
from widemargin_papers.ramp.printed import PAPERS_S

FOLDERS = [
    Path(package.__file__).parent for package in (widemargin_papers, suites.screening)
]


def test_the_reproduction_names_the_papers_s():
    # RampSVC's own default is another one; stored results belong to the paper's.
    unnamed = []
    for path in (path for folder in FOLDERS for path in sorted(folder.rglob("*.py"))):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "RampSVC":
                named = {word.arg: ast.unparse(word.value) for word in node.keywords}
                if named.get("s") != "PAPERS_S":
                    unnamed.append(f"{path.name}:{node.lineno}")
    assert unnamed == []
    assert PAPERS_S == 0.0
