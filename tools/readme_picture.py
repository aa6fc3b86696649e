"""Take the picture of the README out of the demo: python tools/readme_picture.py."""

from __future__ import annotations

import base64
import io
from pathlib import Path

from PIL import Image

from widemargin.cli.demo import photograph
from widemargin.cli.demo_command import play
from widemargin.cli.terminal_report import Picture

TARGET = Path(__file__).resolve().parent.parent / "docs" / "_static" / "readme.png"


def main() -> None:
    """Play the first act and keep its picture, as the demo's report has it."""
    act = play("photograph", photograph)
    (picture,) = (part for part in act.parts if isinstance(part, Picture))
    panels = [Image.open(io.BytesIO(base64.b64decode(png))) for png in picture.panels]
    width, height = panels[0].size
    rows = len(panels) // picture.columns
    whole = Image.new("RGB", (picture.columns * width, rows * height), "white")
    for k, panel in enumerate(panels):
        row, column = divmod(k, picture.columns)
        whole.paste(panel, (column * width, row * height))
    whole.quantize(64).save(TARGET, optimize=True)
    print(act.summary)


if __name__ == "__main__":
    main()
