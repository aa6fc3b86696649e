"""Formulas as MathML, made when the pages are built: no script, no network."""

import re

from docutils import nodes
from latex2mathml.converter import convert


def inline(writer, node):
    """Write a formula within a line."""
    writer.body.append(convert(node.astext(), display="inline"))
    raise nodes.SkipNode


def displayed(writer, node):
    """Write a formula of its own."""
    writer.body.append(writer.starttag(node, "div", CLASS="math"))
    for part in node.astext().split("\n\n"):
        source = part.strip()
        if not source:
            continue
        outside = re.sub(r"\\begin\{(\w+)\}.*?\\end\{\1\}", "", source, flags=re.DOTALL)
        if r"\\" in outside or "&" in outside:  # lines aligned at their ampersands
            source = rf"\begin{{split}}{source}\end{{split}}"
        writer.body.append(convert(source, display="block"))
    writer.body.append("</div>\n")
    raise nodes.SkipNode


def setup(app):
    """Register the renderer."""
    app.add_html_math_renderer(
        "mathml",
        inline_renderers=(inline, None),
        block_renderers=(displayed, None),
    )
    return {"parallel_read_safe": True, "parallel_write_safe": True}
