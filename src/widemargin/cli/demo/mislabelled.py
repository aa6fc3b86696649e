"""Act: some training labels are wrong, and nobody knows which."""

from __future__ import annotations

from widemargin.cli.demo.stage import Stage

TITLE = "Who is mislabelled?"
QUESTION = (
    "Fifteen per cent of the training labels are wrong and nobody knows which. "
    "An ordinary SVM believes every one of them; the ramp loss gives up on a sample "
    "that lies too far on the wrong side, and says so."
)
SHARE = 0.15
SEED = 0


def run(stage: Stage) -> str:
    """Flip labels of the breast cancer data, fit both models, name the suspects."""
    import numpy as np
    from sklearn.datasets import load_breast_cancer, make_moons
    from sklearn.model_selection import train_test_split
    from sklearn.preprocessing import StandardScaler

    from widemargin import SVC, RampSVC
    from widemargin.display import MarginDisplay

    X, y = load_breast_cancer(return_X_y=True)
    X, X_test, y, y_test = train_test_split(
        X, y, test_size=0.4, stratify=y, random_state=SEED
    )
    scaler = StandardScaler().fit(X)
    X, X_test = scaler.transform(X), scaler.transform(X_test)
    rng = np.random.default_rng(SEED)
    flipped = rng.choice(len(y), size=round(SHARE * len(y)), replace=False)
    noisy = y.copy()
    noisy[flipped] = 1 - noisy[flipped]
    with stage.working(f"fitting {len(y)} patients, {len(flipped)} labels flipped"):
        plain = SVC(C=10.0).fit(X, noisy)
        ramp = RampSVC(C=10.0, init="continuation").fit(X, noisy)
    accuracies = [float(model.score(X_test, y_test)) for model in (plain, ramp)]
    rows = []
    for name, accuracy, suspects in (
        ("SVC, its training errors", accuracies[0], plain.predict(X) != noisy),
        ("RampSVC, its outliers_", accuracies[1], ramp.outliers_),
    ):
        suspected = np.arange(len(y))[suspects]
        caught = len(np.intersect1d(suspected, flipped))
        rows.append([name, f"{accuracy:.3f}", len(suspected), caught, len(flipped)])
    stage.table(
        ["model and suspects", "accuracy", "suspected", "of them flipped", "flipped"],
        rows,
        caption="Trained on flipped labels, tested on clean ones",
    )

    points, classes = make_moons(200, noise=0.15, random_state=SEED)
    wrong = rng.choice(200, size=round(SHARE * 200), replace=False)
    classes[wrong] = 1 - classes[wrong]
    with stage.axes(columns=2, caption="The same flipped labels, both losses") as axes:
        for ax, model, title in zip(
            axes,
            (SVC(C=100.0, gamma=2.0), RampSVC(C=100.0, gamma=2.0, init="continuation")),
            ("hinge loss: SVC", "ramp loss: RampSVC, crosses are its suspects"),
            strict=True,
        ):
            model.fit(points, classes)
            suspects = getattr(model, "outliers_", None)
            MarginDisplay.from_estimator(
                model, points, classes, suspects=suspects, plot_support=False, ax=ax
            )
            ax.set_title(title, fontsize=10)
    return (
        f"{rows[1][3]} of {len(flipped)} wrong labels named, "
        f"among {rows[1][2]} suspects; "
        f"accuracy {accuracies[1]:.1%} instead of {accuracies[0]:.1%}"
    )
