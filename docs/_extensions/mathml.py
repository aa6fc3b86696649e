"""Formulas as MathML, made when the pages are built: no script, no network.

Short formulas keep the comma that follows them, and short names are not broken.
"""

import re

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.transforms.post_transforms import SphinxPostTransform

SHORT = 20  # characters that fit half the width of a telephone


class KeepWhole(SphinxPostTransform):
    """Mark what must not be broken at the end of a line."""

    default_priority = 400  # references are resolved by then
    formats = ("html",)

    def run(self, **kwargs):
        """Mark short names; put punctuation into one span with its formula."""
        for name in self.document.findall(nodes.literal):
            if len(name.astext()) <= SHORT:
                name["classes"].append("short")
        for formula in list(self.document.findall(nodes.math)):
            parent = formula.parent
            place = parent.index(formula) + 1
            after = parent[place] if place < len(parent) else None
            mark = (
                re.match("[,.;:!?)]+", after) if isinstance(after, nodes.Text) else None
            )
            if mark and len(formula.astext()) <= 2 * SHORT:
                parent[place] = nodes.Text(after[mark.end() :])
                kept = nodes.inline(classes=["whole"])
                formula.replace_self(kept)
                kept += [formula, nodes.Text(mark[0])]


def mathml(source, display):
    """Return a formula; its bars stand close to what they enclose."""
    bar = 'stretchy="false">&#x0007C;'
    return convert(source, display=display).replace(bar, f'lspace="0" rspace="0" {bar}')


def inline(writer, node):
    """Write a formula within a line."""
    writer.body.append(mathml(node.astext(), "inline"))
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
        writer.body.append(mathml(source, "block"))
    writer.body.append("</div>\n")
    raise nodes.SkipNode


def setup(app):
    """Register the renderer and the transform."""
    app.add_post_transform(KeepWhole)
    app.add_html_math_renderer(
        "mathml",
        inline_renderers=(inline, None),
        block_renderers=(displayed, None),
    )
    return {"parallel_read_safe": True, "parallel_write_safe": True}
