"""Act: every measurement has an error bar, and a diagnosis should survive it."""

from __future__ import annotations

from widemargin.cli.demo.stage import Stage

TITLE = "Would a second measurement change the diagnosis?"
QUESTION = (
    "Ten measurements of a tumour, each with its standard error. An ordinary SVM "
    "ignores the error bars; the chance-constrained one keeps away from the boundary "
    "by what they say, and bounds the probability of error for each patient."
)
RISK = 0.1
SEED = 0


def run(stage: Stage) -> str:
    """Fit breast cancer with and without its error bars, then measure again."""
    import numpy as np
    from sklearn.datasets import load_breast_cancer
    from sklearn.model_selection import train_test_split

    from widemargin import ChanceConstrainedSVC
    from widemargin.display import MarginDisplay

    data = load_breast_cancer()
    means, variances = data.data[:, :10], np.square(data.data[:, 10:20])
    X, X_test, V, V_test, y, y_test = train_test_split(
        means,
        variances,
        data.target,
        test_size=0.4,
        stratify=data.target,
        random_state=SEED,
    )
    with stage.working(f"fitting {len(y)} patients, two models"):
        plain = ChanceConstrainedSVC(standardize=True, covariance_scale=0.0).fit(X, y)
        robust = ChanceConstrainedSVC(standardize=True, risk=RISK)
        robust.fit(X, y, covariance=V)
    last = robust.history_[-1]
    stage.say(
        f"solved exactly: duality gap {last['gap']:.1e} of "
        f"{last['objective']:.1f} after {robust.n_iter_} Newton steps"
    )
    rng = np.random.default_rng(SEED)
    rows, sure, changed = [], [], []
    for name, model in (("error bars ignored", plain), ("error bars used", robust)):
        bounds = model.error_probability_bound(X_test, V_test)
        sure.append(int(np.sum(bounds <= RISK)))
        first = model.predict(X_test)
        again = [
            np.mean(model.predict(rng.normal(X_test, np.sqrt(V_test))) != first)
            for _ in range(100)
        ]
        changed.append(float(np.mean(again)))
        accuracy = float(model.score(X_test, y_test))
        rows.append([name, f"{accuracy:.3f}", f"{changed[-1]:.1%}", sure[-1]])
    stage.table(
        [
            "model",
            "accuracy",
            "diagnoses that change",
            f"proved <= {RISK:.0%}",
        ],
        rows,
        caption=f"{len(y_test)} unseen patients, measured again within error bars",
    )
    stage.say("the caution has a price: accuracy on the measurements as they are")
    two = [0, 1]
    with stage.axes(
        columns=2, caption="Two of the ten features; ellipses are the error bars"
    ) as axes:
        shown = rng.choice(len(y), size=90, replace=False)
        for ax, scale, title in zip(axes, (0.0, 1.0), ("ignored", "used"), strict=True):
            model = ChanceConstrainedSVC(standardize=True, risk=RISK)
            model.fit(X[:, two], y, covariance=scale * V[:, two])
            MarginDisplay.from_estimator(
                model, X[shown][:, two], y[shown], covariances=V[shown][:, two], ax=ax
            )
            ax.set_title(f"error bars {title}", fontsize=10)
            ax.set_xlabel(str(data.feature_names[0]))
            ax.set_ylabel(str(data.feature_names[1]))
    return (
        f"{sure[1]} of {len(y_test)} diagnoses proved stable instead of {sure[0]}; a "
        f"second measurement changes {changed[1]:.1%} of them instead of "
        f"{changed[0]:.1%}"
    )
