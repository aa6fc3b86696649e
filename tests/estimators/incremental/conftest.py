"""Updates of few rows that take the ways of many."""

from __future__ import annotations

import pytest

from tests.refits import weigh_every_way


@pytest.fixture(autouse=True)
def ways_of_many_rows(monkeypatch):
    """Weigh paths: few rows would be refitted at once.

    ``tests/engine/test_update_routes.py`` has updates of few rows as they are.
    """
    weigh_every_way(monkeypatch)
