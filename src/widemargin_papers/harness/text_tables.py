"""Tables as text and as reStructuredText, and where stored figures come from."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from .results import Record, ResultStore


def layout(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Lay out rows of text in columns, the first to the left, others to the right."""
    table = [list(header), *map(list, rows)]
    widths = [max(len(row[k]) for row in table) for k in range(len(header))]
    lines = [
        "  ".join(
            cell.ljust(width) if k == 0 else cell.rjust(width)
            for k, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in table
    ]
    lines.insert(1, "  ".join("-" * width for width in widths))
    return "\n".join(lines)


def rst_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a simple table in reStructuredText."""
    table = [[_cell(text) for text in row] for row in (header, *rows)]
    widths = [max(len(row[i]) for row in table) for i in range(len(header))]
    rule = "  ".join("=" * width for width in widths)

    def line(cells: Sequence[str]) -> str:
        return "  ".join(
            c.ljust(w) for c, w in zip(cells, widths, strict=True)
        ).rstrip()

    body = "\n".join(line(row) for row in table[1:])
    return f"{rule}\n{line(table[0])}\n{rule}\n{body}\n{rule}\n"


def _cell(text: str) -> str:
    """Return the text of a cell: a lone hyphen would be a list of one empty item."""
    return "\N{EN DASH}" if text == "-" else text


def list_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table in reStructuredText."""
    lines = [".. list-table::", "   :header-rows: 1", ""]
    for row in (header, *rows):
        for k, text in enumerate(row):
            lines.append(f"   {'* -' if k == 0 else '  -'} {_cell(text)}".rstrip())
    return "\n".join(lines) + "\n"


def folded(summary: str, text: str) -> str:
    """Return a part of a page that is folded until its summary is clicked."""
    opening = f'   <details class="folded"><summary>{summary}</summary>\n'
    return f".. raw:: html\n\n{opening}\n{text}\n.. raw:: html\n\n   </details>\n"


def _described(machine: Record) -> str:
    """Return processor and number of cores of a machine."""
    cores = machine["cores"]
    return f"{machine['processor']}, {cores} core{'' if cores == 1 else 's'}"


def provenance(store: ResultStore, of: str = "") -> str:
    """Return where the figures come from: machine, commits, versions.

    `of` is how the names of the results begin that are meant.
    """
    records = [record for name, record in store.records.items() if name.startswith(of)]
    if not records:
        return "no results yet"
    machines = sorted({_described(record["machine"]) for record in records})
    commits = sorted({record["commit"] for record in records})
    versions = records[-1]["versions"]
    loads = [record["load"] for record in records if record.get("load") is not None]
    load = f"load average {min(loads)} to {max(loads)}; " if loads else ""
    shown = ", ".join(f"{package} {version}" for package, version in versions.items())
    return f"{'; '.join(machines)}; {load}commit {', '.join(commits)}; {shown}"
