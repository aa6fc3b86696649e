"""Act one: a photograph learnt by a kernel SVM, pixel by pixel."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from widemargin.cli.terminal_report import TerminalReport

TITLE = "A photograph learnt by an SVM"
QUESTION = (
    "Where is this photograph lighter than its median? Kernel SVMs draw such "
    "boundaries well, but are said not to scale; it has 273,280 pixels."
)
TRAINING_SHARE = 0.8
SMALL = 10_000  # pixels for the exact comparison: at most 5 s of scikit-learn
SCORED = 20_000  # unseen pixels on which everybody is scored
C, GAMMA = 1.0, 300.0
LEVELS = 4  # frames; each has 4 times the clusters and pixels of the one before
FINEST_GAMMA = 10_000.0

Samples = NDArray[np.float64]
Labels = NDArray[np.intp]


def photograph() -> NDArray[np.float64]:
    """Return the brightness of china.jpg, which comes with scikit-learn."""
    from sklearn.datasets import load_sample_image

    brightness: NDArray[np.float64] = load_sample_image("china.jpg").mean(axis=2)
    return brightness


def positions(shape: tuple[int, int]) -> Samples:
    """Return the position of every pixel, in units of the picture's width."""
    down, across = np.indices(shape)
    return np.column_stack([down.ravel(), across.ravel()]) / shape[1]


def pixels(size: int, *, unseen: bool = False) -> tuple[Samples, Labels]:
    """Return random training pixels (or unseen ones) and whether they are light.

    The order is fixed, so that a larger size contains the smaller one.
    """
    brightness = photograph()
    light = (brightness > np.median(brightness)).ravel().astype(np.intp)
    order = np.random.default_rng(0).permutation(light.size)
    border = int(TRAINING_SHARE * light.size)
    chosen = (order[border:] if unseen else order[:border])[:size]
    return positions(brightness.shape)[chosen], light[chosen]


def run(report: TerminalReport) -> str:
    """Play the act."""
    with report.working("loading the picture"):
        brightness = photograph()
        X_new, y_new = pixels(SCORED, unseen=True)
    rows: list[list[Any]] = []
    speedup = _against_scikit_learn(report, rows, X_new, y_new)
    frames = _levels(report, rows, brightness.shape, X_new, y_new)
    for name, (estimator, share) in _others().items():
        X, y = pixels(int(share * TRAINING_SHARE * brightness.size))
        with report.working(f"{name} on {len(y):,} pixels") as work:
            estimator.fit(X, y)
        rows.append([name, len(y), work.seconds, estimator.score(X_new, y_new)])
    report.table(
        ["model", "training pixels", "seconds", "accuracy"],
        [[n, f"{p:,}", f"{s:.2f}", f"{a:.4f}"] for n, p, s, a in rows],
        caption=f"Scored on {SCORED:,} unseen pixels",
    )
    trees, learnt = rows[2 + LEVELS], rows[1 + LEVELS]
    report.limit(
        f"gradient boosting reaches {trees[3]:.1%} after {trees[2]:.1f} s, and early "
        "prediction suits narrow kernels only, for which far pixels do not matter"
    )
    _draw(report, brightness, frames)
    return (
        f"{learnt[1]:,} pixels learnt in {learnt[2]:.1f} s, {learnt[3]:.1%} right "
        f"(gradient boosting: {trees[3]:.1%}); on {SMALL:,} pixels the exact SVC is "
        f"{speedup:.1f} times faster than scikit-learn's, same objective."
    )


def _against_scikit_learn(
    report: TerminalReport, rows: list[list[Any]], X_new: Samples, y_new: Labels
) -> float:
    """Both exact, on the same pixels; one independent judge of both answers."""
    from sklearn.svm import SVC as ScikitLearnSVC

    from widemargin import SVC

    X, y = pixels(SMALL)
    seconds, objectives = [], []
    for name, estimator in {
        "scikit-learn SVC": ScikitLearnSVC(C=C, gamma=GAMMA, cache_size=1000),
        "widemargin SVC": SVC(C=C, gamma=GAMMA, cache_size=1000),
    }.items():
        with report.working(f"{name} on {SMALL:,} pixels") as work:
            estimator.fit(X, y)
        seconds.append(work.seconds)
        with report.working("judging it", fleeting=True):
            objectives.append(_objective(estimator, X, y))
            score = estimator.score(X_new, y_new)
        rows.append([name, SMALL, work.seconds, score])
    certificate = estimator.certificate_
    report.say(
        f"same problem, same tolerance: objective {objectives[0]:.4f} against ours "
        f"{objectives[1]:.4f}; {seconds[0] / seconds[1]:.1f} times faster"
    )
    report.say(
        f"our certificate: gap {certificate.gap:.2g}, KKT violation "
        f"{certificate.kkt_violation:.2g}, {certificate.status}"
    )
    return seconds[0] / seconds[1]


def _objective(estimator: Any, X: Samples, y: Labels) -> float:
    """Return the primal objective, by scikit-learn's kernel for either estimator."""
    from sklearn.metrics.pairwise import rbf_kernel

    beta = estimator.dual_coef_.ravel()
    vectors = X[estimator.support_]
    blocks = np.array_split(X, 10)
    values = np.concatenate(
        [rbf_kernel(rows, vectors, GAMMA) @ beta for rows in blocks]
    )
    margins = np.where(y > 0, 1.0, -1.0) * (values + estimator.intercept_)
    norm = float(beta @ values[estimator.support_])
    return 0.5 * norm + C * float(np.maximum(0.0, 1.0 - margins).sum())


def _levels(
    report: TerminalReport,
    rows: list[list[Any]],
    shape: tuple[int, int],
    X_new: Samples,
    y_new: Labels,
) -> list[tuple[str, NDArray[Any]]]:
    """Four frames; from one to the next the kernel halves its width."""
    from widemargin import SVC, DivideConquerSVC

    frames = []
    whole = positions(shape)
    total = int(TRAINING_SHARE * shape[0] * shape[1])
    for level in range(LEVELS):
        coarser = 4 ** (LEVELS - 1 - level)
        X, y = pixels(total // coarser)
        gamma = FINEST_GAMMA / coarser
        model = DivideConquerSVC(
            C=10.0,
            gamma=gamma,
            prediction="early",
            n_levels=level,
            early_level=level,
            n_branches=4,
            random_state=0,
        )
        name = f"early prediction, {4**level} clusters"
        if level == 0:  # one cluster: the whole problem
            model, name = SVC(C=10.0, gamma=gamma), "one cluster, that is SVC"
        with report.working(f"{name} on {len(y):,} pixels") as work:
            model.fit(X, y)
        with report.working("painting", fleeting=True):
            frames.append((f"{len(y):,} pixels", model.predict(whole).astype(float)))
            score = model.score(X_new, y_new)
        rows.append([name, len(y), work.seconds, score])
    return frames


def _others() -> dict[str, tuple[Any, float]]:
    """Other ways to learn many pixels, and the share of them each is given."""
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.kernel_approximation import Nystroem
    from sklearn.pipeline import make_pipeline
    from sklearn.svm import LinearSVC

    # With a quarter of the pixels and twice the components Nystroem is both faster and
    # more accurate than the other way round; all pixels would take half a minute.
    nystroem = Nystroem(gamma=GAMMA, n_components=200, random_state=0)
    linear = LinearSVC(dual=False, tol=0.1)
    return {
        "gradient boosting": (HistGradientBoostingClassifier(random_state=0), 1.0),
        "Nystroem + LinearSVC": (make_pipeline(nystroem, linear), 0.25),
    }


def _draw(
    report: TerminalReport,
    brightness: NDArray[Any],
    frames: list[tuple[str, NDArray[Any]]],
) -> None:
    from widemargin.display import ImageDisplay

    light = (brightness > np.median(brightness)).astype(float)
    shown = [("the photograph", brightness.ravel()), *frames]
    shown.append(("light and dark, as it is", light.ravel()))
    caption = "The picture sharpens level by level: 4 times the pixels, half the width"

    def draw(axes: Any) -> None:
        for ax, (title, image) in zip(axes.ravel(), shown, strict=True):
            display = ImageDisplay(image[None, :], brightness.shape, titles=[title])
            display.plot(ax=ax)

    report.picture(draw, 2, 3, size=(10.5, 5.2), caption=caption)
