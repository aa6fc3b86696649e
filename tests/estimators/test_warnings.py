"""Every warning of the package says what to do about it."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import widemargin
from widemargin.estimators.divide_conquer.level_run import finish_stopped
from widemargin.estimators.private import report

PACKAGE = Path(widemargin.__file__).parent
#: how a remedy begins
REMEDY = re.compile(
    r"\b(increase|raise|lower|set|choose|call|try|put|fit again|use|give|release|leave"
    r"|swap|intended range|remedies|runs to|train again)\b",
    re.IGNORECASE,
)
#: warnings whose words are made elsewhere, and are tested there or below:
#: ``not_converged`` in tests/estimators/svc/test_bad_input.py, ``disappointing`` in
#: tests/estimators/divide_conquer/test_level_evidence.py
ELSEWHERE = {"words", "disappointing"}


def words_of(call: ast.Call) -> str:
    """Return the literal text of the first argument, or the name that stands there."""
    first = call.args[0]
    if isinstance(first, ast.Name):
        return first.id
    if isinstance(first, ast.Call) and isinstance(first.func, ast.Name):
        return first.func.id
    parts = (node.value for node in ast.walk(first) if isinstance(node, ast.Constant))
    return "".join(part for part in parts if isinstance(part, str))


def warnings_of(path: Path) -> list[tuple[str, str]]:
    """Return place and words of every ``warnings.warn`` in a file."""
    return [
        (f"{path.relative_to(PACKAGE)}:{node.lineno}", words_of(node))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "warnings.warn"
    ]


def test_every_warning_says_the_remedy() -> None:
    found = [pair for path in PACKAGE.rglob("*.py") for pair in warnings_of(path)]
    assert len(found) >= 20
    silent = [
        f"{place}: {words}"
        for place, words in found
        if words not in ELSEWHERE
        and not words.startswith("no privacy guarantee: ")  # a reason, below
        and not REMEDY.search(words)
    ]
    assert silent == []


def test_every_warning_of_the_command_says_the_remedy() -> None:
    """Beside those of the library, which ``catching_warnings`` passes on."""
    said = [
        words_of(node)
        for path in (PACKAGE / "cli").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "remark"
    ]
    own = [words for words in said if words.startswith("warning: ")]
    own.remove("warning: ")
    assert len(own) >= 3
    assert [words for words in own if not REMEDY.search(words)] == []


def test_what_is_put_into_warnings_says_the_remedy() -> None:
    reasons = [
        report.SEED_GIVEN,
        report.CLASSES_FOUND,
        report.NOISE_LEFT_OUT,
        report.MINIMUM_MISSED,
        finish_stopped(2, 16),
    ]
    assert [words for words in reasons if not REMEDY.search(words)] == []
