"""The HTML page of a reproduced paper."""

from __future__ import annotations

import base64
import html
from pathlib import Path

from widemargin.cli.html_report import html_picture, html_table, page
from widemargin.cli.terminal_report import Picture, Table

from .cells import HEADER, by_table
from .reproduction import Outcome


def paper_page(outcome: Outcome, folder: Path) -> str:
    """Return the page of a reproduced paper: tables, pictures, what is missing."""
    parts = [f'<section><p class="summary">{html.escape(outcome.summary())}</p>']
    parts.append("</section>")
    for path in sorted(folder.glob("*.png")):
        encoded = base64.b64encode(path.read_bytes()).decode()
        parts.append(
            f"<section>{html_picture(Picture([encoded], path.stem))}</section>"
        )
    for table, rows in by_table(outcome.cells).items():
        part = html_table(Table(HEADER, rows, ""))
        parts.append(f"<section><h2>{html.escape(table)}</h2>{part}</section>")
    missing = "".join(
        f"<li>{html.escape(line)}</li>" for line in outcome.missing_files()
    )
    if missing:
        parts.append(f"<section><h2>Missing files</h2><ul>{missing}</ul></section>")
    lead = "Our figures beside the printed ones. Times are of other machines."
    return page(outcome.title, lead, "".join(parts))
