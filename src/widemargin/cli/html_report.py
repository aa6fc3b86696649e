"""HTML pages that need nothing but themselves: pictures and style are inside."""

from __future__ import annotations

import html
import time
from collections.abc import Sequence
from importlib.metadata import version

from widemargin.cli.terminal_report import Act, Paragraph, Picture, Table
from widemargin.runtime.hardware import machine

_STYLE = """
:root { --ink: #1c2530; --soft: #5b6875; --line: #dfe5ea; --blue: #0072b2;
        --paper: #ffffff; --ground: #f4f6f8; }
* { box-sizing: border-box; }
body { margin: 0; background: var(--ground); color: var(--ink);
       font: 16px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; }
header, main, footer { max-width: 60rem; margin: 0 auto; padding: 0 1.25rem; }
header { padding-top: 2.5rem; padding-bottom: 1rem; }
h1 { font-size: 2rem; line-height: 1.2; margin: 0 0 .4rem; }
h2 { font-size: 1.35rem; line-height: 1.25; margin: 0 0 .35rem; }
.lead, .question { color: var(--soft); margin: 0 0 1rem; }
section { background: var(--paper); border: 1px solid var(--line); border-radius: 10px;
          padding: 1.25rem 1.25rem .75rem; margin: 0 0 1.25rem; }
.summary { border-left: 4px solid var(--blue); padding: .35rem .8rem;
           background: #eef6fb; margin: 0 0 1rem; font-weight: 600; }
ol.acts { padding-left: 1.3rem; margin: 0 0 .5rem; } ol.acts a { color: var(--blue); }
ol.acts li { margin: .2rem 0; }
section p::first-letter { text-transform: uppercase; }
p { margin: .3rem 0; overflow-wrap: anywhere; }
figure { margin: 1rem 0; }
figcaption, .caption { color: var(--soft); font-size: .92rem; }
.panels { display: grid; gap: .6rem; align-items: center;
          grid-template-columns: repeat(var(--columns), minmax(0, max-content)); }
img { max-width: 100%; height: auto; display: block; }
.caption { margin-top: .8rem; }
.scroll { overflow-x: auto; margin: .2rem 0 .8rem; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums;
        font-size: .94rem; }
th, td { padding: .3rem .8rem .3rem 0; border-bottom: 1px solid var(--line);
         text-align: right; white-space: nowrap; }
th:first-child, td:first-child { text-align: left; }
pre { background: #1c2530; color: #e8eef4; padding: .9rem 1rem; border-radius: 8px;
      overflow-x: auto; font-size: .9rem; }
footer { color: var(--soft); font-size: .88rem; padding-bottom: 2.5rem; }
@media (max-width: 40rem) {
  body { font-size: 15px; } h1 { font-size: 1.55rem; }
  header, main, footer { padding-left: .7rem; padding-right: .7rem; }
  section { padding: .9rem .8rem .5rem; }
  table { font-size: .82rem; } th, td { padding-right: .45rem; white-space: normal; }
  .panels { grid-template-columns: minmax(0, 1fr); }
  pre { white-space: pre-wrap; overflow-wrap: anywhere; }
}
"""


def demo_page(acts: Sequence[Act], lines: Sequence[str]) -> str:
    """Return the report of the demo; ``lines`` are the Python that repeats act one."""
    entries = "".join(
        f'<li><a href="#{act.name}">{html.escape(act.lead)}</a> '
        f"{html.escape(act.summary)}</li>"
        for act in acts
    )
    sections = "".join(_act(act) for act in acts)
    code = html.escape("\n".join(lines))
    again = f"<section><h2>Try it yourself</h2><pre>{code}</pre></section>"
    return page(
        "widemargin: what it does",
        "Support vector machines for data as it really is: big, mislabelled, "
        "uncertain, streaming, costly, private. Every figure below was computed on "
        "this machine a moment ago.",
        f'<section><ol class="acts">{entries}</ol></section>{sections}'
        + (again if lines else ""),
    )


def page(title: str, lead: str, content: str) -> str:
    """Return a whole page around ``content``."""
    here = machine()
    made = time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime())
    foot = f"widemargin {version('widemargin')}, {here['processor']}, {made}"
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<link rel="icon" href="data:,">'
        f"<title>{html.escape(title)}</title><style>{_STYLE}</style></head><body>"
        f'<header><h1>{html.escape(title)}</h1><p class="lead">{html.escape(lead)}</p>'
        f"</header><main>{content}</main><footer>{html.escape(foot)}</footer>"
        "</body></html>\n"
    )


def _act(act: Act) -> str:
    body = []
    for part in act.parts:
        if isinstance(part, Paragraph):
            body.append(f"<p>{html.escape(part.text)}</p>")
        elif isinstance(part, Table):
            body.append(html_table(part))
        else:
            body.append(html_picture(part))
    return (
        f'<section id="{act.name}"><h2>{html.escape(act.title)}</h2>'
        f'<p class="question">{html.escape(act.question)}</p>'
        f'<p class="summary">{html.escape(act.summary)}</p>{"".join(body)}'
        f'<p class="question">This act took {act.seconds:.1f} s.</p></section>'
    )


def html_table(table: Table) -> str:
    """Return a table with its caption."""
    caption = html.escape(table.caption)
    head = "".join(f"<th>{html.escape(cell)}</th>" for cell in table.header)
    rows = "".join(
        "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>"
        for row in table.rows
    )
    return (
        (f'<p class="caption">{caption}</p>' if caption else "")
        + f'<div class="scroll"><table><thead><tr>{head}</tr></thead>'
        f"<tbody>{rows}</tbody></table></div>"
    )


def html_picture(picture: Picture) -> str:
    """Return a picture of one or several panels with its caption."""
    caption = html.escape(picture.caption)
    images = "".join(
        f'<img alt="{caption}" src="data:image/png;base64,{png}">'
        for png in picture.panels
    )
    return (
        f'<figure><div class="panels" style="--columns: {picture.columns}">{images}'
        f"</div><figcaption>{caption}</figcaption></figure>"
    )
