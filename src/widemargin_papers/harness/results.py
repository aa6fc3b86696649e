"""Results as JSON: one record per run, with machine, commit, threads and versions.

A store is one file, rewritten whole after each record, so a campaign that was stopped
goes on where it was: a run is skipped when its record is there and was made by the same
commit.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import time
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Any

from widemargin.runtime.atomic_file import replacing
from widemargin.runtime.hardware import machine

Record = dict[str, Any]
ORIGIN = ("commit", "machine", "versions", "load", "at")  # beside each result
PACKAGES = ("widemargin", "numpy", "scipy", "scikit-learn", "scikit-learn-intelex")


def load() -> float | None:
    """Return the machine's load average: well over one means contended times."""
    return round(os.getloadavg()[0], 1) if hasattr(os, "getloadavg") else None


def versions() -> dict[str, str]:
    """Return the installed versions of what takes part."""
    found = {}
    for package in PACKAGES:
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return found


def commit() -> str:
    """Return the commit of the checkout this package runs from, "+" when changed since.

    An installed wheel has no checkout: then the version stands for it.
    """
    here = Path(__file__).resolve().parent

    def git(*arguments: str) -> str:
        command = ["git", "-C", str(here), *arguments]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        return done.stdout.strip()

    try:
        revision = git("rev-parse", "--short=12", "HEAD")
        changed = git("status", "--porcelain", "--", ":/src", ":/core")
    except (OSError, subprocess.CalledProcessError):
        return versions().get("widemargin", "unknown")
    return revision + ("+" if changed else "")


@dataclass
class ResultStore:
    """A file of records keyed by a run's name; loads what is there, saves at once."""

    path: Path
    records: dict[str, Record] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Load the records already on disk."""
        self.records |= self._on_disk()

    def _on_disk(self) -> dict[str, Record]:
        if not self.path.is_file():
            return {}
        records: dict[str, Record] = json.loads(self.path.read_text())["records"]
        return records

    def has(self, key: str, *, any_commit: bool = False) -> bool:
        """Whether the run is there, made by this commit (or by any)."""
        record = self.records.get(key)
        return record is not None and (any_commit or record["commit"] == commit())

    def digest(self) -> str:
        """Return what tells these results from others, however they came about."""
        results = {
            key: {name: entry for name, entry in record.items() if name not in ORIGIN}
            for key, record in self.records.items()
        }
        text = json.dumps(results, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()

    def add(self, key: str, record: Record) -> Record:
        """Store the record with machine, commit and versions; returns it as stored."""
        stored = record | {
            "commit": commit(),
            "machine": machine(),
            "versions": versions(),
            "load": load(),
            "at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        }
        # another process may have added records of its own meanwhile
        self.records |= self._on_disk() | {key: stored}
        self.save()
        return stored

    def save(self) -> None:
        """Write all records, atomically."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        text = json.dumps({"records": self.records}, indent=1, sort_keys=True) + "\n"
        with replacing(self.path) as file:
            file.write(text.encode())
