"""Wrong labels: each method on clean test labels, and as a label auditor."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import accuracy_score, balanced_accuracy_score

from widemargin_papers.harness.results import Record, ResultStore

from .label_methods import METHODS, SETTINGS, Answer, Methods, Trial
from .noise import NOISES, given_labels
from .suite import DataSet, Labels, Vector, split

FIGURES = ("balanced", "accuracy", "seconds", "listed", "found")

Figures = dict[str, float]


def measured(
    data: DataSet,
    number: int,
    kinds: Iterable[str] = NOISES,
    methods: Methods = METHODS,
) -> Record:
    """Return the figures by kind of noise, setting of C and method."""
    part = split(data, number)
    noise = {}
    for kind in kinds:
        given = given_labels(kind, part.X, part.y, number)
        noise[kind] = compared(Trial(part, given, number), methods)
    return {"noise": noise}


def compared(trial: Trial, methods: Methods) -> dict[str, Any]:
    """Return the methods' figures on one split with its given labels."""
    wrong = trial.given != trial.split.y
    settings: dict[str, dict[str, str]] = {}
    for setting, costs in SETTINGS.items():
        answers = {name: method(trial, costs) for name, method in methods.items()}
        length = answers["RampSVC"].listed
        settings[setting] = {
            name: packed(figures(answer, wrong, length, trial.split.y_test))
            for name, answer in answers.items()
        }
    return {"wrong": int(wrong.sum()), "settings": settings}


def figures(
    answer: Answer, wrong: NDArray[np.bool_], length: int, y_test: Labels
) -> Figures:
    """Return one method's figures; every list of suspects has the same length."""
    found = int(np.count_nonzero(wrong[ranked(answer.doubts)[:length]]))
    return {
        "balanced": float(balanced_accuracy_score(y_test, answer.predicted)),
        "accuracy": float(accuracy_score(y_test, answer.predicted)),
        "seconds": answer.seconds,
        "listed": float(length),
        "found": float(found),
    }


def packed(found: Figures) -> str:
    """Return figures as one line of text: a record has a hundred of them."""
    return " ".join(f"{found[name]:.4g}" for name in FIGURES)


def unpacked(text: str) -> Figures:
    """Return the figures of a line."""
    return dict(zip(FIGURES, map(float, text.split(" ")), strict=True))


def stored(store: ResultStore) -> list[Record]:
    """Return the records with their figures unpacked."""
    return [record | {"noise": _noise(record)} for record in store.records.values()]


def _noise(record: Record) -> dict[str, Any]:
    return {
        kind: part
        | {
            "settings": {
                setting: {name: unpacked(text) for name, text in lines.items()}
                for setting, lines in part["settings"].items()
            }
        }
        for kind, part in record["noise"].items()
    }


def ranked(doubts: Vector) -> NDArray[np.intp]:
    """Return the rows, those most in doubt first."""
    return np.argsort(-doubts, kind="stable")
