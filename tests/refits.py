"""Few rows are refitted at once, whatever a path would take; not where tests say so."""

from __future__ import annotations

import pytest

from widemargin.engine import update_routes
from widemargin.estimators.incremental import incremental_machine
from widemargin.estimators.incremental.task_state import TaskState


def weigh_every_way(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have updates of few rows look for settled rows, and for a path, as of many."""
    monkeypatch.setattr(update_routes, "COMPILED_BASE", 6e-3)
    monkeypatch.setattr(incremental_machine, "worth_testing", lambda *_: True)
    monkeypatch.setattr(TaskState, "least_seconds", lambda *_: 0.0)
