"""What ``widemargin reproduce`` and ``widemargin bench`` run."""

from __future__ import annotations

import os
import tempfile
from dataclasses import replace
from pathlib import Path

import click
import numpy as np
from scipy import sparse

from widemargin.cli.output import InputError, read_data
from widemargin.cli.streams import is_stream
from widemargin.runtime.atomic_file import replacing
from widemargin_papers.bench.comparison import measure
from widemargin_papers.bench.problems import problems
from widemargin_papers.bench.tables import ratio_table
from widemargin_papers.harness import reproduction as papers
from widemargin_papers.harness.contestants import Settings
from widemargin_papers.harness.datasets import data_directory, found_in
from widemargin_papers.harness.measuring import Problem
from widemargin_papers.harness.published import data_files
from widemargin_papers.harness.results import ResultStore
from widemargin_papers.harness.text_tables import layout, provenance


def reproduced(
    paper: str, data_dir: str | None, output: str | None, *, quick: bool, summary: bool
) -> int:
    """Reproduce a paper into a folder; return the exit code."""
    if data_dir is not None:
        os.environ["WIDEMARGIN_DATA"] = data_dir
    folder = Path(output or f"widemargin-{paper}")
    folder.mkdir(parents=True, exist_ok=True)
    try:
        outcome = papers.reproduce(
            paper, folder, quick=quick, say=lambda text: click.echo(text, err=True)
        )
    except ModuleNotFoundError as error:
        raise InputError(
            f"reproduce {paper}: {error}; pip install 'widemargin[all]'"
        ) from error
    with replacing(folder / "index.html") as file:
        file.write(papers.paper_page(outcome, folder).encode())
    if not summary:
        click.echo(papers.as_text(outcome), nl=False)
    click.echo(outcome.summary())
    click.echo(f"written to {folder / 'index.html'}", err=True)
    for line in _missing(outcome.missing_files()):
        click.echo(line, err=True)
    return 1 if outcome.unavailable else 0


def _missing(files: list[str]) -> list[str]:
    """Return where files were looked for and which are not there, a line each."""
    if not files:
        return []
    folder = data_directory()
    where = f"not in {folder}" if folder else "set WIDEMARGIN_DATA or give --data-dir"
    return [f"missing data files ({where}):", *(f"  {line}" for line in files)]


def listed_data(data_dir: str | None) -> str:
    """Return the data files that are there and those that are missing, by name."""
    folder = Path(data_dir) if data_dir else data_directory()
    found, missing = [], []
    for name, file in data_files().items():
        path = found_in(folder, name) if folder else None
        if path is None:
            missing.append(f"  {file}")
        else:
            size = path.stat().st_size / 1e6
            found.append([f"  {name}", file.shape, f"{size:.1f} MB", path.name])
    lines = []
    if folder is None:
        lines.append("WIDEMARGIN_DATA is not set: it names the folder of data files")
    if found:
        header = ["  file", "rows x features", "size", "as"]
        lines += [f"found in {folder}: {len(found)} files", layout(header, found)]
    if missing:
        lines += [f"missing: {len(missing)} files, published at", *missing]
    return "\n".join(lines)


def compared(
    data: str,
    settings: Settings,
    gamma: float | None,
    label: str | None,
    cap: float | None,
) -> str:
    """Return the ratios on a file or on the problems whose names contain `data`."""
    named = problems()
    if is_stream(data) or Path(data).is_file():
        chosen = [_problem(data, settings, gamma, label)]
    else:
        chosen = [problem for name, problem in named.items() if data in name]
    if not chosen:
        raise InputError(
            f"{data!r} is neither a file nor a problem; there are: {', '.join(named)}"
        )
    threads = settings.threads
    chosen = [
        replace(problem, settings=replace(problem.settings, threads=threads))
        for problem in chosen
    ]
    with tempfile.TemporaryDirectory(prefix="widemargin-") as folder:
        store = ResultStore(Path(folder) / "bench.json")
        for problem in chosen:
            measure(store, problem, cap=cap)
        return f"{ratio_table(store, chosen)}\n{provenance(store)}"


def _problem(
    path: str, settings: Settings, gamma: float | None, label: str | None
) -> Problem:
    content = read_data(path, label=label)
    labels = np.asarray(content.y)
    classes = np.unique(labels)
    if len(classes) != 2:
        raise InputError(f"{path}: the benchmark needs two classes, not {len(classes)}")
    X, signs = content.X, np.where(labels == classes[1], 1.0, -1.0)
    if gamma is None:
        mean_square = X.multiply(X).mean() if sparse.issparse(X) else np.mean(X * X)
        gamma = float(1.0 / (X.shape[1] * max(mean_square - X.mean() ** 2, 1e-300)))
    settings = replace(settings, gamma=gamma)
    return Problem(Path(path).name, lambda: (X, signs), settings)
