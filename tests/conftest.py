"""What every test shares: explicit seeds, and the share of the time each area takes."""

from __future__ import annotations

import os
import signal
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any
from unittest import mock

import pytest
import sklearn

# A run started in the background ignores Ctrl-C, and so would every child of it: the
# tests that interrupt a fit need it heard.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

SYSTEMS = (
    "svc",
    "divide_conquer",
    "ramp",
    "cost_sensitive",
    "chance_constrained",
    "dpwss",
    "private",
)
COMMAND = (
    "cli",
    "playground",
    "display",
    "docs",
    "persistence",
    "model_file_format",
    "prerequisites",
    "papers",
    "benchmarks",
)
DASK = ("dask", "distributed")


def area_of(path: str) -> str:
    """Name the area of the package that a test file belongs to."""
    parts = PurePosixPath(path).parts
    stem = PurePosixPath(path).stem
    if any(word in stem for word in DASK):
        return "dask"
    if any(word in part for part in parts for word in (*COMMAND, "browser")):
        return "command + browser"
    if "incremental" in parts:  # learning and forgetting came with that system
        return "cost_sensitive"
    for system in SYSTEMS:
        if system in parts:
            return system
    return "engine"


@pytest.fixture(params=[int(os.environ.get("WIDEMARGIN_TEST_SEED", "42"))])
def global_random_seed(request: pytest.FixtureRequest) -> int:
    """Return the one seed of the run; set WIDEMARGIN_TEST_SEED to try another."""
    return int(request.param)


@pytest.fixture(autouse=True)
def configuration() -> Iterator[None]:
    """Put scikit-learn's configuration back: Ctrl-C may hit while a fit restores it.

    Then all later fits of the process would go without a check of their parameters.
    """
    before = sklearn.get_config()
    yield
    sklearn.set_config(**before)


@pytest.fixture
def contestants_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Measure contestants in this process, briefly: two seconds less for each start.

    That each has a process of its own is tests/papers/harness/test_measuring.py.
    """
    from widemargin_papers.harness import measuring, worker

    def child(folder: Path, threads: int, cap: float | None) -> None:
        with mock.patch.object(sys, "argv", ["worker", str(folder)]):
            worker.main()

    monkeypatch.setattr(measuring, "_child", child)
    monkeypatch.setattr(worker, "QUICK", 0.01)


@pytest.fixture
def moons(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Stand in for every data set of the divide-and-conquer paper."""
    from sklearn.datasets import make_moons

    from widemargin_papers.dcsvm import splits

    X, y = make_moons(900, noise=0.2, random_state=0)
    Z, t = make_moons(300, noise=0.2, random_state=1)
    split = splits.Split(X, 2.0 * y - 1, Z, 2.0 * t - 1)
    monkeypatch.setattr(splits, "load", lambda _: split)
    return split


#: On a busy machine a worker may take a minute to start, and to answer.
PATIENCE = "600s"
PATIENT = {
    "distributed.comm.timeouts.connect": "30s",  # so long dead workers are called
    "distributed.comm.timeouts.tcp": PATIENCE,
    "distributed.scheduler.worker-ttl": None,  # a late heartbeat is no death
    "distributed.scheduler.allowed-failures": 10,
    "distributed.admin.tick.limit": PATIENCE,
}


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    """Connect to two dask workers, processes of the file's own: tests may kill one."""
    distributed = pytest.importorskip("dask.distributed")
    import dask

    with (
        dask.config.set(PATIENT),
        distributed.LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            processes=True,
            dashboard_address=":0",
            death_timeout=PATIENCE,
        ) as cluster,
        distributed.Client(cluster, timeout=PATIENCE) as connected,
    ):
        yield connected


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print how the time was shared out among the areas, and each one's slowest."""
    seconds: dict[str, float] = defaultdict(float)
    slowest: dict[str, tuple[float, str]] = {}
    for reports in terminalreporter.stats.values():
        for report in reports:
            if not isinstance(report, pytest.TestReport):
                continue
            area = area_of(report.location[0])
            seconds[area] += report.duration
            if report.duration > slowest.get(area, (0.0, ""))[0]:
                slowest[area] = (report.duration, report.nodeid)
    total = sum(seconds.values())
    if total < 5.0:
        return
    terminalreporter.section("time per area")
    for area, spent in sorted(seconds.items(), key=lambda item: -item[1]):
        longest, name = slowest[area]
        terminalreporter.write_line(
            f"{area:20s}{spent:8.1f} s{100 * spent / total:6.1f} %"
            f"   slowest {longest:.1f} s {name}"
        )
