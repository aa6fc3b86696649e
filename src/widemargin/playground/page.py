"""The page: its parts, put together into one that needs nothing else."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files

from .messages import MAX_POINTS
from .presets import PRESETS

_SCRIPTS = ("contours", "plot", "curve", "link", "pointer", "panel", "start")


@cache
def _parts() -> tuple[str, str, str]:
    folder = files("widemargin.playground") / "parts"
    script = "\n".join(
        (folder / f"{name}.js").read_text(encoding="utf-8") for name in _SCRIPTS
    )
    html = (folder / "page.html").read_text(encoding="utf-8")
    return html, (folder / "style.css").read_text(encoding="utf-8"), script


def page(*, token: str, session: str, nonce: str) -> str:
    """Return the page of a session."""
    html, style, script = _parts()
    presets = [
        {"name": name, "title": preset.title, "regression": preset.regression}
        for name, preset in PRESETS.items()
    ]
    settings = {
        "token": token,
        "session": session,
        "presets": presets,
        "maxPoints": MAX_POINTS,
    }
    return (
        html.replace("{{nonce}}", nonce)
        .replace("/*{{style}}*/", style)
        .replace("/*{{settings}}*/", f"const SETTINGS = {json.dumps(settings)};")
        .replace("/*{{script}}*/", script)
    )
