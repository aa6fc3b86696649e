"""Draw docs/_static/playground.png: the playground as Chromium shows it.

    python tools/playground_picture.py

Wrong labels, SVC and RampSVC side by side, one point added among its own, as most are,
so that the badge compares an update with a full retrain. Needs chromium and
chromium-driver.
"""

from __future__ import annotations

import io
import sys
import time
from pathlib import Path

from PIL import Image

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests.playground.browsing import browser, served, settle  # noqa: E402

TARGET = ROOT / "docs" / "_static" / "playground.png"
PREPARED = "return state.preset === 'crowd' && state.ramp !== null"
CURVE = "return curve.errors.size > POWERS.length && state.ramp !== null"


def main() -> None:
    """Open the page, play, and save what is seen."""
    with served() as (address, _), browser(1280, 800, scale=1.5) as driver:
        driver.get(address)
        settle(driver)
        driver.find_element("id", "ramp").click()
        driver.execute_script("begin('crowd')")
        wait(driver, PREPARED)
        driver.execute_script("addPoint({ x: 0.1, y: 0.5 })")
        settle(driver)
        wait(driver, CURVE)
        seen = Image.open(io.BytesIO(driver.get_screenshot_as_png())).convert("RGB")
    seen.quantize(256, dither=Image.Dither.FLOYDSTEINBERG).save(TARGET, optimize=True)
    print(TARGET.relative_to(ROOT))


def wait(driver: object, condition: str, seconds: float = 120.0) -> None:
    """Wait until a script says so."""
    end = time.monotonic() + seconds
    while not driver.execute_script(condition):  # type: ignore[attr-defined]
        if time.monotonic() > end:
            raise TimeoutError(condition)
        time.sleep(0.05)


if __name__ == "__main__":
    main()
