"""One training run of the DPWSS paper, by any rule, scored as Table 3 scores it.

Linear kernel, C = 1, tolerance 1e-3, scores on the training data (mathematics 1.2).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn import metrics

from widemargin.engine.certificate import dual_objective
from widemargin.engine.gram import Gram
from widemargin.engine.kernels import Linear
from widemargin.engine.problem import DualProblem, classification_problem
from widemargin.engine.solve import solve
from widemargin.engine.solve_options import DrawnPairs, SolveOptions
from widemargin.estimators.base.validation import cache_megabytes
from widemargin.estimators.dpwss.drawn_solution import free_intercept
from widemargin_papers.harness.datasets import load_libsvm

from .printed import FILES, FLIPPED

Vector = NDArray[np.float64]


@dataclass(frozen=True)
class Run:
    """What one run ended with."""

    objective: float
    iterations: int
    violation: float
    reason: str
    scores: dict[str, float]


@cache
def labelled(name: str) -> tuple[Any, Vector]:
    """Return a data set of Table 3 (or a file of that name), labels -1 and +1."""
    X, y = load_libsvm(FILES.get(name, name))
    y = np.where(y > 0, 1.0, -1.0)
    return X, (-y if name in FLIPPED else y)


@lru_cache(maxsize=1)  # its cache of kernel rows may take a quarter of the memory
def problem_of(name: str) -> DualProblem:
    """Return the C-SVC dual of a data set: linear, C = 1. Rows serve all its runs."""
    X, y = labelled(name)
    dense = X.nnz > 0.25 * X.shape[0] * X.shape[1]
    samples = np.ascontiguousarray(X.toarray()) if dense else X
    # Rows that do not fit are evaluated again in nearly every iteration.
    gram = Gram(samples, Linear(), cache_mb=cache_megabytes("auto", len(y)))
    return classification_problem(gram, y, np.ones(len(y)))


def scores_of(y: Vector, decisions: Vector) -> dict[str, float]:
    """Return the six scores of Table 3 for decision values on the training data."""
    predicted = np.where(decisions > 0, 1.0, -1.0)
    return {
        "auc": float(metrics.roc_auc_score(y, decisions)),
        "accuracy": float(metrics.accuracy_score(y, predicted)),
        "precision": float(metrics.precision_score(y, predicted, zero_division=0.0)),
        "recall": float(metrics.recall_score(y, predicted)),
        "f1": float(metrics.f1_score(y, predicted)),
        "mcc": float(metrics.matthews_corrcoef(y, predicted)),
    }


def train(
    name: str,
    selection: str | DrawnPairs,
    *,
    seed: int = 0,
    shrinking: bool = False,
) -> Run:
    """Train on a data set of Table 3 with one rule of selecting pairs."""
    problem = problem_of(name)
    solution = solve(
        problem, SolveOptions(selection=selection, seed=seed, shrinking=shrinking)
    )
    decisions = solution.values + free_intercept(solution)
    return Run(
        objective=dual_objective(solution.beta, solution.values, problem.linear),
        iterations=solution.n_iter,
        violation=float(solution.certificate.kkt_violation or 0.0),
        reason=solution.status,
        scores=scores_of(problem.linear, decisions),
    )


def libsvm_run(name: str, shrinking: bool) -> Run | None:
    """Train with LIBSVM itself; None where libsvm-official is not installed."""
    try:
        svm, tools = import_module("libsvm.svm"), import_module("libsvm.svmutil")
    except ImportError:
        return None
    X, y = labelled(name)
    lines: list[str] = []
    parameter = svm.svm_parameter(f"-t 0 -h {int(shrinking)}")
    parameter.print_func = svm.PRINT_STRING_FUN(
        lambda line: lines.append(line.decode())
    )
    model = tools.svm_train(svm.svm_problem(y, sparse.csr_matrix(X)), parameter)
    text = "".join(lines)
    values = np.array(tools.svm_predict(y, sparse.csr_matrix(X), model, "-q")[2])
    iterations = re.search(r"#iter = (\d+)", text)
    objective = re.search(r"obj = (\S+),", text)
    if iterations is None or objective is None:
        raise RuntimeError("LIBSVM did not print its iterations and objective")
    return Run(
        objective=float(objective[1]),
        iterations=int(iterations[1]),
        violation=float("nan"),
        reason="converged",
        scores=scores_of(y, values.ravel() * model.get_labels()[0]),
    )
