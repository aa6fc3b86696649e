"""Checkpoints: the last complete level of a fit, on disk.

A fit of hours must survive a crash. After each level its solution and clusters are
written with :mod:`widemargin.runtime.model_file_format` (data only, atomic,
checksummed). A fit that finds a checkpoint of its own data and settings goes on above
that level; a checkpoint of anything else is refused, never silently used or
overwritten.
"""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from widemargin.engine.gram import Gram
from widemargin.engine.kernels import CallableKernel, Kernel, Precomputed
from widemargin.engine.status import Status
from widemargin.multilevel.level import Division, Level, PartSolution
from widemargin.multilevel.partition import Partition
from widemargin.multilevel.router import (
    InputRouter,
    KernelRouter,
    RandomRouter,
    Router,
    Samples,
)
from widemargin.runtime import model_file_format
from widemargin.runtime.atomic_file import refuse_lost

KIND = "divide-and-conquer checkpoint"
PROBES = 64  # rows between which a callable kernel is compared
Path = str | os.PathLike[str]


def data_digest(samples: Samples, *arrays: NDArray[Any]) -> str:
    """Digest of the training data: samples, labels, costs."""
    digest = hashlib.sha256()
    pieces = list(arrays)
    if sp.issparse(samples):
        pieces += [samples.data, samples.indices, samples.indptr]
    else:
        pieces.append(np.asarray(samples))
    for piece in pieces:
        digest.update(f"{piece.dtype.str}{piece.shape}".encode())
        digest.update(np.ascontiguousarray(piece).data)
    return digest.hexdigest()


def settings_digest(kernel: Kernel, settings: dict[str, Any]) -> str:
    """Digest of everything else that the levels depend on."""
    if isinstance(kernel, CallableKernel):
        function = kernel.function
        named: Any = [
            getattr(function, "__module__", ""),
            getattr(function, "__qualname__", type(function).__qualname__),
        ]
    else:
        named = [type(kernel).__name__, asdict(kernel)]
    text = json.dumps([named, settings], sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()


def probe_values(kernel: Kernel, samples: Samples) -> NDArray[np.float64]:
    """Values of a callable kernel between some of the rows; none of other kernels.

    A function has no parameters to compare, and two lambdas have the same name.
    """
    if not isinstance(kernel, CallableKernel):
        return np.empty((0, 0))
    rows = np.unique(np.linspace(0, samples.shape[0] - 1, PROBES).astype(np.intp))
    return Gram(samples[rows], kernel).rows(np.arange(rows.size))


@dataclass(frozen=True)
class Origin:
    """What a checkpoint belongs to.

    Attributes
    ----------
    data, settings : str
        Digests: `data_digest` and `settings_digest`.
    values : array
        Kernel values (`probe_values`), kept as they are: another machine may round
        them differently.
    """

    data: str
    settings: str
    values: NDArray[np.float64]

    def differs(self, stored: model_file_format.Stored) -> str:
        """Return in what a checkpoint is of another fit; "" if it is of this one."""
        for what, expected in (("data", self.data), ("settings", self.settings)):
            if stored.header.get(what) != expected:
                return what
        values = stored.arrays.get("kernel values", np.empty((0, 0)))
        scale = float(np.abs(self.values).max(initial=0.0))
        alike = (
            values.dtype == self.values.dtype
            and values.shape == self.values.shape
            and np.allclose(values, self.values, rtol=1e-6, atol=1e-14 * scale)
        )
        return "" if alike else "settings (the kernel gives other values)"


def check(path: Path | None) -> None:
    """Refuse a path that cannot be written to, before any work is done for it."""
    if path is not None:
        refuse_lost(path, "checkpoint")


def write(
    path: Path, level: Level, history: list[dict[str, Any]], origin: Origin
) -> None:
    """Write a complete level; replaces an earlier checkpoint atomically."""
    partition = level.partition
    kind, arrays = _router_arrays(partition.router)
    arrays["groups"] = partition.groups
    arrays["cells"] = partition.cells
    arrays["intercepts"], arrays["present"] = level.intercepts, level.present
    arrays["kernel values"] = origin.values
    for pair, beta in enumerate(level.betas):
        arrays[f"beta {pair}"] = beta
    header = {
        "level": level.number,
        "router": kind,
        "data": origin.data,
        "settings": origin.settings,
        "history": history,
        "parts": [
            [{k: v for k, v in vars(part).items() if k != "beta"} for part in solved]
            for solved in level.parts
        ],
    }
    model_file_format.write(path, KIND, header, arrays)


def read(
    path: Path, division: Division, origin: Origin, levels: range
) -> tuple[Level, list[dict[str, Any]]] | None:
    """Read a checkpoint of this fit, at one of its levels; None when there is no file.

    Raises
    ------
    ValueError
        When the file is not a checkpoint, is damaged, or belongs to other data,
        settings or another kernel; the message says which and what to do.
    """
    if not os.path.exists(path):
        return None
    stored = model_file_format.read(path, KIND)
    other = origin.differs(stored)
    if other:
        raise ValueError(
            f"checkpoint={os.fspath(path)!r} was written by a fit on other {other}: "
            "delete the file, or give another path, to start anew."
        )
    try:
        return _restored(stored.header, stored.arrays, division, levels)
    except Exception as error:  # whatever it is that does not fit: it is the file
        raise model_file_format.StorageError(
            f"checkpoint={os.fspath(path)!r} is inconsistent ({error}): delete it to "
            "start anew."
        ) from error


def remove(path: Path) -> None:
    """Remove the checkpoint of a fit that is complete."""
    if os.path.exists(path):
        os.remove(path)


def _restored(
    header: dict[str, Any],
    arrays: dict[str, NDArray[Any]],
    division: Division,
    levels: range,
) -> tuple[Level, list[dict[str, Any]]]:
    samples, problems = division.samples, division.problems
    router = _router(header["router"], arrays, samples, division.kernel)
    groups, cells = arrays["groups"].astype(np.intp), arrays["cells"].astype(np.intp)
    if not np.array_equal(router.assign(samples), cells):
        raise ValueError("its clusters are not those of the samples")
    used = np.unique(groups)
    if len(groups) != router.n_clusters or not np.array_equal(
        used, np.arange(len(used))
    ):
        raise ValueError("its groups of cells are not numbered from 0")
    partition = Partition(router, groups, cells)
    betas = [arrays[f"beta {pair}"] for pair in range(len(problems))]
    for beta, problem in zip(betas, problems, strict=True):
        inside = (beta >= problem.lower) & (beta <= problem.upper)  # NaN is not
        if len(beta) != problem.n or not inside.all():
            raise ValueError("its coefficients are not those of the class pairs")
    intercepts, present = arrays["intercepts"], arrays["present"]
    shape = (partition.n_clusters, len(problems))
    if intercepts.shape != shape or present.shape != shape or present.dtype != bool:
        raise ValueError("its intercepts are not those of the clusters")
    nothing = np.empty(0)
    parts = [
        [
            PartSolution(**(part | {"beta": nothing, "status": Status(part["status"])}))
            for part in solved
        ]
        for solved in header["parts"]
    ]
    number, history = header["level"], header["history"]
    if type(number) is not int or number not in levels:
        raise ValueError("its level is none of this fit")
    if not (history and all(isinstance(stage, dict) for stage in history)):
        raise ValueError("its history is not a list of stages")
    return Level(number, partition, betas, intercepts, present, parts), history


def _router_arrays(router: Router) -> tuple[str, dict[str, NDArray[Any]]]:
    if isinstance(router, InputRouter):
        return "input", {"centres": router.centres, "shift": router.shift}
    if isinstance(router, KernelRouter):
        arrays = {
            "columns": router.columns,
            "weights": router.weights,
            "offsets": router.offsets,
        }
        return "kernel", arrays
    assert isinstance(router, RandomRouter)
    return "random", {
        "multipliers": router.multipliers,
        "count": np.array(router.n_clusters),
    }


def _router(
    kind: str, arrays: dict[str, NDArray[Any]], samples: Samples, kernel: Kernel
) -> Router:
    """Rebuild a router; sampled points are taken from the training samples."""
    if kind == "input":
        return InputRouter(arrays["centres"], arrays["shift"])
    if kind == "random":
        return RandomRouter(int(arrays["count"]), arrays["multipliers"])
    if kind != "kernel":
        raise ValueError(f"unknown clustering {kind!r}")
    columns = arrays["columns"].astype(np.intp)
    square = isinstance(kernel, Precomputed)
    kept = samples[np.ix_(columns, columns) if square else columns]
    return KernelRouter(kept, columns, arrays["weights"], arrays["offsets"], kernel)
