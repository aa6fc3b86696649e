"""Act: some training labels are wrong, and nobody knows which."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from widemargin.cli.demo.stage import Stage

TITLE = "Who is mislabelled?"
QUESTION = (
    "One training label in ten is wrong, and wrong where it hurts: on the patients an "
    "SVM would be most certain about. It believes every one of them; the ramp loss "
    "gives up on a sample that lies too far on the wrong side, and names it."
)
SHARE = 0.10
SEED = 0
SHOWN = 12  # suspects listed by name


def run(stage: Stage) -> str:
    """Flip labels of the breast cancer data, fit both models, name the suspects."""
    from sklearn.datasets import load_breast_cancer
    from sklearn.model_selection import train_test_split
    from sklearn.preprocessing import StandardScaler

    from widemargin import SVC

    X, y = load_breast_cancer(return_X_y=True)
    X, X_new, y, y_new = train_test_split(
        X, y, test_size=0.4, stratify=y, random_state=SEED
    )
    scaler = StandardScaler().fit(X)
    X, X_new = scaler.transform(X), scaler.transform(X_new)
    certainty = np.abs(SVC(kernel="linear").fit(X, y).decision_function(X))
    count = round(SHARE * len(y))
    surest = np.argsort(-certainty)[:count]
    anywhere = np.random.default_rng(SEED).choice(len(y), count, replace=False)
    rows, outcomes = [], []
    with stage.working(f"fitting {len(y)} patients, {count} labels flipped"):
        for name, wrong, settings in (
            ("the surest, linear", surest, {"kernel": "linear", "C": 1.0}),
            ("the surest, rbf", surest, {"kernel": "rbf", "C": 10.0}),
            ("at random, linear", anywhere, {"kernel": "linear", "C": 1.0}),
            ("at random, rbf", anywhere, {"kernel": "rbf", "C": 1.0}),
        ):
            outcome = _outcome(X, y, X_new, y_new, wrong, settings)
            outcomes.append(outcome)
            rows.append([name, *_row(outcome)])
    stage.table(
        ["flipped", "SVC", "RampSVC", "suspects", "rightly"],
        rows,
        caption="Accuracy on patients with clean labels, and who was suspected",
    )
    least, name = min(
        (o["ramp"] - o["plain"], r[0]) for o, r in zip(outcomes, rows, strict=True)
    )
    verdict = "it does not always help" if least <= 0 else "it helped least here"
    stage.say(f"{verdict}: {name}, {100 * least:+.1f} points")
    best = outcomes[0]
    _list_suspects(stage, best)
    _draw(stage, X, best)
    return (
        f"{len(best['hits'])} of {count} wrong labels named, among "
        f"{len(best['suspects'])} suspects; accuracy {best['ramp']:.1%} instead of "
        f"{best['plain']:.1%}."
    )


def _outcome(
    X: NDArray[Any],
    y: NDArray[Any],
    X_new: NDArray[Any],
    y_new: NDArray[Any],
    wrong: NDArray[Any],
    settings: dict[str, Any],
) -> dict[str, Any]:
    """Fit both models to the labels with ``wrong`` ones flipped."""
    from widemargin import SVC, RampSVC

    noisy = y.copy()
    noisy[wrong] = 1 - noisy[wrong]
    plain = SVC(**settings).fit(X, noisy)
    ramp = RampSVC(init="continuation", **settings).fit(X, noisy)
    suspects = np.arange(len(y))[ramp.outliers_]
    margins = (2 * noisy - 1) * ramp.decision_function(X)
    return {
        "labels": noisy,
        "wrong": wrong,
        "models": (plain, ramp),
        "plain": float(plain.score(X_new, y_new)),
        "ramp": float(ramp.score(X_new, y_new)),
        "suspects": suspects[np.argsort(margins[suspects])],  # the most blatant first
        "hits": np.intersect1d(suspects, wrong),
    }


def _row(outcome: dict[str, Any]) -> list[Any]:
    return [
        f"{outcome['plain']:.3f}",
        f"{outcome['ramp']:.3f}",
        len(outcome["suspects"]),
        f"{len(outcome['hits'])} of {len(outcome['wrong'])}",
    ]


def _list_suspects(stage: Stage, outcome: dict[str, Any]) -> None:
    """The most blatant suspects, those really flipped marked with a star."""
    names = [
        f"{row}{'*' if row in outcome['hits'] else ''}"
        for row in outcome["suspects"][:SHOWN]
    ]
    more = len(outcome["suspects"]) - len(names)
    rest = f", and {more} more" if more > 0 else ""
    stage.say(f"suspects, * = really flipped: {', '.join(names)}{rest}")


def _draw(stage: Stage, X: NDArray[Any], outcome: dict[str, Any]) -> None:
    from widemargin.display import MarginDisplay

    caption = "The same flipped labels, both losses; crosses are RampSVC's suspects"
    titles = ("hinge loss: SVC", "ramp loss: RampSVC")
    with stage.axes(columns=2, caption=caption) as axes:
        for ax, model, title in zip(axes, outcome["models"], titles, strict=True):
            suspects = outcome["suspects"] if hasattr(model, "outliers_") else None
            MarginDisplay.from_estimator(
                model,
                X,
                outcome["labels"],
                suspects=suspects,
                plot_support=False,
                ax=ax,
            )
            ax.set_title(title, fontsize=10)
