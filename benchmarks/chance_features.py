"""Error bars with a curved boundary: ``kernel="rbf"`` against the linear model.

python benchmarks/chance_features.py [--seeds 3]

Every value of a sample has a stated standard deviation, drawn for it from 0.2 to 1.8
times the mean one. Printed is the accuracy of test samples that are measured again
within their error bars (normal), the share with an error bound of at most 10 %, and of
how many of 200 samples the observed rate of answers other than the one for the stated
mean, in 1,000 draws, was above ``error_probability_bound``.
"""

from __future__ import annotations

import argparse

import numpy as np
from sklearn.datasets import make_moons

from widemargin import SVC, ChanceConstrainedSVC
from widemargin_papers.harness.datasets import available, load_dense, standardise

TRAINING, TESTS, AGAIN, DRAWS = 1000, 3000, 5, 1000
SETTINGS = {"C": 10.0, "risk": 0.3, "memory_mb": 1024.0}


def problem(name, seed):
    """Return samples and labels of one data set, in random order."""
    if name == "two moons":
        return make_moons(TRAINING + TESTS, noise=0.1, random_state=seed)
    X, y = load_dense("magic04")
    chosen = np.random.default_rng(seed).permutation(len(y))[: TRAINING + TESTS]
    return standardise(X)[chosen], y[chosen]


def measured(name, deviation, seed):
    """Return the figures of all models on one split."""
    rng = np.random.default_rng(seed)
    X, y = problem(name, seed)
    deviations = deviation * rng.uniform(0.2, 1.8, size=X.shape)
    variances, old = np.square(deviations), slice(0, TRAINING)
    new = slice(TRAINING, None)
    again = [rng.normal(X[new], deviations[new]) for _ in range(AGAIN)]
    rows = {}
    plain = SVC(C=SETTINGS["C"]).fit(X[old], y[old])
    rows["SVC (rbf)"] = [np.mean([plain.score(Z, y[new]) for Z in again]), None, None]
    for kernel in ("linear", "rbf"):
        model = ChanceConstrainedSVC(kernel=kernel, random_state=seed, **SETTINGS)
        model.fit(X[old], y[old], covariance=variances[old])
        accuracy = np.mean([model.score(Z, y[new]) for Z in again])
        bounds = model.error_probability_bound(X[new], variances[new])
        few = slice(TRAINING, TRAINING + 200)
        told, wrong = model.predict(X[few]), np.zeros(200)
        for _ in range(DRAWS):
            wrong += model.predict(rng.normal(X[few], deviations[few])) != told
        above = np.count_nonzero(wrong / DRAWS > bounds[:200])
        rows[f"chance, {kernel}"] = [accuracy, np.mean(bounds <= 0.1), above]
    return rows


def main():
    """Print one line a data set, error bar and model."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=3)
    seeds = range(parser.parse_args().seeds)
    print(f"{'data':10} {'sd':>4} {'model':15} accuracy  bound<=10%  exceeded of 200")
    for name, deviation in (
        ("two moons", 0.1),
        ("two moons", 0.2),
        ("magic04", 0.1),
        ("magic04", 0.3),
    ):
        if name != "two moons" and not available(name):
            print(f"{name}: not there (WIDEMARGIN_DATA)")
            continue
        runs = [measured(name, deviation, seed) for seed in seeds]
        for model in runs[0]:
            accuracy = np.mean([run[model][0] for run in runs])
            line = f"{name:10} {deviation:4} {model:15} {100 * accuracy:7.2f}%"
            if runs[0][model][1] is not None:
                sure = np.mean([run[model][1] for run in runs])
                above = max(run[model][2] for run in runs)
                line += f" {100 * sure:10.1f}% {above:12d}"
            print(line, flush=True)


if __name__ == "__main__":
    main()
