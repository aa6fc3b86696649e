"""One run of one contestant on one problem, in a child process, judged independently.

A peer may be capped: it is stopped after a stated number of seconds and its record says
``capped``, so that its time is a lower bound.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .contestants import CONTESTANTS, Settings
from .objective import Judgement, KernelChoice, judge, judge_linear, judge_pairs
from .results import Record
from .worker import peak_megabytes, write_samples

Vector = NDArray[np.float64]
START_SECONDS = 20.0  # starting Python and loading data are not the contestant's time
LONG_SECONDS = 120.0  # of a peer's run: from here on its cap is barely beyond the claim
THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


Judge = Callable[[KernelChoice, Any, Vector, Settings, Vector], Record]


def judged_classifier(
    choice: KernelChoice, X: Any, y: Vector, settings: Settings, beta: Vector
) -> Record:
    """Judge the answer of a C-SVC; of several classes all pairs together."""

    def judged(X: Any, y: Vector, beta: Vector) -> Judgement:
        intercept = settings.fit_intercept
        return judge(choice, X, y, settings.C, beta, intercept=intercept)

    several = beta.ndim == 2
    return asdict(judge_pairs(judged, X, y, beta) if several else judged(X, y, beta))


@dataclass(frozen=True)
class Problem:
    """A problem of the benchmark: data, parameters, and what is asked of us.

    ``target`` holds the least ratios asked: name of the peer to how many times faster.
    ``file`` names the data file without which it cannot be measured; ``judged``
    recomputes objective and bound of an answer.
    """

    name: str
    load: Callable[[], tuple[Any, Vector]]
    settings: Settings = field(default_factory=Settings)
    target: dict[str, float] = field(default_factory=dict)
    action: str = "fit"
    load_test: Callable[[], Any] | None = None
    repeats: int = 3
    peers: tuple[str, ...] = ("scikit-learn", "intelex")
    file: str | None = None
    judged: Judge = judged_classifier


class ContestantFailedError(RuntimeError):
    """A contestant ended without a result; the message holds its last words."""


def run(
    problem: Problem,
    contestant: str,
    settings: Settings,
    *,
    cap: float | None = None,
    budget: float = 60.0,
) -> Record:
    """Run one contestant on one problem and return its judged record.

    Parameters
    ----------
    problem : Problem
        Data and action.
    contestant : str
        A name in ``CONTESTANTS``.
    settings : Settings
        Parameters of the run (usually ``problem.settings`` with other threads or tol).
    cap : float, optional
        Seconds after which the contestant is stopped and marked ``capped``.
    budget : float
        No further repeat is started once this many seconds were spent.
    """
    X, y = problem.load()
    with tempfile.TemporaryDirectory(prefix="widemargin-") as name:
        folder = Path(name)
        write_samples(folder, "X", X)
        np.save(folder / "y.npy", y)
        if problem.load_test is not None:
            write_samples(folder, "X_test", problem.load_test())
        job = {
            "contestant": contestant,
            "settings": asdict(settings),
            "action": problem.action,
            "repeats": problem.repeats,
            "budget": budget,
        }
        (folder / "job.json").write_text(json.dumps(job))
        common: Record = {
            "problem": problem.name,
            "contestant": contestant,
            "action": problem.action,
            "settings": asdict(settings),
            "n": int(X.shape[0]),
            "d": int(X.shape[1]),
        }
        stopped = _child(folder, settings.threads, cap)
        if stopped is not None:
            return common | {"capped": True} | stopped
        measured: Record = json.loads((folder / "result.json").read_text())
        found = _judged(folder, problem, X, y, settings)
        return common | measured | {"capped": False} | found


def _child(folder: Path, threads: int, cap: float | None) -> Record | None:
    """Run the worker to its end, or return what it had used when the cap stopped it."""
    environment = os.environ | dict.fromkeys(THREAD_VARIABLES, str(threads))
    command = [sys.executable, "-m", "widemargin_papers.harness.worker", str(folder)]
    allowance = None if cap is None else cap + START_SECONDS
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    ) as child:
        try:
            _, errors = child.communicate(timeout=allowance)
        except subprocess.TimeoutExpired:
            assert cap is not None
            # On a busy machine it has had less of a processor than the clock says.
            seconds = min(cap, _processor_seconds(child.pid, cap))
            used = {"seconds": seconds, "peak_mb": peak_megabytes(child.pid)}
            child.kill()
            child.communicate()
            return used
    if child.returncode != 0:
        words = errors.decode(errors="replace").strip().splitlines()[-3:]
        raise ContestantFailedError(" | ".join(words))
    return None


def _processor_seconds(process: int, unknown: float) -> float:
    """Return the processor time a running process has had (Linux), else `unknown`."""
    stat = Path(f"/proc/{process}/stat")
    if not stat.exists():
        return unknown
    fields = stat.read_text().rpartition(")")[2].split()
    ticks: int = os.sysconf("SC_CLK_TCK")
    return (int(fields[11]) + int(fields[12])) / ticks


def _judged(folder: Path, problem: Problem, X: Any, y: Vector, run: Settings) -> Record:
    """Judge the stored answer: objective, bound and gap in float64."""
    with np.load(folder / "answer.npz") as answer:
        if "beta" not in answer:
            intercept = float(answer["intercept"].ravel()[0])
            found = judge_linear(X, y, run.C, answer["weights"], intercept)
            return {"objective": found}
        choice = KernelChoice(**run.parameters("kernel", "gamma", "degree", "coef0"))
        return problem.judged(choice, X, y, run, answer["beta"])


def cap_for(problem: Problem, peer: str, ours: float, at_least: float = 20.0) -> float:
    """Return the cap of a peer: 1.25 times the claimed ratio times our time.

    Where that would take minutes, 1.05 times: enough to know that we reach it.
    """
    claimed = problem.target.get(peer, 5.0) * ours
    return max(at_least, min(1.25 * claimed, max(LONG_SECONDS, 1.05 * claimed)))


def present(names: tuple[str, ...]) -> tuple[str, ...]:
    """Return those contestants that are installed."""
    return tuple(name for name in names if CONTESTANTS[name].present)


def say(text: str) -> None:
    """Print a line of progress with the time of day."""
    print(f"{time.strftime('%H:%M:%S')}  {text}", file=sys.stderr, flush=True)
