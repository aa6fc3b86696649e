"""The child process in which one contestant is measured: ``python -m ... JOB_FOLDER``.

Reads ``job.json`` and the samples from the folder, fits (or predicts) as often as
asked, and writes ``result.json`` and ``answer.npz`` there. Peak memory is that of this
process, which holds one contestant and one data set and nothing else, after the first
run: hundreds of repeats leave holes in the heap that one fit does not. The first run's
time is reported apart (``warm_up``), for all contestants alike, and the minimum is
taken over all.
"""

from __future__ import annotations

import json
import resource
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .contestants import CONTESTANTS, Settings

BYTES_PER_UNIT = 1 if sys.platform == "darwin" else 1024  # of ru_maxrss
QUICK = 0.5  # seconds that are always spent on one figure


def status_megabytes(field: str, process: int | str = "self") -> float | None:
    """Return a size in a process's status in MB (10^6 bytes), None off Linux."""
    status = Path(f"/proc/{process}/status")
    if not status.exists():
        return None
    entries = dict(line.split(":", 1) for line in status.read_text().splitlines())
    return int(entries[field].split()[0]) * 1024 / 1e6 if field in entries else None


def peak_megabytes(process: int | str = "self") -> float:
    """Return the most memory a process has had so far, in MB.

    Linux carries ``ru_maxrss`` over from the parent through exec, so a large parent
    would hide a small child; the high-water mark of the address space does not.
    """
    most = status_megabytes("VmHWM", process)
    if most is not None:
        return most
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * BYTES_PER_UNIT / 1e6


def read_samples(folder: Path, part: str) -> Any:
    """Read samples as ``write_samples`` left them, dense or CSR."""
    dense, csr = folder / f"{part}.npy", folder / f"{part}.npz"
    return np.load(dense) if dense.is_file() else sparse.load_npz(csr)


def write_samples(folder: Path, part: str, X: Any) -> None:
    """Write samples where ``read_samples`` finds them."""
    if sparse.issparse(X):
        sparse.save_npz(folder / f"{part}.npz", X, compressed=False)
    else:
        np.save(folder / f"{part}.npy", X)


@dataclass
class Runs:
    """Repeats of one action: its last result, seconds of each run, memory of one."""

    result: Any = None
    wall: list[float] = field(default_factory=list)
    processor: list[float] = field(default_factory=list)
    peak_mb: float = 0.0


def timed(action: Callable[[], Any], repeats: int, budget: float) -> Runs:
    """Run ``action`` up to ``repeats`` times within ``budget`` seconds, at least once.

    What takes milliseconds is repeated until it took half a second in all: the first
    runs still meet cold caches and fresh memory.
    """
    runs = Runs()
    wall = runs.wall
    while not wall or (len(wall) < repeats and sum(wall) < budget) or sum(wall) < QUICK:
        before, started = time.process_time(), time.perf_counter()
        runs.result = action()
        wall.append(time.perf_counter() - started)
        runs.processor.append(time.process_time() - before)
        runs.peak_mb = runs.peak_mb or peak_megabytes()
    return runs


def measure(folder: Path) -> dict[str, Any]:
    """Measure the job in ``folder`` and return its record."""
    job = json.loads((folder / "job.json").read_text())
    contestant = CONTESTANTS[job["contestant"]]
    settings = Settings(**job["settings"])
    X, y = read_samples(folder, "X"), np.load(folder / "y.npy")
    resident = peak_megabytes()
    contestant.build(settings)  # imports are not part of a fit

    def fit() -> Any:
        return contestant.build(settings).fit(X, y)

    predicting = job["action"] != "fit"
    runs = timed(fit, 1 if predicting else job["repeats"], job["budget"])
    model = runs.result
    record: dict[str, Any] = {}
    if predicting:
        points = read_samples(folder, "X_test")
        record["fit_seconds"] = runs.wall[0]
        if job["action"] == "predict_row":
            points = points[:1]
        runs = timed(lambda: model.predict(points), job["repeats"], job["budget"])
        np.savez(folder / "predicted.npz", predicted=runs.result)
    beta = contestant.answer(model, len(y))
    if beta is not None:
        np.savez(folder / "answer.npz", beta=beta)
    else:
        weights = np.asarray(model.coef_).ravel()
        intercept = np.asarray(model.intercept_).ravel()
        np.savez(folder / "answer.npz", weights=weights, intercept=intercept)
    record |= {
        "seconds": min(runs.wall),
        "processor_seconds": min(runs.processor),
        "warm_up": runs.wall[0],
        "repeats": len(runs.wall),
        "peak_mb": runs.peak_mb,
        "resident_mb": resident,
        "n_support": None if beta is None else _support(beta),
        "n_iter": int(np.max(getattr(model, "n_iter_", -1))),
    }
    return record


def _support(beta: NDArray[np.float64]) -> int:
    """Count the samples with a coefficient, in any row."""
    return int(np.count_nonzero(np.atleast_2d(beta).any(axis=0)))


def main() -> None:
    """Measure the job in the folder given on the command line."""
    folder = Path(sys.argv[1])
    with warnings.catch_warnings(record=True) as raised:
        warnings.simplefilter("always")
        record = measure(folder)
    record["warnings"] = sorted({str(warning.message)[:200] for warning in raised})
    (folder / "result.json").write_text(json.dumps(record))


if __name__ == "__main__":
    main()
