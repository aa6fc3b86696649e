"""A privacy budget kept in a file, so that several processes draw from one.

A line of JSON for the budget, then one for each fit, appended and on disk before the
fit draws any noise: whatever becomes of the fit, its cost stands in the file. A last
line without its end was being written when the machine stopped; nothing had been drawn
for it, and it is dropped. The file is locked while a fit may spend; two copies of one
file would each spend the whole, which only their owner can prevent.
"""

from __future__ import annotations

import json
import math
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from .ledger import PrivacyLedger, Spending

if sys.platform != "win32":
    import fcntl

_HEAD = "widemargin privacy ledger"
_VERSION = 1
_BUDGET = ("epsilon", "delta", "pure_epsilon")


class LedgerFileError(ValueError):
    """A file is not a privacy ledger, is damaged, or is in use."""


def create_ledger(path: str, ledger: PrivacyLedger) -> None:
    """Write a new file with the budget of a ledger; an existing one stays as it is."""
    budget = {name: getattr(ledger, name) for name in _BUDGET}
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    try:
        _append(descriptor, {_HEAD: _VERSION, **budget})
    finally:
        os.close(descriptor)


def read_ledger(path: str) -> PrivacyLedger:
    """Return the ledger of a file, to look at."""
    with open(path, "rb") as file:
        ledger, _ = _parsed(path, file.read())
    return ledger


@contextmanager
def drawing_from(path: str) -> Iterator[PrivacyLedger]:
    """Yield the ledger of a file, whose spendings go to the file as they are made."""
    if sys.platform == "win32":
        raise LedgerFileError(f"{path}: Windows has no locks to share a ledger by")
    descriptor = os.open(path, os.O_RDWR | os.O_APPEND)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise LedgerFileError(
                f"{path}: another process draws from this ledger: try again when it is "
                "done"
            ) from None
        with open(path, "rb") as file:
            ledger, complete = _parsed(path, file.read())
        os.ftruncate(descriptor, complete)
        ledger.written_by(lambda spending: _append(descriptor, spending._asdict()))
        yield ledger
    finally:
        os.close(descriptor)


def _append(descriptor: int, record: dict[str, Any]) -> None:
    """Write a line and wait until it is on disk."""
    line = json.dumps(record).encode() + b"\n"
    while line:
        line = line[os.write(descriptor, line) :]
    os.fsync(descriptor)


def _parsed(path: str, content: bytes) -> tuple[PrivacyLedger, int]:
    """Return the ledger and the length of the complete lines."""
    complete = content.rfind(b"\n") + 1
    try:
        head, *spendings = map(json.loads, content[:complete].splitlines())
        if head.pop(_HEAD) != _VERSION:
            raise ValueError
        ledger = PrivacyLedger(
            head["epsilon"], head["delta"], pure_epsilon=head["pure_epsilon"]
        )
        ledger.recall([_spending(record) for record in spendings])
    except (ValueError, TypeError, KeyError, AttributeError):
        raise LedgerFileError(
            f"{path}: not a privacy ledger, or damaged; widemargin ledger FILE "
            "--epsilon E makes a new one"
        ) from None
    return ledger, complete


def _spending(record: dict[str, Any]) -> Spending:
    """Return a spending as it was written; costs are finite and not negative."""
    spending = Spending(
        str(record["what"]), float(record["mu"]), float(record["pure_epsilon"])
    )
    if not all(0.0 <= cost < math.inf for cost in spending[1:]):
        raise ValueError
    return spending
