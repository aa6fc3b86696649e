"""What ``--method private`` asks of the command: quote no value, keep a budget."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from typing import Any

import click

from widemargin.cli.parsed_data import Data

from .output import InputError, read_data


def check_private(method: str, folds: int | None, ledger: str | None) -> None:
    """Refuse ``-v``, which would reveal facts about the rows, and a stray ledger."""
    if ledger is not None and method != "private":
        raise InputError("--ledger is for --method private")
    if method != "private" or folds is None:
        return
    raise InputError(
        "-v with --method private: an accuracy on private rows has no guarantee, "
        "and every fold would spend the budget once more; test on public rows"
    )


def read_unquoted(data: str, **reading: Any) -> Data:
    """Read private data; an error says where the file is wrong, not what is there."""
    try:
        return read_data(data, **reading)
    except InputError as error:
        place = re.match(r".*?:\d+:\d+: ", error.message)
        if place is None:
            raise
        message = f"{place[0]}malformed (--method private shows no value of the data)"
    raise InputError(message)


def privacy_lines(estimator: Any) -> list[str]:
    """Return what a private model guarantees: the first lines of its report."""
    lines: list[str] = estimator.privacy_report().first_lines()
    if estimator.ledger is not None:
        lines.append(f"Ledger: {estimator.ledger}.")
    return lines


@contextlib.contextmanager
def drawing(ledger: str | None, final: Any) -> Iterator[None]:
    """Let a private estimator draw from the ledger of that file, if one is named."""
    if ledger is None:
        yield
        return
    from widemargin.estimators.private.ledger import PrivacyBudgetError
    from widemargin.estimators.private.ledger_file import LedgerFileError, drawing_from

    try:
        with drawing_from(ledger) as opened:
            final.set_params(ledger=opened)
            yield
    except FileNotFoundError:
        raise InputError(
            f"{ledger}: there is no such ledger; widemargin ledger {ledger} "
            "--epsilon E makes one"
        ) from None
    except PrivacyBudgetError as error:
        raise InputError(f"{ledger}: {error}") from None
    except LedgerFileError as error:
        raise InputError(str(error)) from None


@click.command()
@click.argument("file", metavar="FILE", type=click.Path(dir_okay=False))
@click.option("--epsilon", type=float, help="Make FILE, with this budget for all fits.")
@click.option("--delta", type=float, default=1e-5, show_default=True)
@click.option(
    "--pure-epsilon",
    type=float,
    help="Part of epsilon for mechanisms without a delta.  [default: none]",
)
def ledger(
    file: str, epsilon: float | None, delta: float, pure_epsilon: float | None
) -> None:
    """Show the privacy budget kept in FILE, or make one with --epsilon.

    widemargin train --method private --ledger FILE draws from it, and is refused where
    too little is left. Keep one copy: two would each spend the whole.
    """
    from widemargin.estimators.private.ledger import PrivacyLedger
    from widemargin.estimators.private.ledger_file import (
        LedgerFileError,
        create_ledger,
        read_ledger,
    )

    try:
        if epsilon is not None:
            create_ledger(
                file, PrivacyLedger(epsilon, delta, pure_epsilon=pure_epsilon)
            )
        shown = read_ledger(file)
    except FileExistsError:
        raise InputError(
            f"{file} exists, and what it says of spent budget is not overwritten"
        ) from None
    except FileNotFoundError:
        raise InputError(f"{file}: no such file; --epsilon makes one") from None
    except (LedgerFileError, ValueError) as error:
        raise InputError(str(error)) from None
    click.echo(shown)
    for number, spending in enumerate(shown.spendings, 1):
        cost = f"mu = {spending.mu:.6g}"
        if spending.pure_epsilon:
            cost = f"epsilon = {spending.pure_epsilon:g}"
        click.echo(f"{number}. {spending.what}: {cost}")
