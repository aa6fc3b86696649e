"""``widemargin reproduce`` and ``widemargin bench``: our numbers, checked by all."""

from __future__ import annotations

import os
import tempfile
from dataclasses import replace
from pathlib import Path

import click
import numpy as np
from scipy import sparse

from widemargin.cli.report import paper_page
from widemargin.cli.speaking import InputError, read_data
from widemargin.cli.streams import is_stream
from widemargin.replacing import replacing
from widemargin.reproduction import papers, speed
from widemargin.reproduction.bench import measure, report
from widemargin.reproduction.contestants import Settings
from widemargin.reproduction.measuring import Problem
from widemargin.reproduction.results import ResultStore


@click.command()
@click.argument("paper", type=click.Choice(list(papers.PAPERS)))
@click.option(
    "--data-dir",
    type=click.Path(exists=True, file_okay=False),
    help="Folder of the data files, named as on LIBSVM's data page "
    "[default: $WIDEMARGIN_DATA].",
)
@click.option("--output", type=click.Path(), help="Folder of the results.")
@click.option("--quick", is_flag=True, help="About two minutes: fewer runs.")
@click.option("--summary", is_flag=True, help="Only count the cells.")
@click.pass_context
def reproduce(
    ctx: click.Context,
    /,
    paper: str,
    data_dir: str | None,
    output: str | None,
    quick: bool,
    summary: bool,
) -> None:
    """Run a paper's tables again and lay our figures beside the printed ones.

    A stopped run goes on where it was. Writes cells.csv, PNG pictures and index.html.
    """
    if data_dir is not None:
        os.environ["WIDEMARGIN_DATA"] = data_dir
    folder = Path(output or f"widemargin-{paper}")
    folder.mkdir(parents=True, exist_ok=True)
    try:
        outcome = papers.reproduce(
            paper, folder, quick=quick, say=lambda text: click.echo(text, err=True)
        )
    except ModuleNotFoundError as error:
        raise InputError(f"reproduce {paper}: {error}") from error
    with replacing(folder / "index.html") as file:
        file.write(paper_page(outcome, folder).encode())
    if not summary:
        click.echo(papers.as_text(outcome), nl=False)
    click.echo(outcome.summary())
    click.echo(f"written to {folder / 'index.html'}", err=True)
    ctx.exit(1 if outcome.unavailable else 0)


@click.command()
@click.argument("data", default="synthetic")
@click.option("-c", "--cost", "C", type=float, default=1.0, help="C, for a file.")
@click.option("-g", "--gamma", type=float, help="For a file [default: 1/(d Var(X))].")
@click.option("--kernel", default="rbf", show_default=True, help="For a file.")
@click.option("--label", metavar="COLUMN", help="CSV: name or number of the label.")
@click.option("--threads", type=click.IntRange(min=1), default=2, show_default=True)
@click.option("--cap", type=float, help="Seconds after which a peer is stopped.")
@click.option("--list", "listing", is_flag=True, help="List the named problems.")
def bench(
    data: str,
    C: float,
    gamma: float | None,
    kernel: str,
    label: str | None,
    threads: int,
    cap: float | None,
    listing: bool,
) -> None:
    """Time SVC against scikit-learn's and intelex's on DATA, as ratios of one run.

    DATA is a file, - for standard input, or (part of) the name of a problem of the
    benchmark. Objectives are recomputed independently; peers run in processes of their
    own.
    """
    named = speed.problems()
    if listing:
        click.echo("\n".join(named))
        return
    if is_stream(data) or Path(data).is_file():
        chosen = [_problem(data, C, gamma, kernel, label)]
    else:
        chosen = [problem for name, problem in named.items() if data in name]
    if not chosen:
        raise InputError(
            f"{data!r} is neither a file nor a problem; there are: {', '.join(named)}"
        )
    chosen = [
        replace(problem, settings=replace(problem.settings, threads=threads))
        for problem in chosen
    ]
    with tempfile.TemporaryDirectory(prefix="widemargin-") as folder:
        store = ResultStore(Path(folder) / "bench.json")
        for problem in chosen:
            measure(store, problem, cap=cap)
        click.echo(report(store, "ratios", chosen))


def _problem(
    path: str, C: float, gamma: float | None, kernel: str, label: str | None
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
    settings = Settings(C=C, gamma=gamma, kernel=kernel)
    return Problem(Path(path).name, lambda: (X, signs), settings)
