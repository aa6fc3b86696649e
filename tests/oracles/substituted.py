"""scikit-learn's own tests of its SVMs, with our estimators in the place of theirs."""

from __future__ import annotations

import types
from collections.abc import Callable, Iterable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from sklearn import svm

import widemargin

HOME = "sklearn.svm.tests.test_svm"
IMPORT = "from sklearn import base, datasets, linear_model, metrics, svm\n"
FIRST_LINE = "\n# toy sample\n"


def substituted(names: Iterable[str]) -> dict[str, Callable[..., Any]]:
    """Return the tests, to be collected; `names` are estimators that become ours.

    The file is executed anew: its parameters name the estimators as it is imported.
    """
    spec = find_spec(HOME)
    assert spec is not None and spec.origin is not None
    source = Path(spec.origin).read_text(encoding="utf-8")
    assert IMPORT in source and FIRST_LINE in source
    ours = {name: getattr(widemargin, name) for name in names}
    stand_in = types.SimpleNamespace(**(vars(svm) | ours))
    direct = "".join(f"{name} = svm.{name}\n" for name in ours)
    source = source.replace(IMPORT, IMPORT.replace(", svm", ""))
    source = source.replace(FIRST_LINE, f"\n{direct}{FIRST_LINE}")
    namespace: dict[str, Any] = {"__name__": HOME, "svm": stand_in}
    exec(compile(source, spec.origin, "exec"), namespace)
    return {name: test for name, test in namespace.items() if name[:5] == "test_"}
