"""What tests of searches share."""

from __future__ import annotations

import pytest

from widemargin.tuning import cells as cells_module


@pytest.fixture
def plain_fits(monkeypatch):
    """Count the cells that are not shared."""
    counted = []
    plainly = cells_module.Cells._plainly

    def counting(cells, candidate, fold):
        counted.append(candidate)
        return plainly(cells, candidate, fold)

    monkeypatch.setattr(cells_module.Cells, "_plainly", counting)
    return counted
