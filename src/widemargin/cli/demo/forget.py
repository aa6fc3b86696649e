"""Act: a model keeps its training rows, and one person asks to be forgotten."""

from __future__ import annotations

import pickle
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from widemargin.cli.terminal_report import TerminalReport

TITLE = "Forget me"
QUESTION = (
    "A kernel SVM keeps training rows inside: whoever has the file has the data. When "
    "one person asks to be forgotten, retraining is slow and approximate updates "
    "drift. Here the row is gone, and the model is the one of a full retrain."
)
CHUNK = 100
CHUNKS = 12
PERSON = slice(300, 330)  # thirty rows, as if one person had written them
SETTINGS: dict[str, Any] = {"C": 2.0, "gamma": 0.02}


def run(report: TerminalReport) -> str:
    """Read images out of a pickle, then learn in chunks and forget one person."""
    from sklearn.datasets import load_digits

    from widemargin import SVC

    X, digit = load_digits(return_X_y=True)
    # Scaling by 16 and a little noise make each row unlike any other, byte by byte.
    noise = np.random.default_rng(0).uniform(0, 1e-3, X.shape)
    X, y = X / 16.0 + noise, (digit % 2).astype(int)
    rows = CHUNK * CHUNKS
    X, y = X[:rows], y[:rows]
    _read_back(report, X, y)
    model = SVC(**SETTINGS)
    with report.working(f"learning {CHUNKS} chunks of {CHUNK} images, exactly") as work:
        for start in range(0, rows, CHUNK):
            chunk = slice(start, start + CHUNK)
            model.partial_fit(X[chunk], y[chunk], classes=[0, 1])
            work.note = f"{start + CHUNK} images"
    person = np.arange(rows)[PERSON]
    held = _found(model, X[person])
    with report.working(f"forgetting the {len(person)} rows of one person") as work:
        model.forget(person)
    spent, left = work.seconds, _found(model, X[person])
    difference, again = _retrained(report, model, X, y, person)
    report.table(
        ["", "rows of the person", "seconds", "largest difference"],
        [
            ["before", f"{held} of {len(person)} inside", "", ""],
            ["after forget", f"{left} inside", f"{spent:.3f}", f"{difference:.1e}"],
            ["full retrain", "0 inside", f"{again:.3f}", ""],
        ],
        caption="Decision values of all images, against a model that never saw them",
    )
    report.limit(
        f"{len(person)} of {rows} rows are forgotten by a retrain of the others, as "
        "long as any; a path along exact solutions pays with more rows, or fewer to go"
    )
    return (
        f"{len(person)} rows gone from the model and its pickle in "
        f"{1e3 * spent:.0f} ms (retrain {1e3 * again:.0f} ms); {difference:.0e} from a "
        "full retrain."
    )


def _read_back(report: TerminalReport, X: NDArray[Any], y: NDArray[Any]) -> None:
    """Find training images, byte by byte, in the pickle of an ordinary SVM."""
    from sklearn.svm import SVC as ScikitLearnSVC

    from widemargin.display import ImageDisplay

    blob = pickle.dumps(ScikitLearnSVC(**SETTINGS).fit(X, y))
    places = [blob.find(row.tobytes()) for row in X]
    found = [place for place in places if place >= 0]
    images = [np.frombuffer(blob, X.dtype, X.shape[1], place) for place in found[:10]]
    report.say(
        f"{len(found)} of {len(X)} training images stand verbatim in the pickle of an "
        "ordinary SVM"
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
    report: TerminalReport,
    model: Any,
    X: NDArray[Any],
    y: NDArray[Any],
    person: NDArray[Any],
) -> tuple[float, float]:
    """Largest difference of decision values to a full retrain, and its seconds."""
    from widemargin import SVC

    kept = np.setdiff1d(np.arange(len(y)), person)
    with report.working("retraining in full, to compare") as work:
        again = SVC(**SETTINGS).fit(X[kept], y[kept])
    values = model.decision_function(X), again.decision_function(X)
    return float(np.abs(values[0] - values[1]).max()), work.seconds
