"""Are the models the same to the last bit? Record before a change, compare after.

``record FILE`` fits about ninety small problems (every estimator, kernel and layout of
samples; early, dask and incremental fits) and stores decision values, coefficients and
certificates; ``compare FILE`` fits them again and names each difference. It imports
public names only, so that it runs before and after modules have moved.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.datasets import (
    load_breast_cancer,
    load_digits,
    load_iris,
    load_wine,
    make_classification,
    make_moons,
)
from sklearn.preprocessing import StandardScaler

from widemargin import (
    SVC,
    ChanceConstrainedSVC,
    CostSensitiveSVC,
    DivideConquerSVC,
    DPWSSClassifier,
    PrivateSVC,
    RampSVC,
)

Fit = Callable[[], tuple[Any, Any]]  # a fitted estimator and the rows it is asked about


def standard(load: Callable[..., Any]) -> tuple[Any, Any]:
    """Return one of scikit-learn's data sets with standardised features."""
    X, y = load(return_X_y=True)
    return StandardScaler().fit_transform(X), y


def moons(n: int, noise: float = 0.3, seed: int = 0) -> tuple[Any, Any]:
    """Return two overlapping classes in the plane."""
    return make_moons(n, noise=noise, random_state=seed)


def spheres(n: int, features: int, classes: int = 2, seed: int = 0) -> tuple[Any, Any]:
    """Return overlapping clusters with some wrong labels."""
    return make_classification(
        n, features, n_informative=min(features, 5), n_redundant=0,
        n_classes=classes, flip_y=0.1, random_state=seed,
    )  # fmt: skip


def fitted(estimator: Any, X: Any, y: Any, **of_fit: Any) -> Fit:
    """Return the fit of an estimator as a task."""
    return lambda: (estimator.fit(X, y, **of_fit), X[:200])


def laplacian(A: Any, B: Any) -> Any:
    """Evaluate a kernel of the user's own."""
    return np.exp(-0.1 * np.abs(A[:, None, :] - B[None, :, :]).sum(axis=2))


def plain() -> Iterator[tuple[str, Fit]]:
    """SVC: kernels, layouts, precisions, sizes, weights, limits."""
    breast, iris, wine, digits = map(
        standard, (load_breast_cancer, load_iris, load_wine, load_digits)
    )
    kernels = {
        "rbf": {}, "linear": {}, "poly": {"coef0": 1.0}, "sigmoid": {"gamma": 0.01},
    }  # fmt: skip
    for kernel, more in kernels.items():
        for name, (X, y) in {"breast": breast, "iris": iris, "wine": wine}.items():
            yield f"SVC {kernel} {name}", fitted(SVC(kernel=kernel, **more), X, y)
        X, y = breast
        for layout, data in {
            "csr": sparse.csr_matrix(np.where(np.abs(X) > 0.5, X, 0.0)),
            "float32": X.astype(np.float32),
        }.items():
            yield f"SVC {kernel} {layout}", fitted(SVC(kernel=kernel, **more), data, y)
    X, y = iris
    yield "SVC callable", fitted(SVC(kernel=laplacian), X, y)
    yield "SVC precomputed", fitted(SVC(kernel="precomputed"), laplacian(X, X), y)
    X, y = digits
    yield "SVC digits", fitted(SVC(C=10.0, gamma=0.02), X, y)
    yield "SVC digits one thread", fitted(SVC(C=10.0, gamma=0.02, n_jobs=1), X, y)
    X, y = moons(3000)
    weights = np.random.default_rng(0).random(len(y))
    yield "SVC 3000 rows", fitted(SVC(C=10.0), X, y)
    yield "SVC tight", fitted(SVC(C=100.0, tol=1e-8), X, y)
    yield (
        "SVC weights",
        fitted(SVC(class_weight="balanced"), X, y, sample_weight=weights),
    )
    yield "SVC no intercept", fitted(SVC(fit_intercept=False), X, y)
    yield "SVC small cache", fitted(SVC(C=10.0, cache_size=1.0), X, y)
    yield "SVC max_iter", fitted(SVC(C=1e4, max_iter=50), X, y)
    yield "SVC divide", fitted(SVC(C=10.0, solver="divide"), X, y)
    yield "SVC linear 6000 rows", fitted(SVC(kernel="linear"), *spheres(6000, 10))
    yield "SVC 6000 rows", fitted(SVC(C=5.0), *spheres(6000, 20))

    def warm() -> tuple[Any, Any]:
        model = SVC(C=1.0, warm_start=True).fit(X, y)
        return model.set_params(C=2.0).fit(X, y), X[:200]

    yield "SVC warm start", warm


def incremental() -> Iterator[tuple[str, Fit]]:
    """Sequences of partial_fit, forget and update."""
    sets = {
        "moons": moons(400), "wine": standard(load_wine), "spheres": spheres(300, 6, 3),
    }  # fmt: skip
    makers: dict[str, Callable[[], Any]] = {
        "SVC": lambda: SVC(C=3.0, gamma=0.5),
        "SVC linear": lambda: SVC(kernel="linear"),
        "CostSensitiveSVC": lambda: CostSensitiveSVC(C=3.0, gamma=0.5),
    }

    def sequence(make: Callable[[], Any], X: Any, y: Any) -> tuple[Any, Any]:
        half, ids = len(y) // 2, np.arange(len(y))
        order = np.random.default_rng(1).permutation(len(y))
        X, y = X[order], y[order]
        model = make().partial_fit(
            X[:half], y[:half], ids=ids[:half], classes=np.unique(y)
        )
        model.partial_fit(X[half:], y[half:], ids=ids[half:])
        model.forget(ids=ids[3:40:2])
        model.partial_fit(X[3:9:2], y[3:9:2], ids=ids[3:9:2])
        return model, X

    def bound(make: Callable[[], Any], X: Any, y: Any) -> Fit:
        return lambda: sequence(make, X, y)

    for maker, make in makers.items():
        for name, (X, y) in sets.items():
            if maker.startswith("Cost") and len(np.unique(y)) > 2:
                continue
            yield f"{maker} sequence {name}", bound(make, X, y)

    def dropped() -> tuple[Any, Any]:
        X, y = moons(500)
        return SVC(keep_rows=True).fit(X, y).forget(np.arange(0, 60)), X

    yield "SVC forget", dropped


def divided() -> Iterator[tuple[str, Fit]]:
    """DivideConquerSVC: exact, early, several classes, CSR, dask."""
    X, y = moons(3000)
    seed = {"random_state": 0, "gamma": 2.0}
    yield "divide exact", fitted(DivideConquerSVC(n_levels=2, **seed), X, y)
    yield "divide exact default", fitted(DivideConquerSVC(), X, y)
    early = {"prediction": "early", "early_level": 2}
    yield "divide early", fitted(DivideConquerSVC(**early, **seed), X, y)
    many = spheres(3000, 8, 4)
    yield "divide classes", fitted(DivideConquerSVC(n_levels=1), *many)
    yield "divide early classes", fitted(DivideConquerSVC(**early), *many)
    rows = sparse.csr_matrix(np.where(np.abs(many[0]) > 0.7, many[0], 0.0))
    yield "divide csr", fitted(DivideConquerSVC(n_levels=2), rows, many[1])
    import dask.array as da

    chunks = da.from_array(X, chunks=(500, -1)), da.from_array(y, chunks=500)
    for name, parameters in {"early": early, "exact": {"early_level": 1}}.items():
        estimator = DivideConquerSVC(**parameters, **seed)  # type: ignore[arg-type]
        yield f"divide dask {name}", lambda e=estimator: (e.fit(*chunks), X[:200])


def ramp() -> Iterator[tuple[str, Fit]]:
    """RampSVC: ceilings, starts, kernels."""
    X, y = spheres(800, 5)
    for s in (-1.0, 0.0):
        for init in ("out_of_fold", "continuation", "svm"):
            estimator = RampSVC(s=s, init=init, random_state=0)
            yield f"ramp s={s} {init}", fitted(estimator, X, y)
    yield "ramp screening", fitted(RampSVC(screening="safe", random_state=0), X, y)
    yield "ramp linear", fitted(RampSVC(kernel="linear", random_state=0), X, y)
    yield "ramp divide", fitted(RampSVC(solver="divide", random_state=0), *moons(3000))
    yield "ramp classes", fitted(RampSVC(C=5.0), *spheres(600, 6, 3))


def costs() -> Iterator[tuple[str, Fit]]:
    """CostSensitiveSVC: prices and matrices."""
    X, y = spheres(800, 5)
    model = CostSensitiveSVC(cost_positive=5.0, cost_negative=2.0)
    yield "costs", fitted(model, X, y)
    model = CostSensitiveSVC(cost_positive=5.0, kernel="linear")
    yield "costs linear", fitted(model, X, y)
    matrix = np.array([[0.0, 1.0, 5.0], [2.0, 0.0, 1.0], [3.0, 4.0, 0.0]])
    yield (
        "costs matrix",
        fitted(CostSensitiveSVC(cost_matrix=matrix), *spheres(600, 6, 3)),
    )


def chance() -> Iterator[tuple[str, Fit]]:
    """ChanceConstrainedSVC: solvers, covariances, blocks, dask, steps."""
    rng = np.random.default_rng(0)
    X, y = spheres(400, 5)
    n, d = X.shape
    boxes = 0.05 * rng.random((n, d))
    factors = 0.2 * rng.normal(size=(n, d, 2))
    for solver in ("newton", "socp", "sdp", "ssgd"):
        name = f"chance {solver}"
        rows = slice(0, 60 if solver == "sdp" else n)
        estimator = ChanceConstrainedSVC(solver=solver, random_state=0)
        yield name, fitted(estimator, X[rows], y[rows])
        if solver != "sdp":
            yield f"{name} diagonal", fitted(estimator, X, y, covariance=boxes)
            yield f"{name} factor", fitted(estimator, X, y, covariance_factor=factors)
    scaled = ChanceConstrainedSVC(standardize=True, bound="gaussian")
    yield "chance standardize", fitted(scaled, X, y)
    rows = sparse.csr_matrix(np.where(np.abs(X) > 0.7, X, 0.0))
    yield "chance csr", fitted(ChanceConstrainedSVC(), rows, y)
    yield "chance classes", fitted(ChanceConstrainedSVC(), *spheres(300, 6, 3))
    stochastic = {"solver": "ssgd", "random_state": 0, "epochs": 20}
    blocks = [(X[i : i + 80], y[i : i + 80]) for i in range(0, n, 80)]
    for refine in (True, False):
        model = ChanceConstrainedSVC(refine=refine, **stochastic)  # type: ignore[arg-type]
        name = f"chance blocks refine={refine}"
        yield name, lambda m=model: (m.fit_blocks(blocks), X)
        yield f"chance ssgd refine={refine}", fitted(model, X, y)
    import dask.array as da

    chunks = da.from_array(X, chunks=(80, -1)), da.from_array(y, chunks=80)
    model = ChanceConstrainedSVC(**stochastic)  # type: ignore[arg-type]
    yield "chance dask", lambda m=model: (m.fit(*chunks), X)

    def steps() -> tuple[Any, Any]:
        model = ChanceConstrainedSVC(solver="ssgd", random_state=0)
        model.fit(X[:100], y[:100])
        for i in range(100, n, 100):
            model.partial_fit(X[i : i + 100], y[i : i + 100])
        return model, X

    yield "chance partial_fit", steps
    curved = ChanceConstrainedSVC(kernel="rbf", n_components=10, random_state=0)
    yield "chance rbf", fitted(curved, X[:150], y[:150], covariance=boxes[:150])
    threads = ChanceConstrainedSVC(n_jobs=2, **stochastic)  # type: ignore[arg-type]
    yield "chance threads", fitted(threads, X, y)
    yield "chance ssgd classes", fitted(model, *spheres(300, 6, 3))
    yield "chance wide", fitted(ChanceConstrainedSVC(), *spheres(120, 700))
    lacking = boxes * (np.arange(d) == 4) * 400.0  # so large that w avoids the feature
    yield "chance corner", fitted(ChanceConstrainedSVC(), X, y, covariance=lacking)


def private() -> Iterator[tuple[str, Fit]]:
    """DPWSSClassifier and PrivateSVC, with seeded noise."""
    X, y = spheres(400, 5)
    for once in (True, False):
        model = DPWSSClassifier(once=once, random_state=0, max_iter=2000)
        yield f"dpwss once={once}", fitted(model, X, y)
    for mechanism in ("output", "objective", "gradient"):
        seeded = PrivateSVC(
            mechanism=mechanism, clip_norm=3.0, classes=[0, 1], random_state=0,
            noise="gaussian" if mechanism == "gradient" else "auto",
            insecure_noise=True,
        )  # fmt: skip
        yield f"private {mechanism}", fitted(seeded, X, y)


PARTS = (plain, incremental, divided, ramp, costs, chance, private)
ATTRIBUTES = (
    "classes_", "support_", "support_vectors_", "dual_coef_", "coef_", "intercept_",
    "n_support_", "n_iter_", "fit_status_", "shape_fit_", "gamma_", "class_weight_",
)  # fmt: skip
FIGURES = ("status", "objective", "bound", "gap", "kkt_violation")


def figures(model: Any, X: Any) -> dict[str, Any]:
    """Return what is compared of a fitted model, as arrays."""
    found: dict[str, Any] = {"decisions": model.decision_function(X)}
    for name in ATTRIBUTES:
        try:
            value = getattr(model, name)
        except AttributeError:
            continue
        found[name] = value.toarray() if sparse.issparse(value) else np.asarray(value)
    certificates = getattr(model, "certificate_", None)
    if certificates is not None:
        several = certificates if isinstance(certificates, list) else [certificates]
        for name in FIGURES:
            values = [str(getattr(one, name)) for one in several]
            found[f"certificate.{name}"] = np.array(values)
    return found


def fits(only: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Fit every problem whose name contains `only`."""
    for part in PARTS:
        for name, fit in part():
            if only in name:
                yield name, figures(*fit())


def record(path: Path, only: str) -> int:
    """Store the figures of every model."""
    stored = {
        f"{name}|{key}": value
        for name, found in fits(only)
        for key, value in found.items()
    }
    np.savez(path, **stored)
    print(f"{len({key.split('|')[0] for key in stored})} models recorded in {path}")
    return 0


def difference(before: Any, after: Any) -> float:
    """Return the largest difference over the largest value; 0 if bitwise equal."""
    if before.shape != after.shape:
        return np.inf
    if np.array_equal(before, after, equal_nan=before.dtype.kind == "f"):
        return 0.0
    try:
        before, after = before.astype(float), after.astype(float)
    except ValueError:  # words, or None beside a figure
        return np.inf
    return float(np.abs(before - after).max() / max(1.0, np.abs(before).max()))


def compare(path: Path, only: str) -> int:
    """Fit again and print every figure that is no longer equal to the last bit."""
    with np.load(path) as stored:
        before = dict(stored)
    names = {key.split("|")[0] for key in before if only in key.split("|")[0]}
    seen, unequal = set(), 0
    for name, found in fits(only):
        seen.add(name)
        keys = {key.split("|")[1] for key in before if key.split("|")[0] == name}
        worst = {
            key: np.inf
            if key not in found or key not in keys
            else difference(before[f"{name}|{key}"], found[key])
            for key in keys | set(found)
        }
        changed = {key: value for key, value in sorted(worst.items()) if value > 0.0}
        unequal += bool(changed)
        for key, value in changed.items():
            print(f"{name}: {key} differs by {value:.2g}")
    for name in sorted(names - seen):
        print(f"{name}: not fitted any more")
    print(f"{len(seen) - unequal} of {len(names | seen)} models equal to the last bit")
    return int(unequal > 0 or names != seen)


def main() -> int:
    """Record or compare."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("command", choices=("record", "compare"))
    parser.add_argument("file", type=Path, help="an .npz file, not to be committed")
    parser.add_argument("--only", default="", help="problems whose name contains this")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    command = record if asked.command == "record" else compare
    return command(asked.file, asked.only)


if __name__ == "__main__":
    sys.exit(main())
