"""Open the built pages in a headless Chromium: python tools/open_pages.py FOLDER.

At 1280 and at 400 pixels no page may scroll sideways, cut its text or lose a formula
beyond the edge, ask another machine for anything, miss a picture or write an error on
the console. ``make docs`` runs it where
Chromium, its driver and selenium are there.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Any

WIDTHS = (1280, 400)
#: what is wrong with the page that is shown
PROBE = """
const wrong = [];
const page = document.documentElement;
if (page.scrollWidth > innerWidth)
  wrong.push(`${page.scrollWidth} pixels wide in a window of ${innerWidth}`);
for (const part of document.querySelectorAll("main p, main li, main code, main math")) {
  const box = part.getBoundingClientRect();
  if (box.width && box.right < 1)
    wrong.push(`left of the page: ${part.textContent.slice(0, 40)}`);
  if (box.right > innerWidth + 1 && !part.closest("pre, table, div.math"))
    wrong.push(`cut at the right: ${part.textContent.slice(0, 40)}`);
}
for (const picture of document.images)
  if (picture.complete && !picture.naturalWidth) wrong.push(`no ${picture.src}`);
for (const {name} of performance.getEntriesByType("resource"))
  if (!/^(file|data|blob):/.test(name)) wrong.push(`asks ${name}`);
return wrong;
"""


def complaints(driver: Any, page: Path) -> list[str]:
    """Open a page; return what is wrong with it."""
    driver.get(page.as_uri())
    wrong = driver.execute_script(PROBE)
    log = driver.get_log("browser")
    return [*wrong, *(e["message"] for e in log if e["level"] == "SEVERE")]


def main(folder: Path) -> int:
    """Open every page at both widths; return 1 if anything is wrong."""
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    driver_path = shutil.which("chromedriver")
    try:
        from selenium import webdriver
        from selenium.webdriver.chrome.service import Service
    except ImportError:
        chromium = None
    if chromium is None or driver_path is None:
        print("pages not opened: needs Debian's chromium, chromium-driver and selenium")
        return 0
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for argument in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    pages = [p for p in sorted(folder.rglob("*.html")) if "_static" not in p.parts]
    driver = webdriver.Chrome(options=options, service=Service(driver_path))
    failed = 0
    try:
        for width in WIDTHS:
            driver.execute_cdp_cmd(
                "Emulation.setDeviceMetricsOverride",
                dict(width=width, height=900, deviceScaleFactor=1, mobile=False),
            )
            for page in pages:
                for words in complaints(driver, page):
                    failed += 1
                    print(f"{page.relative_to(folder)} at {width} px: {words}")
    finally:
        driver.quit()
    print(f"{len(pages)} pages opened at {WIDTHS} px, {failed} complaints")
    return 1 if failed or not pages else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).resolve()))
