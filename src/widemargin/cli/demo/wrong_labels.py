"""Act: some training labels are wrong, and nobody knows which."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from widemargin.cli.terminal_report import TerminalReport

TITLE = "Who is mislabelled?"
QUESTION = (
    "One training label in five is wrong, and nobody knows which. An SVM believes all "
    "of them; the ramp loss gives up on samples too far on the wrong side, and ranks "
    "them for a person to check."
)
SHARE = 0.20
SEED = 0
SHOWN = 10  # suspects shown as pictures


@dataclass(frozen=True)
class Case:
    """A data set with wrong training labels, and both models of it."""

    raw: NDArray[Any]
    X: NDArray[Any]
    y: NDArray[Any]
    given: NDArray[Any]
    X_new: NDArray[Any]
    y_new: NDArray[Any]
    plain: Any
    ramp: Any

    @property
    def wrong(self) -> NDArray[Any]:
        """Mask of the wrong labels."""
        mask: NDArray[Any] = self.given != self.y
        return mask

    @property
    def hits(self) -> int:
        """Suspects whose labels are wrong."""
        return int(np.count_nonzero(self.wrong[self.ramp.suspects_]))

    @property
    def accuracies(self) -> tuple[float, float]:
        """Accuracy of both models on new samples."""
        plain, ramp = (
            float(model.score(self.X_new, self.y_new))
            for model in (self.plain, self.ramp)
        )
        return plain, ramp

    @property
    def row(self) -> list[Any]:
        """The case as a row of the table."""
        return [
            *(f"{accuracy:.3f}" for accuracy in self.accuracies),
            int(self.wrong.sum()),
            len(self.ramp.suspects_),
            self.hits,
        ]


def run(report: TerminalReport) -> str:
    """Spoil labels of two data sets, fit both models, have the suspects corrected."""
    from sklearn.datasets import load_breast_cancer, load_digits

    sets = {"digits": load_digits, "breast cancer": load_breast_cancer}
    cases = {}
    with report.working("fitting both models to spoilt labels"):
        for name, load in sets.items():
            for kernel in ("linear", "rbf"):
                X, y = load(return_X_y=True)
                cases[f"{name}, {kernel}"] = _spoilt(X, y, {"kernel": kernel})
    report.table(
        ["data, kernel", "SVC", "RampSVC", "wrong labels", "suspects", "truly wrong"],
        [[name, *case.row] for name, case in cases.items()],
        caption="Defaults, C=1: accuracy on clean samples, and the suspects",
    )
    losses = [
        f"{name} ({100 * (ramp - plain):+.1f} points)"
        for name, (plain, ramp) in ((n, c.accuracies) for n, c in cases.items())
        if ramp < plain
    ]
    report.limit(f"SVC is more accurate on {', '.join(losses) or 'none of these'}")
    digits = cases["digits, linear"]
    _show(report, digits)
    with report.working("the suspects' labels are corrected, and both fitted again"):
        audited = _audited(digits)
    plain, ramp = digits.accuracies
    report.say(
        f"after the {len(digits.ramp.suspects_)} suspects were checked: accuracy "
        f"{audited.accuracies[1]:.1%} by RampSVC, {audited.accuracies[0]:.1%} by SVC"
    )
    return (
        f"{digits.hits} of {len(digits.ramp.suspects_)} suspects have wrong labels, of "
        f"{int(digits.wrong.sum())} in all; accuracy {ramp:.1%} instead of "
        f"{plain:.1%}, {audited.accuracies[1]:.1%} once they are corrected."
    )


def _spoilt(X: NDArray[Any], y: NDArray[Any], settings: dict[str, Any]) -> Case:
    """Fit both models to labels of which some are wrong."""
    from sklearn.model_selection import train_test_split
    from sklearn.preprocessing import StandardScaler

    from widemargin import SVC, RampSVC

    raw, raw_new, y, y_new = train_test_split(
        X, y, test_size=0.4, stratify=y, random_state=SEED
    )
    scaler = StandardScaler().fit(raw)
    X, X_new = scaler.transform(raw), scaler.transform(raw_new)
    rng = np.random.default_rng(SEED)
    wrong = rng.choice(len(y), round(SHARE * len(y)), replace=False)
    classes = int(y.max()) + 1
    given = y.copy()
    given[wrong] = (y[wrong] + rng.integers(1, classes, size=len(wrong))) % classes
    plain = SVC(**settings).fit(X, given)
    ramp = RampSVC(**settings).fit(X, given)
    return Case(raw, X, y, given, X_new, y_new, plain, ramp)


def _audited(case: Case) -> Case:
    """Return the case after a person has corrected the suspects' labels."""
    from sklearn.base import clone

    given = case.given.copy()
    given[case.ramp.suspects_] = case.y[case.ramp.suspects_]
    plain, ramp = (clone(model).fit(case.X, given) for model in (case.plain, case.ramp))
    return replace(case, given=given, plain=plain, ramp=ramp)


def _show(report: TerminalReport, case: Case) -> None:
    """Show the first suspects as pictures, with the labels they were given."""
    from widemargin.display import ImageDisplay

    first = case.ramp.suspects_[:SHOWN]
    titles = [f"{case.given[row]}" for row in first]
    caption = "The first suspects, and the labels they were given"
    display = ImageDisplay(case.raw[first], (8, 8), titles=titles)
    report.picture(
        lambda ax: display.plot(ax=ax, cmap="gray_r"), size=(8.4, 1.6), caption=caption
    )
