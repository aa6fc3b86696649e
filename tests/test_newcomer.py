"""``make newcomer``: the README's commands, literally; whatever fails is named."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
README = """
```sh
echo one > found     # what it does
cat found            # the same folder
```

```python
print(open("found").read())
```

```text
false
```

```sh
LAST
```
"""


@pytest.fixture(scope="module")
def newcomer():
    """Load the tool, which is no part of a package."""
    spec = importlib.util.spec_from_file_location(
        "newcomer", ROOT / "tools" / "newcomer.py"
    )
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("last", "failed"),
    [
        ("true", ""), ("false", "false"), ("no-such-command x", "no-such-command x"),
        ("echo Traceback", "echo Traceback"), ("skipped --now", ""),
    ],
)  # fmt: skip
def test_the_first_command_that_fails_is_named(
    newcomer, tmp_path, capsys, last, failed
):
    readme = README.replace("LAST", last)
    assert newcomer.follow(readme, tmp_path, ["skipped --now"]) == failed
    said = capsys.readouterr().out
    assert said.index("$ echo one") < said.index("$ the Python block")
    assert ("left out: skipped --now" in said) == last.startswith("skipped")


def test_a_python_block_that_fails_is_named(newcomer, tmp_path):
    readme = README.replace('open("found")', 'open("lost")').replace("LAST", "true")
    assert newcomer.follow(readme, tmp_path, []) == "the Python block"


def test_every_block_of_the_readme_is_followed(newcomer):
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    shell = [text for language, text in newcomer.blocks(readme) if language == "sh"]
    assert len(shell) == readme.count("```sh\n") >= 3
    assert newcomer.commands("make demo     # see\n\n") == ["make demo"]
