"""Fits of random problems and the judgement of their certificates.

One problem again, by its number::

    python -m tests.campaigns.certificates 1234

The figures of a campaign, from the files that its shards leave::

    python -m tests.campaigns.certificates

What is asked of 10,000 problems: no claim beyond the truth; each status at least 500
times; a bound for 99 of 100 semidefinite kernels; and a claimed gap that is typically
at most ten times the true one. The last is asked of true gaps above
:data:`~tests.campaigns.certificate_figures.ROUNDING` only, and the figures print the
medians over all certificates and of each status beside it. Below, as for most polished
and stalled fits, the true gap is the rounding of the last bits (about 1e-15 of the
objective); a worst-case bound on the rounding of sums of m terms is some hundred times
that, and a tighter one would take sums in extended precision, which cost more than the
fit.
"""

from __future__ import annotations

import json
import math
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import numpy as np

from tests.campaigns.certificate_figures import Record, stored, summary
from tests.campaigns.certificate_problems import ROUTES, Case, draw
from tests.oracles.claims import judge
from tests.oracles.exact_certificate import Model, Truth
from tests.oracles.rebuilt import RampTruth, judged

Outcomes = Callable[[Case], Iterator[tuple[Any, Any]]]

SECONDS = 2.0  # a fit that is still not done is judged where it is
LONGEST = 30.0  # processor time; beyond it a limit was not kept
STEPS = 100_000  # the same for dask arrays, whose fits take no limit of time
REFUSALS = (
    "not finite", "too large", "is not symmetric", "Var(X)", "first level",
    "nu is infeasible", "the margin of its solution is zero", "nu-SVC has no margin",
)  # fmt: skip


def outcomes(case: Case) -> Iterator[tuple[Any, Any]]:
    """Fit a case by its route; yield every certificate and its truth."""
    import widemargin

    given = case.parameters
    limited = given | {"max_time": SECONDS}
    X, y, w, rng = case.X, case.y, case.weights, case.rng
    if case.route in ("loose", "strict"):
        yield _solved(case)
        return
    if case.route == "stream":
        yield from _stream(widemargin.SVC(**limited), case)
        return
    if case.route == "dask":
        yield from _dask(widemargin.DivideConquerSVC(**given, max_iter=STEPS), case)
        return
    if case.route == "interrupted":
        yield from _interrupted(case)
        return
    if case.route == "cost":
        prices = {"cost_positive": float(10 ** rng.uniform(-1, 4))}
        prices["cost_negative"] = float(0.5 + 10 ** rng.uniform(-2, 2))
        model = widemargin.CostSensitiveSVC(**limited, **prices)
    elif case.route == "ramp":
        s = float(rng.choice([0.0, -1.0, -0.3]))
        model = widemargin.RampSVC(**limited, s=s, init="svm")
    elif case.route == "divide":
        model = widemargin.SVC(**limited, solver="divide")
    elif case.route in ("levels", "early"):
        model = widemargin.DivideConquerSVC(
            **limited,
            n_levels=int(rng.integers(1, 3)),
            early_level=1,
            prediction="early" if case.route == "early" else "exact",
        )
    elif case.route == "steps":
        steps = int(10 ** rng.uniform(0, 2))
        kind = rng.choice([widemargin.SVC, widemargin.CostSensitiveSVC])
        model = kind(**limited, max_iter=steps)
    elif case.route == "seconds":
        model = widemargin.SVC(**given, max_time=float(10 ** rng.uniform(-7, -2.5)))
    elif case.route == "warm" and case.seed // len(ROUTES) % 2:
        model = widemargin.RampSVC(**limited, init="svm", warm_start=True)
    else:
        model = widemargin.SVC(**limited, warm_start=case.route == "warm")
    model.fit(X, y, sample_weight=w)
    if case.route == "warm":
        model.set_params(C=float(10.0 ** rng.uniform(-6, 6))).fit(X, y, w)
    yield from judged(model, X, y, w)


def _solved(case: Case) -> tuple[Any, Any]:
    """Solve on the engine itself, to a tolerance and no further."""
    from widemargin.engine.gram import Gram
    from widemargin.engine.kernels import make_kernel, scale_gamma
    from widemargin.engine.problem import DualProblem
    from widemargin.engine.solve import solve
    from widemargin.engine.solve_options import SolveOptions
    from widemargin.runtime.deadline import Deadline

    given, X, w = case.parameters, case.X, case.weights
    w = np.ones(len(case.y)) if w is None else w
    rows = np.flatnonzero(w > 0)
    square = case.kernel in ("precomputed", "callable")
    matrix = X
    if case.kernel == "callable":
        matrix = given["kernel"](X, X)
    X = X[np.ix_(rows, rows)] if case.kernel == "precomputed" else X[rows]
    signs = np.where(case.y[rows] == 1, 1.0, -1.0)
    ends = signs * (given["C"] * w[rows])
    shape = {name: given[name] for name in ("gamma", "degree", "coef0")}
    if shape["gamma"] == "scale":
        shape["gamma"] = 1.0 if square else scale_gamma(X)
    problem = DualProblem(
        Gram(X, make_kernel(given["kernel"], **shape), threads=1),
        signs,
        np.minimum(ends, 0.0),
        np.maximum(ends, 0.0),
        0.0 if given["fit_intercept"] else None,
    )
    solution = solve(
        problem, SolveOptions(tol=given["tol"], deadline=Deadline.after(SECONDS))
    )
    model = Model(
        "precomputed" if square else given["kernel"],
        matrix[np.ix_(rows, rows)] if square else X,
        solution.beta,
        float(solution.intercept),
        signs,
        np.minimum(ends, 0.0),
        np.maximum(ends, 0.0),
        problem.total,
        **shape,
    )
    return solution.certificate, Truth(model)


def _stream(model: Any, case: Case) -> Iterator[tuple[Any, Any]]:
    """Learn in chunks, forget rows, change C; the last state is judged.

    Where a fit of all rows does not end in time, no update does: the model stays.
    """
    X, y, w, rng = case.X, case.y, case.weights, case.rng
    n = len(y)
    half = max(2, n // 2)
    for rows in (slice(0, half), slice(half, n)):
        if len(y[rows]):
            chunk = None if w is None else w[rows]
            with suppress(TimeoutError):
                model.partial_fit(X[rows], y[rows], classes=[0, 1], sample_weight=chunk)
    live = model.ids_
    gone = rng.choice(live, size=max(1, live.size // 4), replace=False)
    if np.unique(y[np.setdiff1d(live, gone)]).size == 2 and rng.random() < 0.7:
        model.forget(gone)
    if rng.random() < 0.5:
        with suppress(TimeoutError):
            model.update(C=float(10.0 ** rng.uniform(-6, 6)))
    live = model.ids_
    yield from judged(model, X[live], y[live], None if w is None else w[live])


def _interrupted(case: Case) -> Iterator[tuple[Any, Any]]:
    """Press Ctrl-C while an estimator is fitted; later, if it had no point yet."""
    import widemargin

    X, y, w, rng = case.X, case.y, case.weights, case.rng
    limited = case.parameters | {"max_time": SECONDS}
    model = rng.choice(
        [
            widemargin.SVC(**limited),
            widemargin.SVC(**limited, solver="divide"),
            widemargin.CostSensitiveSVC(**limited, cost_positive=3.0),
            widemargin.RampSVC(**limited, init="svm"),
            widemargin.DivideConquerSVC(**limited),
        ]
    )
    seconds = float(10 ** rng.uniform(-2.5, -1))
    while not model.__sklearn_is_fitted__():
        key = threading.Timer(seconds, signal.raise_signal, [signal.SIGINT])
        try:
            key.start()
            try:
                model.fit(X, y, sample_weight=w)
            finally:  # pressed here, or never: not while another problem is fitted
                key.cancel()
                key.join()
        except KeyboardInterrupt:
            seconds *= 2
    yield from judged(model, X, y, w)


def _dask(model: Any, case: Case) -> Iterator[tuple[Any, Any]]:
    """Fit dask arrays, in this process."""
    import dask
    import dask.array as da

    X, y, w, rng = case.X, case.y, case.weights, case.rng
    rows = max(5, len(y) // int(rng.integers(1, 5)))
    early = rng.random() < 0.3
    model.set_params(prediction="early" if early else "exact", early_level=1)
    blocks = [da.from_array(X, chunks=(rows, -1)), da.from_array(y, chunks=rows)]
    if w is not None:
        blocks.append(da.from_array(w, chunks=rows))
    with dask.config.set(scheduler="synchronous"):
        model.fit(*blocks)
    yield from judged(model, X, y, w, all_rows=True)


def examine(seed: int) -> list[Record]:
    """Fit and judge one problem; one record for each of its certificates."""
    return examined(draw(seed), outcomes)


def examined(case: Case, outcomes: Outcomes) -> list[Record]:
    """Fit and judge a problem by what its outcomes are."""
    common = {
        "seed": case.seed,
        "route": case.route,
        "shape": case.shape,
        "kernel": case.kernel,
        "indefinite": case.indefinite,
        "n": len(case.y),
        "C": case.parameters["C"],
    }
    records, began = [], time.process_time()
    with warnings.catch_warnings(), _bounded(LONGEST):
        warnings.simplefilter("ignore")
        try:
            for certificate, truth in outcomes(case):
                records.append(common | judgement(case, certificate, truth))
        except Exception as error:
            known = isinstance(error, ValueError) and any(
                words in str(error) for words in REFUSALS
            )
            false = [] if known else [["error", f"{type(error).__name__}: {error}"]]
            status = "refused" if known else "failed"
            records.append(common | {"status": status, "false": false})
    for record in records:
        record["seconds"] = round(time.process_time() - began, 3)
    return records


@contextmanager
def _bounded(seconds: float) -> Iterator[None]:
    """End what is inside by a TimeoutError after so much processor time."""
    if not hasattr(signal, "setitimer"):  # Windows
        yield
        return

    def end(*_: object) -> None:
        raise TimeoutError(f"not done after {seconds} s")

    before = signal.signal(signal.SIGPROF, end)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        signal.signal(signal.SIGPROF, before)


def judgement(case: Case, certificate: Any, truth: Any) -> Record:
    """Return what is false in a certificate, and how tight it is."""
    verdict = judge(certificate, truth)
    false: list[list[Any]] = [
        [claim.field, claim.claimed, claim.true, claim.excess]
        for claim in verdict.false
    ]
    if case.indefinite and certificate.bound is not None:  # nothing can prove it
        false.append(["bound", certificate.bound, None, math.inf])
    # A stationary point of the ramp loss is measured otherwise than its convex problem.
    reached = certificate.status in ("converged", "polished")
    if reached and not isinstance(truth, RampTruth):
        tol = case.parameters["tol"]
        worst = max(certificate.kkt_violation, float(truth.violation.low))
        if worst > tol:
            false.append(["status", tol, worst, worst - tol])
    return {
        "status": certificate.status,
        "false": false,
        # No loss is negative, so that 0 needs no proof.
        "unproven": verdict.unproven and certificate.bound > 0.0,
        "missing": verdict.missing,
        "ratio": verdict.ratio,
        "share": verdict.share,
    }


def main(numbers: list[str]) -> None:
    """Print the judgement of the problems named, or the figures of a campaign."""
    for number in numbers:
        for record in examine(int(number)):
            print(json.dumps(record, indent=1))
    if not numbers:
        shards = stored()
        records = [record for shard in shards.values() for record in shard]
        print(json.dumps({"shards": len(shards)} | summary(records), indent=1))


if __name__ == "__main__":
    main(sys.argv[1:])
