"""The settings of Figures 2 and 3 of Zhai, Gu, Li and Huang (2020), and their data.

The paper prints curves and no numbers; its rules are in `printed_algorithm`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from widemargin.engine.kernels import Gaussian, Kernel, Linear
from widemargin_papers.harness.datasets import (
    load_libsvm,
    scale_to_interval,
    signs,
    subsample,
)

Vector = NDArray[np.float64]

PAPERS_S = 0.0  # the loss is flat below this margin: all misclassified samples
SIZE = 20_000
COSTS = (0.1, 1.0, 10.0, 100.0)
KAPPAS = (None, 0.05, 0.5, 5.0)  # None: the linear kernel
CONTESTANTS: dict[str, dict[str, Any]] = {
    "none": {"screening": None, "shrinking": False},
    "safe": {"screening": "safe", "shrinking": False},
    "shrink": {"screening": None, "shrinking": True},
    "safe+shrink": {"screening": "safe", "shrinking": True},
}
FIGURE_3 = ((0.05, 1.0), (0.05, 10.0), (0.5, 10.0), (5.0, 100.0))  # kappa, C
LONGEST = 60.0  # seconds of one fit; longer ones are stopped and marked


#: data set -> the files it is made of
FILES: dict[str, tuple[str, ...]] = {
    "cod-rna": ("cod-rna",),
    "a9a": ("a9a",),
    "letter": ("letter.scale", "letter.scale.t"),
    "ijcnn1": ("ijcnn1",),
}
DATASETS = tuple(FILES)


def load(name: str, size: int = SIZE) -> tuple[Any, Vector]:
    """Load one of the paper's four data sets, `size` samples drawn with seed 0."""
    parts = [load_libsvm(file) for file in FILES[name]]
    X: Any = sparse.vstack([samples for samples, _ in parts], format="csr")
    y = np.concatenate([labels for _, labels in parts])
    if name == "cod-rna":
        X = scale_to_interval(X)
    elif name != "a9a":
        X = X.toarray()
    y = signs(y, lambda labels: labels <= 13 if name == "letter" else labels > 0)
    return subsample(X, y, size)


@dataclass(frozen=True)
class Setting:
    """One panel point of Figure 2."""

    dataset: str
    kappa: float | None
    C: float
    tol: float = 1e-6
    size: int = SIZE

    @property
    def key(self) -> str:
        """The name of the setting in the results file."""
        kernel = "linear" if self.kappa is None else f"kappa {self.kappa:g}"
        return f"{self.dataset} {kernel} C {self.C:g} tol {self.tol:g} n {self.size}"

    @property
    def kernel(self) -> Kernel:
        """The kernel as the engine has it."""
        return Linear() if self.kappa is None else Gaussian(self.kappa)

    def parameters(self, threads: int) -> dict[str, Any]:
        """Return the parameters every contestant shares."""
        kernel = {"kernel": "linear"} if self.kappa is None else {"gamma": self.kappa}
        return {
            "C": self.C,
            "tol": self.tol,
            "cache_size": 1000,
            "max_time": LONGEST,
            "n_jobs": threads,
            **kernel,
        }


def settings(tol: float = 1e-6, size: int = SIZE) -> Iterator[Setting]:
    """Yield the settings of Figure 2 and those with the linear kernel.

    In a fixed random order: what a stopped campaign has is a fair sample of them.
    """
    every = list(product(KAPPAS, COSTS, DATASETS))
    for place in np.random.default_rng(0).permutation(len(every)):
        kappa, C, dataset = every[place]
        yield Setting(dataset, kappa, C, tol, size)
