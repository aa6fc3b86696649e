"""``widemargin reproduce``, ``data`` and ``bench``: our numbers, checked by all.

Found by the command through its entry points; what they run is imported when called.
"""

from __future__ import annotations

import click

from . import PAPERS


@click.command(short_help="Run a paper's tables again.")
@click.argument("paper", type=click.Choice(list(PAPERS)))
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
    from .running import reproduced

    ctx.exit(reproduced(paper, data_dir, output, quick=quick, summary=summary))


@click.command(short_help="List the data files found and missing.")
@click.option(
    "--data-dir",
    type=click.Path(exists=True, file_okay=False),
    help="Folder of the data files [default: $WIDEMARGIN_DATA].",
)
def data(data_dir: str | None) -> None:
    """List the data files of the papers and benchmarks: found, and missing.

    A missing one stands with its size and the page that publishes it. Nothing is
    downloaded.
    """
    from .running import listed_data

    click.echo(listed_data(data_dir))


@click.command(short_help="Time SVC against scikit-learn's and intelex's.")
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
    from .bench.problems import problems
    from .harness.contestants import Settings
    from .running import compared

    if listing:
        click.echo("\n".join(problems()))
        return
    settings = Settings(C=C, kernel=kernel, threads=threads)
    click.echo(compared(data, settings, gamma, label, cap))
