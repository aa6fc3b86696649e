"""What several tests of divide and conquer need."""

from __future__ import annotations

import pytest

from widemargin.estimators.divide_conquer import estimator


@pytest.fixture
def interrupted_finish(monkeypatch):
    """Have Ctrl-C pressed as soon as the solve of all samples begins."""

    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(estimator, "conquer", interrupted)
