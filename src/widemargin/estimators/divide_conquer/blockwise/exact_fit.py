"""The exact fit on blocks of rows: what the estimator does with a source."""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from widemargin.engine.certificate import Certificate
from widemargin.engine.kernels import Kernel, gamma_of, make_kernel
from widemargin.engine.solve_options import SolveOptions
from widemargin.engine.status import Status
from widemargin.estimators.base.feature_scales import warn_if_unscaled
from widemargin.estimators.base.fitted_model import FittedClassifier, fitted_classifier
from widemargin.estimators.base.progress import ClusterProgress
from widemargin.estimators.base.training_data import LabelledData, refuse_probability
from widemargin.estimators.base.validation import (
    cache_megabytes,
    class_weights,
    effective_threads,
)
from widemargin.estimators.divide_conquer import checkpoint as checkpoints
from widemargin.estimators.divide_conquer.certified_point import CertifiedPoint
from widemargin.runtime.deadline import Deadline

from .block_source import RowBlocks
from .gathered import PairSolver
from .resume import Resume
from .rounds import Rounds
from .survey import Survey, survey

Vector = NDArray[np.float64]
SAMPLE = 4000  # rows of the first round, at most; and at most a sixteenth of all


def fit_blocks(estimator: Any, blocks: RowBlocks) -> bool:
    """Fit exactly on rows in blocks; False where Ctrl-C ended it at a point it keeps.

    The time limit counts from here; the first pass, which learns the classes and the
    scale of the features, is not cut short by it.
    """
    refuse_settings(estimator)
    clock = time.perf_counter()
    deadline = Deadline.after(estimator.max_time)
    seed = estimator._seed()
    resumable = estimator.checkpoint is not None
    size = min(SAMPLE, max(100, blocks.n // 16))
    seen = survey(blocks, size, seed, digest=resumable)
    kernel = kernel_of(estimator, blocks.n_features, seen)
    factors = class_weights(
        estimator.class_weight, seen.classes, np.arange(len(seen.classes)), seen.mass
    )
    surveyed = time.perf_counter() - clock
    options = SolveOptions(
        tol=estimator.tol,
        max_iter=estimator.max_iter,
        deadline=deadline,
        shrinking=estimator.shrinking,
        seed=seed,
    )
    solver = _pair_solver(estimator, kernel, len(seen.classes))
    costs = estimator.C * factors
    with ClusterProgress(estimator.verbose, type(estimator).__name__) as progress:
        rounds = Rounds(blocks, seen, kernel, costs, solver, options, progress=progress)
        interrupted = False
        start, step = rounds.first_rows(), 0
        if resumable:
            resume = Resume.of(estimator, seen, kernel)
            rounds.save = resume.write
            start, step = resume.read(rounds) or (start, step)
        try:
            certificates = rounds.run(start, step)
        except KeyboardInterrupt:
            if rounds.reached is None:
                raise
            interrupted = True
            certificates = rounds.certificates(None, late=True)
    describe(estimator, blocks)
    seconds = time.perf_counter() - clock
    model = _model(rounds, factors, certificates, seconds, surveyed, interrupted)
    estimator._keep(model)
    if resumable and model.converged:
        checkpoints.remove(estimator.checkpoint)
    if not (model.converged or interrupted):
        _warn_stopped(estimator, rounds, model.certificates)
    return not interrupted


def _pair_solver(estimator: Any, kernel: Kernel, n_classes: int) -> PairSolver:
    """Return what solves all pairs of classes on the rows of a round."""
    return PairSolver(
        kernel,
        n_classes,
        estimator.fit_intercept,
        lambda n: cache_megabytes(estimator.cache_size, n),
        effective_threads(estimator.n_jobs),
    )


def refuse_settings(estimator: Any) -> None:
    """Refuse what needs all rows in memory."""
    refuse_probability(estimator)
    name = type(estimator).__name__
    if estimator.kernel == "precomputed":
        raise ValueError(
            f"{name}: kernel='precomputed' needs the kernel matrix in memory; rows in "
            "blocks need a kernel that is computed from rows."
        )
    if estimator.prediction == "exact" and estimator.n_levels not in ("auto", 0):
        raise ValueError(
            f"{name}: n_levels={estimator.n_levels} forces the levels of an exact fit "
            "in memory; rows in blocks are solved in rounds, without levels: leave "
            "n_levels='auto'."
        )


def kernel_of(estimator: Any, n_features: int, seen: Survey) -> Kernel:
    """Return the kernel with the gamma of all rows."""
    gamma = estimator.gamma
    if gamma == "scale":
        gamma = gamma_of(seen.variance, n_features)
    elif gamma == "auto":
        gamma = 1.0 / n_features
    kernel = make_kernel(
        estimator.kernel, gamma=gamma, degree=estimator.degree, coef0=estimator.coef0
    )
    warn_if_unscaled(seen.sample, kernel)
    return kernel


def describe(estimator: Any, blocks: RowBlocks) -> None:
    """Note the features, as scikit-learn does."""
    estimator.n_features_in_ = blocks.n_features
    if blocks.names is not None:
        estimator.feature_names_in_ = np.asarray(list(blocks.names), dtype=object)
    elif hasattr(estimator, "feature_names_in_"):
        del estimator.feature_names_in_


def _model(
    rounds: Rounds,
    factors: Vector,
    certificates: Sequence[Certificate],
    seconds: float,
    surveyed: float,
    interrupted: bool,
) -> FittedClassifier:
    """Return the model of the point reached."""
    assert rounds.reached is not None
    gathered, solved = rounds.reached.gathered, rounds.reached.solved
    seen = rounds.seen
    if interrupted:
        word = Status.INTERRUPTED.value
        certificates = [replace(own, status=word) for own in certificates]
    answers = [
        CertifiedPoint(
            pair.solution.beta,
            pair.solution.intercept,
            replace(certificate, seconds=seconds),
        )
        for pair, certificate in zip(solved, certificates, strict=True)
    ]
    data = LabelledData(
        X=gathered.X,
        rows=gathered.rows,
        n_given=seen.n,
        n_features=rounds.blocks.n_features,
        labels=gathered.codes,
        classes=seen.classes,
    )
    first = {
        "stage": "survey",
        "size": seen.n,
        "seconds": surveyed,
        "objective": None,
        "gap": None,
        "blocks": len(rounds.blocks.lengths),
    }
    history = [first, *rounds.history]
    return fitted_classifier(data, rounds.kernel, factors, solved, answers, history)


def _warn_stopped(
    estimator: Any, rounds: Rounds, certificates: Sequence[Certificate]
) -> None:
    worst = max(certificates, key=lambda own: own.kkt_violation or 0.0)
    kept = " Increase max_time, or fit again, with checkpoint= to go on from here."
    warnings.warn(
        f"{type(estimator).__name__} stopped before tol={estimator.tol} was reached "
        f"(status {worst.status!r}, round {len(rounds.history)}, KKT violation "
        f"{worst.kkt_violation:.2e} and gap {worst.gap} proved over all rows)."
        + (kept if estimator.checkpoint is None else " Fit again to go on from here."),
        ConvergenceWarning,
        stacklevel=4,
    )
