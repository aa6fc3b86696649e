"""How long ``widemargin demo`` and ``widemargin reproduce --quick`` take.

A newcomer watches the demo: the first line is to come within two seconds, nothing may
stand still for more than one, and all is to be over in sixty; a quick
reproduction is to take about two minutes. Commands run in processes of their own, in a
pipe; every piece of output is noted with its time.
"""

from __future__ import annotations

import itertools
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

from widemargin_papers import PAPERS
from widemargin_papers.harness.missing_runs import Measurement
from widemargin_papers.harness.results import Record, ResultStore
from widemargin_papers.harness.text_tables import rst_table

from ..record_tables import records_table


@dataclass(frozen=True)
class Run:
    """What a command said, when, and the processor's seconds it took."""

    times: list[float]
    text: str
    processor: float


def run(*arguments: str) -> Run:
    """Run ``widemargin ARGUMENTS`` in a folder of its own."""
    with tempfile.TemporaryDirectory(prefix="widemargin-") as folder:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        started = time.monotonic()
        with subprocess.Popen(
            [sys.executable, "-m", "widemargin.cli", *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            cwd=folder,
        ) as process:
            assert process.stdout is not None
            times, words = [], b""
            while piece := os.read(process.stdout.fileno(), 1 << 16):
                times.append(time.monotonic() - started)
                words += piece
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    text = words.decode(errors="replace")
    if process.returncode not in (0, 1):  # 1: part of the work only
        raise RuntimeError(text)
    spent = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    return Run(times, text, spent)


def demo_work() -> Iterator[Measurement]:
    """Yield the demo."""
    yield "demo", play_demo


def play_demo() -> Record:
    """Play the demo and return how it went."""
    found = run("demo")
    rests = [after - before for before, after in itertools.pairwise(found.times)]
    times = {"first line": found.times[0], "longest rest": max(rests)}
    all_of_it = {"seconds": found.times[-1], "processor seconds": found.processor}
    return times | all_of_it


def demo_table(store: ResultStore) -> str:
    """Return what is stored of the demo beside what is asked."""
    names = ("first line", "longest rest", "seconds", "processor seconds")
    rows = [
        ["target: at most", "2", "1", "60", "-"],
        *(
            ["measured", *(f"{record[name]:.2f}" for name in names)]
            for record in store.records.values()
        ),
    ]
    header = ["seconds", "first line", "longest rest", "all", "processor"]
    return rst_table(header, rows)


def quick_work() -> Iterator[Measurement]:
    """Yield the quick reproduction of each paper."""
    for paper in PAPERS:
        yield paper, partial(quick_paper, paper)


def quick_paper(paper: str) -> Record:
    """Reproduce a paper quickly; return its processor seconds and its summary."""
    found = run("reproduce", paper, "--quick", "--summary")
    lines = found.text.splitlines()
    summary = next(line for line in lines if " attempted, " in line)
    seconds = found.processor
    return {"paper": paper, "summary": summary, "processor seconds": seconds}


def quick_table(store: ResultStore) -> str:
    """Return what is stored of the quick reproductions."""
    records = [record for _, record in sorted(store.records.items())]
    return records_table(
        records,
        {
            "paper": "{paper}",
            "processor s": "{processor seconds:.0f}",
            "cells": "{summary}",
        },
    )
