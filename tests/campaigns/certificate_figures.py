"""The records that the shards of a campaign leave, and the figures they add up to."""

from __future__ import annotations

import hashlib
import json
import os
from collections import Counter
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

Record = dict[str, Any]

ROOT = Path(__file__).parents[2]
FOLDER = Path(os.environ.get("WIDEMARGIN_CAMPAIGN", ROOT / "build/certificates"))
CODE = ("src", "core", "tests/campaigns/certificate_problems.py")
SUFFIXES = (".py", ".hpp", ".cpp", ".inl")
# A true gap below this share of 1 + |objective| is the size of the rounding itself. The
# kernel sums of a few thousand support vectors are certified to about 1e-13 of the sum
# of the sizes of their terms, and that sum is up to 1,000 times the objective.
ROUNDING = 1e-10


@cache
def code_digest() -> str:
    """Return a digest of the package and of the problems, as of the first call."""
    whole = hashlib.sha256()
    for name in CODE:
        inside = ROOT.joinpath(name).rglob("*")
        for path in sorted({ROOT / name, *inside}):
            if path.suffix in SUFFIXES:
                whole.update(path.relative_to(ROOT).as_posix().encode())
                whole.update(path.read_bytes())
    return whole.hexdigest()[:16]


def store(shard: int, records: list[Record]) -> None:
    """Keep the records of a shard."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    text = json.dumps({"code": code_digest(), "records": records})
    partial = FOLDER / f"shard_{shard:03d}.part"  # others read while this is written
    partial.write_text(text)
    partial.replace(partial.with_suffix(".json"))


def stored() -> dict[int, list[Record]]:
    """Return the records of the shards that are done, of this state of the code."""
    shards = {}
    for path in sorted(FOLDER.glob("shard_*.json")):
        content = json.loads(path.read_text())
        if isinstance(content, dict) and content["code"] == code_digest():
            shards[int(path.stem.removeprefix("shard_"))] = content["records"]
    return shards


def summary(records: list[Record]) -> dict[str, Any]:
    """Return the figures of a campaign."""
    judged = [r for r in records if r["status"] not in ("refused", "failed")]
    false = [r for r in judged if r["false"]]
    resolved = [r for r in judged if is_resolved(r)]
    statuses = sorted({*map(first_word, judged)})
    return {
        "problems": len({r["seed"] for r in records}),
        "certificates": len(judged),
        "of dask arrays": sum(r["route"] == "dask" for r in judged),
        "refused": sum(r["status"] == "refused" for r in records),
        "failed": sum(r["status"] == "failed" for r in records),
        "with a false claim": len(false),
        "false by over 1e-9": sum(any(c[3] > 1e-9 for c in r["false"]) for r in false),
        "false claims by field": dict(Counter(c[0] for r in false for c in r["false"])),
        "unproven bounds": sum(r["unproven"] for r in judged),
        "of indefinite kernels": sum(r["indefinite"] for r in judged),
        "without a bound, kernel semidefinite": sum(
            r["missing"] for r in judged if not r["indefinite"]
        ),
        "true gap over rounding": len(resolved),
        "median claimed / true gap": {
            "true gap over rounding": _median(resolved),
            "all": _median(judged),
            **{s: _median([r for r in judged if first_word(r) == s]) for s in statuses},
        },
        "seconds": round(sum({r["seed"]: r["seconds"] for r in records}.values()), 1),
        "false of all, by": {
            "status": _shares(judged, first_word),
            **{
                name: _shares(judged, lambda r, name=name: r[name])
                for name in ("route", "shape", "kernel")
            },
        },
    }


def first_word(record: Record) -> str:
    """Return the status without the reason that may follow it."""
    return str(record["status"].split(":")[0])


def is_resolved(record: Record) -> bool:
    """Whether the true gap is known, and larger than rounding."""
    return (record["share"] or 0.0) > ROUNDING


def _median(records: list[Record]) -> float | None:
    ratios = [r["ratio"] for r in records if r["ratio"] is not None]
    return float(np.median(ratios)) if ratios else None


def _shares(records: list[Record], key: Callable[[Record], str]) -> dict[str, Any]:
    counts = Counter(map(key, records))
    false = Counter(key(record) for record in records if record["false"])
    return {name: [false[name], counts[name]] for name in sorted(counts)}
