"""How much memory ``widemargin train`` needs, against the size of the parsed data.

A file of the wanted size is generated, trained on in a process of its own, and that
process says at its end how much memory it had at most (``VmHWM`` of Linux). From it
the peak of the same command on a file of a few rows is taken off: what is left is what
the data caused.
"""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from widemargin_papers.harness.missing_runs import Measurement
from widemargin_papers.harness.results import Record, ResultStore

from ..record_tables import records_table

_ROWS = 2_000  # written at a time
_NUMBERS = 10_000
MEGABYTES = 1000.0  # of a file
# the peak of the process itself: a parent's would be counted by getrusage
_CHILD = """
import sys
from widemargin.cli.__main__ import main
try:
    main()
finally:
    with open("/proc/self/status") as lines:
        peak = next(line for line in lines if line.startswith("VmHWM"))
    print("PEAK", peak.split()[1], file=sys.stderr)
"""


@dataclass(frozen=True)
class Shape:
    """What kind of file: its format, features, and the share of non-zeros."""

    suffix: str
    features: int
    share: float = 1.0

    def block(self, rng: np.random.Generator, rows: int) -> tuple[list[str], int]:
        """Return random lines of the file, and the bytes they take once parsed."""
        numbers = rng.normal(size=_NUMBERS).round(6)
        texts = list(map(str, numbers))  # the digits are drawn, not printed each time
        row, column = np.divmod(self._places(rng, rows), self.features)
        drawn = rng.integers(_NUMBERS, size=row.size)
        first = column < self.features // 2
        sums = np.bincount(row[first], numbers[drawn[first]], minlength=rows)
        words = [texts[k] for k in drawn.tolist()]
        if not (csv := self.suffix == ".csv"):
            heads = [f"{k + 1}:" for k in range(self.features)]
            named = zip(column.tolist(), words, strict=True)
            words = [heads[k] + word for k, word in named]
        ends = np.cumsum(np.bincount(row, minlength=rows)).tolist()
        kinds = np.where(sums > 0, "1", "-1").tolist()
        lines = [
            ("," if csv else " ").join([kind, *words[start:end]])
            for kind, start, end in zip(kinds, [0, *ends], ends, strict=False)
        ]
        label = 8 * rows
        if self.share == 1.0:
            return lines, 8 * row.size + label
        return lines, 12 * row.size + 4 * rows + label

    def _places(self, rng: np.random.Generator, rows: int) -> NDArray[np.int64]:
        """Places of the non-zeros in the block: the gaps are drawn, not every place."""
        places = rows * self.features
        if self.share == 1.0:
            return np.arange(places)
        enough = int(places * self.share + 10 * np.sqrt(places)) + 1
        taken = np.cumsum(rng.geometric(self.share, size=enough)) - 1
        return taken[taken < places]


SHAPES = {
    "CSV": Shape(".csv", 50),
    "svmlight, dense": Shape("", 50),
    "svmlight, sparse": Shape("", 2_000, 0.02),
}


def generate(
    path: Path, shape: Shape, megabytes: float, *, distinct: int | None = None
) -> int:
    """Write a data file of about that size; return the bytes of its parsed arrays.

    Only `distinct` blocks are drawn, if given, and repeated: the same size, sooner.
    """
    rng = np.random.default_rng(0)
    blocks: Iterator[tuple[list[str], int]]
    blocks = (shape.block(rng, _ROWS) for _ in itertools.count())
    if distinct is not None:
        blocks = itertools.cycle(itertools.islice(blocks, distinct))
    parsed = 0
    with open(path, "w", encoding="ascii") as file:
        if shape.suffix == ".csv":
            names = ",".join(f"x{k}" for k in range(shape.features))
            file.write(f"kind,{names}\n")
        while file.tell() < megabytes * 1e6:
            lines, size = next(blocks)
            file.write("\n".join([*lines, ""]))
            parsed += size
    return parsed


def peak_bytes(arguments: Sequence[str]) -> int:
    """Return the most memory that ``widemargin ARGUMENTS`` ever held."""
    # glibc keeps freed memory of several arenas; one thread's worth is enough here
    environment = os.environ | {"MALLOC_ARENA_MAX": "2"}
    done = subprocess.run(
        [sys.executable, "-c", _CHILD, *arguments],
        capture_output=True,
        text=True,
        env=environment,
    )
    *said, last = done.stderr.strip().splitlines() or [""]
    if done.returncode not in (0, 1) or not last.startswith("PEAK"):
        raise RuntimeError("\n".join([*said, last]))
    return 1024 * int(last.split()[1])


def train_memory(
    shape: Shape,
    megabytes: float,
    options: Sequence[str],
    *,
    distinct: int | None = None,
) -> dict[str, float]:
    """Train on a generated file; sizes in megabytes, and peak over parsed size."""
    with tempfile.TemporaryDirectory(prefix="widemargin-") as name:
        folder = Path(name)
        data, small = folder / f"data{shape.suffix}", folder / f"few{shape.suffix}"
        parsed = generate(data, shape, megabytes, distinct=distinct)
        size = data.stat().st_size
        with open(data, "rb") as file:
            head = file.read(1 << 16)
        small.write_bytes(head[: head.rindex(b"\n") + 1])
        label = ["--label", "kind"] if shape.suffix == ".csv" else []
        model = str(folder / "model")
        common = ["-q", *label, *options]
        base = peak_bytes(["train", str(small), model, *common])
        peak = peak_bytes(["train", str(data), model, *common])
        written = Path(model).stat().st_size
    return {
        "file_mb": size / 1e6,
        "parsed_mb": parsed / 1e6,
        "above_import_mb": (peak - base) / 1e6,
        "import_mb": base / 1e6,
        "model_mb": written / 1e6,
        "ratio": (peak - base) / parsed,
    }


METHODS = {
    "svc, 200 steps": ["--max-iter", "200"],
    "svc --scale standard, 200 steps": ["--scale", "standard", "--max-iter", "200"],
    "dc, early": ["--method", "dc", "--prediction", "early", "--early-level", "6"],
}


def work() -> Iterator[Measurement]:
    """Yield every method on a file of every kind."""
    for (kind, shape), (method, options) in itertools.product(
        SHAPES.items(), METHODS.items()
    ):
        name = f"{kind}, {method}, {MEGABYTES:g} MB"
        yield name, partial(_record, kind, shape, method, options)


def _record(kind: str, shape: Shape, method: str, options: Sequence[str]) -> Record:
    return {"file": kind, "method": method, **train_memory(shape, MEGABYTES, options)}


def as_rst(store: ResultStore) -> str:
    """Return the table of what is stored."""
    records = [record for _, record in sorted(store.records.items())]
    return records_table(
        records,
        {
            "file": "{file}",
            "method": "{method}",
            "file MB": "{file_mb:.0f}",
            "parsed MB": "{parsed_mb:.0f}",
            "peak MB": "{above_import_mb:.0f}",
            "peak / parsed": "{ratio:.2f}",
        },
    )
