"""Test, then learn: what a model answers to a chunk before the labels are known."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from widemargin_papers.harness.datasets import load_dense, scale_to_interval
from widemargin_papers.harness.timing import spending

from .learners import WINDOW, Labels, Learner, Rows, Window

CHUNK = 10
CHUNKS = 10_000
POINTS = 50  # of the curve of accuracy


def ijcnn1(chunks: int) -> tuple[Rows, Labels]:
    """Return a window and `chunks` chunks of ijcnn1, train and test, in their order."""
    n = WINDOW + CHUNK * chunks
    parts = [load_dense("ijcnn1"), load_dense("ijcnn1.t")]
    X = np.concatenate([samples for samples, _ in parts])[:n]
    y = np.concatenate([labels for _, labels in parts])[:n]
    return np.ascontiguousarray(scale_to_interval(X)), y


def followed(
    make: Callable[[], Learner], every: int, X: Rows, y: Labels, window: int = WINDOW
) -> dict[str, Any]:
    """Follow a stream after a first window; every `every`-th chunk is measured.

    Times are processor seconds of learning a chunk. What was passed over is learnt
    before the chunk is answered, and not timed.
    """
    learner, known = make(), window
    learner.learn(X[:window], y[:window])
    seconds, right, found, asked = [], [], 0, 0
    for start in range(window + CHUNK * (every - 1), len(y), CHUNK * every):
        if known < start:
            learner.learn(X[known:start], y[known:start])
        rows, known = slice(start, start + CHUNK), start + CHUNK
        answers, positive = learner.predict(X[rows]), y[rows] > 0
        right.append(float(np.mean(answers == y[rows])))
        found += int(np.sum(answers[positive] > 0))
        asked += int(np.sum(positive))
        with spending() as spent:
            learner.learn(X[rows], y[rows])
        seconds.append(spent.processor)
    parts = np.array_split(right, min(POINTS, len(right)))
    record = {
        "chunks": (len(y) - window) // CHUNK,
        "measured": len(seconds),
        "latency": [float(x) for x in np.percentile(seconds, [50, 95, 99])],
        "rows a second": CHUNK / float(np.mean(seconds)),
        "accuracy": float(np.mean(right)),
        "recall": found / max(1, asked),
        "curve": [float(np.mean(part)) for part in parts],
    }
    if isinstance(learner, Window):
        certificate = learner.model.certificate_
        record["routes"] = learner.routes
        record["violation"] = float(certificate.kkt_violation)
    return record
