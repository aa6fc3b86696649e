"""Every method that takes sparse samples, given ones that lead out of themselves.

A program of its own for tests/estimators/test_refused.py: what it looks for ends a
process. Prints the calls that did not refuse them.
"""

from __future__ import annotations

import warnings

from scipy import sparse
from sklearn.datasets import make_classification

import widemargin
from widemargin.display import MarginDisplay

X, y = make_classification(60, 4, flip_y=0.2, random_state=0)


def damaged():
    """Yield samples that lead out of themselves, in the formats that are taken."""
    for form in ("csr", "csc", "coo"):
        X_bad = sparse.coo_array(X).asformat(form)
        indices = X_bad.col if form == "coo" else X_bad.indices
        indices[3] = 100_000_000
        yield form, X_bad
    X_bad = sparse.csr_array(X)
    X_bad.indptr = X_bad.indptr.copy()
    X_bad.indptr[5] = 2**30
    yield "row offsets", X_bad


def fitted():
    """Yield a model of every estimator and kernel, fitted on sparse samples."""
    for kernel in ("rbf", "linear", "poly"):
        for model in (
            widemargin.SVC(kernel=kernel, keep_rows=True),
            widemargin.CostSensitiveSVC(kernel=kernel, keep_rows=True),
            widemargin.RampSVC(kernel=kernel),
            widemargin.DivideConquerSVC(kernel=kernel),
            widemargin.DivideConquerSVC(
                kernel=kernel, prediction="early", n_levels=1, n_branches=2
            ),
        ):
            yield model.fit(sparse.csr_array(X), y)
    for model in (
        widemargin.DPWSSClassifier(),
        widemargin.ChanceConstrainedSVC(),
        widemargin.ChanceConstrainedSVC(solver="ssgd"),
        widemargin.PrivateSVC(clip_norm=10.0, classes=[0, 1]),
        widemargin.PrivateSVC(clip_norm=10.0, kernel="rbf", classes=[0, 1]),
    ):
        yield model.fit(sparse.csr_array(X), y)


def calls(model, X_bad):
    """Return what can be done with samples, by name."""
    found = {
        "predict": lambda: model.predict(X_bad),
        "decision_function": lambda: model.decision_function(X_bad),
        "score": lambda: model.score(X_bad, y),
        "fit": lambda: model.fit(X_bad, y),
        "display": lambda: MarginDisplay.from_estimator(model, X_bad, y),
    }
    if hasattr(model, "partial_fit"):
        found["partial_fit"] = lambda: model.partial_fit(X_bad, y)
    if hasattr(model, "fit_blocks"):
        found["fit_blocks"] = lambda: model.fit_blocks([(X_bad, y)])
    if hasattr(model, "error_probability_bound"):
        found["bound"] = lambda: model.error_probability_bound(X_bad)
    if hasattr(model, "privacy_report"):
        found["audit"] = lambda: widemargin.privacy_audit(model, X_bad, y)
    return found


def main():
    """Try them all."""
    warnings.simplefilter("ignore")
    count = 0  # a list that has lost its calls would find nothing
    for model in fitted():
        for damage, X_bad in damaged():
            for name, call in calls(model, X_bad).items():
                count += 1
                try:
                    call()
                except ValueError as error:
                    if "damaged" in str(error):
                        continue
                print(model, name, damage, flush=True)
    print(f"{count} calls", flush=True)


if __name__ == "__main__":
    main()
