"""A playground of its own and a real Chromium that looks at it."""

from __future__ import annotations

import contextlib
import shutil
import socket
import threading
from collections.abc import Iterator
from typing import Any

import uvicorn
from selenium import webdriver
from selenium.webdriver.chrome.service import Service

from widemargin.playground.server import Playground

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
DRIVER = shutil.which("chromedriver")


@contextlib.contextmanager
def served() -> Iterator[tuple[str, Playground]]:
    """Serve a playground from a thread; its address, with the token, and itself."""
    page = Playground()
    listening = socket.create_server(("127.0.0.1", 0))
    config = uvicorn.Config(page.app(), log_level="warning", lifespan="off")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    try:
        number = listening.getsockname()[1]
        yield f"http://127.0.0.1:{number}/?token={page.token}", page
    finally:
        server.should_exit = True
        thread.join()
        listening.close()


@contextlib.contextmanager
def browser(width: int = 1280, height: int = 860, scale: float = 1.0) -> Iterator[Any]:
    """Open a headless Chromium with a viewport of that size."""
    options = webdriver.ChromeOptions()
    options.binary_location = str(CHROMIUM)
    for argument in (
        "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
        "--disable-dev-shm-usage",
    ):  # fmt: skip
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(DRIVER))
    try:
        resize(driver, width, height, scale)
        driver.set_script_timeout(120)
        yield driver
    finally:
        driver.quit()


def resize(driver: Any, width: int, height: int, scale: float = 1.0) -> None:
    """Give the page another viewport, down to a phone's."""
    driver.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": width, "height": height, "deviceScaleFactor": scale, "mobile": False},
    )


SETTLED = """
const done = arguments[0];
const look = () => (link.busy || link.queue.length || state.version < 0
  || !element("badge").classList.contains("equal") && state.points.size
  ? setTimeout(look, 20) : done(true));
look();
"""


def settle(driver: Any) -> None:
    """Wait until every change is answered and compared with a full retrain."""
    driver.execute_async_script(SETTLED)
