"""Following a stream: what is answered, learnt and told."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from suites.campaign import main
from suites.streams import campaigns
from suites.streams.learners import (
    RandomFeatures,
    Refit,
    Window,
    learners,
)
from suites.streams.prequential import followed
from widemargin_papers.harness.results import ResultStore

rng = np.random.default_rng(0)
X = rng.uniform(size=(400, 3))
y = np.where(X[:, 0] + 0.1 * rng.normal(size=400) > 0.5, 1.0, -1.0)
WINDOW = 200


class Noting:
    """A model that answers 1 and notes what it is told."""

    def __init__(self):
        self.told = []

    def predict(self, rows):
        """Say yes to all."""
        return np.ones(len(rows))

    def learn(self, rows, labels):
        """Note the labels."""
        self.told.append(labels)


@pytest.mark.parametrize("every", [1, 5])
def test_a_chunk_is_answered_then_learnt_and_none_is_left_out(every):
    model = Noting()
    record = followed(lambda: model, every, X, y, WINDOW)
    sizes = [len(labels) for labels in model.told[:3]]
    assert sizes == [WINDOW, *([10, 10] if every == 1 else [40, 10])]
    assert_array_equal(np.concatenate(model.told), y)
    assert record["chunks"] == 20 and record["measured"] == 20 // every
    assert record["recall"] == 1.0
    if every == 1:
        assert_allclose(record["accuracy"], np.mean(y[WINDOW:] > 0))


def test_a_window_answers_as_a_refit_does():
    ways = [partial(Window, "auto", WINDOW), partial(Refit, WINDOW)]
    window, refit = (followed(make, 1, X, y, WINDOW) for make in ways)
    assert window["curve"] == refit["curve"]
    assert sum(window["routes"].values()) == 1 + window["chunks"]
    assert window["violation"] <= 1e-3


def test_random_features_follow():
    assert followed(RandomFeatures, 1, X, y, WINDOW)["accuracy"] > 0.7


def test_the_table_and_the_picture_of_a_store(tmp_path):
    store = ResultStore(tmp_path / "stream.json")
    store.add("SVC, window", followed(partial(Window, "auto", 200), 1, X, y, WINDOW))
    store.add("SVC, refit", followed(partial(Refit, 200), 5, X, y, WINDOW))
    text = campaigns.table(store)
    assert "SVC, refit: 4 of 20 chunks." in text and "KKT violation" in text
    (axis,) = campaigns.figures(store)["stream"].axes
    assert [line.get_label() for line in axis.lines] == ["SVC, window"]


def test_without_the_data_there_is_nothing_to_measure(monkeypatch, tmp_path, capsys):
    monkeypatch.setenv("WIDEMARGIN_DATA", str(tmp_path))
    assert list(campaigns.work(1)) == []
    main(campaigns.CAMPAIGNS, "a stream", ["--root", str(tmp_path)])
    assert capsys.readouterr().out == ""
    assert {"SVC, window", "SVC, refit"} <= set(learners())
