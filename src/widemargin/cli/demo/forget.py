"""Act: a model keeps its training rows, and people ask to be forgotten."""

from __future__ import annotations

import pickle
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from widemargin.cli.terminal_report import TerminalReport

TITLE = "Forget me"
QUESTION = (
    "A kernel SVM contains training rows: whoever has the file has the data. When a "
    "person asks to be forgotten, the row has to go, and the model must be the one "
    "that never saw it. Must every request cost a full retrain?"
)
CHUNK = 300
PEOPLE = 30  # who ask one after another, each the author of one image
SETTINGS: dict[str, Any] = {"C": 2.0, "gamma": 0.02}


def run(report: TerminalReport) -> str:
    """Read images out of a pickle, then learn in chunks and forget some people."""
    from sklearn.datasets import load_digits

    from widemargin import SVC

    X, digit = load_digits(return_X_y=True)
    # Scaling by 16 and a little noise make each row unlike any other, byte by byte.
    rng = np.random.default_rng(0)
    X = X / 16.0 + rng.uniform(0, 1e-3, X.shape)
    y = (digit % 2).astype(int)
    _read_back(report, X, y)
    model = SVC(**SETTINGS)
    with report.working(f"learning {len(y):,} images in chunks, exactly") as work:
        for start in range(0, len(y), CHUNK):
            chunk = slice(start, start + CHUNK)
            model.partial_fit(X[chunk], y[chunk], classes=[0, 1])
            work.note = f"{start + CHUNK} images"
    people = rng.permutation(len(y))[:PEOPLE]
    held = _found(model, X[people])
    with report.working(f"forgetting {PEOPLE} people, one after another") as work:
        for person in people:
            model.forget([person])
    spent, left = work.seconds, _found(model, X[people])
    again, retrain = _retrained(report, X, y, people)
    values = model.decision_function(X), again.decision_function(X)
    difference = float(np.abs(values[0] - values[1]).max())
    report.table(
        ["", "their images", "seconds", "ms a person", "from a retrain"],
        [
            ["before", f"{held} inside", "", "", ""],
            _row("forget", left, spent, f"{difference:.0e}"),
            _row("full retrain", _found(again, X[people]), retrain, "-"),
        ],
        caption=f"{PEOPLE} requests; largest difference of all decision values",
    )
    report.limit(
        f"to forget exactly, a model keeps all {len(y):,} rows; a plain fit keeps its "
        f"{len(again.support_)} support vectors"
    )
    return (
        f"{PEOPLE} people gone from the model and its pickle in "
        f"{1e3 * spent / PEOPLE:.1f} ms each (full retrain "
        f"{1e3 * retrain / PEOPLE:.1f} ms), {difference:.0e} from a full retrain."
    )


def _row(name: str, inside: int, seconds: float, difference: str) -> list[str]:
    each = f"{1e3 * seconds / PEOPLE:.1f}"
    return [name, f"{inside} inside", f"{seconds:.3f}", each, difference]


def _read_back(report: TerminalReport, X: NDArray[Any], y: NDArray[Any]) -> None:
    """Find training images, byte by byte, in the pickle of an ordinary SVM."""
    from sklearn.svm import SVC as ScikitLearnSVC

    from widemargin.display import ImageDisplay

    blob = pickle.dumps(ScikitLearnSVC(**SETTINGS).fit(X, y))
    places = [blob.find(row.tobytes()) for row in X]
    found = [place for place in places if place >= 0]
    images = [np.frombuffer(blob, X.dtype, X.shape[1], place) for place in found[:10]]
    report.say(
        f"the pickle of an ordinary SVM contains {len(found)} of its {len(X):,} "
        "training images, byte for byte"
    )
    caption = "Read back out of the pickle: training images, exact to the last bit"
    display = ImageDisplay(np.array(images), (8, 8))
    report.picture(
        lambda ax: display.plot(ax=ax, cmap="gray_r"), size=(9.0, 1.4), caption=caption
    )


def _found(model: Any, rows: NDArray[Any]) -> int:
    """Count the rows that can be read back out of a model's pickle."""
    blob = pickle.dumps(model)
    return sum(row.tobytes() in blob for row in rows)


def _retrained(
    report: TerminalReport, X: NDArray[Any], y: NDArray[Any], people: NDArray[np.int64]
) -> tuple[Any, float]:
    """Retrain after each request; the last model, and the seconds of all of them."""
    from widemargin import SVC

    kept = np.ones(len(y), dtype=bool)
    with report.working(f"retraining in full {PEOPLE} times, to compare") as work:
        for person in people:
            kept[person] = False
            again = SVC(**SETTINGS).fit(X[kept], y[kept])
    return again, work.seconds
