"""What a fit on dask workers takes: processor time, memory, workers killed."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any

from widemargin_papers.harness.results import Record
from widemargin_papers.harness.timing import spending
from widemargin_papers.harness.worker import peak_megabytes


def fitted_on_workers(client: Any, fit: Callable[[], Any]) -> Record:
    """Fit once; return processor seconds (all, workers'), wall, peak, workers killed.

    A nanny kills a worker over its limit and starts another in its place.
    """
    born = set(client.run(os.getpid).values())
    before = sum(client.run(time.process_time).values())
    with spending() as here:
        fit()
    there = sum(client.run(time.process_time).values()) - before
    return {
        "processor": here.processor + there,
        "processor of workers": there,
        "wall": here.wall,
        "peak MB": max(client.run(peak_megabytes).values()),
        "killed": len(born - set(client.run(os.getpid).values())),
    }
