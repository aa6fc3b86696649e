"""Act: every measurement has an error bar, and a diagnosis should survive it."""

from __future__ import annotations

from functools import partial
from typing import Any

from widemargin.cli.terminal_report import TerminalReport

TITLE = "Error bars are real"
QUESTION = (
    "A tumour classifier is trained on careful measurements and used where ten of the "
    "thirty values are measured badly (an error of one standard deviation, the others "
    "a tenth of that). Can it rely on what is measured well, and say for each patient "
    "how likely a second measurement would change its answer?"
)
RISK = 0.1
SEED = 0
AGAIN = 100  # draws of every patient within the error bars
#: errors of means, of standard errors and of worst values, in standard deviations
STATED = (0.1, 0.1, 1.0)
SHOWN = [0, 27]  # features of the picture


def run(report: TerminalReport) -> str:
    """Fit breast cancer with and without stated error bars, then measure again."""
    import numpy as np
    from sklearn.datasets import load_breast_cancer
    from sklearn.model_selection import train_test_split

    data = load_breast_cancer()
    deviations = np.repeat(STATED, 10) * data.data.std(axis=0)
    X, X_test, y, y_test = train_test_split(
        data.data,
        data.target,
        test_size=0.4,
        stratify=data.target,
        random_state=SEED,
    )
    V, V_test = (np.tile(np.square(deviations), (len(part), 1)) for part in (y, y_test))
    with report.working(f"fitting {len(y)} patients, four models"):
        models = _fitted(X, y, V)
    curved, _, robust, _ = models.values()
    last = robust.history_[-1]
    report.say(
        f"solved exactly: duality gap {last['gap']:.1e} of "
        f"{last['objective']:.1f} after {robust.n_iter_} Newton steps"
    )
    rng = np.random.default_rng(SEED)
    again = [rng.normal(X_test, np.sqrt(V_test)) for _ in range(AGAIN)]
    rows, sure, clean, noisy = [], [], [], []
    with report.working(f"measuring {len(y_test)} unseen patients {AGAIN} times again"):
        for name, model in models.items():
            clean.append(float(model.score(X_test, y_test)))
            noisy.append(float(np.mean([model.score(Z, y_test) for Z in again])))
            share = "no bound"
            if model is not curved:
                bounds = model.error_probability_bound(X_test, V_test)
                sure.append(float(np.mean(bounds <= RISK)))
                share = f"{sure[-1]:.1%}"
            rows.append([name, f"{clean[-1]:.1%}", f"{noisy[-1]:.1%}", share])
    report.table(
        ["model", "clean accuracy", "measured again", f"error bound <= {RISK:.0%}"],
        rows,
        caption=f"{len(y_test)} unseen patients; measured again within the error bars",
    )
    report.limit(
        f"{100 * (clean[3] - clean[0]):+.1f} points of accuracy if the test patients "
        "are measured as carefully as the others"
    )
    caption = "Two of the thirty features; ellipses are the error bars"
    draw = partial(_draw, X, y, V, data.feature_names, rng)
    report.picture(draw, columns=2, caption=caption)
    return (
        f"on new measurements {noisy[3]:.1%} right, SVC {noisy[0]:.1%}; an error of at "
        f"most {RISK:.0%} is guaranteed for {sure[1]:.0%} of the patients instead of "
        f"{sure[0]:.0%}, for every distribution."
    )


def _fitted(X: Any, y: Any, V: Any) -> dict[str, Any]:
    """Fit without the error bars and with them, by name."""
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    from widemargin import SVC, ChanceConstrainedSVC

    plain = ChanceConstrainedSVC(standardize=True, covariance_scale=0.0)
    robust = ChanceConstrainedSVC(standardize=True, risk=RISK)
    normal = ChanceConstrainedSVC(standardize=True, risk=RISK, bound="gaussian")
    return {
        "SVC, Gaussian kernel": make_pipeline(StandardScaler(), SVC()).fit(X, y),
        "linear, error bars ignored": plain.fit(X, y),
        "error bars used, any distribution": robust.fit(X, y, covariance=V),
        "error bars used, normal": normal.fit(X, y, covariance=V),
    }


def _draw(X: Any, y: Any, V: Any, names: Any, rng: Any, axes: Any) -> None:
    """Draw the boundaries of two features, with their error bars ignored and used."""
    from widemargin import ChanceConstrainedSVC
    from widemargin.display import MarginDisplay

    two, shown = SHOWN, rng.choice(len(y), size=90, replace=False)
    for ax, scale, title in zip(axes, (0.0, 1.0), ("ignored", "used"), strict=True):
        model = ChanceConstrainedSVC(standardize=True, risk=RISK)
        model.fit(X[:, two], y, covariance=scale * V[:, two])
        MarginDisplay.from_estimator(
            model, X[shown][:, two], y[shown], covariances=V[shown][:, two], ax=ax
        )
        ax.set_title(f"error bars {title}", fontsize=10)
        ax.set_xlabel(str(names[two[0]]))
        ax.set_ylabel(str(names[two[1]]))
