"""Act: every measurement has an error bar, and a diagnosis should survive it."""

from __future__ import annotations

from widemargin.cli.demo.stage import Stage

TITLE = "Error bars are real"
QUESTION = (
    "Ten measurements of a tumour, each with its standard error. An ordinary SVM "
    "ignores the error bars; the chance-constrained one keeps away from the boundary "
    "by what they say, and bounds, for each patient, the probability that a second "
    "measurement decides otherwise."
)
RISK = 0.1
SEED = 0
AGAIN = 100  # draws of every patient within the error bars


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
    with stage.working(f"fitting {len(y)} patients, three models"):
        plain = ChanceConstrainedSVC(standardize=True, covariance_scale=0.0).fit(X, y)
        robust = ChanceConstrainedSVC(standardize=True, risk=RISK)
        robust.fit(X, y, covariance=V)
        normal = ChanceConstrainedSVC(standardize=True, risk=RISK, bound="gaussian")
        normal.fit(X, y, covariance=V)
    last = robust.history_[-1]
    stage.say(
        f"solved exactly: duality gap {last['gap']:.1e} of "
        f"{last['objective']:.1f} after {robust.n_iter_} Newton steps"
    )
    rng = np.random.default_rng(SEED)
    again = [rng.normal(X_test, np.sqrt(V_test)) for _ in range(AGAIN)]
    rows, sure, clean, noisy = [], [], [], []
    with stage.working(f"measuring {len(y_test)} unseen patients {AGAIN} times again"):
        for name, model in (
            ("error bars ignored", plain),
            ("error bars used, any distribution", robust),
            ("error bars used, normal", normal),
        ):
            bounds = model.error_probability_bound(X_test, V_test)
            sure.append(float(np.mean(bounds <= RISK)))
            clean.append(float(model.score(X_test, y_test)))
            noisy.append(float(np.mean([model.score(Z, y_test) for Z in again])))
            rows.append([name, *(f"{v[-1]:.1%}" for v in (clean, noisy, sure))])
    stage.table(
        ["model", "clean accuracy", "measured again", f"error bound <= {RISK:.0%}"],
        rows,
        caption=f"{len(y_test)} unseen patients; measured again within the error bars",
    )
    stage.say(
        f"the price: {100 * (clean[1] - clean[0]):+.1f} points of accuracy on the "
        "measurements as they are"
    )
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
        f"error bound at most {RISK:.0%} for {sure[1]:.0%} of the patients instead of "
        f"{sure[0]:.0%}; accuracy when measured again {noisy[1]:.1%} instead of "
        f"{noisy[0]:.1%}, clean {clean[1]:.1%} instead of {clean[0]:.1%}."
    )
