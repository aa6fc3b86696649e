"""``widemargin demo``: the acts, one after another, and one HTML report."""

from __future__ import annotations

import importlib
import os
import time
import warnings
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click

from widemargin.cli.demo import ACTS, NEEDS
from widemargin.cli.terminal_report import Act, TerminalReport, can_draw, wrapped

_REPORT = "widemargin-demo.html"
_MATPLOTLIB = ("matplotlib.figure", "matplotlib.backends.backend_agg")
#: three lines that repeat act one: the model learns 10,000 pixels of the photograph
LINES = (
    "from widemargin import SVC; from widemargin.cli.demo.photograph import pixels",
    "X, y = pixels(10_000)",
    "print(SVC(C=1, gamma=300).fit(X, y).certificate_)",
)


@click.command()
@click.argument("acts", metavar="[ACT]...", nargs=-1, type=click.Choice(list(ACTS)))
@click.option("--report", default=_REPORT, type=click.Path(), show_default=True)
@click.pass_context
def demo(ctx: click.Context, /, acts: tuple[str, ...], report: str) -> None:
    """See what widemargin does: eight short acts, half a minute, no network."""
    if not Path(report).parent.is_dir():  # said now, not after the last act
        raise click.UsageError(f"--report {report}: there is no such folder")
    chosen = list(acts) or list(ACTS)
    click.echo(f"widemargin: {len(chosen)} act{'s' * (len(chosen) > 1)}, live")
    _get_ready()
    played: list[Act] = []
    failed = []
    for number, name in enumerate(chosen, 1):
        module = importlib.import_module(ACTS[name])
        absent = _lacking(name)
        if absent:
            click.echo(f"\n{number}. {module.TITLE} (left out: it needs {absent})")
            continue
        click.secho(f"\n{number}. {module.TITLE}", bold=True)
        click.echo(wrapped(module.QUESTION, "   "))
        try:
            played.append(play(name, module))
            click.secho(wrapped(f"=> {played[-1].summary}", "  ", "   "), bold=True)
        except Exception as error:
            failed.append(name)
            click.echo(f"   this act failed: {type(error).__name__}: {error}", err=True)
    _write(report, played)
    click.echo()
    shown = ", with the pictures" if can_draw() else ""
    for act in played:
        text = f"{act.lead} {act.summary} ({act.seconds:.1f} s)"
        click.echo(wrapped(text, "  ", "  "))
    click.echo(f"\nThe report{shown}: {Path(report).resolve().as_uri()}")
    if any(act.name == "photograph" for act in played):
        click.echo("Act one again, in Python:")
        for line in LINES:
            click.echo(f"    {line}")
    ctx.exit(1 if failed or not played else 0)


def _get_ready() -> None:
    """Import what every act needs, with a sign of life: it can take a while."""
    # on a busy machine threads that wait by spinning make the others wait much longer
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    with TerminalReport(Act("", "", "")).working("loading scikit-learn", fleeting=True):
        for name in (
            "sklearn.datasets",
            "sklearn.ensemble",
            "sklearn.kernel_approximation",
            "sklearn.svm",
            *(_MATPLOTLIB if can_draw() else ()),
            "widemargin.cli.html_report",
            "widemargin.persistence",
            "widemargin.display",
        ):
            importlib.import_module(name)
    if not can_draw():
        click.echo("no pictures: they need matplotlib, pip install 'widemargin[plot]'")


def _lacking(act: str) -> str:
    """Return what an act needs and is not installed, with the remedy, or ""."""
    if act not in NEEDS or find_spec(NEEDS[act][0]) is not None:
        return ""
    module, extra = NEEDS[act]
    return f"{module}, pip install 'widemargin[{extra}]'"


def play(name: str, module: Any) -> Act:
    """Play one act; its record is what the report shows."""
    act = Act(name, module.TITLE, module.QUESTION)
    started = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # peers warn about what the act is showing
        act.summary = module.run(TerminalReport(act))
    act.seconds = time.perf_counter() - started
    return act


def _write(path: str, played: list[Act]) -> None:
    from widemargin.cli.streams import writing

    from .html_report import demo_page

    lines = LINES if any(act.name == "photograph" for act in played) else ()
    with writing(path) as file:
        file.write(demo_page(played, lines).encode())
