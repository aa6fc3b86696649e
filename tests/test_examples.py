"""Every example runs, by itself, in under half a minute."""

from __future__ import annotations

import runpy
import time
import warnings
from pathlib import Path

import matplotlib
import pytest

EXAMPLES = sorted((Path(__file__).parent.parent / "examples").glob("plot_*.py"))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from matplotlib import pyplot

    matplotlib.use("agg")
    monkeypatch.setattr(pyplot, "show", lambda: None)
    started = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        runpy.run_path(str(path), run_name="__main__")
    assert pyplot.get_fignums(), "an example is a picture"
    pyplot.close("all")
    # processor seconds, of all threads: the waits of a busy machine are not counted
    assert time.process_time() - started < 30
