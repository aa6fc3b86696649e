"""Act: what a published model gives away, and what a private one does not."""

from __future__ import annotations

from widemargin.cli.demo.stage import Stage

TITLE = "What does the model give away?"
QUESTION = (
    "A hospital publishes a classifier. Somebody who knows all patients but one tries "
    "to tell from the model which of two records the last one has. We train each "
    "method on both versions of the data many times and let that somebody guess."
)
RUNS = 60
SEED = 0


def run(stage: Stage) -> str:
    """Audit DPWSS, PrivateSVC and a broken PrivateSVC with the same attack."""
    import numpy as np
    from sklearn.datasets import load_breast_cancer
    from sklearn.model_selection import cross_val_score

    from widemargin import (
        DPWSSClassifier,
        PrivateSVC,
        PublicBoundsScaler,
        privacy_audit,
    )
    from widemargin.display import PrivacyDisplay

    X, y = load_breast_cancer(return_X_y=True)
    # Bounds that a laboratory would know beforehand, not the range of these patients.
    bounds = np.tile([40, 50, 250, 3000, 0.2, 0.4, 0.5, 0.25, 0.4, 0.15], 3)
    bounds[10:20] = [3, 5, 25, 600, 0.05, 0.15, 0.4, 0.06, 0.1, 0.04]
    bounds[20:] = [45, 60, 300, 5000, 0.3, 1.2, 1.5, 0.35, 0.8, 0.25]
    X = PublicBoundsScaler(0.0, bounds).fit_transform(X)
    rng = np.random.default_rng(SEED)
    some = rng.permutation(len(y))[:80]
    methods = {
        "DPWSS, stated epsilon 0.1": DPWSSClassifier(selection_epsilon=0.1, n_jobs=1),
        "PrivateSVC, epsilon 1": PrivateSVC(1.0, clip_norm=1.0),
    }
    found = {}
    for name, method in methods.items():
        with stage.working(f"attacking {name}, {4 * RUNS} models"):
            found[name] = privacy_audit(
                method, X[some], y[some], runs=RUNS, held_out=RUNS // 2,
                random_state=SEED,
            )  # fmt: skip
    rows = [
        [name, result.epsilon_lower, result.true_positives, result.false_positives,
         "refuted" if result.caught else "not caught (which proves nothing)"]
        for name, result in found.items()
    ]  # fmt: skip
    limit = next(iter(found.values())).epsilon_limit
    stage.table(
        ["method", "epsilon at least", "found", "false alarms", "its claim"],
        rows,
        caption=f"{RUNS} + {RUNS} models each; they can show at most {limit:.2f}",
    )
    with stage.axes(
        columns=2, caption="The attacker's statistic, both data sets"
    ) as axes:
        for ax, (name, result) in zip(axes, found.items(), strict=True):
            PrivacyDisplay.from_audit(result, ax=ax)
            ax.set_xlabel(name)
    with stage.working("how well the private model predicts"):
        private = PrivateSVC(1.0, mechanism="objective", clip_norm=1.0)
        accuracy = float(cross_val_score(private, X, y, cv=5).mean())
    fitted = private.fit(X, y)
    for line in str(fitted.privacy_report()).splitlines()[:6]:
        stage.say(line)
    broken = rows[0][1]
    return (
        f"DPWSS states epsilon 0.1 and leaks at least {broken:.1f}; PrivateSVC, "
        f"epsilon 1 and proven, predicts {accuracy:.1%} of unseen patients"
    )
